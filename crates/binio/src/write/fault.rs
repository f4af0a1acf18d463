//! A writer that fails on purpose, for testing code that writes files.
//!
//! Run the code under test once with [`Fault::None`] to count its operations. Then run the code
//! once per operation, each time with a fault at a different operation, and check the files that it
//! leaves behind.
//!
//! ```
//! use std::io::{Cursor, Write};
//! use binio::write::fault::{Fault, FaultyWriter};
//!
//! fn write_record<W: Write>(writer: &mut W) -> std::io::Result<()> {
//!     writer.write_all(b"head")?;
//!     writer.write_all(b"tail")
//! }
//!
//! let mut whole = FaultyWriter::new(Cursor::new(Vec::new()), Fault::None);
//! write_record(&mut whole)?;
//! for operation in 0..whole.operations() {
//!     let fault = Fault::FailAtOperation(operation);
//!     let mut broken = FaultyWriter::new(Cursor::new(Vec::new()), fault);
//!     assert!(write_record(&mut broken).is_err());
//!     assert!(broken.into_inner().into_inner().len() < 8);
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, Seek, SeekFrom, Write};

/// A fault to inject, and the time at which it occurs.
///
/// Operations and written bytes are counted from 0. The operations of a writer are `write`, `flush`
/// and `seek`; the operations of a [`MemoryStorage`](super::MemoryStorage) are all operations that
/// change or sync the storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// No fault occurs.
    #[default]
    None,
    /// The operation with this index and all later operations fail, as if the disk had been
    /// removed.
    FailAtOperation(u64),
    /// Only the operation with this index fails.
    FailOnceAtOperation(u64),
    /// The operation with this index and all later operations report success but have no effect,
    /// like cached writes that are lost in a power cut.
    StopAtOperation(u64),
    /// Like `StopAtOperation`, but the first half of the bytes written by the operation with this
    /// index takes effect.
    TearAtOperation(u64),
    /// The byte with this index and all later bytes cannot be written, as on a full disk. Later
    /// operations fail as well.
    FailAtByte(u64),
    /// The byte with this index and all later bytes are lost, but the operations report success.
    StopAtByte(u64),
}

/// Counts operations and bytes, and decides the outcome of each operation.
#[derive(Debug, Default)]
pub(super) struct Faults {
    fault: Fault,
    operations: u64,
    bytes: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Working,
    Failing,
    Stopped,
}

/// The outcome of an operation. An operation that is not a write, such as a flush, counts as a
/// write of 0 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// The operation fails after this many bytes.
    Fails(usize),
    /// The operation reports success, but only this many bytes are kept.
    Lost(usize),
}

impl Faults {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault, ..Self::default() }
    }

    pub(super) fn next(&mut self, len: usize) -> Outcome {
        let operation = self.operations;
        self.operations += 1;
        let room = |at: u64| {
            let room = usize::try_from(at.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
            (room < len).then_some(room)
        };
        let outcome = match (self.state, self.fault) {
            (State::Failing, _) => Outcome::Fails(0),
            (State::Stopped, _) => Outcome::Lost(0),
            (_, Fault::FailAtOperation(at) | Fault::FailOnceAtOperation(at)) if operation == at => {
                Outcome::Fails(0)
            }
            (_, Fault::StopAtOperation(at)) if operation == at => Outcome::Lost(0),
            (_, Fault::TearAtOperation(at)) if operation == at => Outcome::Lost(len / 2),
            (_, Fault::FailAtByte(at)) => room(at).map_or(Outcome::Done, Outcome::Fails),
            (_, Fault::StopAtByte(at)) => room(at).map_or(Outcome::Done, Outcome::Lost),
            _ => Outcome::Done,
        };
        let written = match outcome {
            Outcome::Fails(written) => written,
            Outcome::Done | Outcome::Lost(_) => len,
        };
        self.bytes = self.bytes.saturating_add(written as u64);
        self.state = match outcome {
            Outcome::Lost(_) => State::Stopped,
            Outcome::Fails(_) if !matches!(self.fault, Fault::FailOnceAtOperation(_)) => {
                State::Failing
            }
            _ => self.state,
        };
        outcome
    }
}

/// Returns the error that failing operations return.
pub(super) fn injected() -> io::Error {
    io::Error::other("injected fault")
}

/// A writer that passes all operations on to an inner writer, except those that its fault affects.
#[derive(Debug)]
pub struct FaultyWriter<W> {
    inner: W,
    faults: Faults,
    /// The position and length that the writer reports once its operations have no effect.
    stopped: Option<(u64, u64)>,
}

impl<W: Write + Seek> FaultyWriter<W> {
    /// Creates a writer that injects the given fault.
    pub fn new(inner: W, fault: Fault) -> Self {
        Self { inner, faults: Faults::new(fault), stopped: None }
    }

    /// Returns the number of operations so far, including operations after the fault.
    pub fn operations(&self) -> u64 {
        self.faults.operations
    }

    /// Returns the number of bytes written so far, including lost bytes.
    pub fn bytes(&self) -> u64 {
        self.faults.bytes
    }

