#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

#[cfg(feature = "array")]
pub mod array;
#[cfg(feature = "blosc")]
pub mod blosc;
#[cfg(feature = "checksum")]
#[allow(
    unreachable_code,
    unused_mut,
    unused_variables,
    reason = "without an algorithm nothing is reachable"
)]
mod checksum;
pub mod diagnostic;
pub mod error;
pub mod memory;
mod nearest;
mod number;
mod options;
pub mod pointer;
mod scan;
mod signature;
pub mod source;
#[cfg(feature = "write")]
pub mod write;

#[cfg(feature = "checksum")]
pub use checksum::{Algorithm, Digest, Hasher};
pub use error::{Context, Error, ErrorKind, Result};
pub use memory::prefer_huge_pages;
pub use nearest::nearest;
pub use number::{ByteReader, Endian, Scalar, decode, decode_into, swap_in_place};
pub use options::{Limits, check_limit};
pub use scan::Scanner;
pub use signature::kind_by_signature;
#[cfg(all(feature = "mmap", any(unix, windows)))]
pub use source::Mmap;
#[cfg(any(test, feature = "testing"))]
pub use source::ReadLog;
pub use source::{FileSource, ReadAt, Span, Stream, Window, drive};
#[cfg(feature = "write")]
pub use write::{AtomicFile, PatchWriter, Slot, WriteAt, sync_directory};

pub use bytes::Bytes;
