//! Checking that a compiled layout matches the current text of a file.
//!
//! The length of the file and the checksum of its text are compared with the stored values. The
//! text is not read if the inode and the status change time of the file are the same as when the
//! layout was compiled: the system sets this time whenever the content changes, and no program can
//! set it back. The time is not used if the system does not provide it, or if it is at most two
//! seconds before the compilation, because the clock of a file system may be that coarse.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

use binio::checksum::Algorithm;
use binio::{Context as _, FileSource, ReadAt as _};

use super::CompiledLayout;
use super::format::Stamp;
use crate::error::Error;

/// The clock resolution of FAT, which has the coarsest clock of all common file systems.
const RESOLUTION: Duration = Duration::from_secs(2);

/// The number of bytes read at a time.
const PIECE: u64 = 1 << 20;

impl Stamp {
    /// Returns the stamp of a file, or the default if the system does not provide one.
    fn of(found: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;

            let nanoseconds = found.ctime().checked_mul(1_000_000_000);
            let changed = nanoseconds.and_then(|seconds| seconds.checked_add(found.ctime_nsec()));
            let changed = changed.and_then(|changed| u64::try_from(changed).ok());
            changed.map_or_else(Self::default, |changed| Self { changed, inode: found.ino() })
        }
        #[cfg(not(unix))]
        {
            let _ = found;
            Self::default()
        }
    }

    /// Returns the stamp of a file, or the default if the file was changed so recently that a further
    /// change may get the same time.
    pub(super) fn settled(found: Option<&Metadata>, now: SystemTime) -> Self {
        let stamp = found.map_or_else(Self::default, Self::of);
        let changed = SystemTime::UNIX_EPOCH + Duration::from_nanos(stamp.changed);
        let is_old = now.duration_since(changed).is_ok_and(|age| age > RESOLUTION);
        if is_old { stamp } else { Self::default() }
    }
}

impl CompiledLayout {
    /// Returns `true` if a file contains the text from which this layout was compiled.
    pub(super) fn is_of_file(&self, path: &Path) -> Result<bool, Error> {
        let name = || path.display().to_string();
        let header = self.header;
        let found = fs::metadata(path).map_err(binio::Error::from).with_context(name)?;
        if found.len() != header.text_len {
            return Ok(false);
        }
        if header.stamp != Stamp::default() && Stamp::of(&found) == header.stamp {
            return Ok(true);
        }
        let text = FileSource::open(path).with_context(name)?;
        if text.len() != header.text_len {
            return Ok(false);
        }
        let mut hasher = Algorithm::Crc32.hasher();
        let mut at = 0;
        while at < header.text_len {
            // The length is at most 1 MiB, so the conversion cannot fail.
            let len = usize::try_from(PIECE.min(header.text_len - at)).unwrap_or_default();
            hasher.update(&text.bytes_at(at, len).with_context(name)?);
            at += len as u64;
        }
        Ok(hasher.finish().as_bytes() == header.text_sum.to_be_bytes())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_of_a_recently_changed_file_is_not_used() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let found = file.as_file().metadata().unwrap();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_nanos(Stamp::of(&found).changed);
        let after = |seconds| Stamp::settled(Some(&found), changed + Duration::from_secs(seconds));
        assert_eq!((after(0), after(2)), (Stamp::default(), Stamp::default()));
        assert_eq!(after(3), Stamp::of(&found));
        let early = changed - Duration::from_secs(9);
        assert_eq!(Stamp::settled(Some(&found), early), Stamp::default());
        assert_eq!(Stamp::settled(None, changed), Stamp::default());
    }
}
