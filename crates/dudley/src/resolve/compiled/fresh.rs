//! Whether a compiled layout is of the text that is in a file now.
//!
//! The text is compared byte by byte, unless the file has the length and the time of modification that it had.
//! That time is not trusted if it was just before the layout was compiled: within the resolution of the clock of
//! a file system the text may have changed again.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use binio::{Context as _, FileSource, ReadAt as _};

use super::CompiledLayout;
use crate::error::Error;

/// The coarsest clock of a file system is that of FAT.
const RESOLUTION: Duration = Duration::from_secs(2);

/// Bytes that are compared at once.
const PIECE: u64 = 1 << 20;

/// A time of modification in nanoseconds since 1970, or 0 if it is not to be trusted.
pub(super) fn settled(modified: Option<SystemTime>, now: SystemTime) -> u64 {
    let is_old =
        |modified: &SystemTime| now.duration_since(*modified).is_ok_and(|age| age > RESOLUTION);
    modified.filter(is_old).map_or(0, nanoseconds)
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or_default()
}

impl CompiledLayout {
    /// Whether a file holds the text that this was made of.
    pub(super) fn is_of_file(&self, path: &Path) -> Result<bool, Error> {
        let name = || path.display().to_string();
        let header = self.header;
        let found = fs::metadata(path).map_err(binio::Error::from).with_context(name)?;
        if found.len() != header.text_len {
            return Ok(false);
        }
        let modified = found.modified().map_or(0, nanoseconds);
        if modified != 0 && modified == header.modified {
            return Ok(true);
        }
        let text = FileSource::open(path).with_context(name)?;
        if text.len() != header.text_len {
            return Ok(false);
        }
        let start = header.text_at().unwrap_or(u64::MAX);
        let mut at = 0;
        while at < header.text_len {
            // At most a MiB.
            let len = usize::try_from(PIECE.min(header.text_len - at)).unwrap_or_default();
            if text.bytes_at(at, len)? != self.source.bytes_at(start.saturating_add(at), len)? {
                return Ok(false);
            }
            at += len as u64;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_text_that_was_just_modified_is_not_trusted() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let ago = |seconds| settled(Some(now - Duration::from_secs(seconds)), now);
        assert_eq!((ago(0), ago(2)), (0, 0));
        assert_eq!(ago(3), 999_997_000_000_000);
        assert_eq!(settled(None, now), 0);
        assert_eq!(settled(Some(now + Duration::from_secs(9)), now), 0);
    }
}
