//! `bzp2`: one bzip2 stream.
//!
//! ```text
//! "BZh9"             the digit is the block size in units of 100 kB
//! ...                blocks, each with its CRC
//! 17 72 45 38 50 90  the end, and a CRC of all
//! ```

use bzip2::{Decompress, Status};

use super::Failure;
use super::stream::{Decoder, Decoding, Format, Input, Stream, counted};
use crate::error::CodecError;

pub(super) struct Bzip2;

impl Format for Bzip2 {
    fn begins(&self, prefix: &[u8]) -> bool {
        matches!(prefix, [b'B', b'Z', b'h', b'1'..=b'9', ..])
    }

    fn open<'a>(&self, prefix: &[u8], input: Input<'a>) -> Result<Box<dyn Stream + 'a>, Failure> {
        if prefix.len() >= 4 && !self.begins(prefix) {
            let message = "not a bzip2 stream: expected \"BZh\" and a digit".to_owned();
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        Ok(Box::new(Decoding::new(Decompress::new(false), input)))
    }
}

impl Decoder for Decompress {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Result<bool, String>) {
        let (in_before, out_before) = (self.total_in(), self.total_out());
        let result = self.decompress(input, output);
        let read = counted(in_before, self.total_in(), input.len());
        let written = counted(out_before, self.total_out(), output.len());
        let ended = result.map(|status| status == Status::StreamEnd);
        (read, written, ended.map_err(|error| error.to_string()))
    }
}
