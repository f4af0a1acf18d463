//! Bloscpack: what `scibin.bloscpack` is built on.

mod array;
mod error;
mod file;
mod write;

pub(crate) use file::BloscpackFile;
pub(crate) use write::{bloscpack_append, bloscpack_pack, bloscpack_pack_file, bloscpack_recover};
