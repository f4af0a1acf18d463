//! Decoding the blocks of a bzip2 stream in parallel.
//!
//! Blocks are independent of each other, but their lengths are not stored. The blocks are found by
//! searching, at every bit offset, for the 48-bit magic numbers that begin a block and end the
//! stream. The bits of each block are moved to a byte boundary and decoded as a separate stream:
//!
//! ```text
//! "BZh9" | block, up to the next magic number | 17 72 45 38 50 90 | CRC of the block
//! ```
//!
//! A block can contain one of the magic numbers by chance. The block is then cut off there and cannot be
//! decoded, so a single decoder decodes the stream again from its beginning. The same happens after any other
//! irregularity, so that errors do not depend on the number of threads.
//!
//! On two cores, parallel decoding takes 0.58 times as long as a single decoder
//! (`cargo xtask bench asdf`, rows `bzp2_smooth` and `bzp2_noisy`).

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Buf as _, Bytes};
use bzip2::{Decompress, Status};
use rayon::prelude::*;

use super::Failure;
use super::bzp2::{BLOCK, Bits, END, bits, low_byte};
use super::stream::{FillOutcome, Input, SliceStream, Stream, StreamState};

/// Minimum stored size in bytes of streams that are decoded in parallel. Smaller streams usually have only
/// a few blocks.
pub(super) const MIN_STORED: u64 = if cfg!(test) { 1 } else { 256 << 10 };
/// Maximum stored size of a block in bytes. Even a block of incompressible data is smaller.
const MAX_STORED: usize = 2 << 20;
/// A full buffer for a block's data is enlarged unless it has more than this number of bytes. A block with more
/// data contains long runs of the same byte, and is left to the single decoder, which needs little memory.
const MAX_DATA: usize = 4 << 20;
/// Number of stored bytes to read and search at a time.
const PIECE: usize = if cfg!(test) { 100 } else { 1 << 20 };

/// A stream whose blocks are decoded in parallel for as long as the stream is regular.
pub(super) struct BlockStream<'a> {
    /// The stored bytes from the beginning of the stream, for the single decoder.
    beginning: Input<'a>,
    input: Input<'a>,
    level: u8,
    /// Stored bytes that have been read, from the current block on.
    stored: Vec<u8>,
    /// Offset of `stored` in the stream.
    offset: u64,
    /// The number of bytes of `stored` that have been searched.
    searched: usize,
    /// The marks found so far, starting with the mark of the current block.
    marks: VecDeque<Mark>,
    /// The combined CRC of the blocks decoded so far.
    combined: u32,
    /// Decoded data that has not been returned yet.
    decoded: VecDeque<Bytes>,
    /// The number of data bytes that have been returned.
    returned: u64,
    state: State<'a>,
}

/// A magic number that marks the beginning of a block or the end of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    /// Offset of the mark in [`BlockStream::stored`], in bits.
    at: usize,
    is_end: bool,
}

enum State<'a> {
    Regular,
    Ended,
    /// The stream is irregular after the decoded blocks.
    Irregular,
    Single(Box<SliceStream<'a, Decompress>>),
}

impl<'a> BlockStream<'a> {
    pub(super) fn new(input: Input<'a>, level: u8) -> Self {
        Self {
            beginning: input.clone(),
            input,
            level,
            stored: Vec::new(),
            offset: 0,
            searched: 0,
            marks: VecDeque::new(),
            combined: 0,
            decoded: VecDeque::new(),
            returned: 0,
            state: State::Regular,
        }
    }

    /// Decodes about as many blocks as fit into `wanted` bytes: at least one block, unless the stream ends, and at
    /// most two blocks per thread. Sets the state to [`State::Irregular`] if the stream is irregular.
    fn decode_next(&mut self, wanted: usize) -> Result<(), Failure> {
        let fitting = wanted / (100_000 * usize::from(self.level));
        let count = fitting.clamp(1, 2 * rayon::current_num_threads());
        if !self.find(count)? {
            self.state = State::Irregular;
            return Ok(());
        }
        let starts = self.marks.iter().zip(self.marks.iter().skip(1));
        let blocks: Vec<Range<usize>> =
            starts.take(count).map(|(mark, next)| mark.at..next.at).collect();
        let decode = |block: &Range<usize>| decode_block(&self.stored, block.clone(), self.level);
        let decoded: Vec<Option<(Vec<u8>, u32)>> = blocks.par_iter().map(decode).collect();
        for block in decoded {
            let Some((data, crc)) = block else {
                self.state = State::Irregular;
                return Ok(());
            };
            self.combined = self.combined.rotate_left(1) ^ crc;
            self.decoded.push_back(data.into());
        }
        self.marks.drain(..blocks.len());
        if let Some(&Mark { at, is_end }) = self.marks.front() {
            if is_end {
                self.state = if self.is_end(at)? { State::Ended } else { State::Irregular };
            }
            let before = at / 8;
            self.stored.drain(..before);
            self.offset += before as u64;
            self.searched -= before;
            self.marks.iter_mut().for_each(|mark| mark.at -= before * 8);
        }
        Ok(())
    }

