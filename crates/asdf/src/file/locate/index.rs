//! Finding the block index at the end of the file, and checking whether it agrees with the blocks.

use binio::{Limits, ReadAt};
use memchr::memmem;

use super::cached_source::CachedSource;
use super::found_block::{FoundBlock, HeaderState};
use super::header_reader::HeaderReader;
use crate::error::Result;
use crate::layout::block_header::BLOCK_HEADER_LEN;
use crate::layout::index::{self, INDEX_HEADER, IndexError};

/// Maximum number of bytes at the end of the file that are read for an index; enough for about a million
/// entries.
const MAX_TAIL: u64 = 16 << 20;

/// Returns `true` for bytes that writers use as padding between the tree and the first block.
pub(crate) fn is_padding(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\n' | b'\r')
}

/// A parsed block index.
pub(crate) struct Index {
    /// Offset of the index in the file.
    pub(crate) offset: u64,
    /// The listed offsets, or the reason why they are unknown.
    pub(crate) entries: Result<Vec<u64>, IndexError>,
}

impl Index {
    /// Finds the last index near the end of the file, reading backwards. Ignores all bytes before
    /// the offset `after`.
    pub(crate) fn find(
        source: &mut CachedSource,
        after: u64,
        limits: &Limits,
    ) -> Result<Option<Self>> {
        let file_len = source.len();
        let mut len = source.first_step();
        loop {
            let start = file_len.saturating_sub(len).max(after);
            let tail = source.tail(start)?;
            if let Some(at) = memmem::rfind(&tail, INDEX_HEADER) {
                let entries = index::parse(&tail[at..], limits.max_items);
                return Ok(Some(Self { offset: start + at as u64, entries }));
            }
            // Read more if the tail could begin inside an index.
            if start == after || len >= MAX_TAIL || !index::could_end_index(&tail) {
                return Ok(None);
            }
            len *= 2;
        }
    }

    /// Returns the listed offsets, or an empty slice if they are unknown.
    pub(crate) fn listed(&self) -> &[u64] {
        self.entries.as_deref().unwrap_or_default()
    }

    /// Returns the first offset listed in the index.
    pub(super) fn first_listed(&self) -> Option<u64> {
        self.listed().first().copied()
    }

    /// Checks the index, with at most one further read if the file is intact. Returns the headers
    /// of the first and the last block if all of the following are true, and otherwise `None`:
    ///
    /// - The first entry is the first block, and its header does not contradict the second entry.
    /// - Each entry exceeds the previous entry by at least the length of a header.
    /// - The last entry is a block that ends at the index. Its allocated space may extend past the
    ///   beginning of the index, but its data may not.
    pub(super) fn check(
        &self,
        first: &FoundBlock,
        reader: HeaderReader<'_>,
    ) -> Result<Option<(HeaderState, HeaderState)>> {
        let entries = self.listed();
        let (Some(&first_listed), Some(&last_listed)) = (entries.first(), entries.last()) else {
            return Ok(None);
        };
        let apart = |pair: &[u64]| match *pair {
            [one, next] => next.checked_sub(one).is_some_and(|gap| gap >= BLOCK_HEADER_LEN as u64),
            _ => false,
        };
        let in_order = first_listed == first.offset && entries.windows(2).all(apart);
        if !in_order || last_listed >= self.offset {
            return Ok(None);
        }
        let Some(first_header) = reader.by_index(&first.header, entries.get(1).copied())? else {
            return Ok(None);
        };
        let last = if entries.len() == 1 { first.clone() } else { reader.block_at(last_listed)? };
        let HeaderState::Good(header) = &last.header else {
            let is_block = last.header.has_no_magic()
                && reader.end_without_magic(last_listed)? == Some(self.offset);
            if is_block {
                reader.judge(&last);
            }
            return Ok(is_block.then_some((first_header, last.header)));
        };
        let exact = header.allocated_end() == Some(self.offset);
        let header = if exact { reader.without_streamed(header) } else { *header };
        // Also accept a block whose allocated space extends past the index: the unused part of the
        // space may have been removed from the file or never written.
        let reaches_over = header.next_offset().is_none_or(|end| end > self.offset);
        let used_before = header.claimed_range(u64::MAX).end <= self.offset;
        if header.is_streamed() || !(exact || (reaches_over && used_before)) {
            return Ok(None);
        }
        let last = HeaderState::Good(header);
        if entries.len() > 1 {
            reader.judge(&FoundBlock { offset: last_listed, header: last.clone() });
            return Ok(Some((first_header, last)));
        }
        Ok(Some((last.clone(), last)))
    }

    /// Returns the offset of a lost first block, which is known only from the index. Returns `None`
    /// unless the first entry of the index is an offset after the tree, the file contains more than
    /// padding at this offset, and the second entry is `found`.
    pub(super) fn lost_first(
        &self,
        content_end: u64,
        found: u64,
        reader: HeaderReader<'_>,
    ) -> Result<Option<u64>> {
        let entries = self.listed();
        let [lost, second, ..] = *entries else { return Ok(None) };
        let len = BLOCK_HEADER_LEN as u64;
        if second != found
            || lost < content_end
            || found.checked_sub(lost).is_none_or(|gap| gap < len)
        {
            return Ok(None);
        }
        let bytes = reader.source.bytes_at(lost, BLOCK_HEADER_LEN)?;
        let is_padding = bytes.iter().all(|&byte| is_padding(byte));
        Ok((!is_padding).then_some(lost))
    }
}
