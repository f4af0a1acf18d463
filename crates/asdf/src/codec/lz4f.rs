//! `lz4f`: an LZ4 frame. Some writers use the code `lz4\0` for it.

use std::io::{self, Read, Write as _};

use lz4_flex::frame::{BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::Failure;
use super::encode::{Parameters, Sink, Source, Writer, write_error};
use super::lz4::FRAME_MAGIC;
use super::stream::{FillOutcome, Format, Input, Stream, StreamState};
use crate::error::{CodecError, Result};

/// The flag for a content checksum at the end of a frame. The flags are in the byte after the
/// magic.
const FLAG_CONTENT_CHECKSUM: u8 = 0x04;
/// Length in bytes of the last fields of a frame: the end mark and the optional checksum.
const TAIL: usize = 8;

pub(super) struct Lz4Frame;

impl Format for Lz4Frame {
    fn begins(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(&FRAME_MAGIC)
    }

    fn open<'a>(&self, prefix: &[u8], input: Input<'a>) -> Result<Box<dyn Stream + 'a>, Failure> {
        if prefix.len() >= 4 && !self.begins(prefix) {
            let message = "not an LZ4 frame: expected 04 22 4d 18".to_owned();
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        let flags = prefix.get(4).copied().unwrap_or(0);
        let has_checksum = flags & FLAG_CONTENT_CHECKSUM != 0;
        let source = FrameReader { input, has_checksum, tail: [0xff; TAIL], ran_out: false };
        Ok(Box::new(Lz4FrameStream { decoder: FrameDecoder::new(source) }))
    }
}

/// An input that records whether the decoder requested more bytes than were left. This is necessary
/// because the decoder itself does not detect that a frame is truncated between two blocks.
struct FrameReader<'a> {
    input: Input<'a>,
    has_checksum: bool,
    /// The last bytes that were read.
    tail: [u8; TAIL],
    ran_out: bool,
}

impl Read for FrameReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            // Use the kind `Other`, because the decoder treats the kind `UnexpectedEof` as the end
            // of the frame.
            let piece = self.input.piece().map_err(io::Error::other)?;
            if piece.is_empty() {
                self.ran_out = true;
                break;
            }
            let len = piece.len().min(buffer.len() - filled);
            buffer[filled..filled + len].copy_from_slice(&piece[..len]);
            self.input.advance(len);
            filled += len;
        }
        let last = filled.min(TAIL);
        self.tail.copy_within(last.., 0);
        self.tail[TAIL - last..].copy_from_slice(&buffer[filled - last..filled]);
        Ok(filled)
    }
}

impl FrameReader<'_> {
    /// Returns `true` if the last bytes read were the end mark of the frame, followed by its checksum if it has
    /// one.
    fn is_after_end_mark(&self) -> bool {
        let end = if self.has_checksum { TAIL - 4 } else { TAIL };
        self.tail[..end].ends_with(&[0; 4])
    }
}

struct Lz4FrameStream<'a> {
    decoder: FrameDecoder<FrameReader<'a>>,
}

impl Stream for Lz4FrameStream<'_> {
    fn fill(&mut self, output: &mut [u8]) -> Result<FillOutcome, Failure> {
        let result = self.decoder.read(output);
        let source = self.decoder.get_ref();
        let len = match result {
            Ok(len) => len,
            Err(_) if source.ran_out => 0,
            Err(error) => {
                return Err(match error.downcast::<binio::Error>() {
                    Ok(error) => error.into(),
                    Err(error) => {
                        let message = format!("LZ4 frame: {error}");
                        CodecError::Corrupt { message, offset: source.input.used() }.into()
                    }
                });
            }
        };
        let state = if len > 0 {
            StreamState::Running
        } else if source.ran_out {
            StreamState::Truncated
        } else if source.is_after_end_mark() {
            StreamState::Ended
        } else {
            StreamState::Running // The decoder has read an empty block.
        };
        Ok(FillOutcome { len, state })
    }

    fn consumed(&self) -> u64 {
        self.decoder.get_ref().input.used()
    }
}

pub(super) fn encode(source: &mut dyn Source, _: Parameters, sink: &mut Sink<'_>) -> Result<()> {
    let info = FrameInfo::new()
        .content_size(Some(source.left()))
        .block_size(BlockSize::Max4MB)
        .content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Writer(sink));
    source.pieces(&mut |piece| {
        encoder.write_all(piece).map_err(|error| write_error("lz4f", error))
    })?;
    encoder.finish().map(drop).map_err(|error| write_error("lz4f", error))
}
