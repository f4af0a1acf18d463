//! Comparing scalars, and displaying values.

use super::Tolerance;
use super::number::Number;
use crate::Node;
use crate::yaml::{Content, NodeKind};

/// Maximum number of characters of a displayed value.
const MAX_SHOWN: usize = 60;

/// Returns `true` if two nodes are equal scalars. Numbers are compared within the tolerance. Scalars that are
/// invalid for their tags are equal if they have the same text.
pub(super) fn is_equal(before: Node<'_>, after: Node<'_>, tolerance: Tolerance) -> bool {
    match (number(before), number(after)) {
        (Some(before), Some(after)) => return tolerance.allows(before, after),
        (None, None) => {}
        _ => return false,
    }
    match (before.value(), after.value()) {
        (Ok(Content::Sequence | Content::Mapping), _)
        | (_, Ok(Content::Sequence | Content::Mapping)) => false,
        (Ok(before), Ok(after)) => before == after,
        (Err(_), Err(_)) => before.text().is_some() && before.text() == after.text(),
        _ => false,
    }
}

/// Returns the number that a node represents. Integers beyond 128 bits are converted to floats.
fn number(node: Node<'_>) -> Option<Number> {
    if let Some(integer) = node.as_i128() {
        return Some(Number::Int(integer));
    }
    if let Some(float) = node.as_f64() {
        return Some(Number::Float(float));
    }
    // Real numbers have been handled above, so this can only be a complex number.
    node.complex().ok().map(Number::Complex)
}

/// Describes a node briefly: the value of a scalar, or the size of a collection.
pub(in crate::inspect) fn shown(node: Node<'_>) -> String {
    let count = |one: &str| match node.len() {
        1 => format!("1 {one}"),
        len => format!("{len} {one}s"),
    };
    if node.is_ndarray() {
        return "an array".to_owned();
    }
    match node.kind() {
        NodeKind::Sequence => format!("[..] ({})", count("item")),
        NodeKind::Mapping => format!("{{..}} ({})", count("key")),
        NodeKind::String => {
            shortened(&serde_json::Value::from(node.text().unwrap_or_default()).to_string())
        }
        NodeKind::Null => "null".to_owned(),
        _ => shortened(node.text().unwrap_or_default()),
    }
}

/// Truncates text that is longer than [`MAX_SHOWN`].
pub(in crate::inspect) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}
