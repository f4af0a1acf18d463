//! Mapping a file into memory.

use std::path::Path;

use bytes::Bytes;

use crate::source::file::{MAX_UNSIZED, content_of, open_regular};
use crate::{Context, ReadAt, Result};

/// A file mapped into memory. Reads need no system calls, and [`bytes_at`](ReadAt::bytes_at) shares
/// the map.
///
/// # If the file changes
///
/// The map is not a copy of the file, so changes by other programs affect it:
///
/// - **Truncation**: on Unix, accessing a page that no longer exists raises `SIGBUS`. This signal
///   ends the process, and readers cannot catch it. Windows usually prevents mapped files from
///   being truncated, and raises an exception otherwise.
/// - **Overwriting**: bytes may change after they have been checked and before they are used.
///   Parsers built on this crate are memory-safe for any bytes, but their results may match neither
///   the old file nor the new one.
/// - **Replacement** by a rename, as in [`AtomicFile`](crate::write::AtomicFile): the map is not
///   affected, and it keeps the old file alive.
///
/// Therefore, only map files that nobody writes to in place. For all other files, use
/// [`FileSource`](crate::FileSource), for which a read past the end of a truncated file is an
/// ordinary error.
#[derive(Clone, Debug)]
pub struct Mmap {
    data: Bytes,
}

impl Mmap {
    /// Maps a regular file for reading. A file that reports a size of 0 may still have content, so
    /// it is read into memory instead.
    ///
    /// # Errors
    ///
    /// Same as [`FileSource::open`](crate::FileSource::open). Also fails with
    /// [`Io`](crate::ErrorKind::Io) if the file cannot be mapped.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::map(path).with_context(|| path.display().to_string())
    }

    fn map(path: &Path) -> Result<Self> {
        let file = open_regular(path)?;
        if file.metadata()?.len() == 0 {
            // Read the file instead, because most systems reject empty maps, and because the file
            // may have content even though its size is 0.
            return Ok(Self { data: content_of(&file, MAX_UNSIZED)? });
        }
        // SAFETY: the call requires that nobody changes the file while it is mapped. No supported
        // system lets a reader enforce that, so the documentation of the type passes this
        // requirement on to the caller. The other requirements are met: the map is read-only,
        // nothing in this process writes through it, it is unmapped when the last `Bytes` that
        // shares it is dropped, and its contents are only used as plain bytes, for which every
        // value is valid.
        let map = unsafe { memmap2::Mmap::map(&file) }?;
        Ok(Self { data: Bytes::from_owner(map) })
    }

    /// Returns the bytes of the whole file.
    pub fn as_bytes(&self) -> &Bytes {
        &self.data
    }
}

impl ReadAt for Mmap {
    fn len(&self) -> u64 {
        ReadAt::len(&self.data)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.data.read_exact_at(buf, offset)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.data.bytes_at(offset, len)
    }

    fn is_memory(&self) -> bool {
        true
    }

    fn gap_worth_reading(&self) -> u64 {
        self.data.gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.data.preferred_piece()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_empty_file_maps_to_an_empty_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        fs::write(&path, b"").unwrap();
        let source = Mmap::open(&path).unwrap();
        assert!(source.is_empty());
        assert!(source.bytes_at(0, 1).is_err());
    }

    #[test]
    fn bytes_stay_readable_after_the_map_is_dropped_and_the_file_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, b"0123456789").unwrap();
        let source = Mmap::open(&path).unwrap();
        let part = source.bytes_at(3, 4).unwrap();
        assert_eq!(part.as_ptr(), source.as_bytes()[3..].as_ptr());
        drop(source);
        fs::remove_file(&path).unwrap();
        assert_eq!(part, "3456");
    }
}
