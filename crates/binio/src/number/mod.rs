//! Numbers with a byte order, and a cursor that reads them.

pub(crate) mod endian;
mod reader;

pub use endian::{Scalar, decode, decode_into, swap_in_place};
pub use reader::ByteReader;
