//! From the disk to an archive.
//!
//! ```text
//! walk      by descriptors; names in the order of their bytes, what a directory holds before it
//! prepare   some files at a time in parallel: read, told apart, cut into blobs, hashed, stored
//! write     in the order of the walk
//! ```
//!
//! | a regular file | becomes |
//! |---|---|
//! | without data: empty, or one hole | the empty form, with its size |
//! | with a store, above the threshold | `blobvec` |
//! | other, of UTF-8 without NUL | `utf-8` |
//! | other | `base64` |
//!
//! Text with a NUL would be `utf-8` in Flux; no Flux could read that archive again.

mod content;
mod options;
mod report;
mod run;
mod walk;

pub use options::{Creator, Filter, Holes, Times};
pub use report::CreateReport;
