#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod asdf;
mod codec;
pub mod complex;
pub mod diagnostic;
pub mod error;
mod file;
pub mod inspect;
pub mod layout;
pub mod ndarray;
mod options;
pub mod save;
pub mod tag;
mod tree;
pub mod value;
pub mod yaml;

pub use asdf::Asdf;
pub use binio::checksum::Digest;
pub use binio::{Endian, Limits, ReadAt};
pub use codec::{Chunk, Compression, ParseCompressionError};
pub use diagnostic::{Code, Diagnostic, Place, Severity};
pub use error::{ArrayError, BlockError, CodecError, Error, ErrorKind, ReferenceError, Result};
pub use file::blocks::{Block, BlockRef, Blocks, ChecksumVerdict, Iter as BlockIter};
pub use inspect::verify::{CheckedBlock, Progress, VerifyOptions, VerifyReport};
pub use layout::{BlockHeader, Layout};
pub use ndarray::NdArray;
pub use options::{External, MAX_FILES, OpenOptions, Resolver, Strictness, Verify};
pub use save::{WriteOptions, Writer};
#[cfg(feature = "serde")]
pub use tree::deserialize;
pub use tree::{Found, Node, json, metadata};
#[cfg(feature = "serde")]
pub use value::serialize::{from_value, to_value};
pub use value::{Tree, Value};

pub use bytes::Bytes;
pub use half::f16;
pub use num_bigint::BigInt;
pub use num_complex::Complex;
