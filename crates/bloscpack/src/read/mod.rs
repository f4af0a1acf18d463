//! Reading files. Opening a file finds its parts with a few reads; chunks are read on demand.

pub(crate) mod chunk;
pub(crate) mod chunk_index;
pub(crate) mod open;
pub(crate) mod reader;
pub(crate) mod unpack;
pub(crate) mod unversioned;
