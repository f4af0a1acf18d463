//! Writing the data that a layout describes.
//!
//! | module | what it does |
//! |---|---|
//! | `options` | how a file is written, and where it begins |
//! | `writer`, `sequential` | new files: by position, or in one pass |
//! | `target` | the row that a path leads to, and the bytes of the row |
//! | `convert` | elements of one type as elements of another |
//! | `missing` | the paths of data that were not put |
//! | `references` | references to items |
//! | `extend`, `patch` | more data in a native file; other values in any file |

mod convert;
mod extend;
mod missing;
pub(crate) mod options;
mod patch;
mod references;
mod sequential;
mod target;
pub(crate) mod writer;

pub use extend::{ExtendMode, Extension};
pub use patch::Patch;
pub use writer::WriteReport;
