//! `lz4f`: one LZ4 frame. Some writers put it under `lz4\0`.

use std::io::{self, Read};

use lz4_flex::frame::FrameDecoder;

use super::Failure;
use super::lz4::FRAME_MAGIC;
use super::stream::{Filled, Format, State, Stream};
use crate::error::CodecError;

/// The flag of a frame that ends with a checksum of its content, in the byte after the magic.
const FLAG_CONTENT_CHECKSUM: u8 = 0x04;

pub(super) struct Lz4Frame;

impl Format for Lz4Frame {
    fn begins(&self, input: &[u8]) -> bool {
        input.starts_with(&FRAME_MAGIC)
    }

    fn open<'a>(&self, input: &'a [u8]) -> Result<Box<dyn Stream + 'a>, Failure> {
        if input.len() >= 4 && !self.begins(input) {
            let message = "not an LZ4 frame: expected 04 22 4d 18".to_owned();
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        let input = Input { bytes: input, consumed: 0, ran_out: false };
        Ok(Box::new(Lz4FrameStream { decoder: FrameDecoder::new(input) }))
    }
}

/// The input, which knows whether the decoder wanted more than there is: the decoder itself takes
/// a frame that is cut between two blocks for a whole one.
struct Input<'a> {
    bytes: &'a [u8],
    consumed: usize,
    ran_out: bool,
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.consumed..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.consumed += len;
        self.ran_out |= len < buffer.len();
        Ok(len)
    }
}

impl Input<'_> {
    /// Whether the end mark of the frame is what was read last.
    fn is_after_end_mark(&self) -> bool {
        let flags = self.bytes.get(4).copied().unwrap_or(0);
        let checksum_len = if flags & FLAG_CONTENT_CHECKSUM == 0 { 0 } else { 4 };
        let end = self.consumed.checked_sub(checksum_len);
        end.and_then(|end| self.bytes[..end].last_chunk::<4>()) == Some(&[0; 4])
    }
}

struct Lz4FrameStream<'a> {
    decoder: FrameDecoder<Input<'a>>,
}

impl Stream for Lz4FrameStream<'_> {
    fn fill(&mut self, output: &mut [u8]) -> Result<Filled, CodecError> {
        let result = self.decoder.read(output);
        let input = self.decoder.get_ref();
        let len = match result {
            Ok(len) => len,
            Err(_) if input.ran_out => 0,
            Err(error) => {
                let message = format!("LZ4 frame: {error}");
                return Err(CodecError::Corrupt { message, offset: input.consumed as u64 });
            }
        };
        let state = if len > 0 {
            State::Running
        } else if input.ran_out {
            State::Cut
        } else if input.is_after_end_mark() {
            State::Ended
        } else {
            State::Running // an empty block
        };
        Ok(Filled { len, state })
    }

    fn consumed(&self) -> usize {
        self.decoder.get_ref().consumed
    }
}
