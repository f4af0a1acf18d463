//! The journal of a change in place, which lies beside the file until the change is complete.

use std::path::Path;

use binio::FileSource;
use binio::write::journal::{self, Pending};
use binio::write::{FileLock, Journaled};

use crate::error::{Error, ErrorKind, Result};

/// Suffix of the names of journals.
pub(crate) const SUFFIX: &str = ".asdf-journal";

/// The reason why a file beside a foreign journal is neither read nor written.
const FOREIGN: &str = "the journal beside the file, of the name with .asdf-journal, \
    belongs to another file: remove it if this file is the right one";

/// Returns `true` if there is a journal beside a file, or if that cannot be found out.
pub(crate) fn exists(path: &Path) -> bool {
    !matches!(journal::pending(path, SUFFIX), Ok(None))
}

/// Opens a file as it was before a change in place that has not finished. Returns `None` if the file
/// can be read as it is. Fails if the journal belongs to another file.
pub(crate) fn before_change(path: &Path) -> Result<Option<Journaled<FileSource, FileSource>>> {
    match journal::pending(path, SUFFIX)? {
        None | Some(Pending::Unchanged) => Ok(None),
        Some(Pending::Foreign) => Err(ErrorKind::Layout(FOREIGN.to_owned()).into()),
        Some(_) => Ok(Journaled::open(path, SUFFIX)?),
    }
}

/// Undoes a change in place that was interrupted, and returns whether there was one.
pub fn roll_back(path: impl AsRef<Path>) -> Result<bool> {
    journal::roll_back(path, SUFFIX).map_err(foreign)
}

/// Same as [`roll_back`], for a file that is locked.
pub(crate) fn roll_back_locked(lock: &FileLock) -> Result<bool> {
    lock.roll_back(SUFFIX).map_err(foreign)
}

/// Converts the error of a journal that belongs to another file.
fn foreign(error: binio::Error) -> Error {
    match error.kind() {
        binio::ErrorKind::Invalid(_) => Error::unwritable(FOREIGN),
        _ => error.into(),
    }
}
