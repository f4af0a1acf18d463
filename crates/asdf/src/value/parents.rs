//! Creating the missing nodes along the path of a pointer.

use crate::error::{Error, ReferenceError, Result};
use crate::value::{Mapping, Sequence, Value};

/// Wraps a value in the collections that the missing part of a pointer requires: a list for `-` or `0`, a
/// mapping for any other key.
///
/// Fails if the missing part contains a number above 0, because the first item of a new list has
/// the index 0.
pub(crate) fn wrapped(pointer: &str, missing: &[impl AsRef<str>], value: Value) -> Result<Value> {
    missing.iter().rev().try_fold(value, |inner, token| match token.as_ref() {
        "-" | "0" => Ok(Sequence::from_iter([inner]).into()),
        number if binio::pointer::index(number).is_some() => {
            let message = format!(
                "the first item of a new list cannot have the index `{number}`, expected `-` or `0`"
            );
            Err(Error::reference(pointer, ReferenceError::NotFound(message)))
        }
        key => Ok(Mapping::from_iter([(key, inner)]).into()),
    })
}

/// Returns the pointer to the node that must exist before a value is set. This is the parent of the value, or
/// the parent of the list if the value is an item of a list that does not exist.
pub(crate) fn needed(pointer: &str, exists: impl Fn(&str) -> bool) -> &str {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return "" };
    let is_item = last == "-" || binio::pointer::index(last).is_some();
    match parent.rsplit_once('/') {
        Some((above, _)) if is_item && !exists(parent) => above,
        _ => parent,
    }
}
