#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod blocks;
mod cache;
mod checksum;
mod codec;
pub mod complex;
pub mod diagnostic;
pub mod error;
pub mod external;
mod file;
mod integer;
pub mod json;
pub mod layout;
pub mod metadata;
pub mod ndarray;
mod node;
mod opening;
mod options;
mod refs;
mod reports;
mod salvage;
mod table;
pub mod tag;
#[cfg(test)]
mod test_file;
pub mod yaml;

pub use blocks::{Block, Blocks, Iter as BlockIter};
pub use checksum::ChecksumVerdict;
pub use diagnostic::{Code, Diagnostic, Severity};
pub use error::{ArrayError, BlockError, CodecError, Error, ReferenceError, Result};
pub use external::External;
pub use file::Asdf;
pub use integer::BigInteger;
pub use layout::{BlockHeader, Layout};
pub use ndarray::NdArray;
pub use node::Node;
pub use options::{OpenOptions, Strictness, Verify};
