//! `bzp2`: one bzip2 stream.
//!
//! ```text
//! "BZh9"             the digit is the block size in units of 100 kB
//! ...                blocks, each with its CRC
//! 17 72 45 38 50 90  the end, and a CRC of all
//! ```

use bzip2::{Decompress, Status};

use super::Failure;
use super::stream::{Filled, Format, State, Stream, counted};
use crate::error::CodecError;

pub(super) struct Bzip2;

impl Format for Bzip2 {
    fn begins(&self, input: &[u8]) -> bool {
        matches!(input, [b'B', b'Z', b'h', b'1'..=b'9', ..])
    }

    fn open<'a>(&self, input: &'a [u8]) -> Result<Box<dyn Stream + 'a>, Failure> {
        if input.len() >= 4 && !self.begins(input) {
            let message = "not a bzip2 stream: expected \"BZh\" and a digit".to_owned();
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        Ok(Box::new(Bzip2Stream { decoder: Decompress::new(false), input, consumed: 0 }))
    }
}

struct Bzip2Stream<'a> {
    decoder: Decompress,
    input: &'a [u8],
    consumed: usize,
}

impl Stream for Bzip2Stream<'_> {
    fn fill(&mut self, output: &mut [u8]) -> Result<Filled, CodecError> {
        let (in_before, out_before) = (self.decoder.total_in(), self.decoder.total_out());
        let input = &self.input[self.consumed..];
        let result = self.decoder.decompress(input, output);
        self.consumed += counted(in_before, self.decoder.total_in(), input.len());
        let status = result.map_err(|error| CodecError::Corrupt {
            message: error.to_string(),
            offset: self.consumed as u64,
        })?;
        let len = counted(out_before, self.decoder.total_out(), output.len());
        let state = match status {
            Status::StreamEnd => State::Ended,
            _ if self.consumed == self.input.len() && len < output.len() => State::Cut,
            _ => State::Running,
        };
        Ok(Filled { len, state })
    }

    fn consumed(&self) -> usize {
        self.consumed
    }
}
