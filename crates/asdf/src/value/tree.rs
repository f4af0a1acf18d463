//! The tree: its root, and the nodes that occur in several positions.

use binio::pointer;

use crate::error::{Error, ReferenceError, Result};
use crate::value::{Mapping, Value, parents};

/// The handle of a shared node that is stored in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedId(pub(super) usize);

impl SharedId {
    /// Returns the index of the node among the shared nodes of its tree.
    pub(crate) fn number(self) -> usize {
        self.0
    }
}

/// A tree that owns its content.
///
/// ```
/// use asdf::value::Mapping;
/// use asdf::{Tree, Value};
///
/// let mut tree = Tree::default();
/// let meta = tree.share(Mapping::from_iter([("gain", 2.5)]));
/// tree.set("/first", meta)?;
/// tree.set("/second", meta)?;
/// tree.set("/second/gain", 3.0)?;
/// assert_eq!(tree.pointer("/first/gain"), Some(&Value::Float(3.0)));
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    root: Value,
    shared: Vec<Shared>,
}

/// A node that can occur in several positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shared {
    /// The name of the node's anchor, or `None` if the name is generated.
    pub(crate) name: Option<String>,
    pub(crate) value: Value,
}

/// Creates a tree that consists of an empty mapping.
impl Default for Tree {
    fn default() -> Self {
        Self::new(Mapping::new())
    }
}

impl Tree {
    /// Creates a tree with this root.
    pub fn new(root: impl Into<Value>) -> Self {
        Self { root: root.into(), shared: Vec::new() }
    }

    pub(super) fn with_shared(root: Value, shared: Vec<Shared>) -> Self {
        Self { root, shared }
    }

    /// Returns the root.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// Writes the tree as a YAML document with directives. Arrays are written inline.
    ///
    /// ```
    /// let tree = asdf::Tree::parse("a: {b: 'yes', c: 1.0e+20}")?;
    /// let mut text = Vec::new();
    /// tree.write_yaml(&mut text)?;
    /// assert!(text.ends_with(b"---\na: {b: 'yes', c: 1.0e+20}\n...\n"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if an array contains text
    /// that is not valid ASCII or Unicode, with [`ErrorKind::Limit`](crate::ErrorKind::Limit) or
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if an array is too large to read,
    /// and with [`ErrorKind::Io`](crate::ErrorKind::Io) if the data of an array cannot be read or
    /// writing to `out` fails.
    pub fn write_yaml(&self, out: &mut dyn std::io::Write) -> Result<()> {
        crate::value::emit::emit(self, &crate::value::emit::NoArrays, out)
    }

    /// Returns a mutable reference to the root.
    pub fn root_mut(&mut self) -> &mut Value {
        &mut self.root
    }

    /// Stores a node so that it can occur in several positions. It can even contain itself: insert its handle
    /// with [`Self::resolve_mut`].
    pub fn share(&mut self, value: impl Into<Value>) -> SharedId {
        self.shared.push(Shared { name: None, value: value.into() });
        SharedId(self.shared.len() - 1)
    }

    pub(crate) fn shared(&self) -> &[Shared] {
        &self.shared
    }

