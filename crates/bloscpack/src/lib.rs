//! Reads and writes Bloscpack files: chunks of Blosc-compressed data with checksums, metadata and
//! numpy arrays.
#![forbid(unsafe_code)]

mod checksum;
mod chunking;
mod error;
mod finding;
mod header;
mod json;
mod meta;
mod options;

pub use checksum::Checksum;
pub use chunking::{ChunkSize, Chunking};
pub use error::{Error, ErrorKind, MetadataError, Part, Result};
pub use finding::{Code, Finding, Severity};
pub use header::{Header, Version};
pub use meta::{MetaHeader, Metadata};
pub use options::{ChunkOrder, Strictness, Verify};
