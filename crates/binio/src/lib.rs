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
    reason = "code that matches on an algorithm is unreachable if no algorithm is enabled"
)]
pub mod checksum;
pub mod diagnostic;
#[cfg(feature = "checksum")]
#[allow(unused_variables, reason = "the variables are only used if an algorithm is enabled")]
mod digest;
mod error;
pub mod memory;
pub mod number;
mod options;
#[cfg(feature = "picture")]
pub mod picture;
pub mod pointer;
pub mod source;
#[cfg(feature = "write")]
pub mod write;

pub use error::{Context, Error, ErrorKind, FormatErrorKind, Result};
pub use number::endian::Endian;
pub use options::{Limits, check_limit};
#[cfg(all(feature = "mmap", any(unix, windows)))]
pub use source::mmap::Mmap;
pub use source::{file::FileSource, read_at::ReadAt, span::Span};

pub use bytes::Bytes;
