//! Decoding whole buffers, or any range of their data.

use std::ops::Range;

use super::bitshuffle::bitunshuffle;
use super::codecs::Decoders;
use super::header::{Codec, HEADER_LEN, Header, MAX_SPLITS, Shuffle};
use super::shuffle::{unshuffle, unshuffle_rows};
use crate::diagnostic;
use crate::memory::prefer_huge_pages;
use crate::{Context, Error, ErrorKind, Limits, Result};

/// Size in bytes of a stream's length field and of an entry in the table of blocks.
const WORD: usize = 4;

/// Gap in bytes between rows before unshuffling. Without it, rows spaced a power of two apart would
/// compete for the same cache lines, and decoding would take 4 % longer (example `blosc_speed`).
const GAP: usize = 64;

/// A complete buffer. Its length and header have been checked; the streams are checked as they are
/// decoded.
///
/// Offsets in errors are relative to the start of the buffer.
///
/// ```
/// use binio::blosc::{Buffer, CompressOptions, Compressor, Scratch, compress};
///
/// let packed = compress(&[7; 4096], &CompressOptions::new(Compressor::Lz4))?;
/// let buffer = Buffer::parse(&packed)?;
/// assert_eq!(buffer.header().nbytes(), 4096);
/// let mut out = vec![0; 4096];
/// buffer.decode_into(&mut out, &mut Scratch::default())?;
/// assert_eq!(out, [7; 4096]);
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Buffer<'a> {
    header: Header,
    bytes: &'a [u8],
}

/// Working memory for decoding. To reuse the memory, keep one value per thread and pass it to every
/// call.
#[derive(Default)]
pub struct Scratch {
    /// A block that is still shuffled.
    shuffled: Vec<u8>,
    /// A bit-shuffled block whose bits have been transposed, but whose bytes are still shuffled.
    planes: Vec<u8>,
    /// A whole decoded block, if only a part of the block was requested.
    block: Vec<u8>,
    decoders: Decoders,
}

