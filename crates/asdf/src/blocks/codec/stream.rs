//! The rules that hold for every format whose data is one stream.

use super::output::Output;
use super::{Failure, Note};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// A compressed format.
pub(super) trait Format {
    /// Whether a stream of this format begins here.
    fn begins(&self, input: &[u8]) -> bool;

    /// A decoder of the stream at the beginning of `input`; an error that names what is there
    /// instead, if it can be told.
    fn open<'a>(&self, input: &'a [u8]) -> Result<Box<dyn Stream + 'a>, Failure>;
}

/// A stream that is being decoded.
pub(super) trait Stream {
    /// Decodes into `output`, which is not empty, as much as fits or as there is.
    fn fill(&mut self, output: &mut [u8]) -> Result<Filled, CodecError>;

    /// Bytes of the input that were used.
    fn consumed(&self) -> usize;
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
    stored: &[u8],
    output: &mut Output<'_>,
    rules: Rules,
    notes: &mut Vec<Note>,
) -> Result<(), Failure> {
    if stored.is_empty() && output.is_full() {
        return Ok(()); // No bytes are a stream of nothing.
    }
    let mut at = 0;
    loop {
        let mut stream = format.open(&stored[at..]).map_err(|failure| shift(failure, at))?;
        let state = decode_one(stream.as_mut(), output, rules).map_err(|f| shift(f, at))?;
        at += stream.consumed();
        if !rules.whole && output.is_full() {
            return Ok(());
        }
        if state == State::Cut {
            let message = "the stream ends inside its checksum".to_owned();
            notes.push(Note { code: Code::StreamChecksumCut, at: at as u64, message });
            return Ok(());
        }
        let rest = &stored[at..];
        if output.is_full() {
            if !rest.is_empty() {
                let message = format!("{} bytes after the end of the stream", rest.len());
                notes.push(Note { code: Code::BytesAfterStream, at: at as u64, message });
            }
            return Ok(());
        }
        if !format.begins(rest) {
            return Err(short(output).into());
        }
        let message = "a second stream in the block".to_owned();
        notes.push(Note { code: Code::SecondStream, at: at as u64, message });
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
                let offset = stream.consumed() as u64;
                return Err(CodecError::Corrupt { message, offset }.into());
            }
            State::Running if filled.len == 0 && stream.consumed() == before => {
                let message = "the decoder makes no progress".to_owned();
                return Err(CodecError::Corrupt { message, offset: before as u64 }.into());
            }
            State::Running => {}
        }
    }
}

fn short(output: &Output<'_>) -> CodecError {
    CodecError::ShortStream { got: output.filled(), want: output.want() }
}

/// Moves the place of an error by where its stream begins.
fn shift(failure: Failure, by: usize) -> Failure {
    match failure {
        Failure::Codec(CodecError::Corrupt { message, offset }) => {
            let offset = offset.saturating_add(by as u64);
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
    input: &'a [u8],
    consumed: usize,
}

impl<'a, D> Decoding<'a, D> {
    pub(super) fn new(decoder: D, input: &'a [u8]) -> Self {
        Self { decoder, input, consumed: 0 }
    }
}

impl<D: Decoder> Stream for Decoding<'_, D> {
    fn fill(&mut self, output: &mut [u8]) -> Result<Filled, CodecError> {
        let (read, len, result) = self.decoder.decode(&self.input[self.consumed..], output);
        self.consumed += read;
        let offset = self.consumed as u64;
        let state = match result {
            Err(message) => return Err(CodecError::Corrupt { message, offset }),
            Ok(true) => State::Ended,
            Ok(false) if self.consumed == self.input.len() && len < output.len() => State::Cut,
            Ok(false) => State::Running,
        };
        Ok(Filled { len, state })
    }

    fn consumed(&self) -> usize {
        self.consumed
    }
}

/// How far a decoder's counter went, within a slice of `max` bytes.
pub(super) fn counted(before: u64, after: u64, max: usize) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(max).min(max)
}
