//! Schema keywords for types, tags, ranges and counts, which do not contain other schemas.

use std::collections::HashSet;

use crate::inspect::pattern::{Wildcards, glob};
use crate::yaml::{Content, Integer, NodeKind, YamlNode};

/// Maximum number of list items that are compared with each other. Most scalars do not count,
/// because they are looked up by value.
const MAX_COMPARED: usize = 1000;
/// Maximum number of characters that a message quotes from a string.
const MAX_QUOTED: usize = 60;

/// Returns the reason why a node does not match a keyword. Returns `None` if it matches, or if the keyword
/// does not apply.
pub(super) fn mismatch(
    node: YamlNode<'_>,
    schema: YamlNode<'_>,
    keyword: &str,
    value: YamlNode<'_>,
) -> Option<String> {
    match keyword {
        "type" => of_type(node, schema, value),
        "tag" => of_tag(node, value.as_str()?),
        "minimum" | "maximum" => within(node, schema, keyword, value),
        "multipleOf" => multiple(node, value),
        "minLength" | "maxLength" => {
            let text = string(node)?;
            counted(keyword, text.chars().count(), value, "character")
        }
        "minItems" | "maxItems" if type_of(node) == Type::Array => {
            counted(keyword, node.len(), value, "item")
        }
        "minProperties" | "maxProperties" if type_of(node) == Type::Object => {
            counted(keyword, node.len(), value, "key")
        }
        "uniqueItems" if value.as_bool() == Some(true) => repeated(node),
        _ => None,
    }
}

/// The type of a node according to the reference implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
    /// A date or bytes, which match no name in `type`.
    Other,
    DateTime,
}

pub(super) fn type_of(node: YamlNode<'_>) -> Type {
    let is_own = |tag: &str| tag.starts_with("tag:yaml.org,2002:");
    let is_scalar = !matches!(node.kind(), NodeKind::Sequence | NodeKind::Mapping);
    // The reference implementation treats a scalar as a string if its tag is not one of YAML's own.
    if is_scalar && node.tag().is_some_and(|tag| !is_own(tag)) {
        return Type::String;
    }
    match node.kind() {
        NodeKind::Null => Type::Null,
        NodeKind::Bool => Type::Boolean,
        NodeKind::Int => Type::Integer,
        NodeKind::Float => Type::Number,
        NodeKind::String => Type::String,
        NodeKind::Sequence if node.is_ordered_mapping() => Type::Object,
        NodeKind::Sequence => Type::Array,
        NodeKind::Mapping => Type::Object,
        NodeKind::DateTime => Type::DateTime,
        NodeKind::Date | NodeKind::Binary => Type::Other,
    }
}

/// Returns the text of a node if the reference implementation treats it as a string.
pub(super) fn string(node: YamlNode<'_>) -> Option<&str> {
    if type_of(node) == Type::String { node.text() } else { None }
}

/// Returns `true` if a node has one of the types that the keyword `type` allows.
pub(super) fn is_of_type(node: YamlNode<'_>, schema: YamlNode<'_>, value: YamlNode<'_>) -> bool {
    let found = type_of(node);
    let allows_times = schema.get("format").and_then(YamlNode::as_str) == Some("date-time");
    let is_of = |name: &str| match name {
        "null" => found == Type::Null,
        "boolean" => found == Type::Boolean,
        "integer" => found == Type::Integer,
        "number" => matches!(found, Type::Integer | Type::Number),
        "string" => found == Type::String || (found == Type::DateTime && allows_times),
        "array" => found == Type::Array,
        "object" => found == Type::Object,
        _ => false,
    };
    type_names(value).any(is_of)
}

fn type_names(value: YamlNode<'_>) -> impl Iterator<Item = &str> {
    value.as_str().into_iter().chain(value.items().filter_map(YamlNode::as_str))
}

