//! What one place of a tree holds.

use crate::ndarray::source::{Source, is_ndarray_tag};
use crate::value::{Array, Mapping, ScalarText, Sequence, SharedId};
use crate::yaml::{Date, DateTime, Integer};

/// What is at one place of a tree.
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
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An integer of any size. Beyond 64 bits it is written as a `!core/integer`.
    Int(Integer<'static>),
    /// A floating-point number.
    Float(f64),
    /// Text.
    String(String),
    /// A day.
    Date(Date),
    /// A day and a time of day.
    DateTime(DateTime),
    /// Bytes, written in base 64 as `!!binary`. Large data belong in an [`Array`].
    Binary(Vec<u8>),
    /// A scalar that a file spells in a manner of its own.
    ScalarText(ScalarText),
    /// A list.
    Sequence(Sequence),
    /// Pairs in their order.
    Mapping(Mapping),
    /// A value with a tag.
    Tagged(Box<Tagged>),
    /// An array, with the data that it will have in the file.
    Array(Box<Array>),
    /// A node of the [`Tree`](crate::Tree) that may stand at several places.
    Shared(SharedId),
}

/// A value with a tag. What the tag means decides what it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tagged {
    /// In full, such as `tag:stsci.edu:asdf/core/complex-1.0.0`, or `!local`.
    pub tag: String,
    /// What has the tag; not itself tagged.
    pub value: Value,
}

impl Value {
    /// The value with a tag. A tag that it has already is replaced.
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

    /// The tag, if it has one.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Tagged(tagged) => Some(&tagged.tag),
            _ => None,
        }
    }

    /// The value without its tag.
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

    /// The mapping, if it is one, whatever its tag.
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match self.untagged() {
            Self::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn as_mapping_mut(&mut self) -> Option<&mut Mapping> {
        match self.untagged_mut() {
            Self::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The list, if it is one, whatever its tag.
    pub fn as_sequence(&self) -> Option<&Sequence> {
        match self.untagged() {
            Self::Sequence(sequence) => Some(sequence),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn as_sequence_mut(&mut self) -> Option<&mut Sequence> {
        match self.untagged_mut() {
            Self::Sequence(sequence) => Some(sequence),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self.untagged() {
            Self::String(text) => Some(text),
            Self::ScalarText(written) => written.as_str(),
            _ => None,
        }
    }

    /// The value of an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.untagged() {
            Self::Int(integer) => integer.as_i128().and_then(|value| value.try_into().ok()),
            Self::ScalarText(written) => written.as_i64(),
            _ => None,
        }
    }

    /// Returns `true` if the value is an array that is in a file already: a node with the tag of an array.
    pub(crate) fn is_ndarray(&self) -> bool {
        is_ndarray_tag(self.tag())
    }

    /// Where the elements of an array are that is in a file already, if not in the tree.
    pub(crate) fn source(&self) -> Option<Source<'_>> {
        let source = self.as_mapping().filter(|_| self.is_ndarray())?.get("source")?;
        source.as_str().map(Source::from).or_else(|| source.as_i64().map(Source::from))
    }

    /// Whether it is a list, a mapping or an array. A shared node is not looked into.
    pub fn is_collection(&self) -> bool {
        matches!(self.untagged(), Self::Sequence(_) | Self::Mapping(_) | Self::Array(_))
    }
}
