//! Using a reader that can seek as a source.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use crate::source::check_range;
use crate::{Error, ReadAt, Result};

/// A source that reads from a reader with a cursor. A lock protects the reader, so that several
/// threads can read by position. The threads have to wait for each other, so only use this source
/// for readers that cannot be read by position in any other way, such as a seekable decompressor.
///
/// ```
/// use binio::ReadAt;
/// use binio::source::Stream;
///
/// let source = Stream::new(std::io::Cursor::new(b"0123456789"))?;
/// assert_eq!(source.bytes_at(4, 2)?, "45");
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct Stream<R> {
    reader: Mutex<R>,
    len: u64,
}

impl<R: Read + Seek + Send> Stream<R> {
    /// Wraps a reader, and determines its length by seeking to the end.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the reader cannot seek.
    pub fn new(mut reader: R) -> Result<Self> {
        let len = reader.seek(SeekFrom::End(0))?;
        Ok(Self { reader: Mutex::new(reader), len })
    }
}

impl<R: Read + Seek + Send> ReadAt for Stream<R> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let needed = buf.len() as u64;
        check_range(self.len, offset, needed)?;
        // If the reader has panicked in another thread, its cursor could be anywhere. This is
        // harmless, because every read seeks first.
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let read = reader.seek(SeekFrom::Start(offset)).and_then(|_| reader.read_exact(buf));
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::truncated(needed, 0).at(offset),
            _ => Error::from(error).at(offset),
        })
    }

    /// Returns 64 KiB, because seeking makes most readers discard their buffers.
    fn gap_worth_reading(&self) -> u64 {
        64 << 10
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn miri_the_length_covers_the_whole_stream_regardless_of_the_cursor_position() {
        let mut cursor = Cursor::new(b"0123456789");
        cursor.set_position(7);
        let source = Stream::new(cursor).unwrap();
        assert_eq!(source.len(), 10);
        assert_eq!(source.bytes_at(0, 3).unwrap(), "012");
    }

    #[test]
    fn several_threads_can_read_at_different_positions() {
        let data: Vec<u8> = (0..=255).collect();
        let source = Stream::new(Cursor::new(data)).unwrap();
        std::thread::scope(|scope| {
            for start in [0_u8, 50, 100, 150] {
                let source = &source;
                scope.spawn(move || {
                    for at in start..start + 50 {
                        assert_eq!(source.bytes_at(at.into(), 2).unwrap(), [at, at + 1][..]);
                    }
                });
            }
        });
    }
}
