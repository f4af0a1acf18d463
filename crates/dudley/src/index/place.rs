//! Computing the addresses of rows by the rules of [`place`](crate::place). If an address cannot be
//! computed, the functions return `None`. The resolver then reports the reason.

use super::format::DimRecord;
use crate::layout::Placement;
use crate::place::scope::{Len, len_of};
use crate::place::sizes::{Numbers, place};

/// Returns the address of a row. `cursor` is the end of the row before it. If the layout does not
/// state a placement, `placement` is the alignment of the type.
pub(super) fn address(
    placement: Placement,
    cursor: Option<u64>,
    nbytes: Option<u64>,
) -> Option<u64> {
    match (placement, nbytes) {
        (Placement::Address(address), _) => Some(address),
        (_, Some(nbytes)) => place(&mut Numbers, Some(placement), cursor, &nbytes, 1).ok()?,
        (_, None) => None,
    }
}

/// Returns the number of elements, which is the product of the dimensions. Returns `None` if a
/// dimension is invalid (`None`) or unknown, or if the product overflows. Calls `visit` with the
/// length of each dimension.
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
            DimRecord::Named(number, suffix) => match len_of::<()>(param(number)?, suffix).ok()? {
                Len::Known(len) => len,
                _ => continue,
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