fn of_type(node: YamlNode<'_>, schema: YamlNode<'_>, value: YamlNode<'_>) -> Option<String> {
    if is_of_type(node, schema, value) {
        return None;
    }
    let names: Vec<String> =
        type_names(value).map(|name| format!("{} {name}", article(name))).collect();
    Some(format!("expected {}, found {}", names.join(" or "), shown(node)))
}

fn article(name: &str) -> &'static str {
    if name.starts_with(['a', 'i', 'o']) { "an" } else { "a" }
}

/// Describes a node for use in a message.
pub(super) fn shown(node: YamlNode<'_>) -> String {
    let text = node.text().unwrap_or_default();
    match type_of(node) {
        Type::Null => "null".to_owned(),
        Type::Boolean => format!("the boolean {}", cut(text)),
        Type::Integer => format!("the integer {}", cut(text)),
        Type::Number => format!("the number {}", cut(text)),
        Type::String => format!("the string {:?}", cut(text)),
        Type::Array => "an array".to_owned(),
        Type::Object => "an object".to_owned(),
        Type::DateTime => format!("the time {}", cut(text)),
        Type::Other if node.kind() == NodeKind::Date => format!("the date {}", cut(text)),
        Type::Other => "bytes".to_owned(),
    }
}

/// Truncates text that is longer than [`MAX_QUOTED`].
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

fn of_tag(node: YamlNode<'_>, pattern: &str) -> Option<String> {
    let own = |name: &str| Some(format!("tag:yaml.org,2002:{name}"));
    let tag = node.tag().map(str::to_owned).or_else(|| match type_of(node) {
        Type::Boolean => own("bool"),
        Type::Integer => own("int"),
        Type::Number => own("float"),
        Type::String => own("str"),
        Type::Array => own("seq"),
        Type::Object => own("map"),
        Type::Other if node.kind() == NodeKind::Binary => own("str"),
        Type::Null | Type::Other | Type::DateTime => None,
    });
    match tag {
        Some(tag) if glob(pattern, &tag, Wildcards::Path) => None,
        Some(tag) => Some(format!("expected the tag {pattern}, found {tag}")),
        None => Some(format!("expected the tag {pattern}, found {}", shown(node))),
    }
}

/// Returns the message for a node whose value is not in an `enum`.
pub(super) fn none_of(node: YamlNode<'_>, values: YamlNode<'_>) -> String {
    let allowed = values.items().take(12).map(|item| match item.text() {
        Some(text) if item.kind() == NodeKind::String => format!("{:?}", cut(text)),
        Some(text) => cut(text),
        None => "a collection".to_owned(),
    });
    let (allowed, more) =
        (allowed.collect::<Vec<_>>().join(", "), if values.len() > 12 { ", .." } else { "" });
    format!("expected one of {allowed}{more}, found {}", shown(node))
}

/// Returns `true` if two nodes have the same value. Integers can be equal to floats.
pub(super) fn is_equal(a: YamlNode<'_>, b: YamlNode<'_>) -> bool {
    match (type_of(a), type_of(b)) {
        (Type::Integer | Type::Number, Type::Integer | Type::Number) => {
            compare(a, b) == Some(std::cmp::Ordering::Equal)
        }
        (Type::String, Type::String) => a.text() == b.text(),
        _ => a == b,
    }
}

/// Compares two numbers by value.
fn compare(a: YamlNode<'_>, b: YamlNode<'_>) -> Option<std::cmp::Ordering> {
    if let (Some(a), Some(b)) = (a.as_i128(), b.as_i128()) {
        return Some(a.cmp(&b));
    }
    a.as_f64()?.partial_cmp(&b.as_f64()?)
}

/// Returns a message that lists the missing keys, or `None` if no keys are missing.
pub(super) fn missing<'k>(keys: impl Iterator<Item = &'k str>) -> Option<String> {
    let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
    match keys.as_slice() {
        [] => None,
        [key] => Some(format!("the key {key} is missing")),
        keys => Some(format!("the keys {} are missing", keys.join(", "))),
    }
}

