//! A source that keeps the beginning and the end of a file in memory after reading them, and reads ahead
//! between them.
//!
//! ```text
//! |#### head ####|---------------- read on demand ----------------|## tail ##|
//! 0              head.len()                              tail_start         len
//! ```
//!
//! The tree, the first block header and the index are usually in the head or the tail, and need no further
//! read.

use std::ops::Range;
use std::sync::Arc;

use binio::ReadAt;
use bytes::Bytes;

use super::found_block::HeaderState;
use super::read_ahead::{MAX_READ_AHEAD, ReadAhead};
use crate::layout::block_header::{BLOCK_HEADER_LEN, BLOCK_MAGIC, BlockHeader};
use crate::layout::index::INDEX_HEADER;

/// The minimum and the maximum size in bytes of the first read of the head or the tail.
///
/// Local files are read with the minimum size. Opening a file of 1 GiB with an index takes 0.85
/// times as long with the minimum as with the maximum (`cargo xtask bench asdf`, row
/// `open_1gib_index`).
const FIRST_STEP: std::ops::RangeInclusive<u64> = 16 << 10..=64 << 10;
/// Maximum size in bytes of one read of the head.
const MAX_STEP: u64 = 16 << 20;

/// A source that keeps its head and its tail in memory, so that they are read only once, and reads ahead if
/// the bytes between them are read in order.
pub(crate) struct CachedSource {
    source: Arc<dyn ReadAt>,
    /// Whether the head and the tail share the memory of the source instead of being copied.
    shared: bool,
    head: Bytes,
    tail: Bytes,
    tail_start: u64,
    ahead: ReadAhead,
}

impl CachedSource {
    /// Creates a cached source without reading anything. If `share` is set and the source is in memory, its
    /// bytes are shared instead of copied.
    pub(crate) fn new(source: Arc<dyn ReadAt>, share: bool) -> Self {
        let (shared, tail_start) = (share && source.is_memory(), source.len());
        Self {
            source,
            shared,
            head: Bytes::new(),
            tail: Bytes::new(),
            tail_start,
            ahead: ReadAhead::default(),
        }
    }

    pub(crate) fn source(&self) -> &Arc<dyn ReadAt> {
        &self.source
    }

    /// Returns the size in bytes of the first read of the head or the tail. The longer a single read
    /// of the source takes, the larger the size.
    pub(super) fn first_step(&self) -> u64 {
        let about = self.source.gap_worth_reading().saturating_mul(4);
        about.clamp(*FIRST_STEP.start(), *FIRST_STEP.end())
    }

    /// Extends the head, usually to twice its length.
    pub(super) fn grow_head(&mut self) -> binio::Result<()> {
        let len = self.head.len() as u64;
        let step = len.clamp(self.first_step(), MAX_STEP).min(self.source.len() - len);
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        if self.shared {
            self.head = self.source.bytes_at(0, self.head.len() + step)?;
            return Ok(());
        }
        let mut buffer: Vec<u8> = std::mem::take(&mut self.head).into();
        let from = buffer.len();
        buffer.reserve(step);
        binio::memory::prefer_huge_pages(&mut buffer);
        buffer.resize(from + step, 0);
        let result = self.source.read_exact_at(&mut buffer[from..], len);
        self.head = buffer.into();
        result
    }

    /// Returns `true` if the head covers the whole file.
    pub(super) fn is_complete(&self) -> bool {
        self.head_len() == self.len()
    }

    pub(super) fn head_len(&self) -> u64 {
        self.head.len() as u64
    }

    /// Returns the part of a range that is in the head.
    pub(super) fn head(&self, range: Range<u64>) -> Bytes {
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let end = place(range.end).min(self.head.len());
        self.head.slice(place(range.start).min(end)..end)
    }

    /// Like [`head`](Self::head), but returns memory whose content never changes. Copies the bytes of a shared
    /// source, because the source may be a mapped file.
    pub(super) fn owned_head(&self, range: Range<u64>) -> Bytes {
        let bytes = self.head(range);
        if self.shared { Bytes::copy_from_slice(&bytes) } else { bytes }
    }

    /// Returns the bytes from `start` to the end of the file, reading those that are not in memory
    /// yet.
    pub(super) fn tail(&mut self, start: u64) -> binio::Result<Bytes> {
        let len = usize::try_from(self.len() - start).unwrap_or(usize::MAX);
        if self.is_complete() {
            return Ok(self.head(start..self.len()));
        }
        if start < self.tail_start {
            let missing = len.saturating_sub(self.tail.len());
            self.tail = if self.shared {
                self.source.bytes_at(start, len)?
            } else {
                let mut buffer = vec![0; missing];
                self.source.read_exact_at(&mut buffer, start)?;
                buffer.extend_from_slice(&self.tail);
                buffer.into()
            };
            self.tail_start = start;
        }
        Ok(self.tail.slice(self.tail.len().saturating_sub(len)..))
    }

