//! The journal of an in-place change. It exists next to the file until the change is complete.

use std::path::Path;

use binio::FileSource;
use binio::write::Journaled;
use binio::write::journal::{self, Pending};

use crate::error::Result;

/// Returns `true` if a file has a journal, or if this cannot be determined.
pub(crate) fn exists(path: &Path) -> bool {
    !matches!(journal::pending(path), Ok(None))
}

/// Opens a file in its state before an unfinished in-place change. Returns `None` if the file can
/// be read directly. Fails if the journal is invalid or belongs to another file.
pub(crate) fn before_change(path: &Path) -> Result<Option<Journaled<FileSource, FileSource>>> {
    match journal::pending(path)? {
        None | Some(Pending::Unchanged) => Ok(None),
        Some(Pending::Foreign) => Err(binio::Error::new(binio::ErrorKind::ForeignJournal).into()),
        Some(_) => Ok(Journaled::open(path)?),
    }
}

/// Rolls back an interrupted in-place change of a file. Returns `true` if the file had a journal.
///
/// # Errors
///
/// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the journal is invalid or belongs to another file, if
/// another process is still changing the file, or if the file or the journal cannot be read or written.
pub fn roll_back(path: impl AsRef<Path>) -> Result<bool> {
    Ok(journal::roll_back(path)?)
}
