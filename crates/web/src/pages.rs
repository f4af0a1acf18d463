//! A cache of the most recently used pages of a file.

use std::ops::Range;

use binio::Result;
use binio::source::check_range;

/// The most recently used pages of a single file.
pub(crate) struct Pages {
    size: u64,
    capacity: usize,
    len: u64,
    /// The page numbers and the pages, with the most recently used page at the end.
    held: Vec<(u64, Vec<u8>)>,
}

impl Pages {
    /// Creates an empty cache of at most `capacity` pages of `size` bytes, for a file of `len` bytes.
    pub(crate) fn new(size: u64, capacity: usize, len: u64) -> Self {
        Self { size, capacity, len, held: Vec::new() }
    }

    /// Returns the length of the file in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Adds the first page of the file, if `bytes` is a complete page.
    pub(crate) fn insert_first(&mut self, bytes: Vec<u8>) {
        if bytes.len() as u64 == self.size.min(self.len) {
            self.held.push((0, bytes));
        }
    }

    /// Fills the buffer with the bytes at `offset`. Calls `fetch` at most once, to read a range of the file that
    /// contains all missing pages, or the requested bytes if they do not fit into the cache.
    pub(crate) fn read(
        &mut self,
        buf: &mut [u8],
        offset: u64,
        fetch: impl FnOnce(u64, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        check_range(self.len, offset, buf.len() as u64)?;
        if buf.is_empty() {
            return Ok(());
        }
        let end = offset + buf.len() as u64;
        let wanted = offset / self.size..end.div_ceil(self.size);
        if wanted.end - wanted.start > self.capacity as u64 {
            // Bypass the cache, because the read would replace all pages.
            return fetch(offset, buf);
        }
        // Move the needed pages to the end, so that the pages to be fetched do not replace them.
        self.held.sort_by_key(|(held, _)| wanted.contains(held));
        let is_missing = |number: &u64| !self.held.iter().any(|(held, _)| held == number);
        let missing = wanted.clone().find(is_missing).zip(wanted.clone().rev().find(is_missing));
        if let Some((first, last)) = missing {
            self.fetch_pages(first..last + 1, fetch)?;
        }
        let overlapping = self.held.iter().filter(|(number, _)| wanted.contains(number));
        overlapping.for_each(|(number, page)| copy(page, number * self.size, buf, offset));
        Ok(())
    }

    /// Fetches consecutive pages with a single call, and adds them to the cache.
    fn fetch_pages(
        &mut self,
        numbers: Range<u64>,
        fetch: impl FnOnce(u64, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let start = numbers.start * self.size;
        let len = (numbers.end * self.size).min(self.len) - start;
        let mut bytes = binio::memory::reserve("pages of a file", len)?;
        bytes.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        fetch(start, &mut bytes)?;
        self.held.retain(|(held, _)| !numbers.contains(held));
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        self.held.extend(numbers.zip(bytes.chunks(size).map(<[u8]>::to_vec)));
        let excess = self.held.len().saturating_sub(self.capacity);
        self.held.drain(..excess);
        Ok(())
    }
}

/// Copies the bytes of a page that overlap the buffer. The page starts at `start` in the file, and
/// the buffer at `offset`.
fn copy(page: &[u8], start: u64, buf: &mut [u8], offset: u64) {
    let from = offset.max(start);
    let to = (offset + buf.len() as u64).min(start + page.len() as u64);
    // None of the values exceeds the length of a slice, so each fits into `usize`.
    let [into, inside, len] =
        [from - offset, from - start, to - from].map(|it| usize::try_from(it).unwrap_or(0));
    buf[into..into + len].copy_from_slice(&page[inside..inside + len]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a range of a 100-byte file, and returns the range that was fetched, if any.
    fn read(pages: &mut Pages, range: Range<u64>) -> Option<Range<u64>> {
        let data: Vec<u8> = (0..100).collect();
        let mut fetched = None;
        let mut found = vec![0; (range.end - range.start) as usize];
        pages
            .read(&mut found, range.start, |offset, buf| {
                let end = offset as usize + buf.len();
                buf.copy_from_slice(&data[offset as usize..end]);
                fetched = Some(offset..end as u64);
                Ok(())
            })
            .unwrap();
        assert_eq!(found, data[range.start as usize..range.end as usize]);
        fetched
    }

    #[test]
    fn a_missing_page_is_fetched_completely_and_then_kept() {
        let mut pages = Pages::new(8, 4, 100);
        assert_eq!(read(&mut pages, 9..10), Some(8..16));
        assert_eq!(read(&mut pages, 8..16), None);
        assert_eq!(read(&mut pages, 97..100), Some(96..100));
        assert_eq!(read(&mut pages, 96..99), None);
    }

    #[test]
    fn a_read_of_several_pages_fetches_all_missing_pages_with_one_call() {
        let mut pages = Pages::new(8, 4, 100);
        read(&mut pages, 16..17);
        assert_eq!(read(&mut pages, 10..30), Some(8..32));
        assert_eq!(read(&mut pages, 8..32), None);
    }

    #[test]
    fn the_least_recently_used_page_is_dropped() {
        let mut pages = Pages::new(8, 2, 100);
        for range in [0..1, 8..9, 0..1, 16..17] {
            read(&mut pages, range);
        }
        assert_eq!(read(&mut pages, 0..1), None);
        assert_eq!(read(&mut pages, 8..9), Some(8..16));
    }

    #[test]
    fn a_read_does_not_drop_a_page_that_it_needs() {
        let mut pages = Pages::new(8, 3, 100);
        for range in [0..1, 40..41, 48..49] {
            read(&mut pages, range);
        }
        assert_eq!(read(&mut pages, 0..16), Some(8..16));
    }

    #[test]
    fn a_long_read_bypasses_the_cache() {
        let mut pages = Pages::new(8, 2, 100);
        assert_eq!(read(&mut pages, 0..16), Some(0..16));
        assert_eq!(read(&mut pages, 3..60), Some(3..60));
        assert_eq!(read(&mut pages, 3..60), Some(3..60));
        assert_eq!(read(&mut pages, 0..16), None);
    }

    #[test]
    fn a_read_past_the_end_is_an_error() {
        let mut pages = Pages::new(8, 2, 100);
        assert!(pages.read(&mut [0; 2], 99, |_, _| panic!("fetched")).is_err());
    }
}