impl<'a> Buffer<'a> {
    /// Parses the bytes of exactly one buffer.
    ///
    /// # Errors
    ///
    /// Same as [`Header::parse`]. Also fails with [`Truncated`](crate::ErrorKind::Truncated) if
    /// there are fewer bytes than `ctbytes`, and with [`Invalid`](crate::ErrorKind::Invalid) if
    /// there are more, or if the streams are too short to decode to a whole block.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let header = Header::parse(bytes)?;
        let (ctbytes, available) = (u64::from(header.ctbytes()), bytes.len() as u64);
        if available < ctbytes {
            return Err(Error::truncated(ctbytes, available).at(0));
        }
        if available > ctbytes {
            let message = format!("the buffer has {available} bytes, but its ctbytes is {ctbytes}");
            return Err(Error::invalid(message).at(12));
        }
        if header.block_count() > 0 && !header.is_memcpyed() {
            let (stored, blocksize) = (ctbytes - header.table_end(), header.blocksize());
            if u64::from(blocksize) > stored * header.codec().max_expansion() {
                let stored = diagnostic::count(stored, "compressed byte");
                let message =
                    format!("a buffer with {stored} is too short for blocksize {blocksize}");
                return Err(Error::invalid(message).at(8));
            }
        }
        Ok(Self { header, bytes })
    }

    /// Returns the header of the buffer.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the range of the data that a block contains, or `None` if there is no block with
    /// this index.
    pub fn block_range(&self, index: u32) -> Option<Range<usize>> {
        let (nbytes, len) = (self.nbytes(), self.block_len());
        let start = usize::try_from(index).ok()?.checked_mul(len)?;
        (start < nbytes).then(|| start..nbytes.min(start.saturating_add(len)))
    }

    /// Decodes all the data into `out`, whose length must be `nbytes`.
    ///
    /// # Errors
    ///
    /// Fails with [`Invalid`](crate::ErrorKind::Invalid) if `out` has a different length, with
    /// [`Invalid`](crate::ErrorKind::Invalid) or [`Truncated`](crate::ErrorKind::Truncated) if a
    /// block is damaged, and with [`Unsupported`](crate::ErrorKind::Unsupported) if the codec is
    /// zstd and this build lacks the feature `blosc-zstd`. Fails with
    /// [`OutOfMemory`](crate::ErrorKind::OutOfMemory) if there is not enough memory. After an
    /// error, the content of `out` is unspecified.
    pub fn decode_into(&self, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        check_len(out.len(), self.nbytes())?;
        for (index, place) in (0..).zip(out.chunks_mut(self.block_len())) {
            self.decode_block(index, place, scratch)?;
        }
        Ok(())
    }

    /// Decodes a range of the data into `out`, whose length must equal the length of the range.
    /// Blocks outside the range are not read.
    ///
    /// # Errors
    ///
    /// Same as [`decode_into`](Self::decode_into). Also fails with
    /// [`Invalid`](crate::ErrorKind::Invalid) if the range extends past the end of the data or ends
    /// before it starts.
    pub fn decode_range_into(
        &self,
        range: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let nbytes = self.nbytes();
        if range.start > range.end || range.end > nbytes {
            let message = format!(
                "the range {}..{} is not within the {nbytes} bytes of data",
                range.start, range.end
            );
            return Err(Error::invalid(message));
        }
        check_len(out.len(), range.len())?;
        if self.header.is_memcpyed() {
            out.copy_from_slice(&self.bytes[HEADER_LEN..][range]);
            return Ok(());
        }
        let (mut at, mut out) = (range.start, out);
        while !out.is_empty() {
            let start = at / self.block_len() * self.block_len();
            let end = nbytes.min(start.saturating_add(self.block_len()));
            let (place, rest) = out.split_at_mut(range.end.min(end) - at);
            let index = at / self.block_len();
            if place.len() == end - start {
                self.decode_block(index, place, scratch)?;
            } else {
                let mut block = std::mem::take(&mut scratch.block);
                let whole = room(&mut block, end - start)?;
                let decoded = self.decode_block(index, whole, scratch);
                place.copy_from_slice(&whole[at - start..][..place.len()]);
                scratch.block = block;
                decoded?;
            }
            at += place.len();
            out = rest;
        }
        Ok(())
    }

    /// Decodes all the data.
    ///
    /// Initially allocates no more memory than the stored bytes can decode to. If the data is
    /// larger, because blocks share bytes, the memory grows block by block.
    ///
    /// # Errors
    ///
    /// Same as [`decode_into`](Self::decode_into). Also fails with
    /// [`Limit`](crate::ErrorKind::Limit) if `nbytes` exceeds [`max_decoded`](Limits::max_decoded)
    /// or [`max_alloc`](Limits::max_alloc).
    pub fn decode(&self, limits: &Limits) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decode_to(&mut out, limits, &mut Scratch::default())?;
        Ok(out)
    }

    /// Like [`decode`](Self::decode), but replaces the content of an existing buffer and reuses its
    /// memory. After an error, the buffer is empty.
    ///
    /// Do not clear the buffer before the call: only bytes beyond its current length have to be
    /// zeroed before they are overwritten.
    ///
    /// # Errors
    ///
    /// Same as [`decode`](Self::decode).
    pub fn decode_to(
        &self,
        out: &mut Vec<u8>,
        limits: &Limits,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let decoded = self.fill(out, limits, scratch);
        if decoded.is_err() {
            out.clear();
        }
        decoded
    }

    fn fill(&self, out: &mut Vec<u8>, limits: &Limits, scratch: &mut Scratch) -> Result<()> {
        let nbytes = self.nbytes();
        limits.check_decoded("nbytes", nbytes as u64)?;
        limits.check_alloc("nbytes", nbytes as u64)?;
        if self.header.is_memcpyed() {
            out.clear();
            out.try_reserve_exact(nbytes).map_err(|_| out_of_memory(nbytes))?;
            out.extend_from_slice(&self.bytes[HEADER_LEN..]);
            return Ok(());
        }
        // First allocate no more than the bytes can decode to. Only hostile buffers, whose blocks
        // share bytes, need more.
        let expansion = self.header.codec().max_expansion();
        let possible = (self.bytes.len() as u64).saturating_mul(expansion);
        let first = nbytes.min(usize::try_from(possible).unwrap_or(usize::MAX));
        if out.capacity() < first {
            *out = Vec::new();
            *out = zeroed(first)?;
            prefer_huge_pages(out);
        }
        out.truncate(nbytes);
        for index in 0..self.header.block_count() as usize {
            let start = index * self.block_len();
            let end = nbytes.min(start.saturating_add(self.block_len()));
            if out.len() < end {
                out.try_reserve(end - out.len()).map_err(|_| out_of_memory(end))?;
                out.resize(end, 0);
            }
            self.decode_block(index, &mut out[start..end], scratch)?;
        }
        Ok(())
    }

    fn nbytes(&self) -> usize {
        self.header.nbytes() as usize
    }

    /// Returns the length in bytes of the data in each block but the last. It is at least 1.
    fn block_len(&self) -> usize {
        if self.header.is_memcpyed() || self.header.nbytes() == 0 {
            self.nbytes().max(1)
        } else {
            self.header.blocksize() as usize
        }
    }

    /// Decodes one block into `out`, which is exactly as long as the block.
    fn decode_block(&self, index: usize, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        if self.header.is_memcpyed() {
            out.copy_from_slice(&self.bytes[HEADER_LEN..]);
            return Ok(());
        }
        self.decode_packed(index, out, scratch).with_context(|| format!("block {index}"))
    }

    fn decode_packed(&self, index: usize, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let streams = self.streams(index, out.len())?;
        let typesize = usize::from(self.header.typesize());
        let Scratch { shuffled, planes, decoders, .. } = scratch;
        match self.header.shuffle() {
            Shuffle::Byte if typesize > 1 => {
                streams.unshuffle_into(typesize, out, shuffled, decoders)
            }
            Shuffle::Bit if out.len() >= typesize => {
                let shuffled = room(shuffled, out.len())?;
                streams.decode_into(shuffled, decoders)?;
                bitunshuffle(typesize, shuffled, room(planes, out.len())?, out);
                Ok(())
            }
            _ => streams.decode_into(out, decoders),
        }
    }

    /// Returns the streams of a block whose data has `len` bytes.
    fn streams(&self, index: usize, len: usize) -> Result<Streams<'a>> {
        let entry = HEADER_LEN + WORD * index;
        let places = self.header.table_end()..=(self.bytes.len() - WORD) as u64;
        let start = word(self.bytes, entry)?;
        let at = u64::try_from(start).ok().filter(|start| places.contains(start));
        let Some(at) = at.and_then(|at| usize::try_from(at).ok()) else {
            let (first, last) = (places.start(), places.end());
            let message = format!("the streams start at {start}, expected {first} to {last}");
            return Err(Error::invalid(message).at(entry as u64));
        };
        let count = self.header.splits(len);
        if len % count != 0 {
            let (len, streams) =
                (diagnostic::count(len, "byte"), diagnostic::count(count, "stream"));
            let message = format!("{len} cannot be divided into {streams} of equal size");
            return Err(Error::invalid(message).at(entry as u64));
        }
        Ok(Streams { bytes: self.bytes, at, codec: self.header.codec(), len: len / count })
    }
}