    /// Returns the inner writer, which contains only the bytes that took effect.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// On the first call, records the position and length of the inner writer. On every call,
    /// advances the reported position by `lost` bytes.
    fn stop(&mut self, lost: usize) -> io::Result<()> {
        if self.stopped.is_none() {
            let position = self.inner.stream_position()?;
            self.stopped = Some((position, self.inner.seek(SeekFrom::End(0))?));
        }
        if let Some((position, len)) = &mut self.stopped {
            *position = position.saturating_add(lost as u64);
            *len = (*len).max(*position);
        }
        Ok(())
    }
}

impl<W: Write + Seek> Write for FaultyWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let kept = match self.faults.next(buf.len()) {
            Outcome::Done => return self.inner.write(buf),
            Outcome::Fails(0) => return Err(injected()),
            Outcome::Fails(kept) | Outcome::Lost(kept) => kept,
        };
        self.inner.write_all(&buf[..kept])?;
        if self.faults.state == State::Failing {
            // A full disk accepts the bytes that fit, and only fails at the next write.
            return Ok(kept);
        }
        self.stop(buf.len() - kept)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.faults.next(0) {
            Outcome::Done => self.inner.flush(),
            Outcome::Fails(_) => Err(injected()),
            Outcome::Lost(_) => self.stop(0),
        }
    }
}

impl<W: Write + Seek> Seek for FaultyWriter<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self.faults.next(0) {
            Outcome::Done => return self.inner.seek(to),
            Outcome::Fails(_) => return Err(injected()),
            Outcome::Lost(_) => self.stop(0)?,
        }
        let Some((position, len)) = &mut self.stopped else { return Err(injected()) };
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => len.checked_add_signed(by),
            SeekFrom::Current(by) => position.checked_add_signed(by),
        };
        *position = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(*position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Performs five operations that write nine bytes in total and leave a file of six bytes.
    fn write_all(writer: &mut (impl Write + Seek)) -> io::Result<()> {
        writer.write_all(b"abc")?;
        writer.write_all(b"def")?;
        writer.seek(SeekFrom::Start(1))?;
        writer.write_all(b"XYZ")?;
        writer.flush()
    }

    fn run(fault: Fault) -> (io::Result<()>, Vec<u8>) {
        let mut writer = FaultyWriter::new(Cursor::new(Vec::new()), fault);
        let outcome = write_all(&mut writer);
        (outcome, writer.into_inner().into_inner())
    }

    #[test]
    fn without_a_fault_all_operations_and_bytes_are_counted() {
        let mut writer = FaultyWriter::new(Cursor::new(Vec::new()), Fault::None);
        write_all(&mut writer).unwrap();
        assert_eq!((writer.operations(), writer.bytes()), (5, 9));
        assert_eq!(writer.into_inner().into_inner(), b"aXYZef");
    }

    #[test]
    fn a_failing_operation_is_reported_and_earlier_writes_are_kept() {
        let left: [&[u8]; 5] = [b"", b"abc", b"abcdef", b"abcdef", b"aXYZef"];
        for (operation, left) in (0..).zip(left) {
            let (outcome, written) = run(Fault::FailAtOperation(operation));
            assert_eq!(outcome.unwrap_err().to_string(), "injected fault");
            assert_eq!(written, left, "operation {operation}");
        }
        assert!(run(Fault::FailAtOperation(5)).0.is_ok());
    }

    #[test]
    fn stopped_operations_report_success_without_writing() {
        let left: [&[u8]; 5] = [b"", b"abc", b"abcdef", b"abcdef", b"aXYZef"];
        for (operation, left) in (0..).zip(left) {
            let (outcome, written) = run(Fault::StopAtOperation(operation));
            outcome.unwrap();
            assert_eq!(written, left, "operation {operation}");
        }
    }

    #[test]
    fn a_single_failure_affects_only_one_operation_and_a_torn_write_is_half_written() {
        let (outcome, written) = run(Fault::TearAtOperation(1));
        assert!(outcome.is_ok());
        assert_eq!(written, b"abcd");
        let mut writer = FaultyWriter::new(Cursor::new(Vec::new()), Fault::FailOnceAtOperation(1));
        writer.write_all(b"abc").unwrap();
        writer.write_all(b"def").unwrap_err();
        writer.write_all(b"ghi").unwrap();
        assert_eq!(writer.into_inner().into_inner(), b"abcghi");
    }

    #[test]
    fn miri_a_fault_at_a_byte_takes_effect_inside_a_write() {
        for (byte, left) in [(0, &b""[..]), (4, b"abcd"), (6, b"abcdef"), (8, b"aXYdef")] {
            let (outcome, written) = run(Fault::FailAtByte(byte));
            assert!(outcome.is_err());
            assert_eq!(written, left, "fails at byte {byte}");
            let (outcome, written) = run(Fault::StopAtByte(byte));
            assert!(outcome.is_ok());
            assert_eq!(written, left, "stops at byte {byte}");
        }
    }

    #[test]
    fn a_stopped_writer_still_advances_the_position_that_it_reports() {
        let mut writer =
            FaultyWriter::new(Cursor::new(b"1234".to_vec()), Fault::StopAtOperation(1));
        writer.seek(SeekFrom::End(0)).unwrap();
        writer.write_all(b"lost").unwrap();
        assert_eq!(writer.stream_position().unwrap(), 8);
        assert_eq!(writer.seek(SeekFrom::End(-1)).unwrap(), 7);
        assert!(writer.seek(SeekFrom::Current(-9)).is_err());
        assert_eq!(writer.into_inner().into_inner(), b"1234");
    }
}
