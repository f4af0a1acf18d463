//! Reading ahead in a file that is read in order and in small steps, such as many small blocks.
//!
//! ```text
//! | header | data | header | data | header | data | header | data ...
//! 1st read  2nd    3rd read: 4 KiB, then twice as much each time
//! ```
//!
//! A single read from a file takes about as long as copying 4 KiB, so bytes less than 4 KiB apart are
//! read together. The headers of larger blocks are read one by one if their data is not wanted.

use std::sync::Mutex;

use binio::ReadAt;

/// Size in bytes of the first window.
const FIRST_LEN: usize = 4 << 10;
/// Maximum size in bytes of a window.
const MAX_LEN: usize = 64 << 10;
/// Maximum size in bytes of a read that a window may serve.
pub(super) const MAX_READ_AHEAD: usize = MAX_LEN / 4;

/// The bytes after the last read, which the next reads will probably need.
///
/// Only reads that continue after the last read use these bytes, so reading a range again always returns
/// what the file contains at that time.
///
/// Opening a file with 100,000 blocks of 80 bytes and finding all headers takes 0.1 times as long as with a
/// read for each header (`cargo xtask bench asdf`, row `open_100000_blocks_no_index`).
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    window: Mutex<Window>,
}

#[derive(Debug, Default)]
struct Window {
    bytes: Vec<u8>,
    /// Offset of `bytes` in the file.
    start: u64,
    /// End of the last read.
    last: Option<u64>,
    /// Size of the next window in bytes, or 0 if the last read did not continue the previous one.
    next_len: usize,
}

impl ReadAhead {
    /// Fills a buffer with the bytes at `offset`, and returns `true`. Returns `false` if the caller has to read
    /// these bytes from the source, for example because the range is too long or does not continue the last
    /// read, or because another thread is reading ahead.
    pub(super) fn fill(&self, buffer: &mut [u8], offset: u64, source: &dyn ReadAt) -> bool {
        self.window.try_lock().is_ok_and(|mut window| window.fill(buffer, offset, source))
    }
}

impl Window {
    fn fill(&mut self, buffer: &mut [u8], offset: u64, source: &dyn ReadAt) -> bool {
        let gap = self.last.and_then(|last| offset.checked_sub(last));
        let max_gap = source.gap_worth_reading().min(MAX_LEN as u64);
        self.last = offset.checked_add(buffer.len() as u64);
        if buffer.len() > MAX_READ_AHEAD || gap.is_none_or(|gap| gap >= max_gap) {
            self.next_len = 0;
            return false;
        }
        if self.next_len == 0 {
            self.next_len = FIRST_LEN;
            return false;
        }
        if self.get(offset, buffer.len()).is_none() {
            self.read(offset, source);
        }
        let bytes = self.get(offset, buffer.len());
        bytes.map(|bytes| buffer.copy_from_slice(bytes)).is_some()
    }

    /// Returns the bytes of a range, if it lies within the window.
    fn get(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..)?.get(..len)
    }

    /// Moves the window to `offset`, or empties it if the bytes cannot be read. Even then, the first bytes at
    /// `offset` may be readable, because the file may have been truncated after them.
    fn read(&mut self, offset: u64, source: &dyn ReadAt) {
        let left = usize::try_from(source.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        self.bytes.resize(self.next_len.min(left), 0);
        self.next_len = (self.next_len * 2).min(MAX_LEN);
        self.start = offset;
        if source.read_exact_at(&mut self.bytes, offset).is_err() {
            self.bytes.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use binio::source::ReadLog;
    use proptest::prelude::*;

    use super::*;

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

    fn counting(len: u32) -> Vec<u8> {
        (0..len).map(|i| i.to_le_bytes()[0] ^ i.to_le_bytes()[1]).collect()
    }

    /// Reads a range in the same way as `CachedSource`.
    fn read(ahead: &ReadAhead, source: &dyn ReadAt, offset: u64, len: usize) -> Option<Vec<u8>> {
        let mut buffer = vec![0; len];
        let filled = ahead.fill(&mut buffer, offset, source)
            || source.read_exact_at(&mut buffer, offset).is_ok();
        filled.then_some(buffer)
    }

    #[test]
    fn small_reads_in_order_share_reads_of_the_source() {
        let bytes = counting(8054 * 100);
        let source = ReadLog::new(bytes.clone());
        let ahead = ReadAhead::default();
        for (block, offset) in bytes.chunks(8054).zip((0..).step_by(8054)) {
            assert_eq!(read(&ahead, &source, offset, 54).unwrap(), block[..54]);
            assert_eq!(read(&ahead, &source, offset + 54, 8000).unwrap(), block[54..]);
        }
        assert!(source.ranges().len() < 25, "{} reads", source.ranges().len());
    }

    #[test]
    fn large_reads_and_reads_that_are_far_apart_are_not_extended() {
        for (len, step) in [(54, 5000), (20_000, 20_000)] {
            let source = ReadLog::new(counting(400_000));
            let ahead = ReadAhead::default();
            let expected: Vec<_> =
                (0..380_000).step_by(step).map(|offset| offset..offset + len as u64).collect();
            for range in &expected {
                read(&ahead, &source, range.start, len).unwrap();
            }
            assert_eq!(source.ranges(), expected);
        }
    }

    #[test]
    fn reading_a_range_again_reads_the_source_again() {
        let source = ReadLog::new(counting(1000));
        let ahead = ReadAhead::default();
        for offset in [0, 100, 200, 300, 200] {
            read(&ahead, &source, offset, 100).unwrap();
        }
        assert_eq!(source.ranges(), [0..100, 100..200, 200..1000, 200..300]);
    }

    #[test]
    fn bytes_are_read_even_if_bytes_after_them_are_missing() {
        let source = Truncated(counting(200));
        let ahead = ReadAhead::default();
        assert!(read(&ahead, &source, 0, 54).is_some());
        assert!(read(&ahead, &source, 54, 54).is_some());
        assert!(read(&ahead, &source, 108, 54).is_some());
        assert!(read(&ahead, &source, 162, 54).is_none());
    }

    proptest! {
        #[test]
        fn bytes_that_are_read_ahead_equal_the_bytes_of_the_source(
            reads in prop::collection::vec((0..6000_u64, 0..20_000_usize, any::<bool>()), 0..20),
        ) {
            let source = counting(100_000);
            let ahead = ReadAhead::default();
            let mut next = 0;
            for (step, len, jump) in reads {
                let offset = if jump { step * 20 } else { next + step };
                let expected = source.bytes_at(offset, len).ok();
                prop_assert_eq!(read(&ahead, &ReadLog::new(source.clone()), offset, len).map(Into::into), expected);
                next = offset + len as u64;
            }
        }
    }
}