/// The consecutive streams of one block.
struct Streams<'a> {
    bytes: &'a [u8],
    /// Offset of the next stream's length field.
    at: usize,
    codec: Codec,
    /// Decoded length of each stream in bytes.
    len: usize,
}

impl<'a> Streams<'a> {
    /// Decodes the streams into consecutive parts of `out`.
    fn decode_into(mut self, out: &mut [u8], decoders: &mut Decoders) -> Result<()> {
        for place in out.chunks_exact_mut(self.len) {
            if let Some(plain) = self.next(place, decoders)? {
                place.copy_from_slice(plain);
            }
        }
        Ok(())
    }

    /// Decodes the streams, and unshuffles their bytes into `out`. Plain streams are unshuffled
    /// directly; compressed streams are first decoded into `shuffled`.
    fn unshuffle_into(
        mut self,
        typesize: usize,
        out: &mut [u8],
        shuffled: &mut Vec<u8>,
        decoders: &mut Decoders,
    ) -> Result<()> {
        let mut rows = [&[][..]; MAX_SPLITS as usize];
        let rows = &mut rows[..out.len() / self.len];
        let places = room(shuffled, rows.len() * (self.len + GAP))?;
        for (row, place) in rows.iter_mut().zip(places.chunks_exact_mut(self.len + GAP)) {
            let place = &mut place[..self.len];
            *row = match self.next(place, decoders)? {
                Some(plain) => plain,
                None => place,
            };
        }
        match rows {
            [block] => unshuffle(typesize, block, out),
            rows => unshuffle_rows(rows, out),
        }
        Ok(())
    }

