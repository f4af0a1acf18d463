//! Scalars with their notation in the file.

use crate::value::Value;
use crate::yaml::emit::{Place, default_style};
use crate::yaml::{
    Content as Read, Integer, NodeKind, NodeStyle, ScalarRules, YamlNode, kind_of, resolve_integer,
};

/// A scalar whose text or style differs from what this crate would write, such as `0x1F`, `~`, `1.50`, or the
/// lines after `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalarText {
    text: String,
    style: NodeStyle,
    /// Whether the scalar is quoted and has the tag `!`, so that its text is resolved as if it had no quotes.
    is_non_specific: bool,
}

impl ScalarText {
    /// Creates a scalar without quotes. Its type depends on the text: `0x1F` is an integer.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: NodeStyle::Plain, is_non_specific: false }
    }

    /// Creates a string that is written as lines after `|`, if possible.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: NodeStyle::Literal, is_non_specific: false }
    }

    pub(super) fn new(text: &str, style: NodeStyle) -> Self {
        let style = if style == NodeStyle::Folded { NodeStyle::Literal } else { style };
        Self { text: text.to_owned(), style, is_non_specific: false }
    }

    /// Returns the text without quotes.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the style in which the scalar is written if the text and the context allow it.
    pub fn style(&self) -> NodeStyle {
        self.style
    }

    /// Returns `true` if the scalar is quoted and has the tag `!`, as in `! "5"`. YAML readers then resolve the
    /// text as if it had no quotes.
    pub(crate) fn is_non_specific(&self) -> bool {
        self.is_non_specific
    }

    fn resolves(&self) -> bool {
        self.style == NodeStyle::Plain || self.is_non_specific
    }

    /// Returns the style, but `Plain` for a quoted scalar whose text is resolved as if it had no quotes.
    pub(super) fn resolved_style(&self) -> NodeStyle {
        if self.resolves() { NodeStyle::Plain } else { self.style }
    }

    /// Returns the kind of the scalar, assuming that it has no tag.
    pub fn kind(&self) -> NodeKind {
        kind_of(&self.text, self.resolved_style(), None, ScalarRules::Python).0
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        (self.kind() == NodeKind::String && !self.is_merge_key()).then_some(&self.text)
    }

    pub(super) fn as_i64(&self) -> Option<i64> {
        self.integer()?.as_i128()?.try_into().ok()
    }

    /// Returns the value if the scalar is an integer, assuming that it has no tag.
    pub(crate) fn integer(&self) -> Option<Integer<'static>> {
        if !self.resolves() {
            return None;
        }
        Some(match resolve_integer(&self.text, ScalarRules::Python)? {
            Integer::Small(value) => Integer::Small(value),
            Integer::Large { negative, digits } => {
                Integer::Large { negative, digits: digits.into_owned().into() }
            }
        })
    }

    /// Returns `true` if the scalar acts as a merge key when used as a key.
    pub fn is_merge_key(&self) -> bool {
        self.style == NodeStyle::Plain && self.text == "<<"
    }
}

/// Returns the value of a scalar node without its tag. The notation is only remembered if it differs from
/// what this crate would write.
pub(super) fn from_node(node: YamlNode<'_>, place: Place) -> Value {
    let (text, style) = (node.text().unwrap_or_default(), node.style());
    // A multi-line key is written in the same style as any other multi-line text.
    let (is_key, place) = (place.is_key, Place { is_key: false, ..place });
    let written = || Value::ScalarText(ScalarText::new(text, style));
    if node.tag().is_some_and(|tag| tag != crate::yaml::CONSTANT_TAG) {
        return match node.value() {
            Ok(Read::Binary(bytes)) => Value::Binary(bytes),
            // The tag determines the type regardless of the style, so the default style need not be kept.
            _ if default_style(text, Place { is_tagged: true, ..place }) == style => {
                Value::String(text.to_owned())
            }
            _ => written(),
        };
    }
    if is_key && style == NodeStyle::Plain && text == "<<" {
        return written();
    }
    if style != NodeStyle::Plain && node.kind() != NodeKind::String && !text.is_empty() {
        // A quoted scalar that is not a string has the tag `!`, because other tags were handled
        // above.
        return Value::ScalarText(ScalarText {
            is_non_specific: true,
            ..ScalarText::new(text, style)
        });
    }
    let value = match node.value() {
        Ok(Read::String(_)) if default_style(text, place) == style => {
            return Value::String(text.to_owned());
        }
        Ok(Read::Null) if text.is_empty() => return Value::Null,
        Ok(Read::Null) => Value::Null,
        Ok(Read::Bool(value)) => Value::Bool(value),
        Ok(Read::Int(Integer::Small(value))) => Value::Int(Integer::Small(value)),
        Ok(Read::Float(value)) => Value::Float(value),
        Ok(Read::Date(date)) => Value::Date(date),
        Ok(Read::DateTime(time)) => Value::DateTime(time),
        _ => return written(),
    };
    let is_canonical =
        crate::value::emit::plain_text(&value).is_some_and(|canonical| canonical == text);
    if is_canonical && style == NodeStyle::Plain { value } else { written() }
}
