//! The Rust part of the Python module `scibin.bloscpack`.

mod array;
mod error;
mod file;
mod write;

pub(crate) use file::BloscpackFile;
pub(crate) use write::{bloscpack_append, bloscpack_pack, bloscpack_pack_file, bloscpack_recover};
