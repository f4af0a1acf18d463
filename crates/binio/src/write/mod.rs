//! Writing files, and changing them, so that a crash leaves the old content or the new content.
//!
//! | task | type |
//! |---|---|
//! | make a file, or replace all of it | [`AtomicFile`], or [`NewFile`] without waiting for the disk |
//! | write a number that is known only after what follows it | [`PatchWriter`] |
//! | change a part of a large file in place | [`FileLock`], [`FileStorage`], [`Change`] |
//! | undo a change that was interrupted | [`journal::roll_back`], [`FileLock::roll_back`] |
//! | read a file as it was before a change that was interrupted | [`Journaled`], [`ConsistentFile`], [`Folder`] |
//! | find out what would be written | [`Discard`] |
//! | leave no temporary file when a signal ends the program | [`remove_temporaries`] |
//!
//! A *target* is a source that can also be written at a position: [`WriteAt`] extends [`ReadAt`].

mod atomic;
mod change;
mod discard;
#[cfg(any(test, feature = "testing"))]
pub mod fault;
mod file;
mod folder;
pub mod journal;
mod journaled;
mod lock;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod new_file;
mod patch;
mod storage;
mod temporary;

use std::io;

use crate::{ReadAt, Result};

pub use atomic::{AtomicFile, sync_directory};
pub use change::{Change, ChangePlan};
pub use discard::Discard;
pub use file::{FileStorage, FileTarget, write_all_at};
pub use folder::Folder;
pub use journaled::{ConsistentFile, Journaled};
pub use lock::FileLock;
#[cfg(any(test, feature = "testing"))]
pub use memory::{MemoryFile, MemoryStorage, Operation, StorageFile};
pub use new_file::NewFile;
pub use patch::{PatchWriter, ReservedNumber};
pub use storage::Storage;
pub use temporary::{TemporaryFile, remove_temporaries};

/// Bytes that are read and written by position.
///
/// The length changes only through this value, so it is exact as long as nobody else writes to the
/// same file: hold a [`FileLock`].
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
    /// Writes all of `data` from `offset` on. The target grows where it has to; a gap is filled with
    /// zeros.
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> Result<()>;

    /// Cuts the target to a length, or fills it with zeros up to it.
    fn set_len(&mut self, len: u64) -> Result<()>;

    /// Returns when all that was written is on the disk.
    fn sync(&mut self) -> Result<()>;
}

impl WriteAt for Vec<u8> {
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        let end = offset.saturating_add(data.len() as u64);
        if end > self.len() as u64 {
            WriteAt::set_len(self, end)?;
        }
        // Within the vector, so the ends are numbers of this machine.
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
