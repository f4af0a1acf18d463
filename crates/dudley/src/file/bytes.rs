//! The bytes of a file.

#[cfg(feature = "write")]
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use binio::{Bytes, ReadAt};

#[cfg(feature = "write")]
pub(super) use binio::write::Folder;

/// A placeholder for an open folder: without the feature `write`, there is no journal to look for.
#[cfg(not(feature = "write"))]
pub(super) struct Folder;

/// The bytes that hold an array: those of its file, or decoded bytes in memory. Clones share the bytes.
#[derive(Clone)]
pub struct FileBytes(Arc<dyn ReadAt>);

#[cfg(feature = "write")]
impl From<binio::write::ConsistentFile> for FileBytes {
    fn from(file: binio::write::ConsistentFile) -> Self {
        match file {
            binio::write::ConsistentFile::File(file) => Self::new(file),
            binio::write::ConsistentFile::Before(before) => Self::new(before),
        }
    }
}

/// Returns the folder of a file and the name of the file in it. Keeps the folder open, so that the next file in
/// it is opened without resolving a long path again. Returns `None` if the folder cannot be opened, even though
/// the file in it may be readable.
#[cfg(feature = "write")]
fn enter<'f, 'p>(
    folder: &'f mut Option<Folder>,
    path: &'p Path,
) -> Option<(&'f Folder, &'p OsStr)> {
    let (parent, name) = (path.parent()?, path.file_name()?);
    if folder.as_ref().is_none_or(|folder| folder.path().as_os_str() != parent.as_os_str()) {
        *folder = Folder::open(parent).ok();
    }
    Some((folder.as_ref()?, name))
}

impl FileBytes {
    /// Wraps a source.
    pub fn new(source: impl ReadAt + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Opens a file. If a change to it was interrupted, reads return the bytes from before that change.
    ///
    /// # Errors
    ///
    /// Same as [`ConsistentFile::open`](binio::write::ConsistentFile::open).
    #[cfg(feature = "write")]
    pub fn open(path: impl AsRef<Path>) -> binio::Result<Self> {
        Ok(binio::write::ConsistentFile::open(path)?.into())
    }

    /// Like [`open`](Self::open), but reuses the open folder of the previous file if this one is in it; see
    /// [`enter`].
    #[cfg(feature = "write")]
    pub(super) fn open_in(folder: &mut Option<Folder>, path: &Path) -> binio::Result<Self> {
        match enter(folder, path) {
            Some((folder, name)) => Ok(folder.consistent_file(name)?.into()),
            None => Self::open(path),
        }
    }

    #[cfg(not(feature = "write"))]
    pub(super) fn open_in(_: &mut Option<Folder>, path: &Path) -> binio::Result<Self> {
        Self::open(path)
    }

    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Same as [`FileSource::open`](binio::FileSource::open).
    #[cfg(not(feature = "write"))]
    pub fn open(path: impl AsRef<Path>) -> binio::Result<Self> {
        Ok(Self::new(binio::FileSource::open(path)?))
    }

    /// If a change to the file was interrupted, returns the bytes from before that change.
    #[cfg(all(feature = "write", feature = "mmap", any(unix, windows)))]
    pub(super) fn before_change(path: &Path) -> binio::Result<Option<Self>> {
        Ok(binio::write::Journaled::open(path)?.map(Self::new))
    }

    /// Returns `None`: without the feature `write`, no file is ever changed.
    #[cfg(all(not(feature = "write"), feature = "mmap", any(unix, windows)))]
    #[allow(clippy::unnecessary_wraps, reason = "as with the feature")]
    pub(super) fn before_change(_: &Path) -> binio::Result<Option<Self>> {
        Ok(None)
    }

    /// Returns `true` if both share the same bytes.
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
