#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod asdf;
mod blocks;
pub mod diagnostic;
pub mod edit;
pub mod error;
pub mod inspect;
pub mod layout;
mod locate;
pub mod ndarray;
mod options;
mod tree;
pub mod write;
pub mod yaml;

pub use asdf::Asdf;
pub use binio::{Digest, Endian, Limits, ReadAt};
pub use blocks::codec::Chunk;
pub use blocks::{Block, Blocks, ChecksumVerdict, Iter as BlockIter};
pub use diagnostic::{Code, Diagnostic, Place, Severity};
pub use error::{ArrayError, BlockError, CodecError, Error, ErrorKind, ReferenceError, Result};
pub use inspect::verify::{CheckedBlock, Progress, VerifyOptions, VerifyReport};
pub use layout::{BlockHeader, Layout};
pub use ndarray::NdArray;
pub use options::{External, MAX_FILES, OpenOptions, Resolver, Strictness, Verify};
#[cfg(feature = "serde")]
pub use tree::deserialize;
#[cfg(feature = "serde")]
pub use tree::serialize::{from_value, to_value};
pub use tree::value::{self, Tree, Value};
pub use tree::{BigInteger, Found, Node, json, metadata};
pub use write::repair;
pub use write::{Compression, WriteOptions, Writer};
pub use yaml::{complex, tag};

pub use bytes::Bytes;
pub use half::f16;
pub use num_bigint::BigInt;
pub use num_complex::Complex;
