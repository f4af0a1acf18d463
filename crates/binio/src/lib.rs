#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod checksum;
mod endian;
mod error;
mod limits;
#[cfg(feature = "mmap")]
#[allow(
    unsafe_code,
    reason = "mapping a file is unsafe by nature; the one call is justified there"
)]
mod mmap;
mod reader;
mod scan;
pub mod source;

pub use checksum::{Algorithm, Checksum, Digest, HashReader, HashWriter, Hasher, digest_many};
pub use endian::{Endian, Scalar, decode, decode_into, swap_in_place};
pub use error::{Context, Error, ErrorKind, Result};
pub use limits::Limits;
#[cfg(feature = "mmap")]
pub use mmap::Mmap;
pub use reader::ByteReader;
pub use scan::Scanner;
#[cfg(any(unix, windows))]
pub use source::FileSource;
pub use source::{ReadAt, Span, Stream};

pub use bytes::Bytes;
