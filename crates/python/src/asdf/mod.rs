//! The Rust part of the Python module `scibin.asdf`.

mod array;
mod blocks;
mod build;
mod convert;
mod edit;
mod error;
mod file;
mod node;
mod report;
mod write;

pub(crate) use edit::AsdfEditor;
pub(crate) use file::AsdfFile;
pub(crate) use node::AsdfNode;
pub(crate) use write::{asdf_dumps, asdf_write};
