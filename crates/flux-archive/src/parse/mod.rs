//! Parsing an archive: its position in the document, its entries as written, their meaning, and the
//! relations between them.

mod archive;
mod entry;
mod locate;
mod member;
pub(crate) mod options;
mod raw;
mod regions;
mod report;
mod tree;

pub(crate) use entry::decode;
pub use locate::{JOBSPEC_FILES, value_at};
pub use member::Member;
pub(crate) use options::OpenOptions;
pub use raw::{RawEntries, RawEntry};
pub(crate) use report::Report;
pub(crate) use tree::Tree;
