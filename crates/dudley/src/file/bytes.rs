//! The bytes of a file.

#[cfg(feature = "write")]
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use binio::{Bytes, ReadAt};

#[cfg(feature = "write")]
pub(super) use binio::write::Folder;

/// A folder that is not opened: a file has no journal to be looked for.
#[cfg(not(feature = "write"))]
pub(super) struct Folder;

/// The bytes that an array lies in: those of its file, or decoded ones in memory. Clones share them.
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

/// The folder of a file, and its name there. The folder that is open is that of the file before, if there was one, and
/// then that of this one: a long path is not walked for each file in it. Not all folders that files are in can be
/// opened.
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
    /// The bytes of a source.
    pub fn new(source: impl ReadAt + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Opens a file as it was before a change that was interrupted, if there is one.
    ///
    /// # Errors
    /// If the file cannot be read.
    #[cfg(feature = "write")]
    pub fn open(path: impl AsRef<Path>) -> binio::Result<Self> {
        Ok(binio::write::ConsistentFile::open(path)?.into())
    }

    /// Opens a file of the folder that [`enter`] leaves open.
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
    /// If the file cannot be read.
    #[cfg(not(feature = "write"))]
    pub fn open(path: impl AsRef<Path>) -> binio::Result<Self> {
        Ok(Self::new(binio::FileSource::open(path)?))
    }

    /// The bytes of a file before a change that was interrupted.
    #[cfg(all(feature = "write", feature = "mmap", any(unix, windows)))]
    pub(super) fn before_change(path: &Path) -> binio::Result<Option<Self>> {
        Ok(binio::write::Journaled::open(path)?.map(Self::new))
    }

    /// None: nothing can be changed.
    #[cfg(all(not(feature = "write"), feature = "mmap", any(unix, windows)))]
    #[allow(clippy::unnecessary_wraps, reason = "as with the feature")]
    pub(super) fn before_change(_: &Path) -> binio::Result<Option<Self>> {
        Ok(None)
    }

    /// Whether both share the same bytes.
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
