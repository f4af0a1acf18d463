//! The storage that an in-place change operates on: a file and its journal.

use crate::Result;
use crate::write::WriteAt;
use crate::write::journal::Identity;

/// A file being modified in place, and its journal.
///
/// This is a trait so that tests can interrupt a change between any two operations. After a power
/// cut, any subset of the operations that were not synced may have taken effect.
pub trait Storage: Send + Sync {
    /// Returns the file that is being changed.
    fn file(&self) -> &dyn WriteAt;

    /// Returns a mutable reference to the file that is being changed.
    fn file_mut(&mut self) -> &mut dyn WriteAt;

    /// Returns the journal, or `None` if the storage has no journal.
    fn journal(&self) -> Option<&dyn WriteAt>;

    /// Returns a mutable reference to the journal, or `None` if the storage has no journal.
    fn journal_mut(&mut self) -> Option<&mut dyn WriteAt>;

    /// Returns the inode and modification time of the file, or `None` if they are unknown, for
    /// example because the file is not on disk.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// Creates an empty journal.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if a journal already exists or cannot be created.
    fn create_journal(&mut self) -> Result<()>;

    /// Removes the journal.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the journal cannot be removed.
    fn remove_journal(&mut self) -> Result<()>;

    /// Waits until the creation or removal of the journal is on disk.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the system reports that the directory could not
    /// be written to disk.
    fn sync_directory(&mut self) -> Result<()>;
}
