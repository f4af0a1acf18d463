//! A file that is changed in place, and the journal beside it.
//!
//! A trait, so that tests can stop the world between any two operations. What the operating system
//! keeps of operations that were not synced when the power goes is any part of them.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use binio::sync_directory;

use crate::error::Result;
use crate::lock::Lock;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    File,
    Journal,
}

/// The operations on the two files.
pub(crate) trait Storage {
    /// Whether there is a journal.
    fn has_journal(&self) -> bool;

    /// Length in bytes.
    fn len(&self, place: Place) -> Result<u64>;

    /// Fills the buffer from `position` on; fails past the end.
    fn read_at(&self, place: Place, buffer: &mut [u8], position: u64) -> Result<()>;

    /// Writes all of it; the file grows where it has to.
    fn write_at(&mut self, place: Place, data: &[u8], position: u64) -> Result<()>;

    /// Cuts the file, or fills it with zeros.
    fn set_len(&mut self, len: u64) -> Result<()>;

    /// Returns when what was written is on the disk.
    fn sync(&mut self, place: Place) -> Result<()>;

    /// Makes an empty journal; fails if there is one.
    fn create_journal(&mut self) -> Result<()>;

    /// Removes the journal.
    fn remove_journal(&mut self) -> Result<()>;

    /// Returns when the journal's being there or not is on the disk.
    fn sync_directory(&mut self) -> Result<()>;
}

/// A file on the disk. Its journal has the same name and `.blpk-journal` behind it.
#[derive(Debug)]
pub(crate) struct FileStorage {
    path: PathBuf,
    file: File,
    journal_path: PathBuf,
    journal: Option<File>,
}

impl FileStorage {
    /// Opens a file, with its journal if there is one, to look at it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // Beside the file itself, by whatever link it is reached.
        Self::open_as(fs::canonicalize(path)?, false)
    }

    /// Opens a file, with its journal if there is one, to change it.
    pub(crate) fn open_to_change(lock: &Lock) -> Result<Self> {
        Self::open_as(lock.path().to_owned(), true)
    }

    fn open_as(path: PathBuf, write: bool) -> Result<Self> {
        let open = |path: &Path| OpenOptions::new().read(true).write(write).open(path);
        let file = open(&path)?;
        let mut name = path.file_name().map(OsString::from).unwrap_or_default();
        name.push(".blpk-journal");
        let journal_path = path.with_file_name(name);
        let journal = match open(&journal_path) {
            Ok(journal) => Some(journal),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { path, file, journal_path, journal })
    }

    fn place(&self, place: Place) -> io::Result<&File> {
        match (place, &self.journal) {
            (Place::File, _) => Ok(&self.file),
            (Place::Journal, Some(journal)) => Ok(journal),
            (Place::Journal, None) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Storage for FileStorage {
    fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    fn len(&self, place: Place) -> Result<u64> {
        Ok(self.place(place)?.metadata()?.len())
    }

    fn read_at(&self, place: Place, buffer: &mut [u8], position: u64) -> Result<()> {
        let mut file = self.place(place)?;
        file.seek(SeekFrom::Start(position))?;
        Ok(file.read_exact(buffer)?)
    }

    fn write_at(&mut self, place: Place, data: &[u8], position: u64) -> Result<()> {
        let mut file = self.place(place)?;
        file.seek(SeekFrom::Start(position))?;
        Ok(file.write_all(data)?)
    }

    fn set_len(&mut self, len: u64) -> Result<()> {
        Ok(self.file.set_len(len)?)
    }

    fn sync(&mut self, place: Place) -> Result<()> {
        Ok(self.place(place)?.sync_all()?)
    }

    fn create_journal(&mut self) -> Result<()> {
        let journal =
            OpenOptions::new().read(true).write(true).create_new(true).open(&self.journal_path)?;
        // It holds what the file hides.
        journal.set_permissions(self.file.metadata()?.permissions())?;
        self.journal = Some(journal);
        Ok(())
    }

    fn remove_journal(&mut self) -> Result<()> {
        self.journal = None;
        Ok(fs::remove_file(&self.journal_path)?)
    }

    fn sync_directory(&mut self) -> Result<()> {
        Ok(sync_directory(&self.path)?)
    }
}
