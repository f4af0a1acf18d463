//! The values in a tree.

use std::borrow::Cow;

use crate::ndarray::source::{Source, is_ndarray_tag};
use crate::value::{Array, Mapping, ScalarText, Sequence, SharedId, kind_and_name};
use crate::yaml::{Date, DateTime, Integer};

/// A value at one position in a tree.
///
/// ```
/// use asdf::value::Mapping;
/// use asdf::Value;
///
/// let mut meta = Mapping::new();
/// meta.insert("gain", 2.5);
/// meta.insert("filters", vec!["F110W", "F160W"]);
/// assert_eq!(meta.get("gain"), Some(&Value::Float(2.5)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Null.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of any size. The standard allows literals from -2^63 + 2 to 2^63 - 1; a
    /// [`Writer`](crate::Writer) writes any other integer as `!core/integer`.
    Int(Integer<'static>),
    /// A floating-point number.
    Float(f64),
    /// A string.
    String(String),
    /// A date.
    Date(Date),
    /// A date and time.
    DateTime(DateTime),
    /// Bytes, written in Base64 as `!!binary`. Large data belongs in an [`Array`].
    Binary(Vec<u8>),
    /// A scalar in a notation other than the one this crate would write.
    ScalarText(ScalarText),
    /// A list.
    Sequence(Sequence),
    /// Key-value pairs in order.
    Mapping(Mapping),
    /// A value with a tag.
    Tagged(Box<Tagged>),
    /// An array, together with the data that will be stored in the file.
    Array(Box<Array>),
    /// A node of the [`Tree`](crate::Tree) that can occur in several positions.
    Shared(SharedId),
}

/// A value with a tag, which determines its meaning.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tagged {
    /// The full tag, such as `tag:stsci.edu:asdf/core/complex-1.0.0`, or a local tag, such as `!local`.
    pub tag: String,
    /// The value without its tag. It is not tagged itself.
    pub value: Value,
}

impl Value {
    /// Adds a tag to the value, replacing an existing one.
    ///
    /// ```
    /// use asdf::Value;
    ///
    /// let value = Value::from("(1+2j)").tagged("tag:stsci.edu:asdf/core/complex-1.0.0");
    /// assert_eq!(value.tag(), Some("tag:stsci.edu:asdf/core/complex-1.0.0"));
    /// ```
    #[must_use]
    pub fn tagged(self, tag: impl Into<String>) -> Self {
        let value = match self {
            Self::Tagged(tagged) => tagged.value,
            value => value,
        };
        Self::Tagged(Box::new(Tagged { tag: tag.into(), value }))
    }

    /// Returns the tag, if the value has one.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Tagged(tagged) => Some(&tagged.tag),
            _ => None,
        }
    }

    /// Returns the value without its tag.
    pub fn untagged(&self) -> &Self {
        match self {
            Self::Tagged(tagged) => &tagged.value,
            value => value,
        }
    }

    pub(crate) fn untagged_mut(&mut self) -> &mut Self {
        match self {
            Self::Tagged(tagged) => &mut tagged.value,
            value => value,
        }
    }

    /// Returns the mapping if the value is one, regardless of its tag.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match self.untagged() {
            Self::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// Like [`Self::as_mapping`], but returns a mutable reference.
    pub fn as_mapping_mut(&mut self) -> Option<&mut Mapping> {
        match self.untagged_mut() {
            Self::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// Returns the sequence if the value is one, regardless of its tag.
    pub fn as_sequence(&self) -> Option<&Sequence> {
        match self.untagged() {
            Self::Sequence(sequence) => Some(sequence),
            _ => None,
        }
    }

    /// Like [`Self::as_sequence`], but returns a mutable reference.
    pub fn as_sequence_mut(&mut self) -> Option<&mut Sequence> {
        match self.untagged_mut() {
            Self::Sequence(sequence) => Some(sequence),
            _ => None,
        }
    }

    /// Returns the text if the value is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self.untagged() {
            Self::String(text) => Some(text),
            Self::ScalarText(written) => written.as_str(),
            _ => None,
        }
    }

    /// Returns the value if it is an integer that fits into an `i64`.
    pub fn as_i64(&self) -> Option<i64> {
        match self.untagged() {
            Self::Int(integer) => integer.as_i128().and_then(|value| value.try_into().ok()),
            Self::ScalarText(written) => written.as_i64(),
            _ => None,
        }
    }

    /// Returns the value as a JSON object key, like [`YamlNode::to_key`](crate::yaml::YamlNode::to_key). Pointers
    /// contain the same string, but escaped. Integers, booleans and null have a uniform spelling, such as `7`, `true`
    /// and `null`. Bytes are returned as Base64. Returns `None` for a merge key, a collection or a shared node.
    ///
    /// ```
    /// use asdf::Value;
    ///
    /// assert_eq!(Value::Bool(true).to_key().as_deref(), Some("true"));
    /// assert_eq!(Value::Binary(b"hello".to_vec()).to_key().as_deref(), Some("aGVsbG8="));
    /// ```
    pub fn to_key(&self) -> Option<Cow<'_, str>> {
        Some(kind_and_name(self)?.1)
    }

    /// Returns `true` if the value has an ndarray tag. Arrays copied from a file have one, but a
    /// [`Self::Array`] usually does not.
    pub(crate) fn is_ndarray(&self) -> bool {
        is_ndarray_tag(self.tag())
    }

    /// Returns the `source` of an array node that was copied from a file. Returns `None` if the elements are in
    /// the tree, or if the value is not such a node.
    pub(crate) fn source(&self) -> Option<Source<'_>> {
        let source = self.as_mapping().filter(|_| self.is_ndarray())?.get("source")?;
        source.as_str().map(Source::from).or_else(|| source.as_i64().map(Source::from))
    }

    /// Returns `true` if the value is a sequence, mapping or array. Shared nodes are not resolved.
    pub fn is_collection(&self) -> bool {
        matches!(self.untagged(), Self::Sequence(_) | Self::Mapping(_) | Self::Array(_))
    }
}
