//! Decoding chunked data (`lz4\0` and `blsc`). Chunks are compressed independently, and each begins
//! with the lengths of its payload and its data. A single Blosc buffer is treated as a single chunk.
//!
//! The lengths are collected in a table. With this table, chunks can be decoded in parallel, and
//! reading a range decodes only the chunks that overlap it.

use std::ops::Range;

use binio::ReadAt;
use binio::diagnostic::count;
use bytes::{Buf as _, Bytes};
#[cfg(feature = "rayon")]
use rayon::prelude::*;

use super::Failure;
use super::decoder::{FramedDecoder, Progress, zeroed};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// Approximate size in bytes of the pieces in which chunked data is decoded. A piece is usually
/// large enough to decode several chunks in parallel.
const PIECE: usize = 8 << 20;

/// A framing with chunks. Offsets in errors are relative to the payload.
pub(super) trait Chunked: Send + Sync {
    /// Memory that is reused from chunk to chunk during decoding.
    type Scratch: Default;

    /// Returns the length in bytes of a chunk's header, from which [`lengths`](Self::lengths) reads the
    /// lengths of its payload and data.
    fn header_len(&self) -> usize;

    /// Returns the lengths of the chunk that begins with this header.
    fn lengths(&self, header: &[u8]) -> Result<Lengths, String>;

    /// Returns the maximum number of data bytes to which one payload byte can be decoded, or
    /// `u64::MAX` if the format has no maximum.
    fn max_expansion(&self) -> u64 {
        u64::MAX
    }

    /// Returns `true` if the framing allows only one chunk, so that bytes after it are never another
    /// chunk.
    fn is_single(&self) -> bool {
        false
    }

    /// Decodes a payload. Fails if its data does not exactly fill `out`.
    fn decode(
        &self,
        payload: &[u8],
        out: &mut [u8],
        scratch: &mut Self::Scratch,
    ) -> Result<(), Failure>;

    /// Decodes the range `part` of a payload with `len` bytes of data. `out` must have the same length as
    /// `part`.
    fn decode_part(
        &self,
        payload: &[u8],
        len: usize,
        part: Range<usize>,
        out: &mut [u8],
        scratch: &mut Self::Scratch,
    ) -> Result<(), Failure> {
        let mut whole = zeroed(len)?;
        self.decode(payload, &mut whole, scratch)?;
        out.copy_from_slice(&whole[part]);
        Ok(())
    }
}

/// The lengths in a chunk's header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    /// The range of the payload within the chunk. It extends to the end of the chunk.
    pub(super) payload: Range<u64>,
    /// Length of the decoded data in bytes.
    pub(super) data_len: u64,
}

/// Reusable memory of a thread: scratch space for the framing, and a buffer for payloads read from a file.
type Memory<C> = (<C as Chunked>::Scratch, Vec<u8>);

/// Chunked data with a table of its chunks.
pub(super) struct ChunkedData<'a, C> {
    framing: C,
    stored: &'a dyn ReadAt,
    chunks: Vec<Chunk>,
    /// Offset in the stored bytes at which the last chunk ends.
    end: u64,
    /// Number of stored bytes after the last chunk.
    trailing: u64,
    /// Index of the next chunk to decode.
    next: usize,
    /// The part of the last decoded chunk's data that has not been returned yet.
    spare: Bytes,
}

/// A chunk of a compressed block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// The byte range of the payload in the file. The payload is an LZ4 block or a Blosc buffer,
    /// without the lengths before it.
    pub stored: Range<u64>,
    /// The byte range of the chunk in the decoded data.
    pub decoded: Range<u64>,
}

