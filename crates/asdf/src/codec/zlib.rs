//! `zlib`: one RFC 1950 stream.
//!
//! ```text
//! 78 9c    method and window, flags; as a big-endian number a multiple of 31
//! ...      deflate data
//! 4 bytes  adler32 of the decoded data
//! ```
//!
//! Some writers put a gzip member or raw deflate data under this code; the error names it.

use flate2::{Decompress, FlushDecompress, Status};

use super::Failure;
use super::stream::{Filled, Format, State, Stream, counted};
use crate::error::CodecError;

pub(super) struct Zlib;

impl Format for Zlib {
    fn begins(&self, input: &[u8]) -> bool {
        matches!(*input, [method, flags, ..]
            if method & 0x0f == 8 && u16::from_be_bytes([method, flags]) % 31 == 0)
    }

    fn open<'a>(&self, input: &'a [u8]) -> Result<Box<dyn Stream + 'a>, Failure> {
        if input.len() >= 2 && !self.begins(input) {
            let message = format!("{}, expected a zlib stream (RFC 1950)", what_it_is(input));
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        Ok(Box::new(ZlibStream { decoder: Decompress::new(true), input, consumed: 0 }))
    }
}

/// A name for what is found instead of a zlib stream.
fn what_it_is(input: &[u8]) -> &'static str {
    if input.starts_with(&[0x1f, 0x8b]) {
        return "a gzip member";
    }
    let mut probe = [0; 256];
    let mut raw = Decompress::new(false);
    match raw.decompress(input, &mut probe, FlushDecompress::None) {
        Ok(_) if raw.total_out() > 0 => "raw deflate data without a zlib header",
        _ => "no zlib header",
    }
}

struct ZlibStream<'a> {
    decoder: Decompress,
    input: &'a [u8],
    consumed: usize,
}

impl Stream for ZlibStream<'_> {
    fn fill(&mut self, output: &mut [u8]) -> Result<Filled, CodecError> {
        let (in_before, out_before) = (self.decoder.total_in(), self.decoder.total_out());
        let input = &self.input[self.consumed..];
        let result = self.decoder.decompress(input, output, FlushDecompress::None);
        self.consumed += counted(in_before, self.decoder.total_in(), input.len());
        let status = result.map_err(|error| {
            let message = match error.needs_dictionary() {
                Some(_) => "the zlib stream needs a preset dictionary".to_owned(),
                None => format!("zlib: {}", error.message().unwrap_or("damaged stream")),
            };
            CodecError::Corrupt { message, offset: self.consumed as u64 }
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
