//! Changes in place that were interrupted.
//!
//! While a file is changed in place, by appending or by other metadata, a journal lies beside it as
//! `NAME.blpk-journal`: see [`binio::write::journal`] for its form. It holds what the change
//! overwrites, so that readers see the old content through it, and so that a change that was
//! interrupted is rolled back when the file is opened for writing next.

use std::path::Path;

use binio::write::{FileLock, journal};

use crate::error::Result;

pub use binio::write::journal::Pending;

/// What the name of a journal ends with.
pub(crate) const SUFFIX: &str = ".blpk-journal";

/// How a change in place that was interrupted is undone, for messages.
pub(crate) const REMEDY: &str =
    "appending to the file, editing its metadata or recovering it undoes it";

/// Reports whether there is a journal beside a file: a change in place was interrupted, or another
/// process is making one.
pub fn pending(path: impl AsRef<Path>) -> Result<Option<Pending>> {
    Ok(journal::pending(path, SUFFIX)?)
}

/// Undoes a change in place that was interrupted, and returns whether there was one. The file is then
/// as it was before the change.
///
/// Fails with [`Damaged`](crate::ErrorKind::Damaged) if the journal belongs to another file, and with
/// [`Locked`](crate::ErrorKind::Locked) if the change is still going on.
pub fn roll_back(path: impl AsRef<Path>) -> Result<bool> {
    Ok(journal::roll_back(path, SUFFIX)?)
}

/// The same for a file that the caller has locked.
pub(crate) fn roll_back_locked(lock: &FileLock) -> Result<bool> {
    Ok(lock.roll_back(SUFFIX)?)
}