    /// Reads the header of the block at `offset`.
    pub(crate) fn header(&self, offset: u64) -> binio::Result<HeaderState> {
        let file_len = self.len();
        let left = usize::try_from(file_len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = [0; BLOCK_HEADER_LEN];
        let bytes = &mut bytes[..left.min(BLOCK_HEADER_LEN)];
        self.read_exact_at(bytes, offset.min(file_len))?;
        Ok(header_of(bytes, offset, file_len))
    }

    /// Returns `true` if there is a block magic at `offset`.
    pub(crate) fn has_magic(&self, offset: u64) -> binio::Result<bool> {
        self.has(&BLOCK_MAGIC, offset)
    }

    /// Returns `true` if a block index begins at `offset`.
    pub(crate) fn has_index(&self, offset: u64) -> binio::Result<bool> {
        self.has(INDEX_HEADER, offset)
    }

    /// Returns `true` if the source has these bytes at `offset`.
    pub(super) fn has<const N: usize>(&self, bytes: &[u8; N], offset: u64) -> binio::Result<bool> {
        if self.len().saturating_sub(offset) < N as u64 {
            return Ok(false);
        }
        let mut found = [0; N];
        self.read_exact_at(&mut found, offset)?;
        Ok(found == *bytes)
    }

    /// Returns the head or the tail, whichever contains the entire range, and the position of the
    /// range in it. Returns `None` if neither does.
    fn cached(&self, offset: u64, len: usize) -> Option<(&Bytes, Range<usize>)> {
        fn part(
            bytes: &Bytes,
            start: u64,
            offset: u64,
            len: usize,
        ) -> Option<(&Bytes, Range<usize>)> {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            let to = from.checked_add(len).filter(|&to| to <= bytes.len())?;
            Some((bytes, from..to))
        }
        part(&self.head, 0, offset, len).or_else(|| part(&self.tail, self.tail_start, offset, len))
    }
}

/// Parses a header from the first [`BLOCK_HEADER_LEN`] bytes of a block.
fn header_of(bytes: &[u8], offset: u64, file_len: u64) -> HeaderState {
    match BlockHeader::parse(bytes, offset, file_len) {
        Ok(header) => HeaderState::Good(header),
        Err(error) => HeaderState::Bad(Box::new(error)),
    }
}

impl ReadAt for CachedSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> binio::Result<()> {
        if let Some((bytes, range)) = self.cached(offset, buffer.len()) {
            buffer.copy_from_slice(&bytes[range]);
        } else if !self.ahead.fill(buffer, offset, &*self.source) {
            self.source.read_exact_at(buffer, offset)?;
        }
        Ok(())
    }

    fn bytes_at(&self, offset: u64, len: usize) -> binio::Result<Bytes> {
        if let Some((bytes, range)) = self.cached(offset, len) {
            return Ok(bytes.slice(range));
        }
        if len > MAX_READ_AHEAD || self.source.is_memory() {
            return self.source.bytes_at(offset, len);
        }
        let mut buffer = vec![0; len];
        self.read_exact_at(&mut buffer, offset)?;
        Ok(buffer.into())
    }

    fn is_memory(&self) -> bool {
        self.source.is_memory() || self.is_complete()
    }

    fn gap_worth_reading(&self) -> u64 {
        self.source.gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.source.preferred_piece()
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> binio::Result<()> {
        self.source.prefetch(ranges)
    }
}

#[cfg(test)]
mod tests {
    use binio::source::ReadLog;

    use super::*;

    /// Creates a source of 200 KiB whose head and tail have been read.
    fn cached() -> (Arc<ReadLog<Vec<u8>>>, CachedSource) {
        let bytes: Vec<u8> = (0..200 << 10).map(|i: u32| i.to_le_bytes()[0]).collect();
        let source = Arc::new(ReadLog::new(bytes));
        let mut cached = CachedSource::new(Arc::clone(&source) as Arc<dyn ReadAt>, true);
        cached.grow_head().unwrap();
        cached.tail(150 << 10).unwrap();
        source.clear();
        (source, cached)
    }

    #[test]
    fn a_range_within_the_head_or_tail_is_not_read_again() {
        let (source, cached) = cached();
        for offset in [0, 1000, (16 << 10) - 10, 150 << 10, (200 << 10) - 10] {
            let mut buffer = [0; 10];
            cached.read_exact_at(&mut buffer, offset).unwrap();
            assert_eq!(buffer[0], offset.to_le_bytes()[0]);
            assert_eq!(cached.bytes_at(offset, 10).unwrap(), buffer[..]);
        }
        assert_eq!(source.ranges(), []);
    }

    #[test]
    fn a_range_not_entirely_in_the_head_or_tail_is_read_from_the_source() {
        let (source, cached) = cached();
        for offset in [(16 << 10) - 9, 100 << 10, (150 << 10) - 1] {
            cached.read_exact_at(&mut [0; 10], offset).unwrap();
        }
        assert_eq!(source.ranges().len(), 3);
        assert!(cached.read_exact_at(&mut [0; 10], (200 << 10) - 9).is_err());
    }

    #[test]
    fn extending_the_tail_reads_no_byte_twice() {
        let (source, mut cached) = cached();
        let tail = cached.tail(140 << 10).unwrap();
        assert_eq!(tail.len(), 60 << 10);
        let read = source.ranges();
        assert_eq!((read.len(), &read[0]), (1, &(140 << 10..150 << 10)));
        assert_eq!(cached.tail(199 << 10).unwrap(), tail[59 << 10..]);
    }
}
