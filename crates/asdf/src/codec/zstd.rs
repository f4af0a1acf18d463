//! `zstd`: one Zstandard frame (RFC 8878).

use zstd::stream::raw::{Decoder, Operation};

use super::Failure;
use super::stream::{Filled, Format, State, Stream};
use crate::error::CodecError;

pub(super) struct Zstd;

impl Format for Zstd {
    fn begins(&self, input: &[u8]) -> bool {
        let skippable = matches!(input, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        skippable || input.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
    }

    fn open<'a>(&self, input: &'a [u8]) -> Result<Box<dyn Stream + 'a>, Failure> {
        if input.len() >= 4 && !self.begins(input) {
            let message = "not a Zstandard frame: expected 28 b5 2f fd".to_owned();
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        let decoder = Decoder::new().map_err(binio::Error::from)?;
        Ok(Box::new(ZstdStream { decoder, input, consumed: 0 }))
    }
}

struct ZstdStream<'a> {
    decoder: Decoder<'static>,
    input: &'a [u8],
    consumed: usize,
}

impl Stream for ZstdStream<'_> {
    fn fill(&mut self, output: &mut [u8]) -> Result<Filled, CodecError> {
        let input = &self.input[self.consumed..];
        let result = self.decoder.run_on_buffers(input, output);
        let status = result.map_err(|error| CodecError::Corrupt {
            message: format!("zstd: {error}"),
            offset: self.consumed as u64,
        })?;
        self.consumed += status.bytes_read.min(input.len());
        let state = if status.remaining == 0 {
            State::Ended
        } else if self.consumed == self.input.len() && status.bytes_written < output.len() {
            State::Cut
        } else {
            State::Running
        };
        Ok(Filled { len: status.bytes_written.min(output.len()), state })
    }

    fn consumed(&self) -> usize {
        self.consumed
    }
}
