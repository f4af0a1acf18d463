//! Reading ahead along the headers of small blocks.
//!
//! ```text
//! | header | data | header | data | header | data | header | data ...
//! 1st read  2nd read: several headers                3rd read: twice as many
//! ```
//!
//! A read costs about as much as copying 4 KiB, so headers that are closer together are read together. With
//! larger blocks between them, each header is a read of its own, and no data is read.

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
    /// Reads the header of the block at `offset`. It is the same as that from
    /// [`HeaderReader::block_at`](super::HeaderReader::block_at), unless the file changes in the meantime.
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

    /// Moves the window to `offset`. If that fails, the window is empty: the bytes after the header may be
    /// missing from a file that was truncated, or a remote source may not have them.
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

    /// A source that is not in memory, and a record of the reads.
    fn on_disk(bytes: Vec<u8>) -> (Arc<ReadLog<Vec<u8>>>, CachedSource) {
        let log = Arc::new(ReadLog::new(bytes));
        (Arc::clone(&log), CachedSource::new(log, true))
    }

    /// Blocks with this many bytes of data, and their offsets.
    fn blocks(count: usize, len: usize) -> (Vec<u8>, Vec<u64>) {
        let block = block(vec![7; len]).bytes();
        (block.repeat(count), (0..count).map(|index| (index * block.len()) as u64).collect())
    }

    #[test]
    fn headers_of_small_blocks_are_read_many_at_a_time() {
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
    fn bytes_missing_after_a_header_do_not_affect_it() {
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
        fn a_header_from_the_window_is_the_same_as_one_read_alone(
            bytes in prop::collection::vec(
                prop_oneof![4 => any::<u8>().prop_map(|byte| vec![byte]), 1 => Just(BLOCK_MAGIC.to_vec())],
                0..12_000,
            ),
            offsets in prop::collection::vec(0..13_000_u64, 1..20),
        ) {
            let (_, source) = on_disk(bytes.concat());
            let mut window = HeaderWindow::default();
            for offset in offsets {
                // Read some headers in a row.
                for offset in (offset..).step_by(700).take(3) {
                    let found = window.block_at(offset, &source).unwrap();
                    let alone = source.header(offset).unwrap();
                    prop_assert_eq!(format!("{:?}", found.header), format!("{alone:?}"));
                }
            }
        }
    }
}
