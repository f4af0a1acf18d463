//! Reads and writes Bloscpack files: chunks of Blosc-compressed data with checksums, metadata and
//! numpy arrays.
#![forbid(unsafe_code)]

mod chain;
mod checksum;
mod chunk;
mod chunking;
mod error;
mod finding;
mod header;
mod json;
mod layout;
mod meta;
mod opening;
mod options;
mod parallel;
mod reader;
mod table;
#[cfg(test)]
mod test_file;
mod unpack;
mod unversioned;

pub use checksum::Checksum;
pub use chunk::ChunkEntry;
pub use chunking::{ChunkSize, Chunking};
pub use error::{Error, ErrorKind, MetadataError, Part, Result};
pub use finding::{Code, Finding, Severity};
pub use header::{Header, Version};
pub use layout::Layout;
pub use meta::{MetaHeader, Metadata};
pub use options::{ChunkOrder, OpenOptions, Strictness, Verify};
pub use reader::Reader;
pub use unpack::{Progress, UnpackOptions};
