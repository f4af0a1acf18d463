//! Lists and mappings of values.

use std::borrow::Cow;

use crate::value::Value;

/// How a collection is written, if it is not to be as others are: in brackets where it has no
/// collections inside, else as lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In brackets.
    Flow,
    /// As lines.
    Block,
}

/// A list of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sequence {
    pub(crate) items: Vec<Value>,
    pub(crate) form: Option<Form>,
}

/// Pairs of values in their order. A key is a scalar and occurs once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    pub(crate) entries: Vec<(Value, Value)>,
    pub(crate) form: Option<Form>,
}

impl Sequence {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its items.
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// The same, to change them.
    pub fn items_mut(&mut self) -> &mut Vec<Value> {
        &mut self.items
    }

    /// Adds an item.
    pub fn push(&mut self, item: impl Into<Value>) {
        self.items.push(item.into());
    }
}

impl Mapping {
    /// An empty mapping.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Its keys and values in their order. A key `<<` that was read as a merge key is one of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The same, with values that can be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Value, &mut Value)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The value of a key, which is called by its JSON form if it is not a string: `7`, `true`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(self.position(key)?).map(|(_, value)| value)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let at = self.position(key)?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    /// Sets the value of a key: that of an entry which exists, else of a new one at the end.
    /// Returns the value that it had.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        let known = self.entries.iter_mut().find(|(known, _)| is_same_key(known, &key));
        if let Some((_, place)) = known {
            return Some(std::mem::replace(place, value));
        }
        self.entries.push((key, value));
        None
    }

    /// Sets the value of a key at the beginning: an entry that exists moves there.
    pub(crate) fn insert_first(&mut self, key: &str, value: Value) {
        self.remove(key);
        self.entries.insert(0, (key.into(), value));
    }

    /// Removes the entry of a key, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.position(key)?;
        Some(self.entries.remove(at).1)
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.entries.iter().position(|(known, _)| key_text(known).as_deref() == Some(key))
    }
}

/// What a key is called in JSON and in pointers. `None` for a merge key and for a collection.
fn key_text(key: &Value) -> Option<Cow<'_, str>> {
    match key.untagged() {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::ScalarText(written) if written.is_merge_key() => None,
        Value::ScalarText(written) => Some(match written.integer() {
            Some(integer) => integer.to_string().into(),
            None => written.text().into(),
        }),
        other => crate::value::emit::plain_text(other).map(Cow::Owned),
    }
}

fn is_same_key(a: &Value, b: &Value) -> bool {
    match (a.as_str(), b.as_str()) {
        (None, None) => a == b,
        (a, b) => a == b,
    }
}

impl<T: Into<Value>> FromIterator<T> for Sequence {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self { items: items.into_iter().map(Into::into).collect(), form: None }
    }
}

/// Of a key that comes twice the last value is used.
impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Mapping {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut mapping = Self::new();
        for (key, value) in entries {
            mapping.insert(key, value);
        }
        mapping
    }
}
