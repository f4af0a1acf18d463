#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod atomic;
#[cfg(feature = "blosc")]
pub mod blosc;
mod checksum;
mod digest;
mod endian;
mod error;
pub mod fault;
mod huge_pages;
mod limits;
#[cfg(all(feature = "mmap", any(unix, windows)))]
#[allow(
    unsafe_code,
    reason = "mapping a file is unsafe by nature; the one call is justified there"
)]
mod mmap;
pub mod npy;
mod reader;
mod scan;
pub mod slice;
pub mod source;
mod write;

pub use atomic::{AtomicFile, sync_directory};
pub use checksum::{Algorithm, Checksum, HashReader, HashWriter, Hasher, digest_many};
pub use digest::Digest;
pub use endian::{Endian, Scalar, decode, decode_into, swap_in_place};
pub use error::{Context, Error, ErrorKind, Result};
pub use huge_pages::prefer_huge_pages;
pub use limits::Limits;
#[cfg(all(feature = "mmap", any(unix, windows)))]
pub use mmap::Mmap;
pub use reader::ByteReader;
pub use scan::Scanner;
#[cfg(any(unix, windows))]
pub use source::FileSource;
pub use source::{ReadAt, ReadLog, Span, Stream, Window, drive};
pub use write::{PatchWriter, Slot};

pub use bytes::Bytes;
