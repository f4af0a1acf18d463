//! Outputs to which a plan is written. They can also copy bytes from the existing file.

#[cfg(any(unix, windows))]
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

use binio::ReadAt;
#[cfg(any(unix, windows))]
use binio::write::{AtomicFile, Discard};

use crate::error::{Error, Result};

/// An output that can also copy bytes from an existing file.
pub(super) trait Sink: Write + Seek {
    /// Copies a range of the existing file to the current position of the output.
    fn copy(&mut self, range: Range<u64>) -> Result<()>;
}

/// Any writer, with an optional existing file from which bytes are copied piece by piece.
pub(super) struct Stream<'a, W> {
    pub(super) out: W,
    pub(super) existing: Option<&'a dyn ReadAt>,
}

impl<W: Write + Seek> Sink for Stream<'_, W> {
    fn copy(&mut self, range: Range<u64>) -> Result<()> {
        let Some(existing) = self.existing else {
            return Err(Error::unwritable("there is no file to copy bytes from"));
        };
        let mut pieces = existing.pieces(range, existing.preferred_piece());
        pieces.try_for_each(|piece| Ok(self.out.write_all(&piece?)?))
    }
}

impl<W: Write> Write for Stream<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Seek> Seek for Stream<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// A new file, to which the operating system copies bytes from the existing one.
#[cfg(any(unix, windows))]
pub(super) struct Replacement<'a> {
    pub(super) out: &'a mut AtomicFile,
    pub(super) existing: &'a File,
}

#[cfg(any(unix, windows))]
impl Sink for Replacement<'_> {
    fn copy(&mut self, range: Range<u64>) -> Result<()> {
        use std::io::Read as _;

        let mut existing = self.existing;
        existing.seek(SeekFrom::Start(range.start))?;
        let needed = range.end - range.start;
        let copied = io::copy(&mut existing.take(needed), &mut self.out.file()?)?;
        if copied != needed {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(())
    }
}

#[cfg(any(unix, windows))]
impl Write for Replacement<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(any(unix, windows))]
impl Seek for Replacement<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

#[cfg(any(unix, windows))]
impl Sink for Discard {
    fn copy(&mut self, range: Range<u64>) -> Result<()> {
        self.skip(range.end - range.start);
        Ok(())
    }
}

/// A sink with its position in bytes, relative to the start of the file.
pub(super) struct Output<S> {
    sink: S,
    position: u64,
}

impl<S: Sink> Output<S> {
    /// Creates an output for a file that starts at the current position of the sink.
    pub(super) fn new(sink: S) -> Self {
        Self { sink, position: 0 }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.write_all(bytes)?)
    }

    /// Copies a range of the existing file.
    pub(super) fn copy(&mut self, range: Range<u64>) -> Result<()> {
        let len = range.end.saturating_sub(range.start);
        if len > 0 {
            self.sink.copy(range)?;
            self.position += len;
        }
        Ok(())
    }

    /// Replaces bytes at `offset` that have already been written.
    pub(super) fn patch(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let back = i64::try_from(self.position - offset).unwrap_or(i64::MAX);
        self.sink.seek(SeekFrom::Current(-back))?;
        self.sink.write_all(bytes)?;
        let forth = back - i64::try_from(bytes.len()).unwrap_or(0);
        self.sink.seek(SeekFrom::Current(forth))?;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        Ok(self.sink.flush()?)
    }
}

impl<S: Write> Write for Output<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.position += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
