//! From an archive to the disk, without a step outside of the target.
//!
//! ```text
//! plan          limits, paths that occur twice, links' targets: all before anything is written
//! directories   with mode 0700, so that they can be filled
//! files         in parallel: a temporary file beside the goal, every blob verified, then renamed
//! links         when no path leads through them any more
//! finish        modes and times of directories, deepest first
//! ```
//!
//! Every path is walked component by component from the descriptor of the target, and no component
//! may be a symbolic link, whoever made it and whenever. What fails leaves nothing behind and does
//! not stop the rest.

mod content;
mod existing;
mod options;
mod plan;
mod report;
mod run;

pub use existing::Existing;
pub use options::{Extractor, LinkPolicy, Select};
pub use report::ExtractReport;
