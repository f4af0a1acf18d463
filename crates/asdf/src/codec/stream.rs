//! The rules that hold for every format whose data is one stream.

use binio::ReadAt;
use bytes::Bytes;

use super::Failure;
use super::decoder::{FramedDecoder, Progress, zeroed};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// How many of the first bytes of a stream show what it is.
const PREFIX: u64 = 256;
/// Stored bytes that are not in memory are read in pieces of this size.
const STORED_PIECE: u64 = if cfg!(test) { 7 } else { 1 << 20 };
/// Data that is not decoded as a whole is decoded in pieces of this size.
const PIECE: usize = 1 << 20;

/// A compressed format.
pub(super) trait Format: Sync {
    /// Whether a stream of this format begins with these bytes.
    fn begins(&self, prefix: &[u8]) -> bool;

    /// A decoder of the stream at the beginning of `input`, which begins with `prefix`; an error that
    /// names what is there instead, if it can be told.
    fn open<'a>(&self, prefix: &[u8], input: Input<'a>) -> Result<Box<dyn Stream + 'a>, Failure>;
}

/// A stream that is being decoded.
pub(super) trait Stream: Send {
    /// Decodes into `output`, which is not empty, as much as fits or as there is.
    fn fill(&mut self, output: &mut [u8]) -> Result<FillOutcome, Failure>;

    /// Bytes of the input that were used.
    fn consumed(&self) -> u64;
}

/// The stored bytes from a place on, in pieces.
pub(super) struct Input<'a> {
    stored: &'a dyn ReadAt,
    /// Where the stream begins.
    start: u64,
    /// Bytes that were used.
    used: u64,
    /// Bytes that follow these, as far as they have been read.
    piece: Bytes,
}

impl<'a> Input<'a> {
    fn new(stored: &'a dyn ReadAt, start: u64) -> Self {
        Self { stored, start, used: 0, piece: Bytes::new() }
    }

    /// Bytes that follow; none only at the end.
    pub(super) fn piece(&mut self) -> Result<&[u8], binio::Error> {
        if self.piece.is_empty() {
            let at = self.start + self.used;
            let left = self.stored.len().saturating_sub(at);
            let len = if self.stored.is_memory() { left } else { left.min(STORED_PIECE) };
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            self.piece = self.stored.bytes_at(at, len)?;
        }
        Ok(&self.piece)
    }

    /// Marks the first bytes of the piece as used.
    pub(super) fn advance(&mut self, len: usize) {
        let len = len.min(self.piece.len());
        self.piece = self.piece.slice(len..);
        self.used += len as u64;
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    fn is_at_end(&self) -> bool {
        self.start + self.used >= self.stored.len()
    }
}

/// What [`Stream::fill`] did.
pub(super) struct FillOutcome {
    pub(super) len: usize,
    pub(super) state: StreamState,
}

/// How a stream goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamState {
    Running,
    /// The stream is whole, its checksum was right.
    Ended,
    /// The input ended before the stream did.
    Truncated,
}

/// Data in one stream, or in several that follow each other.
pub(super) struct Streams<'a> {
    format: &'static dyn Format,
    stored: &'a dyn ReadAt,
    /// Whether the data of a stream that is cut inside its checksum is returned.
    salvage: bool,
    /// The stream that is being decoded, and where it begins.
    stream: Box<dyn Stream + 'a>,
    start: u64,
    state: StreamState,
}

impl<'a> Streams<'a> {
    /// Opens the first stream. `wanted` bytes are to be decoded.
    pub(super) fn open(
        format: &'static dyn Format,
        stored: &'a dyn ReadAt,
        wanted: u64,
        salvage: bool,
    ) -> Result<Self, Failure> {
        let stream = format.open(&prefix(stored, 0)?, Input::new(stored, 0))?;
        // No bytes are a stream of nothing.
        let is_nothing = stored.is_empty() && wanted == 0;
        let state = if is_nothing { StreamState::Ended } else { StreamState::Running };
        Ok(Self { format, stored, salvage, stream, start: 0, state })
    }

    /// The end of what was decoded of the stored bytes.
    fn end(&self) -> u64 {
        self.start + self.stream.consumed()
    }

    /// Decodes more of the current stream. Returns the number of bytes decoded.
    fn advance(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        let before = self.end();
        let filled = self.stream.fill(out).map_err(|failure| failure.moved_by(self.start))?;
        self.state = filled.state;
        if filled.state == StreamState::Running && filled.len == 0 && self.end() == before {
            let message = "the decoder makes no progress".to_owned();
            return Err(CodecError::Corrupt { message, offset: before }.into());
        }
        Ok(filled.len.min(out.len()))
    }

