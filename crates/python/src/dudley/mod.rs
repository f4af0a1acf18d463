//! Support for Dudley, on which the Python module `scibin.dudley` is built.

mod array;
mod error;
mod file;
mod layout;

pub(crate) use file::DudleyFile;
pub(crate) use layout::DudleyLayout;
