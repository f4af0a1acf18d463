//! Extracting an archive, never outside the target directory.
//!
//! ```text
//! plan:          check limits, link targets and hash functions before anything is written
//! directories:   create directories; those whose mode will be set have mode 0700 until then
//! files:         write temporary files in parallel, verify every blob, and rename complete files
//! links:         create links after all files
//! finish:        set the modes and times of directories, children before parents
//! ```
//!
//! Every path is opened component by component from the descriptor of the target, and no component
//! may be a symbolic link, no matter who creates it or when. If a file or link fails, no part of it
//! is left behind. By default, the other entries are still extracted.

mod content;
mod existing;
mod options;
mod plan;
mod report;
mod run;

pub use existing::Existing;
pub use options::{Extractor, LinkPolicy, Select};
pub use report::ExtractReport;
