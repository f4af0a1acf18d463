//! Writing data described by a layout.
//!
//! | module | content |
//! |---|---|
//! | `options` | options for writing, and the functions that start writing a file |
//! | `writer`, `sequential` | new files, written at any offset or in one pass |
//! | `put` | putting elements, strings and arrays at a path |
//! | `target` | the row that a path leads to, and the offsets of the elements in this row |
//! | `convert` | conversion of elements from one type to another |
//! | `params` | values of parameters stored in structs |
//! | `missing` | the paths of data that has not been written, and of parameters without a value |
//! | `references` | references to items |
//! | `extend`, `patch` | adding data to a native file; replacing values in any file |

mod convert;
mod extend;
mod missing;
pub(crate) mod options;
mod params;
mod patch;
mod put;
mod references;
mod sequential;
mod target;
pub(crate) mod writer;

pub use extend::{ExtendMode, Extension};
pub use patch::Patch;
pub use writer::WriteReport;
