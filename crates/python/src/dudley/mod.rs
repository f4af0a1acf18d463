//! The Rust part of the Python module `scibin.dudley`.

mod array;
mod error;
mod file;
mod layout;

pub(crate) use file::DudleyFile;
pub(crate) use layout::DudleyLayout;
