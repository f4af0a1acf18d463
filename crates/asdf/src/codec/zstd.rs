//! `zstd`: a Zstandard frame (RFC 8878).

use std::io::{self, Write as _};

use zstd::Encoder;
use zstd::stream::raw::{self, Operation};

use super::Failure;
use super::encode::{Parameters, Sink, Source, Writer, write_error};
use super::stream::{Format, Input, SliceDecoder, SliceStream, Stream};
use crate::error::{CodecError, Result};

pub(super) struct Zstd;

impl Format for Zstd {
    fn begins(&self, prefix: &[u8]) -> bool {
        let skippable = matches!(prefix, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        skippable || prefix.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
    }

    fn open<'a>(&self, prefix: &[u8], input: Input<'a>) -> Result<Box<dyn Stream + 'a>, Failure> {
        if prefix.len() >= 4 && !self.begins(prefix) {
            let message = "not a Zstandard frame: expected 28 b5 2f fd".to_owned();
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        let decoder = raw::Decoder::new().map_err(binio::Error::from)?;
        Ok(Box::new(SliceStream::new(decoder, input)))
    }
}

impl SliceDecoder for raw::Decoder<'static> {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Result<bool, String>) {
        match self.run_on_buffers(input, output) {
            Ok(status) => {
                let read = status.bytes_read.min(input.len());
                (read, status.bytes_written.min(output.len()), Ok(status.remaining == 0))
            }
            Err(error) => (0, 0, Err(format!("zstd: {error}"))),
        }
    }
}

pub(super) fn encode(
    source: &mut dyn Source,
    Parameters { level, .. }: Parameters,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let fail = |error: io::Error| write_error("zstd", error);
    let mut encoder = Encoder::new(Writer(sink), level.into()).map_err(fail)?;
    encoder.set_pledged_src_size(Some(source.left())).map_err(fail)?;
    encoder.include_contentsize(true).map_err(fail)?;
    source.pieces(&mut |piece| encoder.write_all(piece).map_err(fail))?;
    encoder.finish().map(drop).map_err(fail)
}
