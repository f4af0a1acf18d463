#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod asdf;
mod codec;
mod complex;
pub mod diagnostic;
mod error;
mod file;
pub mod inspect;
pub mod layout;
pub mod ndarray;
mod options;
pub mod save;
pub mod tag;
pub mod tree;
pub mod value;
pub mod yaml;

pub mod block {
    //! The binary blocks of a file, with their headers, stored bytes and decoded data.
    //!
    //! [`Asdf::blocks`](crate::Asdf::blocks) returns [`Blocks`]. A [`Block`] consists of a header
    //! and stored bytes. The stored bytes are the data of the block, which may be compressed. Arrays
    //! refer to blocks by a [`BlockRef`].

    pub use crate::codec::{Chunk, ParseCompressionError};
    pub use crate::error::{BlockError, CodecError};
    pub use crate::file::blocks::{Block, BlockIter, BlockRef, Blocks, ChecksumVerdict};

    pub use binio::checksum::Digest;
}

pub use asdf::Asdf;
pub use codec::Compression;
pub use error::{Error, ErrorKind, Result};
pub use ndarray::view::NdArray;
pub use options::{External, OpenOptions, Strictness, Verify};
pub use save::options::WriteOptions;
pub use save::writer::Writer;
pub use tree::node::Node;
pub use value::model::Value;
pub use value::tree::Tree;

pub use binio::{Limits, ReadAt};
pub use bytes::Bytes;
