//! A writer that breaks on purpose: a test instrument for code that writes files.
//!
//! Run the code under test once with [`Fault::None`] and count its operations, then once for every
//! operation with a fault there, and look at what is left each time.
//!
//! ```
//! use std::io::{Cursor, Write};
//! use binio::fault::{Fault, FaultyWriter};
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

/// What a [`FaultyWriter`] does, and when. Operations (`write`, `flush`, `seek`) and bytes are
/// counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing goes wrong.
    None,
    /// This operation and all later ones fail, as on a disk that is gone.
    FailAtOperation(u64),
    /// This operation and all later ones have no effect and report success, as before a power cut
    /// the writes that never left a cache.
    StopAtOperation(u64),
    /// This byte and all later ones cannot be written, as on a disk that is full.
    FailAtByte(u64),
    /// This byte and all later ones are lost, and success is reported.
    StopAtByte(u64),
}

/// A writer that passes everything on until its fault.
#[derive(Debug)]
pub struct FaultyWriter<W> {
    inner: W,
    fault: Fault,
    operations: u64,
    bytes: u64,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Working,
    Failed,
    /// Operations have no effect; what the writer believes to be its position and length.
    Stopped {
        position: u64,
        len: u64,
    },
}

impl<W: Write + Seek> FaultyWriter<W> {
    /// A writer with a fault to come.
    pub fn new(inner: W, fault: Fault) -> Self {
        Self { inner, fault, operations: 0, bytes: 0, state: State::Working }
    }

    /// Operations so far, those after the fault included.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Bytes written so far, lost ones included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was written before the fault.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// Counts an operation, and breaks if it is the one.
    fn begin(&mut self) -> io::Result<State> {
        let operation = self.operations;
        self.operations += 1;
        if matches!(self.state, State::Working) {
            match self.fault {
                Fault::FailAtOperation(at) if operation >= at => self.state = State::Failed,
                Fault::StopAtOperation(at) if operation >= at => self.stop()?,
                _ => {}
            }
        }
        match self.state {
            State::Failed => Err(broken()),
            state => Ok(state),
        }
    }

    fn stop(&mut self) -> io::Result<()> {
        let position = self.inner.stream_position()?;
        let len = self.inner.seek(SeekFrom::End(0))?;
        self.state = State::Stopped { position, len };
        Ok(())
    }

    /// Bytes that still go through.
    fn room(&self) -> u64 {
        match self.fault {
            Fault::FailAtByte(at) | Fault::StopAtByte(at) => at.saturating_sub(self.bytes),
            _ => u64::MAX,
        }
    }
}

fn broken() -> io::Error {
    io::Error::other("injected fault")
}

impl<W: Write + Seek> Write for FaultyWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = match self.begin()? {
            State::Stopped { position, len } => {
                let position = position.saturating_add(buf.len() as u64);
                self.state = State::Stopped { position, len: len.max(position) };
                buf.len()
            }
            _ => self.write_up_to_fault(buf)?,
        };
        self.bytes = self.bytes.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.begin()? {
            State::Stopped { .. } => Ok(()),
            _ => self.inner.flush(),
        }
    }
}

impl<W: Write + Seek> FaultyWriter<W> {
    fn write_up_to_fault(&mut self, buf: &[u8]) -> io::Result<usize> {
        let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
        if buf.len() <= room {
            return self.inner.write(buf);
        }
        self.inner.write_all(&buf[..room])?;
        if matches!(self.fault, Fault::StopAtByte(_)) {
            self.stop()?;
            if let State::Stopped { position, len } = self.state {
                let position = position.saturating_add((buf.len() - room) as u64);
                self.state = State::Stopped { position, len: len.max(position) };
            }
            return Ok(buf.len());
        }
        self.state = State::Failed;
        // A full disk takes what fits and fails at the next write.
        if room > 0 { Ok(room) } else { Err(broken()) }
    }
}

impl<W: Write + Seek> Seek for FaultyWriter<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let State::Stopped { position, len } = self.begin()? else {
            return self.inner.seek(to);
        };
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => len.checked_add_signed(by),
            SeekFrom::Current(by) => position.checked_add_signed(by),
        };
        let position = place.ok_or(io::ErrorKind::InvalidInput)?;
        self.state = State::Stopped { position, len };
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Five operations, nine bytes written, six in the file.
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
    fn without_a_fault_everything_is_counted() {
        let mut writer = FaultyWriter::new(Cursor::new(Vec::new()), Fault::None);
        write_all(&mut writer).unwrap();
        assert_eq!((writer.operations(), writer.bytes()), (5, 9));
        assert_eq!(writer.into_inner().into_inner(), b"aXYZef");
    }

    #[test]
    fn failing_operation_is_reported_and_leaves_what_was_before() {
        let left: [&[u8]; 5] = [b"", b"abc", b"abcdef", b"abcdef", b"aXYZef"];
        for (operation, left) in (0..).zip(left) {
            let (outcome, written) = run(Fault::FailAtOperation(operation));
            assert_eq!(outcome.unwrap_err().to_string(), "injected fault");
            assert_eq!(written, left, "operation {operation}");
        }
        assert!(run(Fault::FailAtOperation(5)).0.is_ok());
    }

    #[test]
    fn stopping_operation_reports_success() {
        let left: [&[u8]; 5] = [b"", b"abc", b"abcdef", b"abcdef", b"aXYZef"];
        for (operation, left) in (0..).zip(left) {
            let (outcome, written) = run(Fault::StopAtOperation(operation));
            outcome.unwrap();
            assert_eq!(written, left, "operation {operation}");
        }
    }

    #[test]
    fn miri_byte_faults_cut_inside_a_write() {
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
    fn stopped_writer_still_believes_in_its_position() {
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
