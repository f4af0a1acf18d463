//! Reading consecutive fields from a slice while tracking the offset in the source.

use crate::diagnostic::count;
use crate::number::Scalar;
use crate::{Endian, Error, ErrorKind, Result};

/// A cursor that reads consecutive fields from a slice.
///
/// The cursor is created with the offset of the slice in its source, so its errors contain absolute
/// offsets. It never panics, and a failed read does not move it.
///
/// ```
/// use binio::number::ByteReader;
/// use binio::Endian;
///
/// // offset  size  field
/// //      0     4  magic "BLK1"
/// //      4     2  version, big-endian
/// //      6     2  name length, big-endian, then the name
/// let header = b"BLK1\x00\x07\x00\x03abc";
/// let mut reader = ByteReader::at(header, 1000);
/// reader.magic(b"BLK1")?;
/// assert_eq!(reader.read::<u16>(Endian::Big)?, 7);
/// let len: u16 = reader.read(Endian::Big)?;
/// assert_eq!(reader.take(len.into())?, b"abc");
/// assert_eq!(reader.offset(), 1011);
/// reader.finish()?;
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> ByteReader<'a> {
    /// Creates a cursor over a slice at the beginning of its source.
    pub fn new(data: &'a [u8]) -> Self {
        Self::at(data, 0)
    }

    /// Creates a cursor over a slice at `offset` in its source.
    pub fn at(data: &'a [u8], offset: u64) -> Self {
        Self { rest: data, offset }
    }

    /// Returns the offset of the next byte in the source. The offset saturates at `u64::MAX`, which
    /// no real source reaches.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes that have not been read yet.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Reads the next `n` bytes.
    ///
    /// # Errors
    ///
    /// Fails with [`Truncated`](ErrorKind::Truncated) if fewer than `n` bytes are left.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(|| self.needs(n))?;
        self.move_to(rest);
        Ok(taken)
    }

    /// Reads the next `N` bytes as an array.
    ///
    /// # Errors
    ///
    /// Fails with [`Truncated`](ErrorKind::Truncated) if fewer than `N` bytes are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| self.needs(N))?;
        self.move_to(rest);
        Ok(*taken)
    }

    /// Reads the next number.
    ///
    /// # Errors
    ///
    /// Fails with [`Truncated`](ErrorKind::Truncated) if too few bytes are left for the number.
    pub fn read<T: Scalar>(&mut self, endian: Endian) -> Result<T> {
        self.take(T::SIZE).map(|bytes| T::get(bytes, endian))
    }

    /// Skips `n` bytes.
    ///
    /// # Errors
    ///
    /// Same as [`take`](Self::take).
    #[inline]
    pub fn skip(&mut self, n: usize) -> Result<()> {
        self.take(n).map(drop)
    }

    /// Checks that the next bytes are the given marker, and skips them.
    ///
    /// # Errors
    ///
    /// Fails with [`Magic`](ErrorKind::Magic) if the next bytes are not the marker, or if too few
    /// bytes are left.
    pub fn magic(&mut self, expected: &[u8]) -> Result<()> {
        if let Some(rest) = self.rest.strip_prefix(expected) {
            self.move_to(rest);
            return Ok(());
        }
        let found = &self.rest[..expected.len().min(self.rest.len())];
        let kind = ErrorKind::Magic { expected: expected.into(), found: found.into() };
        Err(Error::new(kind).at(self.offset))
    }

    /// Skips the next `n` bytes, and returns a new cursor that can read only these bytes.
    ///
    /// # Errors
    ///
    /// Same as [`take`](Self::take).
    pub fn child(&mut self, n: usize) -> Result<Self> {
        let offset = self.offset;
        self.take(n).map(|data| Self { rest: data, offset })
    }

    /// Reads all remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        let taken = self.rest;
        self.move_to(&[]);
        taken
    }

    /// Checks that all bytes have been read.
    ///
    /// # Errors
    ///
    /// Fails with [`Invalid`](ErrorKind::Invalid) if there are any bytes left.
    pub fn finish(self) -> Result<()> {
        match self.rest.len() {
            0 => Ok(()),
            left => {
                let message = format!("expected the end, found {}", count(left, "more byte"));
                Err(Error::invalid(message).at(self.offset))
            }
        }
    }

    #[inline]
    fn move_to(&mut self, rest: &'a [u8]) {
        let passed = self.rest.len() - rest.len();
        self.offset = self.offset.saturating_add(passed as u64);
        self.rest = rest;
    }

    #[cold]
    fn needs(&self, n: usize) -> Error {
        Error::truncated(n as u64, self.rest.len() as u64).at(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_fields_are_read_in_order() {
        let mut reader = ByteReader::at(&[1, 0, 2, 3, 0, 0, 0, 9, 9], 10);
        assert_eq!(reader.read::<u8>(Endian::Big).unwrap(), 1);
        assert_eq!(reader.read::<u16>(Endian::Big).unwrap(), 2);
        assert_eq!(reader.read::<u32>(Endian::Little).unwrap(), 3);
        assert_eq!(reader.offset(), 17);
        assert_eq!(reader.array::<1>().unwrap(), [9]);
        assert_eq!(reader.rest(), [9]);
        assert_eq!(reader.remaining(), 0);
        reader.finish().unwrap();
    }

    #[test]
    fn miri_a_failed_read_does_not_move_the_cursor() {
        let mut reader = ByteReader::at(&[1, 2, 3], 100);
        let error = reader.read::<u32>(Endian::Big).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 4, available: 3 }));
        assert_eq!(error.offset(), Some(100));
        assert!(reader.array::<4>().is_err());
        assert!(reader.skip(usize::MAX).is_err());
        assert!(reader.magic(b"no").is_err());
        assert_eq!(reader.take(3).unwrap(), [1, 2, 3]);
    }

    #[test]
    fn a_wrong_magic_number_is_reported_with_the_bytes_found() {
        let error = ByteReader::at(b"\xd3BLOCK", 48).magic(b"\xd3BLK").unwrap_err();
        assert_eq!(error.to_string(), r#"expected "\xd3BLK", found "\xd3BLO" (offset 48)"#);
        let error = ByteReader::new(b"\xd3B").magic(b"\xd3BLK").unwrap_err();
        assert_eq!(error.to_string(), r#"expected "\xd3BLK", found "\xd3B" (offset 0)"#);
    }

    #[test]
    fn a_child_reader_ends_after_its_own_bytes_and_reports_offsets_in_the_source() {
        let mut parent = ByteReader::at(b"abcdef", 20);
        parent.skip(1).unwrap();
        let mut child = parent.child(3).unwrap();
        assert_eq!(child.offset(), 21);
        assert_eq!(child.take(3).unwrap(), b"bcd");
        assert_eq!(child.skip(1).unwrap_err().offset(), Some(24));
        assert_eq!(parent.take(2).unwrap(), b"ef");
        assert!(parent.child(1).is_err());
    }

    #[test]
    fn finishing_with_remaining_bytes_is_an_error() {
        let error = ByteReader::at(b"ab", 5).finish().unwrap_err();
        assert_eq!(error.to_string(), "expected the end, found 2 more bytes (offset 5)");
    }

    #[test]
    fn the_offset_saturates_instead_of_overflowing() {
        let mut reader = ByteReader::at(b"ab", u64::MAX);
        reader.skip(2).unwrap();
        assert_eq!(reader.offset(), u64::MAX);
    }
}
