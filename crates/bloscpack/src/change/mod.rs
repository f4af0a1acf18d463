//! Changing existing files: appending data, replacing the metadata, and rewriting a file with
//! another version or checksum.

pub(crate) mod append;
pub(crate) mod rewrite;

pub use append::{AppendOptions, Appended, Appender, append};
pub use rewrite::{MetadataEdit, RewriteOptions, rewrite, rewrite_file, set_metadata};
