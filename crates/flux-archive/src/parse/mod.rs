//! From JSON text to an archive: where it is, its entries as written, their meaning, and what they
//! are to each other.

mod archive;
mod entry;
mod locate;
mod member;
mod options;
mod raw;
mod regions;
mod report;
mod tree;

pub(crate) use entry::decode;
pub use locate::{JOBSPEC_FILES, value_at};
pub use member::Member;
pub use options::OpenOptions;
pub use raw::{RawEntries, RawEntry};
pub(crate) use report::Report;
pub(crate) use tree::Tree;
