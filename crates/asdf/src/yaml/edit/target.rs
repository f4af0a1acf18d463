//! Finding the target of a pointer in the text: an entry or item, or the position of a new one.

use crate::error::{Error, ReferenceError, Result};
use crate::yaml::{NodeKind, NodeStyle, ScalarRules, YamlNode};

/// The target of a pointer in a document.
pub(crate) struct Target<'a> {
    /// The collection that contains the target or, if the target is new, the innermost existing
    /// collection on the path. Aliases on the path are followed, so a change affects every alias of
    /// the collection.
    pub(crate) container: YamlNode<'a>,
    pub(crate) place: Place,
    /// If the target is an entry of an ordered mapping, the mapping and the index of the item that
    /// contains the entry. This item is also the `container`.
    pub(crate) member_of: Option<(YamlNode<'a>, usize)>,
}

pub(crate) enum Place {
    /// The indices of all entries with the key. If the key is repeated, the last entry determines
    /// the value.
    Entries(Vec<usize>),
    /// An item of a sequence.
    Item(usize),
    /// A new key, and the remaining tokens of the pointer. A new collection is created for each of
    /// these tokens, and the outermost one becomes the value of the key. In an ordered mapping, the
    /// new entry becomes a new item.
    NewKey(String, Vec<String>),
    /// The position after the last item of a sequence.
    NewItem,
}

impl<'a> Target<'a> {
    /// Finds the target of a pointer. The target need not exist yet.
    pub(crate) fn find(root: YamlNode<'a>, pointer: &str) -> Result<Self> {
        let tokens = binio::pointer::tokens(pointer).map_err(|error| {
            Error::reference(pointer, ReferenceError::Syntax(error.to_string()))
        })?;
        let Some((last, before)) = tokens.split_last() else {
            return Err(fail(
                pointer,
                "the root cannot be replaced or removed as a whole, only its entries or items",
            ));
        };
        let mut container = root;
        let mut missing = Vec::new();
        for (at, token) in before.iter().enumerate() {
            let next = match container.kind() {
                NodeKind::Mapping => container.get(token),
                NodeKind::Sequence => container
                    .member(token)
                    .or_else(|| binio::pointer::index(token).and_then(|at| container.at(at))),
                _ => None,
            };
            match next {
                Some(next) => container = next,
                None if is_mapping(container) => {
                    missing = before.get(at..).unwrap_or_default().to_vec();
                    break;
                }
                None => return Err(not_found(root, pointer)),
            }
        }
        let place = match container.kind() {
            NodeKind::Mapping if missing.is_empty() => {
                let entries = entries_of(container, last);
                if entries.is_empty() {
                    Place::NewKey(last.clone().into_owned(), Vec::new())
                } else {
                    Place::Entries(entries)
                }
            }
            _ if !missing.is_empty() => {
                let mut keys = missing.iter().chain([last]).map(|key| key.clone().into_owned());
                let first = keys.next().unwrap_or_default();
                Place::NewKey(first, keys.collect())
            }
            NodeKind::Sequence if last == "-" => Place::NewItem,
            NodeKind::Sequence if is_mapping(container) => {
                return Ok(Self::member(container, last));
            }
            NodeKind::Sequence => {
                let index = binio::pointer::index(last).filter(|at| *at < container.len());
                Place::Item(index.ok_or_else(|| not_found(root, pointer))?)
            }
            _ => return Err(not_found(root, pointer)),
        };
        Ok(Self { container, place, member_of: None })
    }

    /// Finds the entry with this key in an ordered mapping, or the item with this index. If there
    /// is neither, the target is a new key.
    fn member(mapping: YamlNode<'a>, key: &str) -> Self {
        let mut items = mapping.items().enumerate();
        if let Some((index, item)) = items.find(|(_, item)| item.get(key).is_some()) {
            let member_of = Some((mapping, index));
            return Self { container: item, place: Place::Entries(vec![0]), member_of };
        }
        let index = binio::pointer::index(key).filter(|at| *at < mapping.len());
        let place = index.map_or_else(|| Place::NewKey(key.to_owned(), Vec::new()), Place::Item);
        Self { container: mapping, place, member_of: None }
    }

    /// Like [`find`](Self::find), but fails if the target does not exist, or comes from a merge
    /// key.
    pub(crate) fn find_existing(root: YamlNode<'a>, pointer: &str) -> Result<Self> {
        let target = Self::find(root, pointer)?;
        let Place::NewKey(key, _) = &target.place else {
            return match target.place {
                Place::NewItem => Err(not_found(root, pointer)),
                _ => Ok(target),
            };
        };
        let found = root.pointer(pointer)?;
        let container = target.container;
        if let Some(at) = container
            .raw_entries()
            .position(|(name, value)| key == "<<" && is_merge_key(name) && value.id() == found.id())
        {
            // The value of this `<<` cannot be merged, so `<<` is an ordinary key.
            return Ok(Self { place: Place::Entries(vec![at]), ..target });
        }
        let from = found.to_pointer().unwrap_or_else(|| format!("the key `{key}`"));
        Err(fail(
            pointer,
            format!("the key is merged by `<<` from {from}, so it can only be changed there"),
        ))
    }
}

fn is_mapping(node: YamlNode<'_>) -> bool {
    node.kind() == NodeKind::Mapping || node.is_ordered_mapping()
}

/// Returns the indices of the entries with this key, excluding merge keys. Ignores keys that have
/// the same JSON form as the first match but a different type.
pub(crate) fn entries_of(mapping: YamlNode<'_>, key: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut kind = None;
    for (at, (node, _)) in mapping.raw_entries().enumerate() {
        let is_key = !is_merge_key(node) && node.to_key().is_ok_and(|name| name == key);
        if is_key && kind.is_none_or(|kind| kind == node.kind()) {
            kind = Some(node.kind());
            found.push(at);
        }
    }
    found
}

fn is_merge_key(key: YamlNode<'_>) -> bool {
    let by_text = key.text() == Some("<<") && ScalarRules::default() != ScalarRules::Core12;
    by_text
        && match key.tag() {
            None => key.style() == NodeStyle::Plain,
            Some(tag) => tag == "tag:yaml.org,2002:merge",
        }
}

/// Returns the error for a pointer that does not refer to a value that can be changed.
fn not_found(root: YamlNode<'_>, pointer: &str) -> Error {
    match root.pointer(pointer) {
        Err(error) => error,
        Ok(_) => fail(pointer, "the pointer does not refer to a value that can be changed"),
    }
}

/// Creates an error about a value that cannot be changed.
pub(crate) fn fail(pointer: &str, message: impl Into<String>) -> Error {
    Error::unwritable_at(pointer, message)
}
