//! Reading and encoding integers: values of parameters, and counts of compressed arrays.

use binio::ReadAt;

use super::scope::{Result, Trouble};
use crate::diagnostic::Code;
use crate::layout::{Kind, Order, Primitive};

/// Reads an integer at an address. Fails if the stream is too short or cannot be read, or if the value
/// exceeds 2^63-1.
pub(crate) fn read(
    stream: &dyn ReadAt,
    address: u64,
    integer: Primitive,
    order: Order,
) -> Result<i64> {
    let size = integer.size();
    let left = stream.len().saturating_sub(address);
    if left < size {
        let message = format!(
            "the stream ends at {}: expected a value of type {integer} at address {address}",
            stream.len()
        );
        return Err(Trouble::Is(Code::StreamTooShort, message).into());
    }
    let mut bytes = [0; 8];
    // The size is at most 8 bytes, so the conversion cannot fail.
    let len = usize::try_from(size).unwrap_or_default().min(8);
    stream.read_exact_at(&mut bytes[..len], address)?;
    if order == Order::Big {
        bytes[..len].reverse();
    }
    let value = u64::from_le_bytes(bytes);
    if integer.kind() == Kind::Signed {
        let unused = 64 - 8 * u32::try_from(len).unwrap_or(8);
        return Ok(i64::from_le_bytes(bytes) << unused >> unused);
    }
    i64::try_from(value).map_err(|_| {
        let message = format!("the value at address {address} is above 2^63-1");
        Trouble::Is(Code::Overflow, message).into()
    })
}

#[cfg(feature = "write")]
/// Encodes an integer. Returns `None` if the value is out of range for the type.
pub(crate) fn integer_bytes(value: i64, integer: Primitive, order: Order) -> Option<Vec<u8>> {
    let size = usize::try_from(integer.size()).unwrap_or(8).min(8);
    let bits = 8 * u32::try_from(size).unwrap_or(8);
    let is_held = match integer.kind() {
        Kind::Signed => value << (64 - bits) >> (64 - bits) == value,
        _ => value >= 0 && (bits == 64 || value >> bits == 0),
    };
    let mut bytes = value.to_le_bytes()[..size].to_vec();
    if order == Order::Big {
        bytes.reverse();
    }
    is_held.then_some(bytes)
}