    /// Decodes the next stream into `place`. If the stream is stored plain, returns its bytes
    /// instead.
    fn next(&mut self, place: &mut [u8], decoders: &mut Decoders) -> Result<Option<&'a [u8]>> {
        let (at, bytes) = (self.at, self.bytes);
        let len = word(bytes, at)?;
        let rest = &bytes[at + WORD..];
        let Some(stream) = usize::try_from(len).ok().and_then(|len| rest.get(..len)) else {
            let len = diagnostic::count(len, "byte");
            let message = format!("a stream has {len}, expected at most {}", rest.len());
            return Err(Error::invalid(message).at(at as u64));
        };
        self.at = at + WORD + stream.len();
        if stream.len() == place.len() {
            return Ok(Some(stream));
        }
        if stream.len() > worst_len(place.len()) {
            let [len, data] = [stream.len(), place.len()].map(|len| diagnostic::count(len, "byte"));
            let message = format!("no codec compresses {data} to a stream of {len}");
            return Err(Error::invalid(message).at(at as u64));
        }
        decoders.decode(self.codec, stream, (at + WORD) as u64, place)?;
        Ok(None)
    }
}

/// Reads the 32-bit signed integer at an offset.
fn word(bytes: &[u8], at: usize) -> Result<i32> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map(|word| i32::from_le_bytes(*word)).ok_or_else(|| {
        let left = bytes.len().saturating_sub(at);
        Error::truncated(WORD as u64, left as u64).at(at as u64)
    })
}

/// Returns an upper bound on the length of a stream that any codec produces from `len`
/// incompressible bytes. Longer streams are rejected, because a stream can be made arbitrarily long
/// with empty parts. If many blocks shared such a stream, all of it would be decoded for each of
/// them.
fn worst_len(len: usize) -> usize {
    len.saturating_add(len / 6).saturating_add(64)
}

fn check_len(len: usize, expected: usize) -> Result<()> {
    if len == expected {
        return Ok(());
    }
    let [len, expected] = [len, expected].map(|size| diagnostic::count(size, "byte"));
    Err(Error::invalid(format!(
        "the output buffer has {len}, expected {expected}, the size of the data"
    )))
}

/// Returns the first `len` bytes of a buffer. A buffer that is too short is first replaced with a
/// buffer of `len` zeros.
fn room(buffer: &mut Vec<u8>, len: usize) -> Result<&mut [u8]> {
    if buffer.len() < len {
        *buffer = Vec::new();
        *buffer = zeroed(len)?;
    }
    Ok(&mut buffer[..len])
}

/// Returns a vector of zeros, which the system only backs with memory once it is written to.
fn zeroed(len: usize) -> Result<Vec<u8>> {
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| out_of_memory(len))
}