    /// Searches for the next `count` blocks and the mark after them, or for the end of the stream. Returns
    /// `false` if the stream is irregular.
    fn find(&mut self, count: usize) -> Result<bool, Failure> {
        while self.marks.len() <= count && !self.marks.back().is_some_and(|mark| mark.is_end) {
            let last = self.marks.back().map_or(0, |mark| mark.at / 8);
            if self.stored.len() - last > MAX_STORED || !self.read()? {
                return Ok(false);
            }
            if self.marks.is_empty() {
                self.searched = HEADER_LEN;
            }
            let is_first = self.marks.is_empty();
            for mark in marks(&self.stored, self.searched) {
                self.marks.push_back(mark);
                // Stop here, because another stream may follow.
                if mark.is_end {
                    break;
                }
            }
            self.searched = self.searched.max((self.stored.len() + 1).saturating_sub(WINDOW));
            if is_first && self.marks.front().is_some_and(|mark| mark.at != 8 * HEADER_LEN) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads more of the stream. Returns `false` at the end of the stored bytes.
    fn read(&mut self) -> Result<bool, Failure> {
        let piece = self.input.piece()?;
        let len = piece.len().min(PIECE);
        self.stored.extend_from_slice(&piece[..len]);
        self.input.advance(len);
        Ok(len > 0)
    }

    /// Returns `true` if the end mark at bit `at` is followed by the combined CRC of all decoded blocks.
    fn is_end(&mut self, at: usize) -> Result<bool, Failure> {
        while self.stored.len() * 8 < at + END_LEN {
            if !self.read()? {
                return Ok(false);
            }
        }
        Ok(bits(&self.stored, at + 48, 32) == u64::from(self.combined))
    }

    /// Starts a single decoder at the beginning of the stream, and skips the data that has already been
    /// returned.
    fn start_again(&mut self) -> Result<SliceStream<'a, Decompress>, Failure> {
        let mut stream = SliceStream::new(Decompress::new(false), self.beginning.clone());
        let mut buffer = vec![0; 64 << 10];
        let mut left = self.returned;
        while left > 0 {
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let before = stream.consumed();
            let filled = stream.fill(&mut buffer[..len])?;
            if filled.len == 0 && stream.consumed() == before {
                break;
            }
            left = left.saturating_sub(filled.len as u64);
        }
        Ok(stream)
    }
}

impl Stream for BlockStream<'_> {
    fn fill(&mut self, output: &mut [u8]) -> Result<FillOutcome, Failure> {
        loop {
            if let Some(data) = self.decoded.front_mut() {
                let len = data.len().min(output.len());
                data.copy_to_slice(&mut output[..len]);
                if data.is_empty() {
                    self.decoded.pop_front();
                }
                self.returned += len as u64;
                return Ok(FillOutcome { len, state: StreamState::Running });
            }
            match &mut self.state {
                State::Regular => self.decode_next(output.len())?,
                State::Ended => return Ok(FillOutcome { len: 0, state: StreamState::Ended }),
                State::Irregular => self.state = State::Single(Box::new(self.start_again()?)),
                State::Single(stream) => return stream.fill(output),
            }
        }
    }

    fn consumed(&self) -> u64 {
        match (&self.state, self.marks.front()) {
            (State::Single(stream), _) => stream.consumed(),
            (State::Ended, Some(end)) => self.offset + ((end.at + END_LEN).div_ceil(8)) as u64,
            _ => self.input.used(),
        }
    }
}

/// Length of the stream header in bytes.
const HEADER_LEN: usize = 4;
/// Length in bits of the mark that ends a stream, together with the combined CRC after it.
const END_LEN: usize = 48 + 32;
/// Maximum number of bytes that a mark spans: it has 48 bits, and can begin at any bit of the first byte.
const WINDOW: usize = 7;

/// A table for finding marks by the second byte that they span. The entry for a value of this byte is a set of
/// bit positions: those in the byte before it at which a mark may begin. The low byte of an entry is for the
/// start of a block, and the high byte is for the end of a stream.
const SECOND_BYTES: [u16; 256] = {
    let mut table = [0; 256];
    let mut shift = 0;
    while shift < 8 {
        table[(BLOCK >> (32 + shift) & 0xff) as usize] |= 1 << shift;
        table[(END >> (32 + shift) & 0xff) as usize] |= 0x100 << shift;
        shift += 1;
    }
    table
};

