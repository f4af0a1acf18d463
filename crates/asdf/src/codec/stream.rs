//! Decoding streams by the rules that all stream formats share.

use binio::ReadAt;
use binio::diagnostic::count;
use bytes::Bytes;

use super::Failure;
use super::decoder::{FramedDecoder, Progress, zeroed};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// Maximum number of bytes at the beginning of a stream that are examined to identify its format.
const PREFIX: u64 = 256;
/// Size in bytes of the pieces in which stored bytes are read, unless they are in memory.
const STORED_PIECE: u64 = if cfg!(test) { 7 } else { 1 << 20 };
/// Size in bytes of the pieces in which data is decoded, unless it is decoded as a whole.
const PIECE: usize = 1 << 20;

/// A compressed format.
pub(super) trait Format: Sync {
    /// Returns `true` if a stream of this format may begin with these bytes.
    fn begins(&self, prefix: &[u8]) -> bool;

    /// Opens the stream at the beginning of `input`, whose first bytes are `prefix`. If the bytes
    /// belong to another known format, the error names that format.
    fn open<'a>(&self, prefix: &[u8], input: Input<'a>) -> Result<Box<dyn Stream + 'a>, Failure>;
}

/// A stream that is being decoded.
pub(super) trait Stream: Send {
    /// Decodes as much as possible into `output`, which must not be empty.
    fn fill(&mut self, output: &mut [u8]) -> Result<FillOutcome, Failure>;

    /// Returns the number of input bytes that have been consumed. Once the stream has ended, this is its length.
    fn consumed(&self) -> u64;
}

/// The stored bytes from a given offset on, read in pieces.
#[derive(Clone)]
pub(super) struct Input<'a> {
    stored: &'a dyn ReadAt,
    /// Offset in the stored bytes at which the stream begins.
    start: u64,
    /// Number of bytes of the stream that have been consumed.
    used: u64,
    /// Bytes that have been read, but not consumed yet.
    piece: Bytes,
}

impl<'a> Input<'a> {
    pub(super) fn new(stored: &'a dyn ReadAt, start: u64) -> Self {
        Self { stored, start, used: 0, piece: Bytes::new() }
    }

    /// Returns the next bytes, or no bytes at the end of the input.
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

    /// Marks the first `len` bytes of the piece as consumed.
    pub(super) fn advance(&mut self, len: usize) {
        let len = len.min(self.piece.len());
        self.piece = self.piece.slice(len..);
        self.used += len as u64;
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Returns the number of stored bytes that have not been consumed yet.
    #[cfg(feature = "rayon")]
    pub(super) fn left(&self) -> u64 {
        self.stored.len().saturating_sub(self.start + self.used)
    }

    fn is_at_end(&self) -> bool {
        self.start + self.used >= self.stored.len()
    }
}

/// The result of [`Stream::fill`].
pub(super) struct FillOutcome {
    pub(super) len: usize,
    pub(super) state: StreamState,
}

/// The state of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamState {
    Running,
    /// The stream is complete, and its checksum is correct if it has one.
    Ended,
    /// The input ended before the stream did.
    Truncated,
}

/// Data compressed to a single stream, or to several consecutive streams.
pub(super) struct Streams<'a> {
    format: &'static dyn Format,
    stored: &'a dyn ReadAt,
    /// Whether to return the data of a stream in which only bytes after the data are missing, usually those of
    /// the checksum.
    salvage: bool,
    /// The stream that is being decoded.
    stream: Box<dyn Stream + 'a>,
    /// Offset in the stored bytes at which `stream` begins.
    start: u64,
    state: StreamState,
}

impl<'a> Streams<'a> {
    /// Opens the first stream, in order to decode `wanted` bytes of data.
    pub(super) fn open(
        format: &'static dyn Format,
        stored: &'a dyn ReadAt,
        wanted: u64,
        salvage: bool,
    ) -> Result<Self, Failure> {
        let stream = format.open(&prefix(stored, 0)?, Input::new(stored, 0))?;
        // Empty input counts as a complete stream without data.
        let is_nothing = stored.is_empty() && wanted == 0;
        let state = if is_nothing { StreamState::Ended } else { StreamState::Running };
        Ok(Self { format, stored, salvage, stream, start: 0, state })
    }

    /// Returns the offset of the first stored byte that has not been consumed.
    fn end(&self) -> u64 {
        self.start + self.stream.consumed()
    }

    /// Decodes more of the current stream. Returns the number of bytes decoded.
    fn advance(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        let before = self.end();
        let filled = self.stream.fill(out).map_err(|failure| failure.moved_by(self.start))?;
        self.state = filled.state;
        if filled.state == StreamState::Running && filled.len == 0 && self.end() == before {
            let message = "the stream is damaged: the decoder makes no progress".to_owned();
            return Err(CodecError::Corrupt { message, offset: before }.into());
        }
        Ok(filled.len.min(out.len()))
    }

    /// Opens the next stream. Fails if there is none, because the stored bytes then end before all
    /// data has been decoded.
    fn open_next(&mut self, progress: &mut Progress<'_>) -> Result<(), Failure> {
        let at = self.end();
        let prefix = prefix(self.stored, at)?;
        if !self.format.begins(&prefix) {
            return Err(progress.short().into());
        }
        let message = "the block contains a second stream".to_owned();
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

    /// Decodes and discards the data before `position`.
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
            // If the stream decodes to even one more byte, it is too long.
            if self.advance(&mut [0])? > 0 {
                return Err(CodecError::LongStream { expected: progress.wanted }.into());
            }
        }
        let at = self.end();
        let rest = self.stored.len().saturating_sub(at);
        if self.state == StreamState::Truncated {
            if !self.salvage {
                let message =
                    "the stream is truncated after its data, so its checksum cannot be verified"
                        .to_owned();
                return Err(CodecError::Corrupt { message, offset: at }.into());
            }
            let message =
                "the stream is truncated after its data, so its checksum was not verified"
                    .to_owned();
            progress.note(Code::StreamChecksumTruncated, at, message);
        } else if rest > 0 {
            let message = format!("{} after the end of the stream", count(rest, "byte"));
            progress.note(Code::BytesAfterStream, at, message);
        }
        Ok(())
    }
}

/// Returns the first bytes of the stream at offset `at`, which identify its format.
fn prefix(stored: &dyn ReadAt, at: u64) -> Result<Bytes, binio::Error> {
    let len = PREFIX.min(stored.len().saturating_sub(at));
    stored.bytes_at(at, usize::try_from(len).unwrap_or(0))
}

/// A decoder that processes its input in slices.
pub(super) trait SliceDecoder: Send {
    /// Decodes as much as possible. Returns the number of bytes read and the number of bytes written. The third
    /// value is `true` if the stream has ended, or an error message if decoding fails.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Result<bool, String>);
}

/// Adapts a [`SliceDecoder`] to a [`Stream`].
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

/// Returns the number of bytes by which a decoder's counter has increased, but at most `max`, the
/// length of the slice.
pub(super) fn counted(before: u64, after: u64, max: usize) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(max).min(max)
}
