//! Numbers with a byte order, and a cursor that reads them.

mod endian;
mod reader;

pub use endian::{Endian, Scalar, decode, decode_into, swap_in_place};
pub use reader::ByteReader;
