//! Creating an archive from files.
//!
//! ```text
//! walk:      visit files in byte order of names, and each directory after its content
//! prepare:   read several files in parallel, and encode them, or store them as blobs
//! write:     write the entries in the order of the walk
//! ```
//!
//! | a regular file | becomes |
//! |---|---|
//! | that is empty or a single hole | an entry with a `size`, but no `data` |
//! | with a store, above the threshold | `blobvec` |
//! | any other file whose content is UTF-8 without a NUL | `utf-8` |
//! | any other file | `base64` |
//!
//! Flux also writes text with a NUL as `utf-8`, but cannot read such an archive.

mod content;
mod encode;
mod options;
mod pieces;
mod report;
mod run;
mod walk;

pub use options::{Creator, Filter, Holes, Times};
pub use report::CreateReport;
