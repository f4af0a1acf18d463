//! Scalars: whether they are equal, and how they are shown.

use super::Tolerance;
use super::number::Number;
use crate::Node;
use crate::yaml::{Content, NodeKind};

/// Characters of a value that are shown.
const MAX_SHOWN: usize = 60;

/// Whether two nodes are equal scalars; numbers within the tolerance. A scalar whose text does not fit its tag is
/// equal to one of the same text.
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

/// The number that a node is; an integer of very many digits is none.
fn number(node: Node<'_>) -> Option<Number> {
    if let Some(integer) = node.as_i128() {
        return Some(Number::Int(integer));
    }
    if let Some(float) = node.as_f64() {
        return Some(Number::Float(float));
    }
    // Only of a complex tag, since real numbers are done.
    node.complex().ok().map(Number::Complex)
}

/// A node in short: a scalar as JSON, and how much is in a collection.
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

/// The start of a long text.
pub(in crate::inspect) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}
