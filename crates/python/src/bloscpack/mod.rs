//! Support for Bloscpack, on which the Python module `scibin.bloscpack` is built.

mod array;
mod error;
mod file;
mod write;

pub(crate) use file::BloscpackFile;
pub(crate) use write::{bloscpack_append, bloscpack_pack, bloscpack_pack_file, bloscpack_recover};
