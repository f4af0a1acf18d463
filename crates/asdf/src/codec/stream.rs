//! The rules that hold for every format whose data is one stream.

use binio::ReadAt;
use bytes::Bytes;

use super::output::Output;
use super::{Failure, Note};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// How many of the first bytes of a stream show what it is.
const PREFIX: u64 = 256;
/// Stored bytes that are not in memory are read in pieces of this size.
const PIECE: u64 = if cfg!(test) { 7 } else { 1 << 20 };

/// A compressed format.
pub(super) trait Format {
    /// Whether a stream of this format begins with these bytes.
    fn begins(&self, prefix: &[u8]) -> bool;

    /// A decoder of the stream at the beginning of `input`, which begins with `prefix`; an error that
    /// names what is there instead, if it can be told.
    fn open<'a>(&self, prefix: &[u8], input: Input<'a>) -> Result<Box<dyn Stream + 'a>, Failure>;
}

/// A stream that is being decoded.
pub(super) trait Stream {
    /// Decodes into `output`, which is not empty, as much as fits or as there is.
    fn fill(&mut self, output: &mut [u8]) -> Result<Filled, Failure>;

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
            let len = if self.stored.is_memory() { left } else { left.min(PIECE) };
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
pub(super) struct Filled {
    pub(super) len: usize,
    pub(super) state: State,
}

/// How a stream goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// The stream is whole, its checksum was right.
    Ended,
    /// The input ended before the stream did.
    Cut,
}

/// How strict to be.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// The output is all the data, not its beginning: what follows must be right too.
    pub(super) whole: bool,
    /// The data of a stream that is cut after its last byte of data is returned.
    pub(super) salvage: bool,
}

/// Decodes the stream, and those that follow it as far as they are wanted.
pub(super) fn decode(
    format: &dyn Format,
    stored: &dyn ReadAt,
    output: &mut Output<'_>,
    rules: Rules,
    notes: &mut Vec<Note>,
) -> Result<(), Failure> {
    if stored.is_empty() && output.is_full() {
        return Ok(()); // No bytes are a stream of nothing.
    }
    let prefix = |at: u64| {
        let len = PREFIX.min(stored.len().saturating_sub(at));
        stored.bytes_at(at, usize::try_from(len).unwrap_or(0))
    };
    let mut at = 0;
    loop {
        let stream = format.open(&prefix(at)?, Input::new(stored, at));
        let mut stream = stream.map_err(|failure| shift(failure, at))?;
        let state = decode_one(stream.as_mut(), output, rules).map_err(|f| shift(f, at))?;
        at += stream.consumed();
        if !rules.whole && output.is_full() {
            return Ok(());
        }
        if state == State::Cut {
            let message = "the stream ends inside its checksum".to_owned();
            notes.push(Note { code: Code::StreamChecksumCut, at, message });
            return Ok(());
        }
        let rest = stored.len().saturating_sub(at);
        if output.is_full() {
            if rest > 0 {
                let message = format!("{rest} bytes after the end of the stream");
                notes.push(Note { code: Code::BytesAfterStream, at, message });
            }
            return Ok(());
        }
        if !format.begins(&prefix(at)?) {
            return Err(short(output).into());
        }
        let message = "a second stream in the block".to_owned();
        notes.push(Note { code: Code::SecondStream, at, message });
    }
}

/// Decodes one stream up to its end, or until a wanted beginning is there.
fn decode_one(
    stream: &mut dyn Stream,
    output: &mut Output<'_>,
    rules: Rules,
) -> Result<State, Failure> {
    loop {
        let before = stream.consumed();
        let filled = if output.is_full() {
            if !rules.whole {
                return Ok(State::Running);
            }
            // One byte more is enough to know that the stream is too long.
            let filled = stream.fill(&mut [0])?;
            if filled.len > 0 {
                return Err(CodecError::LongStream { want: output.want() }.into());
            }
            filled
        } else {
            let step = output.step();
            let filled = stream.fill(output.room(step)?)?;
            output.advance(filled.len);
            filled
        };
        match filled.state {
            State::Ended => return Ok(State::Ended),
            State::Cut if !output.is_full() => return Err(short(output).into()),
            State::Cut if !rules.whole || rules.salvage => return Ok(State::Cut),
            State::Cut => {
                let message = "the stream ends after its data but inside its checksum".to_owned();
                let offset = stream.consumed();
                return Err(CodecError::Corrupt { message, offset }.into());
            }
            State::Running if filled.len == 0 && stream.consumed() == before => {
                let message = "the decoder makes no progress".to_owned();
                return Err(CodecError::Corrupt { message, offset: before }.into());
            }
            State::Running => {}
        }
    }
}

fn short(output: &Output<'_>) -> CodecError {
    CodecError::ShortStream { got: output.filled(), want: output.want() }
}

/// Moves the place of an error by where its stream begins.
fn shift(failure: Failure, by: u64) -> Failure {
    match failure {
        Failure::Codec(CodecError::Corrupt { message, offset }) => {
            let offset = offset.saturating_add(by);
            Failure::Codec(CodecError::Corrupt { message, offset })
        }
        other => other,
    }
}

/// A decoder that takes its input in slices.
pub(super) trait Decoder {
    /// Decodes what it can. Returns the bytes read and written, and whether the stream has ended or
    /// what is wrong with it.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Result<bool, String>);
}

/// The stream of such a decoder.
pub(super) struct Decoding<'a, D> {
    decoder: D,
    input: Input<'a>,
}

impl<'a, D> Decoding<'a, D> {
    pub(super) fn new(decoder: D, input: Input<'a>) -> Self {
        Self { decoder, input }
    }
}

impl<D: Decoder> Stream for Decoding<'_, D> {
    fn fill(&mut self, output: &mut [u8]) -> Result<Filled, Failure> {
        let (read, len, result) = self.decoder.decode(self.input.piece()?, output);
        self.input.advance(read);
        let state = match result {
            Err(message) => {
                let offset = self.input.used();
                return Err(CodecError::Corrupt { message, offset }.into());
            }
            Ok(true) => State::Ended,
            Ok(false) if self.input.is_at_end() && len < output.len() => State::Cut,
            Ok(false) => State::Running,
        };
        Ok(Filled { len, state })
    }

    fn consumed(&self) -> u64 {
        self.input.used()
    }
}

/// How far a decoder's counter went, within a slice of `max` bytes.
pub(super) fn counted(before: u64, after: u64, max: usize) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(max).min(max)
}
