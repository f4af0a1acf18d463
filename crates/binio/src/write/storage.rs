//! A file that is changed in place, and the journal beside it.

use crate::Result;
use crate::write::WriteAt;
use crate::write::journal::Identity;

/// A file that is changed in place, and the journal beside it.
///
/// A trait, so that tests can stop the world between any two operations. After a power cut the
/// system may have kept any part of the operations that were not synced.
pub trait Storage: Send + Sync {
    /// Returns the file.
    fn file(&self) -> &dyn WriteAt;

    /// Returns the file, to write to it.
    fn file_mut(&mut self) -> &mut dyn WriteAt;

    /// Returns the journal, if there is one.
    fn journal(&self) -> Option<&dyn WriteAt>;

    /// Returns the journal, to write to it.
    fn journal_mut(&mut self) -> Option<&mut dyn WriteAt>;

    /// Returns what the system knows about the file; `None` if the file is not on disk.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// Makes an empty journal; fails if there is one already.
    fn create_journal(&mut self) -> Result<()>;

    /// Removes the journal.
    fn remove_journal(&mut self) -> Result<()>;

    /// Returns when the creation or the removal of the journal is on the disk.
    fn sync_directory(&mut self) -> Result<()>;
}
