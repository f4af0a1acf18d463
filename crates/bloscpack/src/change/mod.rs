//! Changing files that exist: more data, other metadata, another version or checksum.

pub(crate) mod append;
pub(crate) mod rewrite;
