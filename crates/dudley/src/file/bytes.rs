//! The bytes of a file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use binio::write::ConsistentFile;
use binio::{Bytes, ReadAt};

/// A source of bytes from which an array is read: a file, or decoded bytes in memory. Clones share
/// the source.
#[derive(Clone)]
pub struct FileBytes(Arc<dyn ReadAt>);

impl From<ConsistentFile> for FileBytes {
    fn from(file: ConsistentFile) -> Self {
        match file {
            ConsistentFile::File(file) => Self::new(file),
            ConsistentFile::Before(before) => Self::new(before),
        }
    }
}

impl FileBytes {
    /// Wraps a source of bytes.
    pub fn new(source: impl ReadAt + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Opens a file. If a change to the file was interrupted, reads return the bytes from before that change.
    ///
    /// # Errors
    ///
    /// Same as [`ConsistentFile::open`].
    pub fn open(path: impl AsRef<Path>) -> binio::Result<Self> {
        Ok(ConsistentFile::open(path)?.into())
    }

    /// Returns `true` if this source and `other` are clones of the same source.
    #[cfg(feature = "write")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBytes").field("len", &self.0.len()).finish_non_exhaustive()
    }
}

impl ReadAt for FileBytes {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> binio::Result<Bytes> {
        self.0.bytes_at(offset, len)
    }

    fn is_memory(&self) -> bool {
        self.0.is_memory()
    }

    fn gap_worth_reading(&self) -> u64 {
        self.0.gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.0.preferred_piece()
    }

    fn prefetch(&self, ranges: &[std::ops::Range<u64>]) -> binio::Result<()> {
        self.0.prefetch(ranges)
    }
}
