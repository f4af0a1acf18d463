#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod asdf;
mod blocks;
mod codec;
pub mod diagnostic;
pub mod error;
pub mod layout;
mod locate;
pub mod ndarray;
mod options;
mod tree;
pub mod yaml;

pub use asdf::Asdf;
pub use blocks::checksum::ChecksumVerdict;
pub use blocks::{Block, Blocks, Iter as BlockIter};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use error::{ArrayError, BlockError, CodecError, Error, ReferenceError, Result};
pub use layout::{BlockHeader, Layout};
pub use ndarray::NdArray;
pub use options::{OpenOptions, Strictness, Verify};
pub use tree::external::External;
pub use tree::integer::BigInteger;
pub use tree::{Node, complex, external, json, metadata, tag};
