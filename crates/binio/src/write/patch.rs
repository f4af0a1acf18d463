//! Writing headers that contain numbers not known until later.
//!
//! For example, a block header may contain the length of the payload that follows it.
//! [`PatchWriter::reserve`] reserves space for such a number, and [`PatchWriter::fill`] goes back
//! and writes it.

use std::io::{self, Seek, SeekFrom, Write};
use std::marker::PhantomData;

use crate::diagnostic::count;
use crate::number::Scalar;
use crate::{Context, Endian, Error, Result};

/// A writer that tracks its position and can go back to fill in numbers.
///
/// Positions are relative to the position of the inner writer when it was passed to
/// [`new`](Self::new). If the inner writer is slow, wrap it in a [`BufWriter`](std::io::BufWriter)
/// first.
///
/// ```
/// use std::io::{Cursor, Write};
/// use binio::Endian;
/// use binio::write::PatchWriter;
///
/// let mut writer = PatchWriter::new(Cursor::new(Vec::new()))?;
/// writer.write_all(b"BLK1")?;
/// let size = writer.reserve::<u16>(Endian::Big)?;
/// writer.write_all(b"payload")?;
/// writer.fill(size, 7)?;
/// writer.pad_to(8)?;
/// assert_eq!(writer.finish()?.into_inner(), b"BLK1\x00\x07payload\0\0\0");
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct PatchWriter<W> {
    inner: W,
    /// Initial position of the inner writer.
    start: u64,
    position: u64,
    /// Number of reservations that have not been filled in yet.
    open_numbers: usize,
}

/// Space reserved for a number that [`PatchWriter::fill`] writes later. [`PatchWriter::finish`]
/// fails unless all reserved numbers have been filled in.
#[must_use = "fill in the reserved number with `PatchWriter::fill`"]
#[derive(Debug)]
pub struct ReservedNumber<T> {
    position: u64,
    endian: Endian,
    number: PhantomData<T>,
}

impl<W: Write + Seek> PatchWriter<W> {
    /// Creates a writer that starts at the current position of `inner`.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the position of `inner` cannot be determined.
    pub fn new(mut inner: W) -> Result<Self> {
        let start = inner.stream_position()?;
        Ok(Self { inner, start, position: 0, open_numbers: 0 })
    }

    /// Returns the number of bytes written so far, including reserved space.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Writes a number in the given byte order.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the inner writer fails.
    pub fn write_scalar<T: Scalar>(&mut self, number: T, endian: Endian) -> Result<()> {
        let mut bytes = [0; 16];
        let bytes = &mut bytes[..T::SIZE];
        number.put(bytes, endian);
        Ok(self.write_all(bytes)?)
    }

    /// Writes zeros as a placeholder for a number that is not known yet.
    ///
    /// # Errors
    ///
    /// Same as [`write_scalar`](Self::write_scalar).
    pub fn reserve<T: Scalar>(&mut self, endian: Endian) -> Result<ReservedNumber<T>> {
        let reserved = ReservedNumber { position: self.position, endian, number: PhantomData };
        self.write_scalar(T::zeroed(), endian)?;
        self.open_numbers += 1;
        Ok(reserved)
    }

    /// Goes back, writes a number into the space that this writer reserved for it, and returns to
    /// the previous position.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the inner writer cannot seek or write. The
    /// position is then unspecified.
    #[allow(clippy::needless_pass_by_value, reason = "a number must only be filled in once")]
    pub fn fill<T: Scalar>(&mut self, reserved: ReservedNumber<T>, number: T) -> Result<()> {
        let ReservedNumber { position: place, endian, .. } = reserved;
        let end = self.position;
        self.seek_to(place)?;
        self.write_scalar(number, endian).context("fill")?;
        self.seek_to(end)?;
        self.open_numbers = self.open_numbers.saturating_sub(1);
        Ok(())
    }

