//! Decoding numbers in either byte order: field by field with a [`ByteReader`], or whole arrays
//! with [`decode`] and [`decode_into`].

pub(crate) mod endian;
mod reader;

pub use endian::{Scalar, decode, decode_into, swap_in_place};
pub use reader::ByteReader;
