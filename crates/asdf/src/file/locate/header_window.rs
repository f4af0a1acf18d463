//! Reading ahead along the headers of small blocks.
//!
//! ```text
//! | header | data | header | data | header | data | header | data ...
//! 1st read  2nd read: several headers                3rd read: twice as many
//! ```
//!
//! Reading from a file takes about as long as copying 4 KiB, so headers less than 4 KiB apart are
//! read together. The headers of larger blocks are read one by one, without the data between them.

use binio::ReadAt;

use super::cached_source::{CachedSource, header_of};
use super::found_block::FoundBlock;
use crate::error::Result;
use crate::layout::block_header::BLOCK_HEADER_LEN;

/// Size in bytes of the first read with several headers.
const FIRST_LEN: u64 = 4 << 10;
/// Maximum size in bytes of a read with several headers.
const MAX_LEN: u64 = 64 << 10;

/// A part of the file in which the next headers are expected.
///
/// Opening a file with 100,000 blocks of 80 bytes and finding all headers takes 0.1 times as long as with a read
/// for each header (`cargo xtask bench asdf`, row `open_100000_blocks_no_index`).
#[derive(Debug, Default)]
pub(crate) struct HeaderWindow {
    bytes: Vec<u8>,
    /// Offset of `bytes` in the file.
    start: u64,
    /// End of the last header that was requested.
    last: Option<u64>,
    /// Number of bytes to read when the next header is close but not in `bytes`.
    next_len: u64,
}

impl HeaderWindow {
    /// Reads the header of the block at `offset`. Returns the same result as
    /// [`HeaderReader::block_at`](super::HeaderReader::block_at), unless the file changes in the
    /// meantime.
    pub(crate) fn block_at(&mut self, offset: u64, source: &CachedSource) -> Result<FoundBlock> {
        let gap = self.last.and_then(|last| offset.checked_sub(last));
        let is_close = gap.is_some_and(|gap| gap < source.gap_worth_reading().min(MAX_LEN));
        self.last = Some(offset.saturating_add(BLOCK_HEADER_LEN as u64));
        if !is_close || source.has_cached(offset, BLOCK_HEADER_LEN) {
            return Ok(FoundBlock { offset, header: source.header(offset)? });
        }
        if self.header(offset).is_none() {
            self.read(offset, source);
        }
        let header = match self.header(offset) {
            Some(bytes) => header_of(bytes, offset, source.len()),
            None => source.header(offset)?,
        };
        Ok(FoundBlock { offset, header })
    }

    /// Returns the bytes of the header at `offset`, if it lies within the window.
    fn header(&self, offset: u64) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..)?.get(..BLOCK_HEADER_LEN)
    }

    /// Moves the window to `offset`, or empties it if the bytes cannot be read. The header at
    /// `offset` may be readable nevertheless, because the file may have been truncated after it.
    fn read(&mut self, offset: u64, source: &CachedSource) {
        let len = self.next_len.max(FIRST_LEN).min(source.len().saturating_sub(offset));
        self.next_len = len.saturating_mul(2).min(MAX_LEN);
        self.start = offset;
        self.bytes.resize(usize::try_from(len).unwrap_or(0), 0);
        if source.read_exact_at(&mut self.bytes, offset).is_err() {
            self.bytes.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use binio::source::ReadLog;
    use proptest::prelude::*;

    use super::super::test_file::block;
    use super::*;
    use crate::layout::BLOCK_MAGIC;

    /// A file that was truncated after it was opened.
    struct Truncated(Vec<u8>);

    impl ReadAt for Truncated {
        fn len(&self) -> u64 {
            1 << 20
        }

        fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> binio::Result<()> {
            self.0.read_exact_at(buffer, offset)
        }
    }

    /// Returns a log of reads, and a source that is not in memory and writes to the log.
    fn on_disk(bytes: Vec<u8>) -> (Arc<ReadLog<Vec<u8>>>, CachedSource) {
        let log = Arc::new(ReadLog::new(bytes));
        (Arc::clone(&log), CachedSource::new(log, true))
    }

    /// Returns `count` blocks with `len` bytes of data each, and their offsets.
    fn blocks(count: usize, len: usize) -> (Vec<u8>, Vec<u64>) {
        let block = block(vec![7; len]).bytes();
        (block.repeat(count), (0..count).map(|index| (index * block.len()) as u64).collect())
    }

    #[test]
    fn headers_of_small_blocks_are_read_together() {
        let (bytes, offsets) = blocks(10_000, 80);
        let (log, source) = on_disk(bytes);
        let mut window = HeaderWindow::default();
        for &offset in &offsets {
            assert!(window.block_at(offset, &source).unwrap().header.good().is_some());
        }
        assert!(log.ranges().len() < 30, "{} reads", log.ranges().len());
    }

    #[test]
    fn headers_of_large_blocks_are_read_without_the_data_between_them() {
        let (bytes, offsets) = blocks(20, 5000);
        let (log, source) = on_disk(bytes);
        let mut window = HeaderWindow::default();
        for &offset in &offsets {
            window.block_at(offset, &source).unwrap();
        }
        let lengths: Vec<_> = log.ranges().iter().map(|range| range.end - range.start).collect();
        assert_eq!(lengths, [54; 20]);
    }

    #[test]
    fn a_header_is_read_even_if_bytes_after_it_are_missing() {
        let (mut bytes, offsets) = blocks(2, 80);
        bytes.truncate(200);
        let source = CachedSource::new(Arc::new(Truncated(bytes)), true);
        let mut window = HeaderWindow::default();
        for &offset in &offsets {
            assert!(window.block_at(offset, &source).unwrap().header.good().is_some());
        }
        assert!(window.block_at(150, &source).is_err());
    }

    proptest! {
        #[test]
        fn a_header_that_is_read_ahead_equals_the_header_read_alone(
            bytes in prop::collection::vec(
                prop_oneof![4 => any::<u8>().prop_map(|byte| vec![byte]), 1 => Just(BLOCK_MAGIC.to_vec())],
                0..12_000,
            ),
            offsets in prop::collection::vec(0..13_000_u64, 1..20),
        ) {
            let (_, source) = on_disk(bytes.concat());
            let mut window = HeaderWindow::default();
            for offset in offsets {
                // Read three headers that are close enough for the window to be used.
                for offset in (offset..).step_by(700).take(3) {
                    let found = window.block_at(offset, &source).unwrap();
                    let alone = source.header(offset).unwrap();
                    prop_assert_eq!(format!("{:?}", found.header), format!("{alone:?}"));
                }
            }
        }
    }
}
