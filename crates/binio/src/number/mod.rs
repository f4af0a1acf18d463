//! Decoding numbers in either byte order, alone, in arrays, or one after the other from a slice.

pub(crate) mod endian;
mod reader;

pub use endian::{Scalar, decode, decode_into, swap_in_place};
pub use reader::ByteReader;
