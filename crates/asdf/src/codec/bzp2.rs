//! `bzp2`: a bzip2 stream.
//!
//! ```text
//! "BZh9"             the digit is the block size in units of 100 kB
//! 31 41 59 26 53 59  a block, with its CRC; blocks begin at any bit
//! ..
//! 17 72 45 38 50 90  the end, and the combined CRC of all blocks
//! ```
//!
//! Blocks are compressed independently and in parallel. The data is split into pieces, each of
//! which fits into one block after run-length encoding. Each piece is compressed to a stream with a
//! single block, and the bits of this block are appended to the output. To readers, the result
//! looks like any other stream.

use bzip2::{Action, Compress, Compression, Decompress, Status};

use super::Failure;
#[cfg(feature = "rayon")]
use super::bzp2_blocks::{BlockStream, MIN_STORED};
use super::encode::{Parameters, Sink, Source, encoder_error, pipeline};
use super::stream::{Format, Input, SliceDecoder, SliceStream, Stream, counted};
use crate::error::{CodecError, Result};

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
        #[cfg(feature = "rayon")]
        if let [_, _, _, digit, ..] = *prefix {
            if rayon::current_num_threads() > 1 && input.left() >= MIN_STORED {
                return Ok(Box::new(BlockStream::new(input, digit - b'0')));
            }
        }
        Ok(Box::new(SliceStream::new(Decompress::new(false), input)))
    }
}

impl SliceDecoder for Decompress {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Result<bool, String>) {
        let (in_before, out_before) = (self.total_in(), self.total_out());
        let result = self.decompress(input, output);
        let read = counted(in_before, self.total_in(), input.len());
        let written = counted(out_before, self.total_out(), output.len());
        let ended = result.map(|status| status == Status::StreamEnd);
        (read, written, ended.map_err(|error| error.to_string()))
    }
}

/// The 48-bit magic number at the beginning of a block.
#[cfg(feature = "rayon")]
pub(super) const BLOCK: u64 = 0x3141_5926_5359;
/// The 48-bit magic number that marks the end of a stream.
pub(super) const END: u64 = 0x1772_4538_5090;
/// Maximum number of data bytes per piece. Without this limit, a piece of equal bytes could be 51
/// times as long as a block, because run-length encoding replaces 255 equal bytes with 5.
const MAX_PIECE: usize = 2 << 20;
/// Number of bytes to leave free at the end of a block: 19 that the library never uses, and 5 for
/// one run of equal bytes.
const RESERVE: usize = 24;

pub(super) fn encode(
    source: &mut dyn Source,
    Parameters { level, .. }: Parameters,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let mut stream = Bits::new(level);
    let mut combined = 0_u32;
    let mut buffer: Vec<u8> = Vec::new();
    let read = || {
        while let Some(bytes) = source.next(MAX_PIECE - buffer.len())? {
            buffer.extend_from_slice(&bytes);
        }
        let rest = buffer.split_off(block_len(&buffer, level));
        let piece = std::mem::replace(&mut buffer, rest);
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    };
    let compress = |piece: Vec<u8>| compress(&piece, level);
    pipeline(Vec::len, read, compress, |block| {
        let (end, crc) = find_end(&block).ok_or_else(|| {
            encoder_error("bzip2", "the compressor returned a stream without a valid end marker")
        })?;
        combined = combined.rotate_left(1) ^ crc;
        stream.push(&block, 32..end);
        sink(&std::mem::take(&mut stream.out))
    })?;
    stream.push_end(combined);
    sink(&stream.finish())
}

/// Returns the number of bytes at the start of `data` that fit into one block.
fn block_len(data: &[u8], level: u8) -> usize {
    let limit = 100_000 * usize::from(level) - RESERVE;
    let (mut at, mut filled) = (0, 0);
    let runs = data.chunk_by(|byte, next| byte == next);
    for run in runs.flat_map(|run| run.chunks(255)) {
        // For four or more equal bytes, run-length encoding writes four of them, followed by the number of
        // further repetitions.
        filled += if run.len() < 4 { run.len() } else { 5 };
        if filled > limit {
            break;
        }
        at += run.len();
    }
    at
}