fn within(
    node: YamlNode<'_>,
    schema: YamlNode<'_>,
    keyword: &str,
    bound: YamlNode<'_>,
) -> Option<String> {
    use std::cmp::Ordering::{Equal, Greater, Less};

    if !matches!(type_of(node), Type::Integer | Type::Number) {
        return None;
    }
    let (exclusive, outside, relation) = match keyword {
        "minimum" => ("exclusiveMinimum", Less, "least"),
        _ => ("exclusiveMaximum", Greater, "most"),
    };
    let is_exclusive = schema.get(exclusive).and_then(YamlNode::as_bool) == Some(true);
    let order = compare(node, bound)?;
    if order != outside && !(is_exclusive && order == Equal) {
        return None;
    }
    let bound = bound.text().unwrap_or_default();
    let bound = match (is_exclusive, outside) {
        (true, Less) => format!("more than {bound}"),
        (true, _) => format!("less than {bound}"),
        (false, _) => format!("at {relation} {bound}"),
    };
    Some(format!("expected {bound}, found {}", node.text().unwrap_or_default()))
}

fn multiple(node: YamlNode<'_>, of: YamlNode<'_>) -> Option<String> {
    if !matches!(type_of(node), Type::Integer | Type::Number) {
        return None;
    }
    let is_multiple = if let (Some(number), Some(of)) = (node.as_i128(), of.as_i128()) {
        of == 0 || number.checked_rem(of) == Some(0)
    } else {
        let quotient = node.as_f64()? / of.as_f64()?;
        quotient.fract() == 0.0
    };
    let (number, of) = (node.text().unwrap_or_default(), of.text().unwrap_or_default());
    (!is_multiple).then(|| format!("{} is not a multiple of {of}", cut(number)))
}

fn counted(keyword: &str, count: usize, bound: YamlNode<'_>, one: &str) -> Option<String> {
    let bound = bound.as_i128()?;
    let is_least = keyword.starts_with("min");
    let found = i128::try_from(count).unwrap_or(i128::MAX);
    let fits = if is_least { found >= bound } else { found <= bound };
    let relation = if is_least { "least" } else { "most" };
    let plural = if bound == 1 { "" } else { "s" };
    (!fits).then(|| format!("expected at {relation} {bound} {one}{plural}, found {count}"))
}

/// Formats a count with its noun, such as `1 item` or `2 items`.
pub(super) fn number_of(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// Returns a message if the items of a list are not unique.
fn repeated(node: YamlNode<'_>) -> Option<String> {
    if type_of(node) != Type::Array {
        return None;
    }
    let mut seen = HashSet::new();
    let mut others: Vec<YamlNode<'_>> = Vec::new();
    for (number, item) in node.items().enumerate() {
        let is_repeated = match key(item) {
            Some(key) => !seen.insert(key),
            None if others.len() < MAX_COMPARED => {
                let is_known = others.iter().any(|other| is_equal(*other, item));
                others.push(item);
                is_known
            }
            None => false,
        };
        if is_repeated {
            return Some(format!(
                "item {number} equals another item, but all items must be different"
            ));
        }
    }
    None
}

/// Returns a key for looking up scalars by value. Scalars with the same value have the same key. Returns `None`
/// for collections, timestamps, byte strings and NaN.
pub(super) fn key(node: YamlNode<'_>) -> Option<(u8, String)> {
    Some(match type_of(node) {
        Type::Null => (0, String::new()),
        Type::Boolean => (1, node.as_bool()?.to_string()),
        Type::Integer | Type::Number => match node.value().ok()? {
            Content::Int(Integer::Small(number)) => (2, number.to_string()),
            Content::Int(large) => (2, large.to_string()),
            // NaN is not equal to anything, so it has no key.
            Content::Float(number) if number.is_nan() => return None,
            // Adding 0.0 turns -0.0 into 0.0. A float with an integer value has the same key as that integer.
            Content::Float(number) => (2, format!("{}", number + 0.0)),
            _ => return None,
        },
        Type::String => (3, node.text()?.to_owned()),
        _ => return None,
    })
}
