//! Reading a file as it was before an unfinished in-place change.

use std::path::Path;

use super::journal::{self, Identity, Journal};
use crate::source::check_range;
use crate::{FileSource, ReadAt, Result};

/// A source that shows a file as it was before an in-place change that was interrupted or is still
/// in progress. Bytes saved in the journal are read from the journal, and all other bytes from the
/// file.
///
/// The content is correct until the next change to the file begins.
#[derive(Debug)]
pub struct Journaled<F, J> {
    file: F,
    journal: J,
    len: u64,
    /// The saved ranges of the file, each with the offset of its bytes in the journal. They are
    /// sorted and do not overlap.
    saved: Vec<(std::ops::Range<u64>, u64)>,
}

impl<F: ReadAt, J: ReadAt> Journaled<F, J> {
    /// Combines a file and its journal. Returns `None` if the journal belongs to another file, or
    /// if it is incomplete and the file is therefore unchanged.
    ///
    /// # Errors
    ///
    /// Fails with [`Magic`](crate::ErrorKind::Magic) if the journal is complete but has an unknown
    /// version, and with [`Invalid`](crate::ErrorKind::Invalid) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if its fields contradict each other. Also fails
    /// if the file or the journal cannot be read.
    pub fn new(file: F, journal: J) -> Result<Option<Self>> {
        Self::identified(file, journal, None)
    }

    fn identified(file: F, journal: J, identity: Option<Identity>) -> Result<Option<Self>> {
        Ok(match Journal::read(&journal)? {
            Some(read) if read.is_of(&file, &journal, identity)? => {
                Some(Self { file, journal, len: read.head.len, saved: read.saved })
            }
            _ => None,
        })
    }
}

impl Journaled<FileSource, FileSource> {
    /// Opens a file and its journal. Returns `None` if the file has no journal, or if the journal
    /// is incomplete or belongs to another file. In these cases, the file can be read as it is.
    ///
    /// # Errors
    ///
    /// Same as [`journal::pending`].
    pub fn open(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let Some((file, journal)) = journal::open(path.as_ref())? else { return Ok(None) };
        let identity = Identity::of(&file.file);
        Self::identified(file, journal, identity)
    }
}

/// A file that is open for reading, with the content from before any unfinished change.
#[derive(Debug)]
pub enum ConsistentFile {
    /// The file as it is. It has no journal, or the journal is incomplete or belongs to another
    /// file.
    File(FileSource),
    /// The file as it was before a change that was interrupted or is still in progress.
    Before(Journaled<FileSource, FileSource>),
}

impl ConsistentFile {
    /// Opens a regular file, and its journal if there is one. This takes fewer system calls than
    /// [`Journaled::open`] followed by [`FileSource::open`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use binio::write::ConsistentFile;
    ///
    /// let path = folder.path().join("data");
    /// std::fs::write(&path, b"0123")?;
    /// assert!(matches!(ConsistentFile::open(&path)?, ConsistentFile::File(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`FileSource::open`] and [`Journaled::open`], except that the error message may lack
    /// the path.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let (file, journal) = journal::open_both(path.as_ref())?;
        let Some(journal) = journal else { return Ok(Self::File(file)) };
        let identity = Identity::of(&file.file);
        match Journaled::identified(file, journal, identity)? {
            Some(before) => Ok(Self::Before(before)),
            None => Ok(Self::File(FileSource::open(path)?)),
        }
    }
}

impl<F: ReadAt, J: ReadAt> ReadAt for Journaled<F, J> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> Result<()> {
        check_range(self.len, offset, buf.len() as u64)?;
        let mut next = self.saved.partition_point(|(range, _)| range.end <= offset);
        while !buf.is_empty() {
            let saved = self.saved.get(next).filter(|(range, _)| range.start <= offset);
            let end = match (saved, self.saved.get(next)) {
                (Some((range, _)), _) => range.end,
                (None, Some((range, _))) => range.start,
                (None, None) => self.len,
            };
            let len = usize::try_from(end - offset).unwrap_or(usize::MAX).min(buf.len());
            let (part, rest) = buf.split_at_mut(len);
            if let Some((range, start)) = saved {
                self.journal.read_exact_at(part, start + (offset - range.start))?;
                next += 1;
            } else {
                self.file.read_exact_at(part, offset)?;
            }
            buf = rest;
            offset += len as u64;
        }
        Ok(())
    }

    fn gap_worth_reading(&self) -> u64 {
        self.file.gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.file.preferred_piece()
    }
}