    /// Iterates over the root and the shared nodes, which together contain all values.
    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let shared = self.shared.iter_mut().map(|shared| &mut shared.value);
        std::iter::once(&mut self.root).chain(shared)
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.root).chain(self.shared.iter().map(|shared| &shared.value))
    }

    /// Resolves the handle of a shared node. Returns any other value unchanged. A handle from another tree
    /// resolves to null or to an unrelated value.
    pub fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        const NULL: Value = Value::Null;
        let mut value = value;
        // The value of a shared node may itself be a handle. Unless handles form a cycle, a chain of
        // handles is never longer than the number of shared nodes.
        for _ in 0..=self.shared.len() {
            match value.untagged() {
                Value::Shared(handle) => {
                    value = self.shared.get(handle.0).map_or(&NULL, |shared| &shared.value);
                }
                _ => return value,
            }
        }
        &NULL
    }

    /// Returns a mutable reference to the shared node that a handle refers to, or `None` if the tree has no
    /// such node.
    pub fn resolve_mut(&mut self, handle: SharedId) -> Option<&mut Value> {
        self.shared.get_mut(handle.0).map(|shared| &mut shared.value)
    }

    /// Returns the value at a JSON Pointer, if there is one. Shared nodes are resolved.
    ///
    /// ```
    /// let tree = asdf::Tree::parse("filters: [F110W, F160W]")?;
    /// assert_eq!(tree.pointer("/filters/1").and_then(|it| it.as_str()), Some("F160W"));
    /// assert_eq!(tree.pointer("/filters/2"), None);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        let mut value = self.resolve(&self.root);
        for token in pointer::tokens(pointer).ok()? {
            let below = match value.untagged() {
                Value::Mapping(mapping) => mapping.get(&token)?,
                Value::Sequence(sequence) => sequence.items.get(pointer::index(&token)?)?,
                _ => return None,
            };
            value = self.resolve(below);
        }
        Some(value)
    }

    /// Sets the value at a JSON Pointer. Missing collections along the path are created: lists for `-` and
    /// `0`, mappings for other keys. A final `-` appends to a list. If the path leads through a shared node,
    /// the value changes everywhere the node is used.
    ///
    /// ```
    /// let mut tree = asdf::Tree::default();
    /// tree.set("/history/entries/-", "flat-fielded")?;
    /// tree.set("/history/entries/-", "calibrated")?;
    /// assert_eq!(tree.pointer("/history/entries/1").and_then(|it| it.as_str()), Some("calibrated"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) of kind
    /// [`Syntax`](ReferenceError::Syntax) if `pointer` is not a JSON Pointer, and of kind
    /// [`NotFound`](ReferenceError::NotFound) if the pointer
    ///
    /// - leads through a scalar or an array, or through the handle of a node in another tree,
    /// - refers to an item that an existing list does not have,
    /// - uses an index other than 0 in a list that does not exist yet.
    pub fn set(&mut self, pointer: &str, value: impl Into<Value>) -> Result<()> {
        let fail = |message: String| Error::reference(pointer, ReferenceError::NotFound(message));
        let tokens = pointer::tokens(pointer).map_err(|error| {
            Error::reference(pointer, ReferenceError::Syntax(error.to_string()))
        })?;
        let value = value.into();
        let mut place = &mut self.root;
        for (at, token) in tokens.iter().enumerate() {
            // If the value is a handle, resolve it. The root and the shared nodes are separate fields, so both
            // can be borrowed.
            if let Value::Shared(handle) = place.untagged() {
                let handle = *handle;
                let shared = self.shared.get_mut(handle.0);
                place = match shared {
                    Some(shared) => &mut shared.value,
                    None => {
                        return Err(fail(
                            "the handle of this shared node belongs to another tree".to_owned(),
                        ));
                    }
                };
            }
            let is_last = at + 1 == tokens.len();
            place = match place.untagged_mut() {
                Value::Mapping(mapping) => {
                    if mapping.get(token).is_none() {
                        let missing = tokens.get(at + 1..).unwrap_or_default();
                        mapping.insert(&**token, parents::wrapped(pointer, missing, value)?);
                        return Ok(());
                    }
                    match mapping.get_mut(token) {
                        Some(place) => place,
                        None => {
                            return Err(fail(format!("there is no node with the key {token:?}")));
                        }
                    }
                }
                Value::Sequence(sequence) => {
                    let len = sequence.items.len();
                    let index = match pointer::index(token) {
                        _ if token == "-" && is_last => len,
                        Some(index) if index < len => index,
                        _ => {
                            return Err(fail(format!(
                                "no item `{token}` in a list of length {len}"
                            )));
                        }
                    };
                    if index == len {
                        sequence.push(());
                    }
                    &mut sequence.items[index]
                }
                _ => {
                    return Err(fail(format!(
                        "{token:?} would be a child of a scalar or an array, which have no children"
                    )));
                }
            };
        }
        *place = value;
        Ok(())
    }

    /// Checks that [`set`](Self::set) would not create collections along the path, because a missing collection
    /// suggests a mistake in the pointer. If the pointer refers to an item of a list, however, the list itself
    /// may be missing.
    ///
    /// ```
    /// let tree = asdf::Tree::parse("meta: {gain: 2.5}")?;
    /// tree.check_parent("/meta/noise")?;
    /// assert!(tree.check_parent("/mata/noise").is_err());
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) of kind
    /// [`NotFound`](ReferenceError::NotFound) if a node that must exist is missing.
    pub fn check_parent(&self, pointer: &str) -> Result<()> {
        let needed = parents::needed(pointer, |parent| self.pointer(parent).is_some());
        let mut nearest = "";
        for end in needed.match_indices('/').skip(1).map(|(at, _)| at).chain([needed.len()]) {
            let part = &needed[..end];
            if self.pointer(part).is_none() {
                let place =
                    if nearest.is_empty() { "the root".into() } else { format!("`{nearest}`") };
                let key = part[nearest.len()..].trim_start_matches('/');
                let message = format!("at {place}: no key `{key}`");
                return Err(Error::reference(needed, ReferenceError::NotFound(message)));
            }
            nearest = part;
        }
        Ok(())
    }
}
