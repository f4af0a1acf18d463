//! Changing files that exist: more data, other metadata, another version or checksum.

pub(crate) mod append;
pub mod journal;
pub(crate) mod rewrite;
