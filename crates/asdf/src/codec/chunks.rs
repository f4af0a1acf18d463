//! Data in chunks, each compressed on its own and with its lengths before it: `lz4\0` and `blsc`.
//!
//! The lengths make a table, so that chunks are decoded in parallel and a range decodes only the
//! chunks that it touches.

use std::ops::Range;

use binio::ReadAt;
#[cfg(feature = "rayon")]
use rayon::prelude::*;

use super::output::{Output, out_of_memory};
use super::{Failure, Note};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// A framing by chunks. Offsets in errors are relative to the bytes to decode.
pub(super) trait Chunked: Sync {
    /// Memory that decoding uses again from chunk to chunk.
    type Scratch: Default;

    /// Length of the header of a chunk, which has its lengths.
    fn header_len(&self) -> usize;

    /// The lengths of a chunk that begins with this header.
    fn measure(&self, header: &[u8]) -> Result<Measure, String>;

    /// How many bytes of data one byte of a payload decodes to at most, if the format has a bound.
    fn max_expansion(&self) -> u64 {
        u64::MAX
    }

    /// Whether there is only one chunk, so that what follows it is not another.
    fn is_single(&self) -> bool {
        false
    }

    /// Decodes a payload to exactly the length of `place`.
    fn decode(
        &self,
        payload: &[u8],
        place: &mut [u8],
        scratch: &mut Self::Scratch,
    ) -> Result<(), Failure>;

    /// Decodes `part` of the `len` bytes of a payload's data, to exactly the length of `place`.
    fn decode_part(
        &self,
        payload: &[u8],
        len: usize,
        part: Range<usize>,
        place: &mut [u8],
    ) -> Result<(), Failure> {
        let mut whole = Output::growing(len as u64, payload.len() as u64)?;
        let data = whole.room(len)?;
        self.decode(payload, data, &mut Self::Scratch::default())?;
        place.copy_from_slice(&data[part]);
        Ok(())
    }
}

/// The lengths in the header of a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Measure {
    /// What is to be decoded, from the start of the chunk; the chunk ends with it.
    pub(super) payload: Range<u64>,
    /// Length of the decoded data.
    pub(super) data_len: u64,
}

/// Memory of a thread: that of the framing, and for a payload read from a file.
type Memory<C> = (<C as Chunked>::Scratch, Vec<u8>);

/// Where the chunks are, in the stored bytes and in the data.
pub(super) struct Table<C> {
    framing: C,
    chunks: Vec<Chunk>,
    /// End of the last chunk in the stored bytes, and how many bytes follow it.
    end: u64,
    trailing: u64,
}

/// A chunk of a block that is compressed in chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// Where its payload is stored, without the lengths before it: an LZ4 block or a Blosc buffer.
    pub stored: Range<u64>,
    /// Which bytes of the decoded data it holds.
    pub decoded: Range<u64>,
}