/// Returns the marks that begin at or after the byte `from`, and whose [`WINDOW`] bytes are all in `stored`.
fn marks(stored: &[u8], from: usize) -> Vec<Mark> {
    let mut found = Vec::new();
    let windows = stored.get(from..).unwrap_or_default().windows(WINDOW);
    for (index, window) in windows.enumerate() {
        let mut candidates = SECOND_BYTES[usize::from(window[1])];
        if candidates == 0 {
            continue;
        }
        let number = window.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        while candidates != 0 {
            let candidate = candidates.trailing_zeros();
            candidates &= candidates - 1;
            let (shift, is_end) = (candidate % 8, candidate >= 8);
            if (number >> (8 - shift)) & ((1 << 48) - 1) == if is_end { END } else { BLOCK } {
                found.push(Mark { at: 8 * (from + index) + shift as usize, is_end });
            }
        }
    }
    // Marks that begin in the same byte are found in order of their kind, so sort them by position.
    found.sort_unstable_by_key(|mark| mark.at);
    found
}

/// Decodes a block, given its range in bits, and returns its data and its CRC. Returns `None` if the block is
/// damaged, has too much data, or does not end exactly at the end of the range.
///
/// If the block ends before the end of the range, some bytes are not decoded. It cannot end later, inside the
/// appended end mark, because `END` does not equal itself shifted by less than a byte (tested below).
fn decode_block(stored: &[u8], block: Range<usize>, level: u8) -> Option<(Vec<u8>, u32)> {
    let crc = u32::try_from(bits(stored, block.start + 48, 32)).ok()?;
    let stream = stream_of(stored, block, level, crc)?;
    let mut decoder = Decompress::new(false);
    let mut data = Vec::with_capacity(100_000 * usize::from(level) + 1);
    loop {
        let read = usize::try_from(decoder.total_in()).ok()?;
        let status = decoder.decompress_vec(stream.get(read..)?, &mut data).ok()?;
        if status == Status::StreamEnd {
            break;
        }
        if data.len() < data.capacity() || data.len() > MAX_DATA {
            return None;
        }
        data.reserve(data.len());
    }
    (decoder.total_in() == stream.len() as u64).then_some((data, crc))
}

/// Returns a stream that contains only the block in this range of bits.
fn stream_of(stored: &[u8], block: Range<usize>, level: u8, crc: u32) -> Option<Vec<u8>> {
    let mut stream = Bits::new(level);
    let (whole, left) = (block.len() / 8, block.len() % 8);
    let shift = block.start % 8;
    let pairs = stored.get(block.start / 8..)?.windows(2).take(whole);
    stream
        .extend(pairs.map(|pair| low_byte(u16::from_be_bytes([pair[0], pair[1]]) >> (8 - shift))));
    let last = bits(stored, block.end - left, left);
    stream.push_bits(last.to_le_bytes()[0], u32::try_from(left).ok()?);
    stream.push_end(crc);
    Some(stream.finish())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn neither_mark_equals_itself_shifted_by_less_than_a_byte() {
        for shift in 1..8 {
            let overlap = (1 << (48 - shift)) - 1;
            assert_ne!(END & overlap, END >> shift);
            assert_ne!(BLOCK & overlap, BLOCK >> shift);
        }
    }

    #[test]
    fn a_regular_stream_is_not_decoded_again_by_a_single_decoder() {
        for level in [1, 2] {
            let data: Vec<u8> = (0..500_000_u32).map(|n| (n % 1009).to_le_bytes()[0]).collect();
            let compression = bzip2::Compression::new(level.into());
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), compression);
            encoder.write_all(&data).unwrap();
            let stored = [&encoder.finish().unwrap()[..], b"more"].concat();
            let mut stream = BlockStream::new(Input::new(&stored, 0), level);
            let (mut decoded, mut buffer) = (Vec::new(), vec![0; 350_000]);
            loop {
                let filled = stream.fill(&mut buffer).unwrap();
                decoded.extend_from_slice(&buffer[..filled.len]);
                if filled.state == StreamState::Ended {
                    break;
                }
            }
            assert_eq!(decoded, data);
            assert!(matches!(stream.state, State::Ended));
            assert_eq!(stream.consumed(), stored.len() as u64 - 4);
        }
    }

    #[test]
    fn marks_are_found_at_every_bit_and_in_order() {
        for shift in 0..8_usize {
            let mut stream = Bits::new(9);
            for (number, len) in [(0, shift), (BLOCK, 48), (5, 3), (END, 48), (BLOCK, 48), (0, 11)]
            {
                for bit in (0..len).rev() {
                    stream.push_bits(u8::from(number >> bit & 1 == 1), 1);
                }
            }
            let start = 32 + shift;
            let expected = [(start, false), (start + 51, true), (start + 99, false)];
            let expected = expected.map(|(at, is_end)| Mark { at, is_end });
            assert_eq!(marks(&stream.finish(), HEADER_LEN), expected, "{shift}");
        }
    }
}
