//! Decoding the data of an array, one Blosc block at a time.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use binio::array::{Access, Data};
use binio::blosc::Scratch;
use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::read::chunk;
use crate::{Reader, UnpackOptions};

/// The minimum length in bytes of a read that is decoded on several threads.
const PARALLEL: usize = 4 << 20;

/// The minimum value of `piece` in [`Access::Ranges`]: the size in bytes of the buffer that
/// elements are read into.
const PIECE: usize = 1 << 20;

/// Reads the data of a file, and decodes only the Blosc blocks that a read overlaps. The last
/// decoded block and its chunk are kept for the next read, so that reading from front to back
/// decodes each block only once.
pub(crate) struct Blocks<'r> {
    file: &'r Reader,
    access: Access,
    /// Idle cursors. Each read takes one of them, or creates a cursor if all are in use.
    cursors: Mutex<Vec<Cursor<'r>>>,
}

impl<'r> Blocks<'r> {
    pub(crate) fn new(file: &'r Reader) -> Self {
        // Also read gaps between elements if they are shorter than a block. Ignore an error from
        // reading the header of the first chunk: the header was valid when the file was opened, so
        // only the source can have failed, and reading the elements will report that.
        let header = if file.is_empty() { None } else { file.chunk_header(0).ok() };
        let gap = header.map_or(1, |header| header.blocksize() as usize).max(1);
        let access = Access::Ranges { gap, piece: gap.saturating_mul(8).clamp(PIECE, PARALLEL) };
        Self { file, access, cursors: Mutex::default() }
    }
}

impl Data for Blocks<'_> {
    type Error = Error;

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<()> {
        let cursors = || self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = cursors().pop();
        let mut cursor = kept.unwrap_or_else(|| Cursor::new(self.file));
        let read = cursor.read(offset, out);
        cursors().push(cursor);
        read
    }

    fn bytes_at(&self, range: Range<u64>) -> Result<Bytes> {
        let mut out = self.file.room_for(range.end.saturating_sub(range.start))?;
        self.read_exact_at(&mut out, range.start)?;
        Ok(out.into())
    }

    fn access(&self) -> Access {
        self.access
    }
}

/// Reads ranges of the data, most efficiently from front to back.
struct Cursor<'r> {
    file: &'r Reader,
    /// The index and the Blosc buffer of the chunk that was used last.
    chunk: Option<(usize, Bytes)>,
    /// The range of the uncompressed data that the decoded block contains. The decoded bytes are
    /// at the beginning of `data`.
    block: Range<u64>,
    data: Vec<u8>,
    scratch: Scratch,
}

impl<'r> Cursor<'r> {
    fn new(file: &'r Reader) -> Self {
        let scratch = Scratch::default();
        Self { file, chunk: None, block: 0..0, data: Vec::new(), scratch }
    }

    /// Fills `out` with the uncompressed data that begins at offset `at`.
    fn read(&mut self, mut at: u64, mut out: &mut [u8]) -> Result<()> {
        if out.len() >= PARALLEL {
            return self.file.read_into(out, at, &UnpackOptions::new());
        }
        while !out.is_empty() {
            if !self.block.contains(&at) {
                let done = self.load(at, out)?;
                at += done as u64;
                out = out.split_at_mut(done).1;
                continue;
            }
            let start = usize::try_from(at - self.block.start).unwrap_or(usize::MAX);
            let len = usize::try_from(self.block.end - at).unwrap_or(usize::MAX).min(out.len());
            let (place, rest) = out.split_at_mut(len);
            place.copy_from_slice(&self.data[start..][..len]);
            at += len as u64;
            out = rest;
        }
        Ok(())
    }

    /// Decodes the block that contains offset `at`. If the block begins at `at` and fits into
    /// `out`, decodes it into `out` and returns its length. Otherwise, decodes it into `self.data`
    /// and returns 0.
    fn load(&mut self, at: u64, out: &mut [u8]) -> Result<usize> {
        let len = self.file.len();
        let index = self.file.layout().chunk_at(at).ok_or_else(|| Error::new(past(at, len)))?;
        let entry = self.file.chunk(index)?;
        let (number, offset, chunk_start) = (index as u64, entry.offset, entry.plain_offset());
        let bytes = match &self.chunk {
            Some((held, bytes)) if *held == index => bytes,
            _ => {
                let bytes = self.file.chunk_bytes(index)?;
                &self.chunk.insert((index, bytes)).1
            }
        };
        let buffer = chunk::parse(number, offset, bytes)?;
        let corrupt = |error| chunk::corrupt(number, offset, bytes, error);
        let block_len = buffer.block_range(0).map_or(1, |block| block.len() as u64);
        let block = u32::try_from((at - chunk_start) / block_len).ok();
        // The block is missing only if the source has changed since it was opened.
        let range = block.and_then(|block| buffer.block_range(block));
        let range = range.ok_or_else(|| Error::new(past(at, len)))?;
        let start = chunk_start + range.start as u64;
        if at == start && out.len() >= range.len() {
            let place = out.split_at_mut(range.len()).0;
            buffer.decode_range_into(range.clone(), place, &mut self.scratch).map_err(corrupt)?;
            return Ok(range.len());
        }
        self.block = 0..0;
        if self.data.len() < range.len() {
            self.data = Vec::new();
            self.data = self.file.room_for(range.len() as u64)?;
        }
        let place = &mut self.data[..range.len()];
        buffer.decode_range_into(range.clone(), place, &mut self.scratch).map_err(corrupt)?;
        self.block = start..start + range.len() as u64;
        Ok(0)
    }
}

fn past(start: u64, len: u64) -> ErrorKind {
    ErrorKind::OutOfRange { start, end: start.saturating_add(1), len }
}