impl<C: Chunked> Table<C> {
    /// Reads the lengths of the chunks up to byte `wanted` of the data; with `wanted` =
    /// `data_size`, all of them. What it allocates goes by the chunks that are really there.
    pub(super) fn read<S: ReadAt + ?Sized>(
        framing: C,
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
            let is_over = left < framing.header_len() as u64 || (framing.is_single() && at > 0);
            let short = CodecError::ShortStream { got: decoded, want: data_size };
            if is_over {
                if done {
                    break;
                }
                return Err(short.into());
            }
            let header = stored.bytes_at(at, framing.header_len())?;
            let measured = framing.measure(&header);
            let whole = measured.as_ref().is_ok_and(|measure| measure.payload.end <= left);
            if done && !whole {
                break; // Not a chunk, but bytes that trail.
            }
            let Measure { payload, data_len } =
                measured.map_err(|message| CodecError::Corrupt { message, offset: at })?;
            if data_len > data_size - decoded {
                return Err(CodecError::LongStream { want: data_size }.into());
            }
            if !whole {
                return Err(short.into());
            }
            let len = payload.end - payload.start;
            if data_len > len.saturating_mul(framing.max_expansion()) {
                let message = format!("chunk of {len} bytes cannot decode to {data_len}");
                return Err(CodecError::Corrupt { message, offset: at }.into());
            }
            let payload = at + payload.start..at + payload.end;
            at = payload.end;
            if data_len > 0 {
                chunks.push(Chunk { stored: payload, decoded: decoded..decoded + data_len });
                decoded += data_len;
            }
        }
        Ok(Self { framing, chunks, end: at, trailing: stored.len() - at })
    }

    /// The chunks, of which `stored` is relative to the stored bytes.
    pub(super) fn into_chunks(self) -> Vec<Chunk> {
        self.chunks
    }

    /// Decodes all chunks.
    pub(super) fn decode(
        &self,
        stored: &dyn ReadAt,
        output: &mut Output<'_>,
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        let mut chunks = &self.chunks[..];
        while let Some(first) = chunks.first() {
            // As many chunks as the next step of the output takes, but one at least.
            let (start, step) = (first.decoded.start, output.step() as u64);
            let fitting = chunks.iter().take_while(|c| c.decoded.end - start <= step).count();
            let (batch, later) = chunks.split_at(fitting.max(1));
            let len = batch.iter().map(|chunk| len_of(&chunk.decoded)).sum();
            self.decode_batch(batch, stored, output.room(len)?)?;
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
        let first = self.chunks.partition_point(|chunk| chunk.decoded.end <= range.start);
        let touched = self.chunks[first..].iter().take_while(|c| c.decoded.start < range.end);
        for chunk in touched {
            let payload = stored.bytes_at(chunk.stored.start, len_of(&chunk.stored))?;
            let from = range.start.max(chunk.decoded.start) - chunk.decoded.start;
            let to = range.end.min(chunk.decoded.end) - chunk.decoded.start;
            let part = len_of(&(0..from))..len_of(&(0..to));
            let filled = out.len();
            out.try_reserve(part.len()).map_err(|_| out_of_memory(range.end - range.start))?;
            out.resize(filled + part.len(), 0);
            self.framing
                .decode_part(&payload, len_of(&chunk.decoded), part, &mut out[filled..])
                .map_err(|failure| failure.moved_by(chunk.stored.start))?;
        }
        Ok(out)
    }

    /// Decodes chunks that follow each other into the place for all of them. From a file they are
    /// read one by one: a buffer for all of them costs as much as decoding.
    fn decode_batch(
        &self,
        batch: &[Chunk],
        stored: &dyn ReadAt,
        mut output: &mut [u8],
    ) -> Result<(), Failure> {
        let mut places = Vec::with_capacity(batch.len());
        for chunk in batch {
            let (place, rest) = output.split_at_mut(len_of(&chunk.decoded));
            places.push((chunk, place));
            output = rest;
        }
        let decode = |(scratch, buffer): &mut Memory<C>, (chunk, place): (&Chunk, &mut [u8])| {
            let (start, len) = (chunk.stored.start, len_of(&chunk.stored));
            let shared;
            let payload = if stored.is_memory() {
                shared = stored.bytes_at(start, len)?;
                &shared[..]
            } else {
                buffer.resize(len.max(buffer.len()), 0);
                stored.read_exact_at(&mut buffer[..len], start)?;
                &buffer[..len]
            };
            self.framing.decode(payload, place, scratch).map_err(|failure| failure.moved_by(start))
        };
        #[cfg(feature = "rayon")]
        if places.len() > 1 {
            return places.into_par_iter().try_for_each_init(Memory::<C>::default, decode);
        }
        let mut memory = Memory::<C>::default();
        places.into_iter().try_for_each(|place| decode(&mut memory, place))
    }
}

/// Length of a range of bytes that are in memory or will be.
fn len_of(range: &Range<u64>) -> usize {
    usize::try_from(range.end - range.start).unwrap_or(usize::MAX)
}