impl<'a, C: Chunked> ChunkedData<'a, C> {
    /// Reads the lengths of the chunks that contain the first `wanted` bytes of the data, or of all
    /// chunks if `wanted` is equal to `data_size`. Allocates memory only for chunks that exist.
    pub(super) fn read(
        framing: C,
        stored: &'a dyn ReadAt,
        data_size: u64,
        wanted: u64,
    ) -> Result<Self, Failure> {
        let mut chunks: Vec<Chunk> = Vec::new();
        let (mut at, mut decoded) = (0, 0);
        loop {
            let done = decoded >= wanted;
            if done && wanted < data_size {
                break; // Only the beginning of the data was requested.
            }
            let left = stored.len().saturating_sub(at);
            let is_over = left < framing.header_len() as u64 || (framing.is_single() && at > 0);
            let short = CodecError::ShortStream { found: decoded, expected: data_size };
            if is_over {
                if done {
                    break;
                }
                return Err(short.into());
            }
            let header = stored.bytes_at(at, framing.header_len())?;
            let lengths = framing.lengths(&header);
            let whole = lengths.as_ref().is_ok_and(|lengths| lengths.payload.end <= left);
            if done && !whole {
                break; // The remaining bytes are not a chunk.
            }
            let Lengths { payload, data_len } =
                lengths.map_err(|message| CodecError::Corrupt { message, offset: at })?;
            if data_len > data_size - decoded {
                return Err(CodecError::LongStream { expected: data_size }.into());
            }
            if !whole {
                return Err(short.into());
            }
            let len = payload.end - payload.start;
            if data_len > len.saturating_mul(framing.max_expansion()) {
                let len = count(len, "byte");
                let message = format!("a chunk of {len} cannot decode to {data_len} bytes");
                return Err(CodecError::Corrupt { message, offset: at }.into());
            }
            let payload = at + payload.start..at + payload.end;
            at = payload.end;
            if data_len > 0 {
                chunks.push(Chunk { stored: payload, decoded: decoded..decoded + data_len });
                decoded += data_len;
            }
        }
        let (trailing, spare) = (stored.len() - at, Bytes::new());
        Ok(Self { framing, stored, chunks, end: at, trailing, next: 0, spare })
    }

    /// Returns the chunks. Their `stored` ranges are relative to the stored bytes of the block.
    pub(super) fn into_chunks(self) -> Vec<Chunk> {
        self.chunks
    }

    /// Returns the number of consecutive chunks, starting with the next chunk, whose requested data
    /// fits into `len` bytes in total.
    fn fitting(&self, len: usize, progress: &Progress<'_>) -> usize {
        let end = progress.decoded.saturating_add(len as u64);
        let fits = |chunk: &&Chunk| chunk.wanted(progress).end <= end;
        self.chunks.iter().skip(self.next).take_while(fits).count()
    }

    /// Decodes the requested data of the next `count` chunks to the beginning of `out`. Returns the
    /// number of bytes decoded.
    fn decode_next(
        &mut self,
        count: usize,
        out: &mut [u8],
        progress: &Progress<'_>,
    ) -> Result<usize, Failure> {
        let batch = self.chunks.iter().skip(self.next).take(count);
        let mut parts = Vec::with_capacity(count);
        let (mut rest, mut len) = (out, 0);
        for chunk in batch {
            let wanted = chunk.wanted(progress);
            let (part, after) = rest.split_at_mut(len_of(&wanted));
            len += part.len();
            parts.push((chunk, wanted.start, part));
            rest = after;
        }
        self.decode_parts(parts)?;
        self.next += count;
        Ok(len)
    }

    /// Decodes parts of chunks in parallel. Each tuple contains a chunk, the offset in the whole
    /// data at which its part begins, and the buffer for the part.
    fn decode_parts(&self, parts: Vec<(&Chunk, u64, &mut [u8])>) -> Result<(), Failure> {
        let decode = |memory: &mut Memory<C>, (chunk, from, part): (&Chunk, u64, &mut [u8])| {
            let decoded = self.decode_part(chunk, from, part, memory);
            decoded.map_err(|failure| failure.moved_by(chunk.stored.start))
        };
        #[cfg(feature = "rayon")]
        if parts.len() > 1 {
            return parts.into_par_iter().try_for_each_init(Memory::<C>::default, decode);
        }
        let mut memory = Memory::<C>::default();
        parts.into_iter().try_for_each(|part| decode(&mut memory, part))
    }

