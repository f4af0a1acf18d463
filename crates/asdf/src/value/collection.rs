//! Lists and mappings of values.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::value::Value;
use crate::value::emit::{base64_text, plain_text};
use crate::yaml::{NodeKind, NodeStyle, ScalarRules, key_name, kind_of};

/// The notation of a collection if it differs from the default. By default, a collection of scalars
/// is written in brackets, unless it contains bytes or a `ScalarText` in a quoted or literal style.
/// Any other collection is written on separate lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Written in brackets.
    Flow,
    /// Written on separate lines.
    Block,
}

/// A list of values.
///
/// ```
/// use asdf::Value;
/// use asdf::value::Sequence;
///
/// let mut filters = Sequence::from_iter(["F110W"]);
/// filters.push("F160W");
/// assert_eq!(filters.items().last().and_then(Value::as_str), Some("F160W"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sequence {
    pub(crate) items: Vec<Value>,
    pub(crate) form: Option<Form>,
}

/// A list of key-value pairs in order. Except for merge keys, keys are unique. They should be scalars, because
/// [`Tree::from_node`](crate::Tree::from_node) and [`Writer`](crate::Writer) reject a key that is a collection.
///
/// ```
/// use asdf::Value;
/// use asdf::value::Mapping;
///
/// let mut meta = Mapping::from_iter([("gain", 2.5), ("noise", 5.0)]);
/// assert_eq!(meta.insert("gain", 3.5), Some(Value::Float(2.5)));
/// assert_eq!(meta.remove("noise"), Some(Value::Float(5.0)));
/// assert_eq!(meta.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    pub(crate) entries: Vec<(Value, Value)>,
    pub(crate) form: Option<Form>,
}

impl Sequence {
    /// Creates an empty sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the items.
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// Returns a mutable reference to the items.
    pub fn items_mut(&mut self) -> &mut Vec<Value> {
        &mut self.items
    }

    /// Appends an item.
    pub fn push(&mut self, item: impl Into<Value>) {
        self.items.push(item.into());
    }
}

impl Mapping {
    /// Creates an empty mapping.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the keys and values in order. This includes a `<<` that was read as a merge key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Like [`Self::iter`], but with mutable references to the values.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Value, &mut Value)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Returns the value for a key, which is identified by the text that [`Value::to_key`] returns. The notation of
    /// the key does not matter: `get("16")` finds the key `0x10`, and `get("true")` finds `yes`.
    ///
    /// ```
    /// let tree = asdf::Tree::parse("{0x10: a, yes: b, ~: c, 'yes': d}")?;
    /// let mapping = tree.root().as_mapping().unwrap();
    /// let get = |key| mapping.get(key).and_then(|value| value.as_str());
    /// assert_eq!(["16", "true", "null", "yes"].map(get), ["a", "b", "c", "d"].map(Some));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(self.position(key)?).map(|(_, value)| value)
    }

    /// Returns a mutable reference to the value for a key; see [`Self::get`].
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let at = self.position(key)?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    /// Sets the value for a key, adding an entry at the end if the key is new. Returns the previous value.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        let known = self.entries.iter_mut().find(|(known, _)| is_same_key(known, &key));
        if let Some((_, place)) = known {
            return Some(std::mem::replace(place, value));
        }
        self.entries.push((key, value));
        None
    }

    /// Sets the value for a key and moves the entry to the beginning.
    pub(crate) fn insert_first(&mut self, key: &str, value: Value) {
        self.remove(key);
        self.entries.insert(0, (key.into(), value));
    }

    /// Removes the entry for a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.position(key)?;
        Some(self.entries.remove(at).1)
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.entries.iter().position(|(known, _)| known.to_key().as_deref() == Some(key))
    }
}