    /// Opens the stream after one that ended before there was enough data.
    fn open_next(&mut self, progress: &mut Progress<'_>) -> Result<(), Failure> {
        let at = self.end();
        let prefix = prefix(self.stored, at)?;
        if !self.format.begins(&prefix) {
            return Err(progress.short().into());
        }
        let message = "a second stream in the block".to_owned();
        progress.note(Code::SecondStream, at, message);
        let stream = self.format.open(&prefix, Input::new(self.stored, at));
        self.stream = stream.map_err(|failure| failure.moved_by(at))?;
        (self.start, self.state) = (at, StreamState::Running);
        Ok(())
    }
}

impl FramedDecoder for Streams<'_> {
    fn fill(&mut self, mut out: &mut [u8], progress: &mut Progress<'_>) -> Result<(), Failure> {
        while !out.is_empty() {
            match self.state {
                StreamState::Running => {
                    let len = self.advance(out)?;
                    progress.decoded += len as u64;
                    out = &mut out[len..];
                }
                StreamState::Ended => self.open_next(progress)?,
                StreamState::Truncated => return Err(progress.short().into()),
            }
        }
        Ok(())
    }

    fn piece_len(&self, about: usize, _: &Progress<'_>) -> usize {
        about.max(PIECE)
    }

    /// Decodes what is skipped.
    fn skip_to(&mut self, position: u64, progress: &mut Progress<'_>) -> Result<(), Failure> {
        let skipped = |progress: &Progress<'_>| {
            usize::try_from(position.saturating_sub(progress.decoded)).unwrap_or(PIECE).min(PIECE)
        };
        let mut piece = zeroed(skipped(progress))?;
        while progress.decoded < position {
            let len = skipped(progress);
            self.fill(&mut piece[..len], progress)?;
        }
        Ok(())
    }

    fn finish(&mut self, progress: &mut Progress<'_>) -> Result<(), Failure> {
        while self.state == StreamState::Running {
            // One byte more is enough to know that the stream is too long.
            if self.advance(&mut [0])? > 0 {
                return Err(CodecError::LongStream { want: progress.wanted }.into());
            }
        }
        let at = self.end();
        let rest = self.stored.len().saturating_sub(at);
        if self.state == StreamState::Truncated {
            if !self.salvage {
                let message = "the stream ends after its data but inside its checksum".to_owned();
                return Err(CodecError::Corrupt { message, offset: at }.into());
            }
            let message = "the stream ends inside its checksum".to_owned();
            progress.note(Code::StreamChecksumCut, at, message);
        } else if rest > 0 {
            let message = format!("{rest} bytes after the end of the stream");
            progress.note(Code::BytesAfterStream, at, message);
        }
        Ok(())
    }
}

/// The bytes at `at` that show which format a stream has.
fn prefix(stored: &dyn ReadAt, at: u64) -> Result<Bytes, binio::Error> {
    let len = PREFIX.min(stored.len().saturating_sub(at));
    stored.bytes_at(at, usize::try_from(len).unwrap_or(0))
}

/// A decoder that takes its input in slices.
pub(super) trait SliceDecoder: Send {
    /// Decodes what it can. Returns the bytes read and written, and whether the stream has ended or
    /// what is wrong with it.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Result<bool, String>);
}

/// The stream of such a decoder.
pub(super) struct SliceStream<'a, D> {
    decoder: D,
    input: Input<'a>,
}

impl<'a, D> SliceStream<'a, D> {
    pub(super) fn new(decoder: D, input: Input<'a>) -> Self {
        Self { decoder, input }
    }
}

impl<D: SliceDecoder> Stream for SliceStream<'_, D> {
    fn fill(&mut self, output: &mut [u8]) -> Result<FillOutcome, Failure> {
        let (read, len, result) = self.decoder.decode(self.input.piece()?, output);
        self.input.advance(read);
        let state = match result {
            Err(message) => {
                let offset = self.input.used();
                return Err(CodecError::Corrupt { message, offset }.into());
            }
            Ok(true) => StreamState::Ended,
            Ok(false) if self.input.is_at_end() && len < output.len() => StreamState::Truncated,
            Ok(false) => StreamState::Running,
        };
        Ok(FillOutcome { len, state })
    }

    fn consumed(&self) -> u64 {
        self.input.used()
    }
}

/// How far a decoder's counter went, within a slice of `max` bytes.
pub(super) fn counted(before: u64, after: u64, max: usize) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(max).min(max)
}
