//! Detecting interrupted in-place changes, and undoing them.
//!
//! While a file is changed in place, a journal is stored next to it as `NAME.undo-journal`;
//! [`binio::write::journal`] describes the format of the journal. The journal contains the bytes
//! that the change overwrites. From these bytes, readers reconstruct the old content. An
//! interrupted change is rolled back when the file is next opened for writing.

use std::path::Path;

use binio::write::journal;

use crate::error::Result;

pub use binio::write::journal::Pending;

/// Advice, appended to messages, on how to undo an interrupted change. The function
/// [`recover`](crate::repair::recover) reads any source and rolls nothing back. The `recover`
/// subcommand of the command-line program, however, rolls the change back first.
pub(crate) const REMEDY: &str =
    "appending to the file, editing its metadata or recovering it rolls the change back";

/// Returns the state of the journal next to a file, or `None` if there is no journal. Unless the
/// journal [belongs to another file](Pending::Foreign), it means that an in-place change was
/// interrupted or is still in progress.
///
/// # Errors
///
/// Fails if the file or the journal cannot be read, or if the journal is invalid, for example
/// because its version is unknown.
pub fn pending(path: impl AsRef<Path>) -> Result<Option<Pending>> {
    Ok(journal::pending(path)?)
}

/// Undoes an interrupted in-place change, so that the file is as it was before the change. Returns
/// `true` if there was a journal.
///
/// ```
/// use bloscpack::{WriteOptions, journal, pack_to_file};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.blp");
/// pack_to_file(b"data", &path, &WriteOptions::new(), None)?;
/// assert!(journal::pending(&path)?.is_none());
/// assert!(!journal::roll_back(&path)?);
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`ForeignJournal`](crate::ErrorKind::ForeignJournal) if the journal belongs to another file, and with
/// [`Locked`](crate::ErrorKind::Locked) if the change is still in progress. Also fails if the file cannot be written,
/// or if the journal cannot be read or is invalid.
pub fn roll_back(path: impl AsRef<Path>) -> Result<bool> {
    Ok(journal::roll_back(path)?)
}
