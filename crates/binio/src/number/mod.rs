//! Decoding numbers in either byte order: one at a time, in arrays, or one after another from a
//! slice.

pub(crate) mod endian;
mod reader;

pub use endian::{Scalar, decode, decode_into, swap_in_place};
pub use reader::ByteReader;
