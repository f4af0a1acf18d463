//! A file mapped into memory.

use std::path::Path;

use bytes::Bytes;

use crate::source::file::{MAX_UNSIZED, content_of, open_regular};
use crate::{Context, ReadAt, Result};

/// A file mapped into memory: reads are free, and [`bytes_at`](ReadAt::bytes_at) shares the map.
///
/// # A file that changes
///
/// The map is the file, not a copy. What others do to the file after it was opened shows here:
///
/// - **It is cut**: touching a page that is gone raises `SIGBUS` on Unix (an exception on Windows,
///   where a mapped file cannot be cut as a rule), which ends the process. No reader can catch it.
/// - **It is overwritten**: bytes that were checked may be others when they are used. Parsers on
///   this crate stay memory-safe with any bytes, but what they report may be neither the old
///   file nor the new one.
/// - **It is replaced** by a rename, as [`AtomicFile`](crate::write::AtomicFile) does: nothing changes
///   here, the map keeps the old file alive.
///
/// So map files that nobody writes to in place; for others take
/// [`FileSource`](crate::FileSource), where both cases are plain errors or plain reads.
#[derive(Clone, Debug)]
pub struct Mmap {
    data: Bytes,
}

impl Mmap {
    /// Maps a regular file for reading. An empty file is an empty source.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::map(path).with_context(|| path.display().to_string())
    }

    fn map(path: &Path) -> Result<Self> {
        let file = open_regular(path)?;
        if file.metadata()?.len() == 0 {
            // Most systems refuse a map of no bytes. The file may have content all the same.
            return Ok(Self { data: content_of(&file, MAX_UNSIZED)? });
        }
        // SAFETY: the call asks that nobody changes the file while it is mapped. No system that we
        // run on lets a reader enforce that, so the type's documentation passes the condition on.
        // The rest is kept here: the map is read-only, nothing in this process writes through it,
        // it is unmapped when the last `Bytes` of it is dropped, and its contents are used as
        // plain bytes only, for which every value is valid.
        let map = unsafe { memmap2::Mmap::map(&file) }?;
        Ok(Self { data: Bytes::from_owner(map) })
    }

    /// The whole file.
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
    fn empty_file_is_an_empty_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        fs::write(&path, b"").unwrap();
        let source = Mmap::open(&path).unwrap();
        assert!(source.is_empty());
        assert!(source.bytes_at(0, 1).is_err());
    }

    #[test]
    fn bytes_outlive_the_map_and_the_name_of_the_file() {
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
