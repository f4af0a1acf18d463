//! Extracting an archive, never outside the target directory.
//!
//! ```text
//! plan          checks limits and link targets, before anything is written
//! directories   creates directories with mode 0700, so that they can be filled
//! files         writes temporary files in parallel, verifies every blob, and renames complete files
//! links         creates links after all files
//! finish        sets the modes and times of directories, deepest first
//! ```
//!
//! Every path is opened component by component from the descriptor of the target, and no component may be a symbolic
//! link, no matter who creates it and when. A failed entry leaves nothing behind and does not stop the others.

mod content;
mod existing;
mod options;
mod plan;
mod report;
mod run;

pub use existing::Existing;
pub use options::{Extractor, LinkPolicy, Select};
pub use report::ExtractReport;