    /// Writes zeros until the position is a multiple of `align`. Writes nothing if `align` is 0.
    ///
    /// # Errors
    ///
    /// Same as [`write_scalar`](Self::write_scalar).
    pub fn pad_to(&mut self, align: u64) -> Result<()> {
        const ZEROS: [u8; 512] = [0; 512];
        let beyond = self.position.checked_rem(align).unwrap_or(0);
        let mut missing = if beyond == 0 { 0 } else { align - beyond };
        while missing > 0 {
            let len = usize::try_from(missing).unwrap_or(usize::MAX).min(ZEROS.len());
            self.write_all(&ZEROS[..len])?;
            missing -= len as u64;
        }
        Ok(())
    }

    /// Flushes the inner writer and returns it.
    ///
    /// # Errors
    ///
    /// Fails with [`Invalid`](crate::ErrorKind::Invalid) if a reserved number has not been filled
    /// in, and with [`Io`](crate::ErrorKind::Io) if the inner writer cannot be flushed.
    pub fn finish(mut self) -> Result<W> {
        if self.open_numbers > 0 {
            let open = count(self.open_numbers, "reserved number");
            return Err(Error::invalid(format!("the writer still has {open} to fill in")));
        }
        self.inner.flush()?;
        Ok(self.inner)
    }

    fn seek_to(&mut self, position: u64) -> Result<()> {
        self.inner.seek(SeekFrom::Start(self.start.saturating_add(position)))?;
        self.position = position;
        Ok(())
    }
}

impl<W: Write> Write for PatchWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buf)?;
        self.position = self.position.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn writer() -> PatchWriter<Cursor<Vec<u8>>> {
        PatchWriter::new(Cursor::new(Vec::new())).unwrap()
    }

    #[test]
    fn miri_numbers_are_written_in_their_byte_order() {
        let mut writer = writer();
        writer.write_scalar(0x0102_u16, Endian::Big).unwrap();
        writer.write_scalar(0x0102_u16, Endian::Little).unwrap();
        writer.write_scalar(1_u128, Endian::Big).unwrap();
        assert_eq!(writer.position(), 20);
        let written = writer.finish().unwrap().into_inner();
        assert_eq!(written, [&[1, 2, 2, 1][..], &[0; 15], &[1]].concat());
    }

    #[test]
    fn miri_reserved_numbers_can_be_filled_in_any_order() {
        let mut writer = writer();
        let first = writer.reserve::<u8>(Endian::Big).unwrap();
        let second = writer.reserve::<u16>(Endian::Little).unwrap();
        writer.write_all(b"x").unwrap();
        writer.fill(second, 0x0203).unwrap();
        writer.fill(first, 1).unwrap();
        writer.write_all(b"y").unwrap();
        assert_eq!(writer.position(), 5);
        assert_eq!(writer.finish().unwrap().into_inner(), b"\x01\x03\x02xy");
    }

    #[test]
    fn finishing_with_an_unfilled_number_is_an_error() {
        let mut writer = writer();
        let _forgotten = writer.reserve::<u32>(Endian::Big).unwrap();
        let error = writer.finish().unwrap_err();
        assert_eq!(error.to_string(), "the writer still has 1 reserved number to fill in");
    }

    #[test]
    fn padding_ends_at_the_next_multiple_of_the_alignment() {
        for (written, align, position) in
            [(0, 8, 0), (1, 8, 8), (8, 8, 8), (9, 1, 9), (9, 0, 9), (1, 5000, 5000)]
        {
            let mut writer = writer();
            writer.write_all(&vec![1; written]).unwrap();
            writer.pad_to(align).unwrap();
            assert_eq!(writer.position(), position, "{written} bytes padded to {align}");
            let bytes = writer.finish().unwrap().into_inner();
            assert_eq!(bytes.len() as u64, position);
            assert!(bytes[written..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn positions_are_relative_to_the_initial_position_of_the_writer() {
        let mut cursor = Cursor::new(b"head".to_vec());
        cursor.set_position(4);
        let mut writer = PatchWriter::new(cursor).unwrap();
        let reserved = writer.reserve::<u8>(Endian::Big).unwrap();
        assert_eq!(writer.position(), 1);
        writer.fill(reserved, b'!').unwrap();
        assert_eq!(writer.finish().unwrap().into_inner(), b"head!");
    }
}
