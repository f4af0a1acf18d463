//! Reading a chunk: a Blosc buffer, followed by its digest.
//!
//! | offset | size | part |
//! |---|---|---|
//! | 0 | 16 | header of the Blosc buffer: `nbytes`, `ctbytes` and the compression |
//! | 16 | `ctbytes` - 16 | the rest of the buffer |
//! | `ctbytes` | 0 to 64 | digest of the buffer, including its header |

use std::fmt;
use std::io;

use binio::ReadAt;
use binio::blosc::{self, Buffer, HEADER_LEN};
use binio::diagnostic;
use binio::memory::prefer_huge_pages;
use bytes::Bytes;

use crate::Checksum;
use crate::error::{Error, ErrorKind, Part, Result};
use crate::format::layout::ChunkEntry;
use crate::parallel::for_each;

/// The value of the version byte in Blosc 1 buffers.
const BLOSC_VERSION: u8 = 2;

/// The values of the version byte in Blosc2 buffers. Any value other than these and
/// [`BLOSC_VERSION`] means that the buffer is corrupt.
const BLOSC2_VERSIONS: std::ops::RangeInclusive<u8> = 3..=5;

/// The size in bytes of the parts in which several threads read a large chunk.
const PART: usize = 4 << 20;

/// The stored bytes of the chunk that is being read. They are shared with the source if it is in memory, and otherwise
/// read into a reusable buffer.
#[derive(Default)]
pub(crate) struct Stored {
    shared: Bytes,
    read: Vec<u8>,
}

/// Temporary memory for reading chunks. Keep one for each thread and pass it to every call.
#[derive(Default)]
pub struct Scratch {
    pub(crate) stored: Stored,
    pub(crate) blosc: blosc::Scratch,
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

/// Reads chunks at given offsets in a file.
#[derive(Clone, Copy)]
pub(crate) struct ChunkSource<'a> {
    pub(crate) source: &'a dyn ReadAt,
    pub(crate) checksum: Checksum,
}

impl ChunkSource<'_> {
    pub(crate) fn digest_len(&self) -> u64 {
        self.checksum.len() as u64
    }

    /// Returns the offset in the file at which a chunk and its digest end.
    pub(crate) fn end(&self, chunk: &ChunkEntry) -> u64 {
        chunk.stored_range().end + self.digest_len()
    }

    /// Reads the Blosc header of chunk `index` at `offset`, and checks that its buffer and its digest are within the
    /// file.
    pub(crate) fn entry(&self, index: u64, offset: u64) -> Result<ChunkEntry> {
        let left = self.source.len().saturating_sub(offset);
        let needs = |what, needed| {
            let kind = ErrorKind::Truncated { what, needed, available: left };
            if needed > left { Err(Error::new(kind).at(offset)) } else { Ok(()) }
        };
        needs("chunk", HEADER_LEN as u64)?;
        let header = self.header(index, offset)?;
        needs("chunk", u64::from(header.ctbytes()))?;
        needs("chunk and its digest", u64::from(header.ctbytes()) + self.digest_len())?;
        let (nbytes, ctbytes) = (header.nbytes(), header.ctbytes());
        Ok(ChunkEntry { offset, nbytes, ctbytes, plain_offset: 0 })
    }

    /// Reads the Blosc header of chunk `index` at `offset`.
    pub(crate) fn header(&self, index: u64, offset: u64) -> Result<blosc::Header> {
        let bytes = self.source.bytes_at(offset, HEADER_LEN)?;
        blosc::Header::parse(&bytes).map_err(|error| corrupt(index, offset, &bytes, error))
    }

    /// Reads a chunk into `room`, and returns its Blosc buffer and its stored digest.
    pub(crate) fn stored<'a>(
        &self,
        chunk: &ChunkEntry,
        room: &'a mut Stored,
    ) -> Result<(&'a [u8], &'a [u8])> {
        self.stored_by(1, chunk, room)
    }

    /// Like [`stored`](Self::stored), but a large chunk is read on several threads.
    pub(crate) fn stored_by<'a>(
        &self,
        threads: usize,
        chunk: &ChunkEntry,
        room: &'a mut Stored,
    ) -> Result<(&'a [u8], &'a [u8])> {
        let len = u64::from(chunk.ctbytes) + self.digest_len();
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = if self.source.is_memory() {
            room.shared = self.source.bytes_at(chunk.offset, len)?;
            &room.shared[..]
        } else {
            // The chunk is within the source, so its length is safe to allocate. Allocate a quarter
            // more, because later chunks may be longer.
            if room.read.len() < len {
                room.read = Vec::new();
                room.read = zeroed("a chunk", (len + len / 4) as u64)?;
                prefer_huge_pages(&mut room.read);
            }
            let bytes = &mut room.read[..len];
            let part = if threads > 1 { PART } else { len.max(1) };
            let parts = (chunk.offset..).step_by(part).zip(bytes.chunks_mut(part));
            for_each(
                threads,
                parts,
                || (),
                |(), (offset, part)| Ok(self.source.read_exact_at(part, offset)?),
            )?;
            bytes
        };
        Ok(bytes.split_at(len - self.checksum.len()))
    }

    /// Checks that the stored digest of chunk `index` matches its buffer.
    pub(crate) fn check(
        &self,
        index: u64,
        chunk: &ChunkEntry,
        buffer: &[u8],
        digest: &[u8],
    ) -> Result<()> {
        self.checksum.verify(buffer, digest).map_err(|error| match *error.kind() {
            binio::ErrorKind::Checksum { stored, computed } => {
                let part = Part::Chunk(index);
                Error::new(ErrorKind::ChecksumMismatch { part, stored, computed })
                    .at(chunk.stored_range().end)
            }
            _ => error.into(),
        })
    }

    /// Checks everything about a chunk that can be checked without decoding it: its structure and
    /// its digest.
    pub(crate) fn hold(&self, index: u64, chunk: &ChunkEntry, room: &mut Stored) -> Result<()> {
        let (buffer, digest) = self.stored(chunk, room)?;
        parse(index, chunk.offset, buffer)?;
        self.check(index, chunk, buffer, digest)
    }
}