fn out_of_memory(len: usize) -> Error {
    Error::new(ErrorKind::OutOfMemory { what: "the data of a Blosc buffer", requested: len as u64 })
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers, or their low byte")]
mod tests {
    use super::*;
    use crate::blosc::{CompressOptions, Compressor, compress};

    /// The parts of a buffer to build.
    struct Build {
        flags: u8,
        typesize: u8,
        nbytes: u32,
        blocksize: u32,
        /// For each block of the data, the index of the stored block to decode.
        starts: Vec<usize>,
        /// The stored blocks, each of which is a list of streams.
        blocks: Vec<Vec<Vec<u8>>>,
    }

    impl Build {
        fn bytes(&self) -> Vec<u8> {
            let table = HEADER_LEN + WORD * self.starts.len();
            let (mut body, mut places) = (Vec::new(), Vec::new());
            for block in &self.blocks {
                places.push(table + body.len());
                for stream in block {
                    body.extend_from_slice(&(stream.len() as u32).to_le_bytes());
                    body.extend_from_slice(stream);
                }
            }
            let mut bytes = vec![2, 1, self.flags, self.typesize];
            for field in [self.nbytes, self.blocksize, (table + body.len()) as u32] {
                bytes.extend_from_slice(&field.to_le_bytes());
            }
            for &block in &self.starts {
                bytes.extend_from_slice(&(places[block] as u32).to_le_bytes());
            }
            bytes.extend_from_slice(&body);
            bytes
        }
    }

    /// Returns a buffer of three plain blocks of 4, 4 and 2 bytes, which are neither split nor
    /// shuffled.
    fn three_blocks() -> Build {
        Build {
            flags: 0x10,
            typesize: 1,
            nbytes: 10,
            blocksize: 4,
            starts: vec![0, 1, 2],
            blocks: vec![vec![b"abcd".into()], vec![b"efgh".into()], vec![b"ij".into()]],
        }
    }

    fn decode(bytes: &[u8]) -> Result<Vec<u8>> {
        Buffer::parse(bytes)?.decode(&Limits::default())
    }

    #[test]
    fn blocks_may_be_stored_in_any_order() {
        let mut build = three_blocks();
        assert_eq!(decode(&build.bytes()).unwrap(), b"abcdefghij");
        build.starts = vec![1, 0, 2];
        assert_eq!(decode(&build.bytes()).unwrap(), b"efghabcdij");
    }

    #[test]
    fn blocks_may_share_the_same_streams() {
        let mut build = three_blocks();
        build.starts = vec![0; 3];
        build.nbytes = 12;
        assert_eq!(decode(&build.bytes()).unwrap(), b"abcdabcdabcd");
    }

    #[test]
    fn an_empty_buffer_decodes_to_no_bytes() {
        let bytes = [2, 1, 0x13, 8, 0, 0, 0, 0, 1, 0, 0, 0, 16, 0, 0, 0];
        let buffer = Buffer::parse(&bytes).unwrap();
        assert_eq!(buffer.decode(&Limits::default()).unwrap(), b"");
        assert_eq!(buffer.block_range(0), None);
        buffer.decode_range_into(0..0, &mut [], &mut Scratch::default()).unwrap();
    }

    #[test]
    fn the_data_of_a_memcpyed_buffer_is_not_unshuffled() {
        let bytes = b"\x02\x01\x03\x04\x08\0\0\0\0\0\0\0\x18\0\0\0abcdefgh";
        let buffer = Buffer::parse(bytes).unwrap();
        assert_eq!(buffer.decode(&Limits::default()).unwrap(), b"abcdefgh");
        assert_eq!(buffer.block_range(0), Some(0..8));
        let mut part = [0; 3];
        buffer.decode_range_into(2..5, &mut part, &mut Scratch::default()).unwrap();
        assert_eq!(&part, b"cde");
    }

    #[test]
    fn a_buffer_whose_length_differs_from_ctbytes_is_rejected() {
        let mut bytes = three_blocks().bytes();
        let cut = Buffer::parse(&bytes[..bytes.len() - 1]).unwrap_err();
        assert_eq!(cut.to_string(), "needs 50 bytes, found only 49 (offset 0)");
        bytes.push(0);
        let long = Buffer::parse(&bytes).unwrap_err();
        assert_eq!(long.to_string(), "the buffer has 51 bytes, but its ctbytes is 50 (offset 12)");
    }

    #[test]
    fn wrong_block_starts_and_stream_lengths_are_reported_with_the_block_index() {
        let whole = three_blocks().bytes();
        let cases: &[(usize, i32, &str)] = &[
            (20, 27, "block 1: the streams start at 27, expected 28 to 46 (offset 20)"),
            (20, -1, "block 1: the streams start at -1, expected 28 to 46 (offset 20)"),
            (24, 47, "block 2: the streams start at 47, expected 28 to 46 (offset 24)"),
            (36, -1, "block 1: a stream has -1 bytes, expected at most 10 (offset 36)"),
            (36, 11, "block 1: a stream has 11 bytes, expected at most 10 (offset 36)"),
            (
                36,
                i32::MAX,
                "block 1: a stream has 2147483647 bytes, expected at most 10 (offset 36)",
            ),
            (36, 0, "block 1: blosclz: needs 1 byte, found only 0 (offset 40)"),
        ];
        for &(at, value, message) in cases {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert_eq!(decode(&bytes).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_block_that_does_not_divide_evenly_into_its_streams_is_rejected() {
        let build = Build {
            flags: 0x01,
            typesize: 3,
            nbytes: 400,
            blocksize: 400,
            starts: vec![0],
            blocks: vec![vec![vec![0; 133]; 3]],
        };
        let error = decode(&build.bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "block 0: 400 bytes cannot be divided into 3 streams of equal size (offset 16)"
        );
    }

    #[test]
    fn byte_shuffle_takes_precedence_over_bit_shuffle() {
        let build = Build {
            flags: 0x15,
            typesize: 2,
            nbytes: 16,
            blocksize: 16,
            starts: vec![0],
            blocks: vec![vec![b"acegikmobdfhjlnp".into()]],
        };
        assert_eq!(decode(&build.bytes()).unwrap(), b"abcdefghijklmnop");
    }

    #[test]
    fn a_blocksize_too_large_for_the_compressed_bytes_is_rejected_before_allocation() {
        let build = Build {
            flags: 0x30,
            typesize: 1,
            nbytes: 2_000_000_000,
            blocksize: 2_000_000_000,
            starts: vec![0],
            blocks: vec![vec![vec![0; 10]]],
        };
        let error = Buffer::parse(&build.bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a buffer with 14 compressed bytes is too short for blocksize 2000000000 (offset 8)"
        );
    }

    #[test]
    fn streams_padded_with_empty_blocks_are_rejected() {
        // Build a zlib stream of many empty stored blocks followed by one byte.
        let mut stream = vec![0x78, 0x01];
        stream.extend_from_slice(&[0, 0, 0, 0xff, 0xff].repeat(100));
        stream.extend_from_slice(&[1, 1, 0, 0xfe, 0xff, b'a', 0, 0x62, 0, 0x62]);
        let build = Build {
            flags: 0x70,
            typesize: 1,
            nbytes: 1,
            blocksize: 1,
            starts: vec![0],
            blocks: vec![vec![stream]],
        };
        let error = decode(&build.bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "block 0: no codec compresses 1 byte to a stream of 512 bytes (offset 20)"
        );
    }

    #[test]
    fn a_failed_allocation_is_reported_as_out_of_memory() {
        let error = room(&mut Vec::new(), usize::MAX).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutOfMemory { .. }), "{error}");
    }

    #[test]
    fn limits_are_checked_before_decoding() {
        let bytes = three_blocks().bytes();
        let buffer = Buffer::parse(&bytes).unwrap();
        for limits in [Limits::default().max_decoded(9), Limits::default().max_alloc(9)] {
            let error = buffer.decode(&limits).unwrap_err();
            assert_eq!(error.to_string(), "nbytes: 10 is above the limit of 9");
        }
        assert!(buffer.decode(&Limits::default().max_decoded(10)).is_ok());
    }

    #[test]
    fn decoding_into_a_reused_buffer_leaves_no_old_content() {
        let bytes = three_blocks().bytes();
        let buffer = Buffer::parse(&bytes).unwrap();
        let (limits, mut scratch) = (Limits::default(), Scratch::default());
        for len in [0, 3, 10, 1000] {
            let mut out = vec![7; len];
            buffer.decode_to(&mut out, &limits, &mut scratch).unwrap();
            assert_eq!(out, b"abcdefghij");
        }
        let mut out = vec![7; 100];
        let mut bad = bytes.clone();
        bad[36] = 0;
        let bad = Buffer::parse(&bad).unwrap();
        assert!(bad.decode_to(&mut out, &limits, &mut scratch).is_err());
        assert!(out.is_empty());
    }

    #[test]
    fn only_the_blocks_of_a_range_are_decoded() {
        let mut bytes = three_blocks().bytes();
        bytes[28] = 0; // damage block 0
        let buffer = Buffer::parse(&bytes).unwrap();
        let mut scratch = Scratch::default();
        let mut part = [0; 5];
        buffer.decode_range_into(5..10, &mut part, &mut scratch).unwrap();
        assert_eq!(&part, b"fghij");
        assert!(buffer.decode_range_into(3..8, &mut part, &mut scratch).is_err());
        assert_eq!(buffer.block_range(2), Some(8..10));
        assert_eq!(buffer.block_range(3), None);
    }

    #[test]
    fn ranges_and_outputs_of_the_wrong_length_are_rejected() {
        let bytes = three_blocks().bytes();
        let buffer = Buffer::parse(&bytes).unwrap();
        let mut scratch = Scratch::default();
        let mut out = [0; 10];
        assert!(buffer.decode_into(&mut out[..9], &mut scratch).is_err());
        assert!(buffer.decode_range_into(0..9, &mut out, &mut scratch).is_err());
        assert!(buffer.decode_range_into(9..11, &mut out[..2], &mut scratch).is_err());
        #[allow(clippy::reversed_empty_ranges, reason = "the reversed range is under test")]
        let reversed = buffer.decode_range_into(5..3, &mut [], &mut scratch);
        assert!(reversed.is_err());
    }

    #[test]
    fn small_blocks_of_old_buffers_are_not_split_despite_their_flags() {
        let data = b"0123456789".repeat(30);
        let options = CompressOptions::new(Compressor::Zlib).typesize(4).shuffle(Shuffle::None);
        let packed = compress(&data, &options).unwrap();
        let mut old = packed.clone();
        assert_eq!(old[2], 0x70, "streams of 75 bytes are not split");
        old[2] = 0x60;
        assert_eq!(decode(&old).unwrap(), data);
    }
}
