//! Encoding numbers from the tree as bytes.

pub(crate) use binio::array::Number;
use binio::array::ScalarType;

/// Appends a number to `out` as an element of the given type. Returns `None` if the type cannot
/// represent it.
pub(crate) fn push(number: Number, scalar: ScalarType, out: &mut Vec<u8>) -> Option<()> {
    let mut bytes = [0; 16];
    let bytes = bytes.get_mut(..usize::try_from(scalar.size()).ok()?)?;
    scalar.encode(number, bytes)?;
    out.extend_from_slice(bytes);
    Some(())
}
