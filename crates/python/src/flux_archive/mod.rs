//! The Rust part of the Python module `scibin.flux_archive`.

#[cfg(unix)]
mod disk;
mod error;
mod file;

#[cfg(unix)]
pub(crate) use disk::flux_create;
pub(crate) use file::FluxArchive;
