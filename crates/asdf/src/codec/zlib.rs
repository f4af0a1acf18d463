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
use super::stream::{Decoder, Decoding, Format, Input, Stream, counted};
use crate::error::CodecError;

pub(super) struct Zlib;

impl Format for Zlib {
    fn begins(&self, prefix: &[u8]) -> bool {
        matches!(*prefix, [method, flags, ..]
            if method & 0x0f == 8 && u16::from_be_bytes([method, flags]) % 31 == 0)
    }

    fn open<'a>(&self, prefix: &[u8], input: Input<'a>) -> Result<Box<dyn Stream + 'a>, Failure> {
        if prefix.len() >= 2 && !self.begins(prefix) {
            let message = format!("{}, expected a zlib stream (RFC 1950)", what_it_is(prefix));
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        Ok(Box::new(Decoding::new(Decompress::new(true), input)))
    }
}

/// A name for what is found instead of a zlib stream.
fn what_it_is(prefix: &[u8]) -> &'static str {
    if prefix.starts_with(&[0x1f, 0x8b]) {
        return "a gzip member";
    }
    let mut probe = [0; 256];
    let mut raw = Decompress::new(false);
    match raw.decompress(prefix, &mut probe, FlushDecompress::None) {
        Ok(_) if raw.total_out() > 0 => "raw deflate data without a zlib header",
        _ => "no zlib header",
    }
}

impl Decoder for Decompress {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Result<bool, String>) {
        let (in_before, out_before) = (self.total_in(), self.total_out());
        let result = self.decompress(input, output, FlushDecompress::None);
        let read = counted(in_before, self.total_in(), input.len());
        let written = counted(out_before, self.total_out(), output.len());
        let result = result.map(|status| status == Status::StreamEnd).map_err(|error| match error
            .needs_dictionary()
        {
            Some(_) => "the zlib stream needs a preset dictionary".to_owned(),
            None => format!("zlib: {}", error.message().unwrap_or("damaged stream")),
        });
        (read, written, result)
    }
}
