//! `lz4\0`: chunks, each an LZ4 block with two lengths before it.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | n, **big**-endian: length of what follows in this chunk |
//! | 4 | 4 | decoded length, **little**-endian |
//! | 8 | n - 4 | LZ4 block |
//!
//! Most writers put 4 MiB of data in a chunk, some 8 MiB; chunks may be uneven and may decode to
//! nothing. One to three bytes that trail the last chunk are met and ignored.
//!
//! The lengths make a table, so that chunks are decoded in parallel and a range decodes only the
//! chunks that it touches.

use std::ops::Range;

use binio::{ByteReader, Endian, ReadAt};
#[cfg(feature = "rayon")]
use rayon::prelude::*;

use super::output::{Output, out_of_memory};
use super::{Failure, Note};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// The bytes that begin an LZ4 frame, which is something else than these chunks. As the length of
/// a chunk they would be 69 MB.
pub(super) const FRAME_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Bytes before the LZ4 block of a chunk.
const CHUNK_HEADER_LEN: usize = 8;

/// What one byte of an LZ4 block can add to the output, at most: it is a length byte of 255. This
/// is arithmetic, not a guess, so a chunk that claims more is damaged.
const MAX_EXPANSION: u64 = 255;

/// Where the chunks are, in the stored bytes and in the data.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    chunks: Vec<Chunk>,
    /// End of the last chunk in the stored bytes, and how many bytes follow it.
    end: u64,
    trailing: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Chunk {
    /// The LZ4 block in the stored bytes.
    stored: Range<u64>,
    /// What it decodes to.
    data: Range<u64>,
}

/// Whether the stored bytes begin as an LZ4 frame does.
pub(super) fn is_frame<S: ReadAt + ?Sized>(stored: &S) -> Result<bool, Failure> {
    Ok(stored.len() >= 4 && stored.bytes_at(0, 4)? == FRAME_MAGIC[..])
}

impl Table {
    /// Reads the lengths of the chunks up to byte `wanted` of the data; with `wanted` =
    /// `data_size`, all of them. What it allocates goes by the chunks that are really there.
    pub(super) fn read<S: ReadAt + ?Sized>(
        stored: &S,
        data_size: u64,
        wanted: u64,
    ) -> Result<Self, Failure> {
        let mut chunks: Vec<Chunk> = Vec::new();
        let (mut at, mut decoded) = (0, 0);
        loop {
            let done = decoded >= wanted;
            if done && wanted < data_size {
                break; // The beginning is all that was asked for.
            }
            let left = stored.len().saturating_sub(at);
            let short = CodecError::ShortStream { got: decoded, want: data_size };
            if left < CHUNK_HEADER_LEN as u64 {
                if done {
                    break;
                }
                return Err(short.into());
            }
            let mut header = [0; CHUNK_HEADER_LEN];
            stored.read_exact_at(&mut header, at)?;
            let mut reader = ByteReader::new(&header);
            let len = u64::from(reader.read::<u32>(Endian::Big)?);
            let data_len = u64::from(reader.read::<u32>(Endian::Little)?);
            let whole = len >= 4 && len <= left - 4;
            if done && !whole {
                break; // Not a chunk, but bytes that trail.
            }
            if len < 4 {
                let message = format!("LZ4 chunk of {len} bytes, too short for its decoded length");
                return Err(CodecError::Corrupt { message, offset: at }.into());
            }
            if data_len > data_size - decoded {
                return Err(CodecError::LongStream { want: data_size }.into());
            }
            if !whole {
                return Err(short.into());
            }
            let block = at + CHUNK_HEADER_LEN as u64..at + 4 + len;
            if data_len > (block.end - block.start).saturating_mul(MAX_EXPANSION) {
                let message = format!("LZ4 chunk of {len} bytes cannot decode to {data_len}");
                return Err(CodecError::Corrupt { message, offset: at }.into());
            }
            at = block.end;
            if data_len > 0 {
                chunks.push(Chunk { stored: block, data: decoded..decoded + data_len });
                decoded += data_len;
            }
        }
        Ok(Self { chunks, end: at, trailing: stored.len() - at })
    }

