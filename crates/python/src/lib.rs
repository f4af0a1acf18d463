//! The extension module `scibin._scibin`, which is the part of the Python package `scibin` that is written in Rust.
//!
//! The module is kept small. The public interface, with its documentation and types, is in `python/scibin`. The
//! extension contains only code that must be fast, or that calls the crates.
//!
//! ```text
//! scibin.asdf, ...        Python: the interface, indexing, pickling
//!   |
//! asdf/, ...              one module per format: wraps a crate
//!   |
//! array                   lazy arrays, the same for every format
//! source, memory          bytes that Python provides, and bytes that Python receives
//! pool, error             threads that survive a fork; errors as exceptions
//! ```
//!
//! All code follows three rules:
//!
//! - A call that may read, decode or wait for a lock runs detached from the interpreter (`Python::detach`), so that
//!   other Python threads can run. Otherwise, a source written in Python could even cause a deadlock.
//! - A call that may use rayon runs in [`pool::install`]. In rayon's global pool, it would hang
//!   forever in a forked child process.
//! - All classes are frozen, `Send` and `Sync`, so the module does not need the global interpreter
//!   lock.

#![forbid(unsafe_code)]

mod array;
mod asdf;
mod bloscpack;
mod dudley;
mod error;
mod flux_archive;
mod limits;
mod memory;
mod pool;
mod source;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _scibin {
    #[pymodule_export]
    use crate::array::Array;
    #[pymodule_export]
    use crate::asdf::{AsdfEditor, AsdfFile, AsdfNode, asdf_dumps, asdf_write};
    #[pymodule_export]
    use crate::bloscpack::{
        BloscpackFile, bloscpack_append, bloscpack_pack, bloscpack_pack_file, bloscpack_recover,
    };
    #[pymodule_export]
    use crate::dudley::{DudleyFile, DudleyLayout};
    #[pymodule_export]
    use crate::flux_archive::FluxArchive;
    #[cfg(unix)]
    #[pymodule_export]
    use crate::flux_archive::flux_create;
    #[pymodule_export]
    use crate::memory::Memory;
    #[pymodule_export]
    use crate::pool::{set_threads, threads};
}
