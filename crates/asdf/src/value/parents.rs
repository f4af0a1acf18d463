//! Pointers to nodes that do not exist yet: what is created on the way to them.

use crate::error::{Error, ReferenceError, Result};
use crate::value::{Mapping, Sequence, Value};

/// Wraps a value in the collections that the rest of a pointer needs: a list for `-` or `0`, a mapping for
/// any other key.
///
/// Fails for a greater number, since the first item of a list has the number 0.
pub(crate) fn wrapped(pointer: &str, missing: &[impl AsRef<str>], value: Value) -> Result<Value> {
    missing.iter().rev().try_fold(value, |inner, token| match token.as_ref() {
        "-" | "0" => Ok(Sequence::from_iter([inner]).into()),
        number if binio::pointer::index(number).is_some() => {
            let message = format!("a new list has no item `{number}`: expected `-` or `0`");
            Err(Error::reference(pointer, ReferenceError::NotFound(message)))
        }
        key => Ok(Mapping::from_iter([(key, inner)]).into()),
    })
}

/// Returns the pointer to the node that must exist before a value is set. The list that a value is
/// the first item of need not exist.
pub(crate) fn needed(pointer: &str, exists: impl Fn(&str) -> bool) -> &str {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return "" };
    let is_item = last == "-" || binio::pointer::index(last).is_some();
    match parent.rsplit_once('/') {
        Some((above, _)) if is_item && !exists(parent) => above,
        _ => parent,
    }
}
