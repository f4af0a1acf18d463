//! The data model: an archive and its entries, paths, modes, blobrefs and limits.

mod archive;
mod blobref;
mod entry;
mod limits;
mod mode;
mod path;
mod profile;

pub use archive::{Archive, Form};
pub use blobref::{BlobRef, BlobRefError, HashType};
pub use entry::{Content, Entry, Region};
pub use limits::Limits;
pub use mode::{FileType, Mode};
pub use path::{ArchivePath, PathError};
pub use profile::Profile;
