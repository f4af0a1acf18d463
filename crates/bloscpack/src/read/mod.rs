//! Reading: a few reads find the parts of a file, and chunks are read on demand.

pub(crate) mod chunk;
pub(crate) mod chunk_index;
pub(crate) mod open;
pub(crate) mod reader;
pub(crate) mod unpack;
pub(crate) mod unversioned;
