//! Changing existing files: appending data, replacing the metadata, writing another version or checksum.

pub(crate) mod append;
pub(crate) mod rewrite;

pub use append::{AppendOptions, Appended, Appender, append};
pub use rewrite::{MetadataEdit, RewriteOptions, rewrite, rewrite_file, set_metadata};
