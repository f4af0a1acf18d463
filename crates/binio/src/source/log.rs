//! Recording which ranges of a source are read, to measure the cost of remote access.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::source::read_at::{FILE_GAP, FILE_PIECE};
use crate::{ReadAt, Result};

/// A source that records every range read from it, so that tests can check the cost of an
/// operation.
///
/// This source behaves like a file even if the underlying source is in memory:
/// [`is_memory`](ReadAt::is_memory) returns `false`, so that readers make all the reads that a file
/// would require.
///
/// ```
/// use binio::{Bytes, ReadAt};
/// use binio::source::ReadLog;
///
/// let source = ReadLog::new(Bytes::from_static(b"0123456789"));
/// source.bytes_at(2, 4)?;
/// source.read_exact_at(&mut [0; 1], 9)?;
/// assert_eq!(source.ranges(), [2..6, 9..10]);
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct ReadLog<S> {
    source: S,
    ranges: Mutex<Vec<Range<u64>>>,
    prefetches: Mutex<Vec<Vec<Range<u64>>>>,
}

impl<S> ReadLog<S> {
    /// Wraps a source to record its reads.
    pub fn new(source: S) -> Self {
        Self { source, ranges: Mutex::default(), prefetches: Mutex::default() }
    }

    /// Returns the ranges of all reads so far, in order, including failed reads.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        lock(&self.ranges).clone()
    }

    /// Returns one list of announced ranges for each call to [`prefetch`](ReadAt::prefetch), in
    /// order.
    pub fn prefetches(&self) -> Vec<Vec<Range<u64>>> {
        lock(&self.prefetches).clone()
    }

    /// Clears the recorded reads and prefetches.
    pub fn clear(&self) {
        lock(&self.ranges).clear();
        lock(&self.prefetches).clear();
    }

    fn record(&self, offset: u64, len: usize) {
        lock(&self.ranges).push(offset..offset.saturating_add(len as u64));
    }
}

fn lock<T>(log: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: ReadAt> ReadAt for ReadLog<S> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.record(offset, buf.len());
        self.source.read_exact_at(buf, offset)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.record(offset, len);
        self.source.bytes_at(offset, len)
    }

    fn gap_worth_reading(&self) -> u64 {
        self.source.gap_worth_reading().max(FILE_GAP)
    }

    fn preferred_piece(&self) -> usize {
        if self.source.is_memory() { FILE_PIECE } else { self.source.preferred_piece() }
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        lock(&self.prefetches).push(ranges.to_vec());
        self.source.prefetch(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_reads_are_recorded_and_clearing_the_log_removes_them() {
        let source = ReadLog::new(&b"0123"[..]);
        assert!(source.bytes_at(3, 2).is_err());
        assert!(source.bytes_at(u64::MAX, 2).is_err());
        assert_eq!(source.ranges(), [3..5, u64::MAX..u64::MAX]);
        source.clear();
        assert!(source.ranges().is_empty());
    }
}
