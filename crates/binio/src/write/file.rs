//! Changing files on disk in place.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use super::journal::{self, Identity};
use super::{FileLock, Storage, WriteAt, sync_directory};
use crate::{Context, Error, FileSource, ReadAt, Result};

/// A regular file, written with `pwrite` (`seek_write` on Windows). This is the writable
/// counterpart of [`FileSource`].
#[derive(Debug)]
pub struct FileTarget(FileSource);

impl FileTarget {
    /// Opens an existing regular file for reading and writing.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the file does not exist or cannot be opened for
    /// writing, and with [`Unsupported`](crate::ErrorKind::Unsupported) for pipes, devices and
    /// directories.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let open = || {
            if !fs::metadata(path)?.is_file() {
                return Err(Error::unsupported("only regular files can be written by position"));
            }
            Self::new(OpenOptions::new().read(true).write(true).open(path)?)
        };
        open().with_context(|| path.display().to_string())
    }

    /// Wraps a file that is open for reading and writing. Reads and writes do not depend on the
    /// file's cursor, but on Windows they move it.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the length of the file cannot be determined.
    pub fn new(file: File) -> Result<Self> {
        FileSource::new(file).map(Self)
    }

    /// Returns the underlying file.
    pub fn file(&self) -> &File {
        &self.0.file
    }
}

impl ReadAt for FileTarget {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    fn gap_worth_reading(&self) -> u64 {
        self.0.gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.0.preferred_piece()
    }
}

impl WriteAt for FileTarget {
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        write_all_at(&self.0.file, data, offset)?;
        self.0.len = self.0.len.max(offset.saturating_add(data.len() as u64));
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> Result<()> {
        self.0.file.set_len(len)?;
        self.0.len = len;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.0.file.sync_all()?)
    }
}

/// Writes all of `data` to a file, starting at `offset`. The write does not depend on the file's
/// cursor, so many threads can write to the same file. On Windows, the write moves the cursor.
///
/// # Errors
///
/// Fails with [`Io`](crate::ErrorKind::Io) if the system cannot write all the bytes. Some of the
/// bytes may have been written before the failure.
pub fn write_all_at(file: &File, data: &[u8], offset: u64) -> Result<()> {
    system::write_all_at(file, data, offset).map_err(|error| Error::from(error).at(offset))
}

#[cfg(unix)]
use std::os::unix::fs::FileExt as system;

#[cfg(windows)]
mod system {
    use std::fs::File;
    use std::io::ErrorKind::{Interrupted, WriteZero};
    use std::io::Result;
    use std::os::windows::fs::FileExt;

    pub(super) fn write_all_at(file: &File, mut data: &[u8], mut offset: u64) -> Result<()> {
        while !data.is_empty() {
            match file.seek_write(data, offset) {
                Ok(0) => return Err(WriteZero.into()),
                Ok(written) => {
                    data = &data[written..];
                    offset += written as u64;
                }
                Err(error) if error.kind() == Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(not(any(unix, windows)))]
mod system {
    use std::fs::File;
    use std::io::{ErrorKind, Result};

    pub(super) fn write_all_at(_: &File, _: &[u8], _: u64) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}

/// A locked file on disk and its [journal](super::journal), which is in the same directory.
#[derive(Debug)]
pub struct FileStorage<'lock> {
    lock: &'lock FileLock,
    file: FileTarget,
    journal_path: PathBuf,
    journal: Option<FileTarget>,
}

impl<'lock> FileStorage<'lock> {
    /// Opens the locked file, and its journal if there is one.
    ///
    /// # Errors
    ///
    /// Same as [`FileTarget::open`], for the file and for the journal.
    pub fn open(lock: &'lock FileLock) -> Result<Self> {
        let file = FileTarget::open(lock.path())?;
        let journal_path = journal::path_of(lock.path());
        let journal =
            journal_path.try_exists()?.then(|| FileTarget::open(&journal_path)).transpose()?;
        Ok(Self { lock, file, journal_path, journal })
    }
}

impl Storage for FileStorage<'_> {
    fn file(&self) -> &dyn WriteAt {
        &self.file
    }

    fn file_mut(&mut self) -> &mut dyn WriteAt {
        &mut self.file
    }

    fn journal(&self) -> Option<&dyn WriteAt> {
        self.journal.as_ref().map(|journal| journal as &dyn WriteAt)
    }

    fn journal_mut(&mut self) -> Option<&mut dyn WriteAt> {
        self.journal.as_mut().map(|journal| journal as &mut dyn WriteAt)
    }

    fn identity(&self) -> Option<Identity> {
        Identity::of(self.file.file())
    }

    fn create_journal(&mut self) -> Result<()> {
        let create = || {
            let mut options = OpenOptions::new();
            let journal =
                options.read(true).write(true).create_new(true).open(&self.journal_path)?;
            // The journal contains bytes of the file, so give it the same permissions.
            journal.set_permissions(self.file.file().metadata()?.permissions())?;
            FileTarget::new(journal)
        };
        self.journal = Some(create().with_context(|| self.journal_path.display().to_string())?);
        Ok(())
    }

    fn remove_journal(&mut self) -> Result<()> {
        fs::remove_file(&self.journal_path)
            .map_err(Error::from)
            .with_context(|| self.journal_path.display().to_string())?;
        self.journal = None;
        Ok(())
    }

    fn sync_directory(&mut self) -> Result<()> {
        sync_directory(self.lock.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_cannot_be_removed_stays_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"0123456789").unwrap();
        let lock = FileLock::acquire(&path).unwrap();
        let mut storage = FileStorage::open(&lock).unwrap();
        storage.create_journal().unwrap();
        let journal = journal::path_of(lock.path());
        fs::rename(&journal, folder.path().join("other")).unwrap();
        fs::create_dir(&journal).unwrap();
        assert!(storage.remove_journal().is_err());
        storage.journal_mut().unwrap().write_all_at(b"abc", 0).unwrap();
        fs::remove_dir(&journal).unwrap();
        fs::rename(folder.path().join("other"), &journal).unwrap();
        storage.remove_journal().unwrap();
        assert!(storage.journal().is_none() && !journal.exists());
    }

    #[test]
    fn a_file_and_memory_have_the_same_content_after_the_same_operations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"0123456789").unwrap();
        let mut file = FileTarget::open(&path).unwrap();
        let mut memory = b"0123456789".to_vec();
        let targets: [&mut dyn WriteAt; 2] = [&mut file, &mut memory];
        for target in targets {
            target.write_all_at(b"abc", 8).unwrap();
            target.set_len(4).unwrap();
            target.write_all_at(b"x", 6).unwrap();
            target.sync().unwrap();
            assert_eq!(target.len(), 7);
            assert_eq!(target.bytes_at(0, 7).unwrap(), &b"0123\0\0x"[..]);
            assert!(target.bytes_at(6, 2).is_err());
        }
        assert_eq!(fs::read(&path).unwrap(), memory);
    }

    #[test]
    fn folders_are_rejected_and_the_error_for_a_missing_file_contains_the_path() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FileTarget::open(folder.path()).is_err());
        let error = FileTarget::open(folder.path().join("missing")).unwrap_err();
        assert!(error.to_string().contains("missing: "), "{error}");
    }
}