/// Compresses a piece to a stream with a single block.
fn compress(piece: &[u8], level: u8) -> Result<Vec<u8>> {
    let mut compress = Compress::new(Compression::new(level.into()), 0);
    let mut out = Vec::with_capacity(piece.len() / 2 + 1024);
    loop {
        let read = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
        let rest = piece.get(read..).unwrap_or_default();
        let status = compress.compress_vec(rest, &mut out, Action::Finish);
        if status.map_err(|error| encoder_error("bzip2", error))? == Status::StreamEnd {
            return Ok(out);
        }
        out.reserve(out.len().max(4096));
    }
}

/// Returns the index of the first bit after the only block of a stream, and the CRC of the block.
/// The stream may end at any bit of its last byte.
fn find_end(stream: &[u8]) -> Option<(usize, u32)> {
    let crc = u32::try_from(bits(stream, 32 + 48, 32)).ok()?;
    let ends = (0..8).filter_map(|padding| (stream.len() * 8).checked_sub(padding + 80));
    let mut ends = ends.filter(|&end| end > 32 + 80);
    let end = ends.find(|&end| {
        bits(stream, end, 48) == END && bits(stream, end + 48, 32) == u64::from(crc)
    })?;
    Some((end, crc))
}

/// Reads a big-endian number of `count` bits, starting at bit `start`. Bits beyond the end are 0.
pub(super) fn bits(bytes: &[u8], start: usize, count: usize) -> u64 {
    (start..start + count).fold(0, |number, at| {
        let bit = bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
        number << 1 | u64::from(bit)
    })
}

/// A bit stream that is being written.
pub(super) struct Bits {
    out: Vec<u8>,
    /// The last bits, which do not fill a byte yet. They are stored in the low bits of this field.
    partial: u8,
    live: u32,
}

impl Bits {
    /// Begins a stream with its header.
    pub(super) fn new(level: u8) -> Self {
        Self { out: vec![b'B', b'Z', b'h', b'0' + level], partial: 0, live: 0 }
    }

    /// Appends whole bytes. The stream must end at a byte boundary, as it does after the header.
    #[cfg(feature = "rayon")]
    pub(super) fn extend(&mut self, bytes: impl Iterator<Item = u8>) {
        self.out.extend(bytes);
    }

    /// Appends the end mark and the combined CRC of all blocks.
    pub(super) fn push_end(&mut self, combined: u32) {
        let mut end = END.to_be_bytes()[2..].to_vec();
        end.extend(combined.to_be_bytes());
        self.push(&end, 0..80);
    }

    /// Appends a range of bits, which must begin at a byte boundary.
    fn push(&mut self, bytes: &[u8], range: std::ops::Range<usize>) {
        let whole = bytes.get(range.start / 8..range.end / 8).unwrap_or_default();
        self.out.reserve(whole.len() + 2);
        self.out.extend(whole.iter().map(|&byte| {
            let joined = u16::from(self.partial) << 8 | u16::from(byte);
            self.partial = low_byte(joined & ((1 << self.live) - 1));
            low_byte(joined >> self.live)
        }));
        let left = u32::try_from(range.end % 8).unwrap_or(0);
        if let (Some(&byte), true) = (bytes.get(range.end / 8), left > 0) {
            self.push_bits(byte >> (8 - left), left);
        }
    }

    pub(super) fn push_bits(&mut self, number: u8, count: u32) {
        let joined = u16::from(self.partial) << count | u16::from(number);
        let live = self.live + count;
        if live < 8 {
            (self.partial, self.live) = (low_byte(joined), live);
            return;
        }
        let left = live - 8;
        self.out.push(low_byte(joined >> left));
        (self.partial, self.live) = (low_byte(joined & ((1 << left) - 1)), left);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.live > 0 {
            self.out.push(self.partial << (8 - self.live));
        }
        self.out
    }
}

pub(super) fn low_byte(number: u16) -> u8 {
    number.to_le_bytes()[0]
}
