//! The journal of a change in place, which lies beside the file until the change is complete.

use std::path::Path;

use binio::FileSource;
use binio::write::Journaled;
use binio::write::journal::{self, Pending};

use crate::error::Result;

/// Returns `true` if there is a journal beside a file, or if that cannot be found out.
pub(crate) fn exists(path: &Path) -> bool {
    !matches!(journal::pending(path), Ok(None))
}

/// Opens a file as it was before a change in place that has not finished. Returns `None` if the file
/// can be read as it is. Fails if the journal belongs to another file.
pub(crate) fn before_change(path: &Path) -> Result<Option<Journaled<FileSource, FileSource>>> {
    match journal::pending(path)? {
        None | Some(Pending::Unchanged) => Ok(None),
        Some(Pending::Foreign) => Err(binio::Error::new(binio::ErrorKind::ForeignJournal).into()),
        Some(_) => Ok(Journaled::open(path)?),
    }
}

/// Undoes a change in place that was interrupted, and returns whether there was one.
pub fn roll_back(path: impl AsRef<Path>) -> Result<bool> {
    Ok(journal::roll_back(path)?)
}
