//! The tree: its root, and the nodes that stand at several places.

use binio::pointer;

use crate::error::{Error, ReferenceError, Result};
use crate::value::{Mapping, Value, parents};

/// The number of a node that a [`Tree`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedId(pub(super) usize);

impl SharedId {
    /// The position among the shared nodes.
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

/// A node that may stand at several places.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shared {
    /// The name of its anchor, unless it is one that a writer makes up.
    pub(crate) name: Option<String>,
    pub(crate) value: Value,
}

/// An empty mapping.
impl Default for Tree {
    fn default() -> Self {
        Self::new(Mapping::new())
    }
}

impl Tree {
    /// A tree of this root.
    pub fn new(root: impl Into<Value>) -> Self {
        Self { root: root.into(), shared: Vec::new() }
    }

    pub(super) fn with_shared(root: Value, shared: Vec<Shared>) -> Self {
        Self { root, shared }
    }

    /// The root.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// Writes the tree as a YAML document with its directives. Arrays are inline.
    ///
    /// ```
    /// let tree = asdf::Tree::parse("a: {b: 'yes', c: 1.0e+20}")?;
    /// let mut text = Vec::new();
    /// tree.write_yaml(&mut text)?;
    /// assert!(text.ends_with(b"---\na: {b: 'yes', c: 1.0e+20}\n...\n"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn write_yaml(&self, out: &mut dyn std::io::Write) -> Result<()> {
        crate::value::emit::emit(self, &crate::value::emit::NoArrays, out)
    }

    /// The root, to change it.
    pub fn root_mut(&mut self) -> &mut Value {
        &mut self.root
    }

    /// Keeps a node that is to stand at several places, or inside itself: [`Self::resolve_mut`] can
    /// put its handle into it.
    pub fn share(&mut self, value: impl Into<Value>) -> SharedId {
        self.shared.push(Shared { name: None, value: value.into() });
        SharedId(self.shared.len() - 1)
    }

    pub(crate) fn shared(&self) -> &[Shared] {
        &self.shared
    }

    /// All places that hold values of their own: the root, and the shared nodes.
    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let shared = self.shared.iter_mut().map(|shared| &mut shared.value);
        std::iter::once(&mut self.root).chain(shared)
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.root).chain(self.shared.iter().map(|shared| &shared.value))
    }

    /// What a value is: the shared node, if it is the handle of one. A handle of another tree is
    /// some value or null.
    pub fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        const NULL: Value = Value::Null;
        let mut value = value;
        // A shared node that is only a handle: there can be no more in a row than there are nodes.
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

    /// The shared node of a handle, to change it. `None` for a handle of another tree.
    pub fn resolve_mut(&mut self, handle: SharedId) -> Option<&mut Value> {
        self.shared.get_mut(handle.0).map(|shared| &mut shared.value)
    }

    /// The value that a JSON Pointer leads to, through shared nodes.
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

    /// Sets the value that a JSON Pointer leads to. Missing collections on the way are created: lists for
    /// `-` and `0`, mappings for other keys. `-` as the last part adds to a list. A value in a shared node
    /// is set everywhere the node is used.
    ///
    /// ```
    /// let mut tree = asdf::Tree::default();
    /// tree.set("/history/entries/-", "flat-fielded")?;
    /// tree.set("/history/entries/-", "calibrated")?;
    /// assert_eq!(tree.pointer("/history/entries/1").and_then(|it| it.as_str()), Some("calibrated"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// Fails if the pointer leads through a scalar or past the end of a list.
    pub fn set(&mut self, pointer: &str, value: impl Into<Value>) -> Result<()> {
        let fail = |message: String| Error::reference(pointer, ReferenceError::NotFound(message));
        let tokens = pointer::tokens(pointer).map_err(|error| {
            Error::reference(pointer, ReferenceError::Syntax(error.to_string()))
        })?;
        let value = value.into();
        let mut place = &mut self.root;
        for (at, token) in tokens.iter().enumerate() {
            // A handle leads to its node; the tree is split into root and shared nodes for this.
            if let Value::Shared(handle) = place.untagged() {
                let handle = *handle;
                let shared = self.shared.get_mut(handle.0);
                place = match shared {
                    Some(shared) => &mut shared.value,
                    None => return Err(fail("a handle of another tree".to_owned())),
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
                        None => return Err(fail(format!("no node named {token:?}"))),
                    }
                }
                Value::Sequence(sequence) => {
                    let len = sequence.items.len();
                    let index = match pointer::index(token) {
                        _ if token == "-" && is_last => len,
                        Some(index) if index < len => index,
                        _ => return Err(fail(format!("no item {token:?} in a list of {len}"))),
                    };
                    if index == len {
                        sequence.push(());
                    }
                    &mut sequence.items[index]
                }
                _ => return Err(fail(format!("{token:?} would be inside a scalar or an array"))),
            };
        }
        *place = value;
        Ok(())
    }

    /// Fails if [`set`](Self::set) would create collections on the way to a pointer, other than a list for
    /// its last part: the pointer may be mistyped. The error names the nearest node that exists.
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
