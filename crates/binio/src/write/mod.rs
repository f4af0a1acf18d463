//! Writing and changing files so that a crash leaves either the old or the new content.
//!
//! | task | item |
//! |---|---|
//! | create or replace a whole file | [`AtomicFile`], or [`NewFile`] without waiting for the disk |
//! | write a number that is not known until the bytes after it are written | [`PatchWriter`] |
//! | change part of a large file in place | [`FileLock`], [`FileStorage`], [`Change`] |
//! | undo an interrupted change | [`journal::roll_back`], [`FileLock::roll_back`] |
//! | read a file as it was before an interrupted change | [`Journaled`], [`ConsistentFile`], [`FileOpener`] |
//! | find out how much would be written | [`Discard`] |
//! | leave no temporary file when a signal ends the program | [`remove_temporaries`] |
//!
//! A *target* is a source that can also be written by position: [`WriteAt`] extends [`ReadAt`].

mod atomic;
mod change;
mod discard;
#[cfg(any(test, feature = "testing"))]
pub mod fault;
mod file;
pub mod journal;
mod journaled;
mod lock;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod new_file;
mod opener;
mod patch;
mod preserved;
mod storage;
mod temporary;

use std::io;

use crate::{ReadAt, Result};

pub use atomic::{AtomicFile, sync_directory};
pub use change::{Change, ChangePlan};
pub use discard::Discard;
pub use file::{FileStorage, FileTarget, write_all_at};
pub use journaled::{ConsistentFile, Journaled};
pub use lock::FileLock;
#[cfg(any(test, feature = "testing"))]
pub use memory::{MemoryFile, MemoryStorage, Operation, StorageFile};
pub use new_file::NewFile;
pub use opener::FileOpener;
pub use patch::{PatchWriter, ReservedNumber};
pub use storage::Storage;
pub use temporary::{TemporaryFile, remove_temporaries};

/// A sequence of bytes that can be read and written by position.
///
/// Each target tracks its own length, so the length is wrong if the same file is also written
/// through another handle. Hold a [`FileLock`] to prevent this.
///
/// ```
/// use binio::ReadAt;
/// use binio::write::WriteAt;
///
/// let mut target = b"0123".to_vec();
/// target.write_all_at(b"abc", 2)?;
/// assert_eq!(target, b"01abc");
/// WriteAt::set_len(&mut target, 3)?;
/// assert_eq!(target.bytes_at(0, 3)?, "01a");
/// # Ok::<(), binio::Error>(())
/// ```
pub trait WriteAt: ReadAt {
    /// Writes all of `data`, starting at `offset`. The target grows if necessary, and a gap before
    /// `offset` is filled with zeros.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the target cannot be written, for example because
    /// the disk is full. Some of the bytes may have been written before the failure. Fails with
    /// [`Invalid`](crate::ErrorKind::Invalid) if the target, such as a [`Change`], does not allow
    /// these bytes to be changed.
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> Result<()>;

    /// Truncates the target to `len` bytes, or extends it with zeros.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the length cannot be changed, and with
    /// [`Invalid`](crate::ErrorKind::Invalid) if the target, such as a [`Change`], does not allow
    /// this length.
    fn set_len(&mut self, len: u64) -> Result<()>;

    /// Waits until everything written so far is on disk.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the system reports that the bytes could not be
    /// written to disk.
    fn sync(&mut self) -> Result<()>;
}

impl WriteAt for Vec<u8> {
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        let end = offset.saturating_add(data.len() as u64);
        if end > self.len() as u64 {
            WriteAt::set_len(self, end)?;
        }
        // The conversions cannot fail, because the range is inside the vector.
        let [start, end] = [offset, end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        self[start..end].copy_from_slice(data);
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> Result<()> {
        let out_of_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        let len = usize::try_from(len).map_err(|_| out_of_memory())?;
        let missing = len.saturating_sub(self.len());
        self.try_reserve(missing).map_err(|_| out_of_memory())?;
        self.resize(len, 0);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}