/// Returns the type of a key, and the text that [`Value::to_key`] returns.
pub(crate) fn kind_and_name(key: &Value) -> Option<(NodeKind, Cow<'_, str>)> {
    let (text, style) = match key.untagged() {
        Value::Binary(bytes) => return Some((NodeKind::Binary, base64_text(bytes).into())),
        Value::String(text) => (Cow::from(text), NodeStyle::DoubleQuoted),
        Value::ScalarText(written) if key.tag().is_none() && written.is_merge_key() => return None,
        Value::ScalarText(written) => (Cow::from(written.text()), written.resolved_style()),
        other => (Cow::from(plain_text(other)?), NodeStyle::Plain),
    };
    let (kind, ..) = kind_of(&text, style, key.tag(), ScalarRules::Python);
    let name = match text {
        Cow::Borrowed(text) => key_name(kind, text, ScalarRules::Python),
        Cow::Owned(text) => key_name(kind, &text, ScalarRules::Python).into_owned().into(),
    };
    Some((kind, name))
}

fn is_same_key(a: &Value, b: &Value) -> bool {
    match (kind_and_name(a), kind_and_name(b)) {
        (None, None) => a == b,
        (a, b) => a == b,
    }
}

impl<T: Into<Value>> FromIterator<T> for Sequence {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self { items: items.into_iter().map(Into::into).collect(), form: None }
    }
}

/// If a key occurs more than once, the last value is used.
impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Mapping {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut mapping = Self::new();
        // Index the keys by their names: searching the entries for each of many keys would take quadratic time.
        let mut positions: HashMap<String, Vec<usize>> = HashMap::new();
        for (key, value) in entries {
            let (key, value) = (key.into(), value.into());
            let name = key.to_key().unwrap_or_default().into_owned();
            let same_name = positions.entry(name).or_default();
            let known = same_name.iter().find(|&&at| is_same_key(&mapping.entries[at].0, &key));
            if let Some(&at) = known {
                mapping.entries[at].1 = value;
            } else {
                same_name.push(mapping.entries.len());
                mapping.entries.push((key, value));
            }
        }
        mapping
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::value::ScalarText;
    use crate::yaml::{Document, ParseOptions};

    #[test]
    fn collecting_a_repeated_key_keeps_its_first_position_and_its_last_value() {
        let keys: [Value; 5] = [
            "a".into(),
            7.into(),
            Value::ScalarText(ScalarText::literal("a")),
            7.into(),
            "7".into(),
        ];
        let mapping: Mapping = keys.into_iter().zip(0..).collect();
        let entries: Vec<(Value, i64)> = mapping
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.as_i64()?)))
            .collect();
        assert_eq!(entries, [("a".into(), 2), (7.into(), 3), ("7".into(), 4)]);
    }

    #[test]
    fn a_key_has_the_same_name_in_a_mapping_and_in_the_parsed_document() {
        let text = "{0x10: 0, 1_0: 0, yes: 0, OFF: 0, ~: 0, 1.50: 0, 2001-01-01: 0, 'yes': 0, '~': 0, \
                    !!int '7': 0, !!str 010: 0, !!bool on: 0, ! '8': 0, !local 9: 0}";
        let tree = Tree::parse(text).unwrap();
        let mapping = tree.root().as_mapping().unwrap();
        let options = ParseOptions::default();
        let document = Document::parse(text.as_bytes(), &options, &mut Vec::new()).unwrap();
        for (key, (value, _)) in document.root().keys().zip(mapping.iter()) {
            assert_eq!(value.to_key().unwrap(), key.to_key().unwrap());
        }
    }

    #[test]
    fn two_notations_of_the_same_key_are_one_key() {
        let mut mapping = Mapping::from_iter([(Value::ScalarText(ScalarText::plain("0x10")), 1)]);
        assert_eq!(mapping.insert(16, 2), Some(1.into()));
        assert_eq!(mapping.len(), 1);
    }

    #[test]
    fn collecting_a_mapping_of_many_entries_takes_linear_time() {
        let keys = (0..300_000).flat_map(|at| [Value::from(at.to_string()), Value::from(at)]);
        let mapping: Mapping = keys.map(|key| (key, 1)).collect();
        assert_eq!(mapping.len(), 600_000);
    }
}
