//! The trait that all sources implement.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::Result;
use crate::source::{Pieces, check_range, slice_at};

/// Reading a gap of this many bytes in a file takes about as long as starting another read.
pub(super) const FILE_GAP: u64 = 4096;

/// Number of bytes to read from a file at a time when reading a long range.
pub(super) const FILE_PIECE: usize = 1 << 20;

/// A sequence of bytes that can be read by position.
///
/// The length is fixed when the source is created, unless the source can also be written. Every
/// read is exact: it either returns all requested bytes or fails. A read past the end fails with
/// [`Truncated`](crate::ErrorKind::Truncated), and the error contains the offset. Implementations
/// must provide [`len`](Self::len) and [`read_exact_at`](Self::read_exact_at).
///
/// ```
/// use binio::{Bytes, ReadAt};
///
/// let source = Bytes::from_static(b"#ASDF 1.0.0\n");
/// assert_eq!(source.len(), 12);
/// assert_eq!(source.bytes_at(1, 4)?, "ASDF");
/// assert_eq!(source.bytes_at(10, 4).unwrap_err().offset(), Some(10));
/// # Ok::<(), binio::Error>(())
/// ```
pub trait ReadAt: Send + Sync {
    /// Returns the length of the source in bytes.
    fn len(&self) -> u64;

    /// Returns `true` if the source has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buf` with the bytes of the source, starting at `offset`.
    ///
    /// # Errors
    ///
    /// Fails with [`Truncated`](crate::ErrorKind::Truncated) if the range extends past the end of
    /// the source, and with [`Io`](crate::ErrorKind::Io) if the system cannot read it. After an
    /// error, the content of `buf` is unspecified.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()>;

    /// Returns `len` bytes, starting at `offset`. A source in memory may share its bytes; any other
    /// source reads them.
    ///
    /// The range is checked against the length of the source before anything is allocated, so a
    /// length claimed by a hostile file cannot cost more memory than the size of the source.
    ///
    /// # Errors
    ///
    /// Same as [`read_exact_at`](Self::read_exact_at). Also fails with
    /// [`OutOfMemory`](crate::ErrorKind::OutOfMemory) if there is not enough memory for the bytes.
    fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        check_range(self.len(), offset, len as u64)?;
        let mut buffer = crate::memory::zeroed("part of a source", len)?;
        self.read_exact_at(&mut buffer, offset)?;
        Ok(buffer.into())
    }

    /// Returns `true` if [`bytes_at`](Self::bytes_at) costs nothing because it shares the memory of
    /// the source. Readers then request a large range with a single call rather than in pieces.
    fn is_memory(&self) -> bool {
        false
    }

    /// Reads a range in pieces of `size` bytes. The last piece may be shorter. See [`Pieces`].
    ///
    /// ```
    /// use binio::{Bytes, ReadAt};
    ///
    /// let source = Bytes::from_static(b"0123456789");
    /// let pieces: Result<Vec<_>, _> = source.pieces(1..8, 3).collect();
    /// assert_eq!(pieces?, ["123", "456", "7"]);
    /// # Ok::<(), binio::Error>(())
    /// ```
    fn pieces(&self, range: Range<u64>, size: usize) -> Pieces<'_> {
        Pieces::new(range, size, move |offset, len, last| match last.try_into_mut() {
            Ok(mut buffer) if buffer.len() >= len => {
                buffer.truncate(len);
                self.read_exact_at(&mut buffer, offset)?;
                Ok(buffer.freeze())
            }
            _ => self.bytes_at(offset, len),
        })
    }

    /// Returns the maximum length in bytes of a gap that is worth reading along with the ranges on
    /// either side of it. Reading such a gap costs no more than starting a second read. The default
    /// of 4 KiB suits files.
    fn gap_worth_reading(&self) -> u64 {
        FILE_GAP
    }

    /// Returns the number of bytes to read at a time when reading a long range. The default of 1
    /// MiB suits files.
    fn preferred_piece(&self) -> usize {
        FILE_PIECE
    }

    /// Announces which ranges will be read soon, so that a remote source can fetch them together.
    /// This is only a hint: reading works without it.
    ///
    /// # Errors
    ///
    /// The sources in this crate only fail if a source that they wrap fails. Other sources may
    /// return an error if they cannot fetch the ranges. All sources must accept any ranges,
    /// including ranges past their end.
    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let _ = ranges;
        Ok(())
    }
}

impl ReadAt for [u8] {
    fn len(&self) -> u64 {
        self.len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        buf.copy_from_slice(slice_at(self, offset, buf.len())?);
        Ok(())
    }

    fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        slice_at(self, offset, len).map(Bytes::copy_from_slice)
    }
}

impl ReadAt for Vec<u8> {
    fn len(&self) -> u64 {
        ReadAt::len(self.as_slice())
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.as_slice().read_exact_at(buf, offset)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.as_slice().bytes_at(offset, len)
    }
}

impl ReadAt for Bytes {
    fn len(&self) -> u64 {
        self.as_ref().len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.as_ref().read_exact_at(buf, offset)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        slice_at(self, offset, len).map(|part| self.slice_ref(part))
    }

    fn is_memory(&self) -> bool {
        true
    }

    fn gap_worth_reading(&self) -> u64 {
        0
    }

    fn preferred_piece(&self) -> usize {
        usize::MAX
    }
}

macro_rules! delegate {
    ($($pointer:ty),*) => {$(
        impl<T: ReadAt + ?Sized> ReadAt for $pointer {
            fn len(&self) -> u64 {
                (**self).len()
            }

            fn is_empty(&self) -> bool {
                (**self).is_empty()
            }

            fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
                (**self).read_exact_at(buf, offset)
            }

            fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
                (**self).bytes_at(offset, len)
            }

            fn is_memory(&self) -> bool {
                (**self).is_memory()
            }

            fn gap_worth_reading(&self) -> u64 {
                (**self).gap_worth_reading()
            }

            fn preferred_piece(&self) -> usize {
                (**self).preferred_piece()
            }

            fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
                (**self).prefetch(ranges)
            }
        }
    )*};
}

delegate!(&T, Box<T>, Arc<T>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// A source that implements only the required methods.
    struct Counting;

    impl ReadAt for Counting {
        fn len(&self) -> u64 {
            1 << 40
        }

        fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
            check_range(self.len(), offset, buf.len() as u64)?;
            for (byte, at) in buf.iter_mut().zip(offset..) {
                *byte = at.to_le_bytes()[0];
            }
            Ok(())
        }
    }

    #[test]
    fn miri_the_default_implementation_of_bytes_at_returns_the_bytes_of_the_range() {
        assert_eq!(Counting.bytes_at(254, 4).unwrap(), &[254, 255, 0, 1][..]);
        assert!(!Counting.is_empty());
    }

    #[test]
    fn the_default_implementation_of_bytes_at_checks_the_range_before_allocating() {
        let error = Counting.bytes_at(1, usize::MAX).unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::Truncated { available, .. } if *available == (1 << 40) - 1
        ));
    }

    #[test]
    fn miri_a_part_of_bytes_shares_their_memory() {
        let source = Bytes::from(vec![1, 2, 3, 4]);
        let part = source.bytes_at(1, 2).unwrap();
        assert_eq!(part.as_ptr(), source[1..].as_ptr());
        assert_eq!(source.bytes_at(4, 0).unwrap().len(), 0);
    }

    #[test]
    fn an_empty_read_past_the_end_is_reported_as_truncated() {
        let error = [1_u8, 2][..].bytes_at(3, 0).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 0, available: 0 }));
        assert_eq!(error.offset(), Some(3));
    }
}
