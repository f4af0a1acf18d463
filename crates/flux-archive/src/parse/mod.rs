//! Parsing an archive: finding it in the document, reading its entries as written, interpreting
//! them, and finding conflicts between them.

mod archive;
#[cfg(unix)]
mod data;
mod entry;
mod locate;
#[cfg(unix)]
mod located;
#[cfg(unix)]
mod long_string;
mod member;
pub(crate) mod options;
mod raw;
mod regions;
mod report;
mod tree;

#[cfg(unix)]
pub(crate) use data::{Buffers, Data};
pub(crate) use entry::decode;
pub use locate::{JOBSPEC_FILES, value_at};
#[cfg(unix)]
pub use located::Located;
pub use member::Member;
pub(crate) use options::OpenOptions;
pub use raw::{RawEntries, RawEntry};
pub(crate) use regions::USUAL_BLOB_SIZE;
pub(crate) use report::Report;
pub(crate) use tree::Tree;