    /// Fills `out` with the data of a chunk, starting at the offset `from` in the whole data.
    /// Chunks in a file are read individually, so that the stored block need not fit into memory.
    fn decode_part(
        &self,
        chunk: &Chunk,
        from: u64,
        out: &mut [u8],
        (scratch, buffer): &mut Memory<C>,
    ) -> Result<(), Failure> {
        let (start, len) = (chunk.stored.start, len_of(&chunk.stored));
        let shared;
        let payload = if self.stored.is_memory() {
            shared = self.stored.bytes_at(start, len)?;
            &shared[..]
        } else {
            buffer.resize(len.max(buffer.len()), 0);
            self.stored.read_exact_at(&mut buffer[..len], start)?;
            &buffer[..len]
        };
        let data_len = len_of(&chunk.decoded);
        if out.len() == data_len {
            return self.framing.decode(payload, out, scratch);
        }
        let start = len_of(&(chunk.decoded.start..from));
        self.framing.decode_part(payload, data_len, start..start + out.len(), out, scratch)
    }
}

impl Chunk {
    /// Returns the range of the chunk's data that has been requested, but not decoded yet.
    fn wanted(&self, progress: &Progress<'_>) -> Range<u64> {
        let Range { start, end } = self.decoded;
        start.max(progress.decoded)..end.min(progress.wanted)
    }
}

impl<C: Chunked> FramedDecoder for ChunkedData<'_, C> {
    fn fill(&mut self, mut out: &mut [u8], progress: &mut Progress<'_>) -> Result<(), Failure> {
        while !out.is_empty() {
            let len = if !self.spare.is_empty() {
                let len = self.spare.len().min(out.len());
                self.spare.copy_to_slice(&mut out[..len]);
                len
            } else if let count @ 1.. = self.fitting(out.len(), progress) {
                self.decode_next(count, out, progress)?
            } else if let Some(chunk) = self.chunks.get(self.next) {
                let mut spare = zeroed(len_of(&chunk.wanted(progress)))?;
                self.decode_next(1, &mut spare, progress)?;
                self.spare = spare.into();
                0
            } else {
                return Err(progress.short().into());
            };
            progress.decoded += len as u64;
            out = &mut out[len..];
        }
        Ok(())
    }

    /// Returns the length of the rest of the last decoded chunk. If there is no rest, returns the
    /// total length of as many chunks as fit into one piece, but at least the length of one chunk.
    /// Only the requested data of each chunk counts.
    fn piece_len(&self, about: usize, progress: &Progress<'_>) -> usize {
        if !self.spare.is_empty() {
            return self.spare.len();
        }
        let count = self.fitting(about.max(PIECE), progress).max(1);
        let batch = self.chunks.iter().skip(self.next).take(count);
        batch.map(|chunk| len_of(&chunk.wanted(progress))).sum()
    }

    /// Skips the chunks before `position` without decoding them.
    fn skip_to(&mut self, position: u64, progress: &mut Progress<'_>) -> Result<(), Failure> {
        self.spare.clear();
        self.next = self.chunks.partition_point(|chunk| chunk.decoded.end <= position);
        progress.decoded = position;
        Ok(())
    }

    fn finish(&mut self, progress: &mut Progress<'_>) -> Result<(), Failure> {
        if self.trailing > 0 {
            let message = format!("{} after the last chunk", count(self.trailing, "byte"));
            progress.note(Code::BytesAfterStream, self.end, message);
        }
        Ok(())
    }
}

/// Returns the length of a range of bytes. The range must fit into memory.
fn len_of(range: &Range<u64>) -> usize {
    usize::try_from(range.end - range.start).unwrap_or(usize::MAX)
}
