//! Flux archives: what `scibin.flux_archive` is built on.

#[cfg(unix)]
mod disk;
mod error;
mod file;

#[cfg(unix)]
pub(crate) use disk::flux_create;
pub(crate) use file::FluxArchive;
