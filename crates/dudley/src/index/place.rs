//! Where rows lie, with the same rules as those of the resolver. What is irregular is none: then the resolver
//! finds out, and names it.

use super::format::{DimRecord, Place};
use crate::place::scope::round_up;

/// The address of what follows `cursor`.
pub(super) fn place(placement: Place, cursor: Option<u64>, nbytes: Option<u64>) -> Option<u64> {
    match (placement, nbytes) {
        (Place::At(address), _) => Some(address),
        (_, Some(0)) => cursor,
        (Place::Align(align), Some(_)) => round_up(cursor?, align).ok(),
        (_, None) => None,
    }
}

/// The product of dimensions, each of which is none if it is not valid. `visit` is called with the lengths.
pub(super) fn count(
    dims: impl Iterator<Item = Option<DimRecord>>,
    mut param: impl FnMut(u64) -> Option<i64>,
    mut visit: impl FnMut(u64),
) -> Option<u64> {
    let (mut count, mut is_known) = (1_u64, true);
    let mut is_empty = false;
    for dim in dims {
        let len = match dim? {
            DimRecord::Fixed(len) => len,
            DimRecord::Named(number, suffix) => match param(number)? {
                -1 => continue,
                0 => 0,
                value @ 1.. => value.checked_add(suffix.into())?.max(0).unsigned_abs(),
                _ => return None,
            },
        };
        visit(len);
        is_empty |= len == 0;
        match count.checked_mul(len) {
            Some(product) => count = product,
            None => is_known = false,
        }
    }
    match (is_empty, is_known) {
        (true, _) => Some(0),
        (false, true) => Some(count),
        (false, false) => None,
    }
}
