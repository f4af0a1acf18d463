//! An output that discards everything, for trial runs.

use std::io::{self, ErrorKind, Seek, SeekFrom, Write};

/// An output that discards all bytes but tracks its position, so that a caller can find out how
/// much would be written.
///
/// ```
/// use std::io::{Seek, Write};
/// use binio::write::Discard;
///
/// let mut out = Discard::default();
/// out.write_all(b"all of it")?;
/// out.skip(100);
/// assert_eq!(out.stream_position()?, 109);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Discard {
    position: u64,
    end: u64,
}

impl Discard {
    /// Advances the position as if `len` bytes had been written.
    pub fn skip(&mut self, len: u64) {
        self.position = self.position.saturating_add(len);
        self.end = self.end.max(self.position);
    }
}

impl Write for Discard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.skip(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Discard {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
        };
        self.position = position.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_the_highest_position_reached_by_a_write() {
        let mut out = Discard::default();
        out.write_all(&[0; 10]).unwrap();
        assert_eq!(out.seek(SeekFrom::Start(2)).unwrap(), 2);
        out.write_all(&[0; 3]).unwrap();
        assert_eq!(out.seek(SeekFrom::Current(-1)).unwrap(), 4);
        assert_eq!(out.seek(SeekFrom::End(0)).unwrap(), 10);
        assert!(out.seek(SeekFrom::End(-11)).is_err());
    }
}
