//! The parts of a Bloscpack file: their bytes and their meaning. The public types are plain values,
//! which neither read nor write files.
//!
//! ```text
//! header | metadata section, optional | offset table, optional | chunk digest | chunk digest ...
//! ```
//!
//! [`Header`], [`MetaHeader`] and [`Metadata`] represent parts of a file. A [`Layout`] contains the
//! range of each part, and a [`ChunkEntry`] for each chunk. [`Chunking`] divides data into chunks.

pub(crate) mod checksum;
pub(crate) mod chunking;
pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod metadata;
pub(crate) mod offset_table;
#[cfg(test)]
pub(crate) mod test_file;

pub use crate::error::{MetadataError, Part};
pub use chunking::Chunking;
pub use header::{Header, Version};
pub use layout::{ChunkEntry, Layout};
pub use metadata::encode::MetadataOptions;
pub use metadata::{MetaHeader, Metadata, exact_json};

pub use binio::checksum::Digest;
