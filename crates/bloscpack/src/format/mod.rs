//! The bytes of a Bloscpack file and their meaning, without any reading or writing of files.
//!
//! ```text
//! header | metadata section, optional | offset table, optional | chunk digest | chunk digest ...
//! ```

pub(crate) mod checksum;
pub(crate) mod chunking;
pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod metadata;
pub(crate) mod offset_table;
#[cfg(test)]
pub(crate) mod test_file;
