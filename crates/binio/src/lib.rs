#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

#[cfg(feature = "array")]
pub mod array;
mod atomic;
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
#[cfg(feature = "testing")]
pub mod fault;
mod limits;
pub mod memory;
pub mod npy;
mod number;
pub mod pointer;
mod scan;
pub mod slice;
pub mod source;
mod write;

pub use atomic::{AtomicFile, sync_directory};
#[cfg(feature = "checksum")]
pub use checksum::{Algorithm, Digest, Hasher};
pub use error::{Context, Error, ErrorKind, Result};
pub use limits::{Limits, check_limit};
pub use memory::prefer_huge_pages;
pub use number::{ByteReader, Endian, Scalar, decode, decode_into, swap_in_place};
pub use scan::Scanner;
#[cfg(any(unix, windows))]
pub use source::FileSource;
#[cfg(all(feature = "mmap", any(unix, windows)))]
pub use source::Mmap;
#[cfg(feature = "testing")]
pub use source::ReadLog;
pub use source::{ReadAt, Span, Stream, Window, drive};
pub use write::{PatchWriter, Slot};

pub use bytes::Bytes;
