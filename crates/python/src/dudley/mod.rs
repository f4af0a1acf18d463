//! Dudley: what `scibin.dudley` is built on.

mod array;
mod error;
mod file;
mod layout;

pub(crate) use file::DudleyFile;
pub(crate) use layout::DudleyLayout;