/// Parses the Blosc buffer of chunk `index`, which is at `offset` in the file.
pub(crate) fn parse(index: u64, offset: u64, buffer: &[u8]) -> Result<Buffer<'_>> {
    Buffer::parse(buffer).map_err(|error| corrupt(index, offset, buffer, error))
}

/// Converts a `binio` error to an error about chunk `index`, whose buffer is at `offset`.
pub(crate) fn corrupt(index: u64, offset: u64, buffer: &[u8], reason: binio::Error) -> Error {
    let version = buffer.first().copied().unwrap_or_default();
    let reason = match reason.kind() {
        binio::ErrorKind::Limit { .. }
        | binio::ErrorKind::OutOfMemory { .. }
        | binio::ErrorKind::Io(_) => {
            return Error::from(reason).at(offset);
        }
        binio::ErrorKind::Unsupported(_) if BLOSC2_VERSIONS.contains(&version) => {
            return Error::new(ErrorKind::Blosc2Chunk { chunk: index }).at(offset);
        }
        binio::ErrorKind::Unsupported(_) if version != BLOSC_VERSION => {
            let message = format!("Blosc version {version}, expected {BLOSC_VERSION}");
            binio::Error::invalid(message).at(offset)
        }
        _ => reason.within(offset),
    };
    let (reason, place) = reason.split_offset();
    let kind = match reason.kind() {
        binio::ErrorKind::Unsupported(_) => ErrorKind::UnsupportedChunk { chunk: index, reason },
        _ => ErrorKind::CorruptChunk { chunk: index, reason },
    };
    Error::new(kind).at(place.unwrap_or(offset))
}

/// Returns `count` zeros, which take no memory until they are written to.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(what: &'static str, count: u64) -> Result<Vec<T>> {
    let zeroed = usize::try_from(count).map(bytemuck::allocation::try_zeroed_vec);
    let Ok(Ok(zeroed)) = zeroed else {
        let len = count.saturating_mul(size_of::<T>() as u64);
        let message = format!("cannot allocate {} for {what}", diagnostic::count(len, "byte"));
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, message).into());
    };
    Ok(zeroed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_about_a_chunk_that_cannot_be_decoded_states_the_reason() {
        let reason = "decompression with zstd requires the feature blosc-zstd";
        for (version, expected) in [
            (2, format!("chunk 7: not supported: {reason}")),
            (3, "chunk 7 is a Blosc2 buffer".to_owned()),
            (6, "chunk 7: Blosc version 6, expected 2".to_owned()),
        ] {
            let error = corrupt(7, 100, &[version], binio::Error::unsupported(reason));
            let message = error.to_string();
            assert!(message.contains(&expected), "{message}");
            // The file may be valid if only this build lacks the codec.
            assert_eq!(error.is_bad_data(), version != 2, "{message}");
            assert_eq!(error.offset(), Some(100));
        }
    }

    #[test]
    fn a_failed_allocation_is_not_bad_data() {
        let kind =
            binio::ErrorKind::OutOfMemory { what: "the data of a Blosc buffer", requested: 5 };
        assert!(!corrupt(7, 100, &[2], binio::Error::new(kind)).is_bad_data());
    }
}