    /// Decodes all chunks.
    pub(super) fn decode(
        &self,
        stored: &[u8],
        output: &mut Output<'_>,
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        let mut chunks = &self.chunks[..];
        while let Some(first) = chunks.first() {
            // As many chunks as the next step of the output takes, but one at least.
            let (start, step) = (first.data.start, output.step() as u64);
            let fitting = chunks.iter().take_while(|c| c.data.end - start <= step).count();
            let (batch, later) = chunks.split_at(fitting.max(1));
            let len = batch.iter().map(|chunk| len_of(&chunk.data)).sum();
            decode_batch(batch, stored, output.room(len)?)?;
            output.advance(len);
            chunks = later;
        }
        if self.trailing > 0 {
            let message = format!("{} bytes after the last chunk", self.trailing);
            notes.push(Note { code: Code::BytesAfterStream, at: self.end, message });
        }
        Ok(())
    }

    /// Decodes the chunks that hold bytes of `range`, which the table covers.
    pub(super) fn decode_range<S: ReadAt + ?Sized>(
        &self,
        stored: &S,
        range: &Range<u64>,
    ) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        let first = self.chunks.partition_point(|chunk| chunk.data.end <= range.start);
        let touched = self.chunks[first..].iter().take_while(|c| c.data.start < range.end);
        for chunk in touched {
            let block = stored.bytes_at(chunk.stored.start, len_of(&chunk.stored))?;
            let mut whole = Output::growing(chunk.data.end - chunk.data.start, block.len() as u64)?;
            let data = whole.room(len_of(&chunk.data))?;
            decode_chunk(chunk, &block, data)?;
            let from = range.start.max(chunk.data.start) - chunk.data.start;
            let to = range.end.min(chunk.data.end) - chunk.data.start;
            let part = &data[len_of(&(0..from))..len_of(&(0..to))];
            out.try_reserve(part.len()).map_err(|_| out_of_memory(range.end - range.start))?;
            out.extend_from_slice(part);
        }
        Ok(out)
    }
}

/// Decodes chunks that follow each other into the place for all of them.
fn decode_batch(batch: &[Chunk], stored: &[u8], mut output: &mut [u8]) -> Result<(), CodecError> {
    let mut places = Vec::with_capacity(batch.len());
    for chunk in batch {
        let (place, rest) = output.split_at_mut(len_of(&chunk.data));
        places.push((chunk, place));
        output = rest;
    }
    let decode = |(chunk, place): (&Chunk, &mut [u8])| {
        let start = usize::try_from(chunk.stored.start).unwrap_or(usize::MAX);
        let block = stored.get(start..).and_then(|rest| rest.get(..len_of(&chunk.stored)));
        decode_chunk(chunk, block.unwrap_or_default(), place)
    };
    #[cfg(feature = "rayon")]
    if places.len() > 1 {
        return places.into_par_iter().try_for_each(decode);
    }
    places.into_iter().try_for_each(decode)
}

fn decode_chunk(chunk: &Chunk, block: &[u8], place: &mut [u8]) -> Result<(), CodecError> {
    let corrupt = |message| CodecError::Corrupt { message, offset: chunk.stored.start };
    let len = lz4_flex::block::decompress_into(block, place)
        .map_err(|error| corrupt(format!("LZ4: {error}")))?;
    if len != place.len() {
        return Err(corrupt(format!("LZ4 chunk gives {len} bytes and claims {}", place.len())));
    }
    Ok(())
}

/// Length of a range of bytes that are in memory or will be.
fn len_of(range: &Range<u64>) -> usize {
    usize::try_from(range.end - range.start).unwrap_or(usize::MAX)
}
