//! Creating an archive from files.
//!
//! ```text
//! walk      by descriptors; names in byte order, each directory after its content
//! prepare   several files in parallel: read, encode or divide into blobs, hash and store
//! write     in the order of the walk
//! ```
//!
//! | a regular file | becomes |
//! |---|---|
//! | without data: empty, or one hole | the empty form, with its size |
//! | with a store, above the threshold | `blobvec` |
//! | other, UTF-8 without a NUL | `utf-8` |
//! | other | `base64` |
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
