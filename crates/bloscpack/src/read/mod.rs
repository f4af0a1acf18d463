//! Reading: the parts of a file are found by a few reads, its chunks are read when they are needed.

pub(crate) mod chunk;
pub(crate) mod chunk_index;
pub(crate) mod open;
pub(crate) mod reader;
pub(crate) mod unpack;
pub(crate) mod unversioned;
