//! ASDF: what `scibin.asdf` is built on.

mod array;
mod convert;
mod error;
mod file;
mod node;
mod report;

pub(crate) use file::AsdfFile;
pub(crate) use node::AsdfNode;
