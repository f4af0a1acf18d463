//! The table of blocks. Blocks are known from the index, or discovered on demand by following the headers.
//!
//! ```text
//! magic | header | data ... allocated | magic | header | data ... | index or end
//!   0   `--------- next_offset -------> 1                         ^ the walk ends here
//! ```

use std::cmp::Ordering;

use binio::ReadAt;
use binio::diagnostic::count;

use crate::diagnostic::Code;
use crate::error::Result;
use crate::file::locate::numbering::gaps;
use crate::file::locate::{
    DriftedBlocks, FoundBlock, HeaderReader, HeaderState, KnownBlocks, RejectedIndex,
};
use crate::layout::BLOCK_MAGIC;
use crate::layout::index::INDEX_HEADER;

/// Maximum number of bytes after the last block that are searched for nonzero bytes.
const TRAILING_LOOK: u64 = 1 << 20;

/// Maximum number of index entries that are compared with the file to find out why the index is wrong.
const MAX_COMPARED: usize = 1000;

/// Number of blocks for which memory is first reserved while following the headers.
const FIRST_CAPACITY: usize = 16;

/// The blocks that are known so far.
#[derive(Debug)]
pub(super) struct BlockTable {
    blocks: Vec<FoundBlock>,
    progress: Progress,
    /// A rejected index, kept until all blocks are known and its defect can be reported.
    rejected: Option<RejectedIndex>,
    first_block: Option<u64>,
    /// The first block number that may be wrong, or `usize::MAX` if all numbers are certain.
    certain: usize,
    /// The offset at which to begin a search for undiscovered blocks, if the headers lead neither
    /// to the index nor to the end of the file.
    broken_end: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// An index was accepted, so the number of blocks is known.
    Indexed { index_offset: u64 },
    /// Another block may begin at the offset `next`.
    Walking { next: u64 },
    /// All blocks are known.
    Complete,
}

impl BlockTable {
    /// Creates a table from the blocks known after locating the parts of the file.
    pub(super) fn new(known: KnownBlocks, reader: HeaderReader<'_>) -> Self {
        let mut table = Self {
            blocks: Vec::new(),
            progress: Progress::Complete,
            rejected: None,
            first_block: None,
            certain: usize::MAX,
            broken_end: None,
        };
        match known {
            KnownBlocks::Indexed { offsets, first, last, index_offset } => {
                let unread = |&offset: &u64| FoundBlock { offset, header: HeaderState::Unread };
                table.blocks = offsets.iter().map(unread).collect();
                if let Some(block) = table.blocks.last_mut() {
                    block.header = last;
                }
                if let Some(block) = table.blocks.first_mut() {
                    block.header = first;
                }
                table.progress = Progress::Indexed { index_offset };
            }
            KnownBlocks::From { first, rejected } => {
                table.rejected = rejected;
                table.push(first);
            }
            KnownBlocks::All { blocks, certain, rejected } => {
                table.blocks = blocks;
                table.certain = certain;
                table.rejected = rejected;
            }
        }
        table.first_block = table.blocks.first().map(|block| block.offset);
        if table.progress == Progress::Complete {
            table.judge_index(reader);
        }
        table
    }

    /// Returns the first block number that may be wrong, or `usize::MAX` if all numbers are
    /// certain.
    pub(super) fn certain(&self) -> usize {
        self.certain
    }

    /// Returns the number of the first block after all gaps of a salvaged file. From this block on, numbers counted
    /// from the end of the file are certain.
    pub(super) fn certain_from_end(&self) -> usize {
        gaps(&self.blocks, self.certain).last().copied().unwrap_or(self.certain)
    }

    /// Returns `true` if the last block in the chain of headers is certainly the last block of the
    /// file. If the chain ends neither at the index nor at the end of the file, searches the rest of
    /// the file for another plausible block.
    pub(super) fn is_end_certain(&mut self, reader: HeaderReader<'_>) -> Result<bool> {
        self.len(reader)?;
        let Some(from) = self.broken_end else { return Ok(true) };
        let is_certain = reader.find_plausible(from)?.is_none();
        if is_certain {
            self.broken_end = None;
        }
        Ok(is_certain)
    }

    /// Returns the number of blocks. Without an index, follows the headers to the last block.
    pub(super) fn len(&mut self, reader: HeaderReader<'_>) -> Result<usize> {
        while let Progress::Walking { next } = self.progress {
            self.step(next, reader)?;
        }
        Ok(self.blocks.len())
    }

    /// Returns the block with this number, if it exists.
    pub(super) fn get(
        &mut self,
        index: usize,
        reader: HeaderReader<'_>,
    ) -> Result<Option<FoundBlock>> {
        loop {
            if let Some(block) = self.blocks.get(index) {
                if !matches!(block.header, HeaderState::Unread) {
                    return Ok(Some(block.clone()));
                }
                self.touch(index, reader)?;
                continue;
            }
            match self.progress {
                Progress::Walking { next } => self.step(next, reader)?,
                Progress::Indexed { .. } | Progress::Complete => return Ok(None),
            }
        }
    }

    /// Reads the header of a block that is only known from the index. If the index is wrong about
    /// this block or the next block, discards the index and starts again from the first block.
    fn touch(&mut self, index: usize, reader: HeaderReader<'_>) -> Result<()> {
        let block = reader.block_at(self.blocks[index].offset)?;
        let listed_next = self.blocks.get(index + 1).map(|block| block.offset);
        let by_index = reader.by_index(&block.header, listed_next)?;
        // If the previous block ends at the listed offset, the index is right and this block is
        // broken.
        let is_broken = by_index.is_none()
            && block.header.has_no_magic()
            && index.checked_sub(1).is_some_and(|before| self.leads_to(before, reader));
        let header = if is_broken { Some(block.header) } else { by_index };
        let Some(header) = header else {
            if let Progress::Indexed { index_offset } = self.progress {
                let entries = Ok(self.blocks.iter().map(|block| block.offset).collect());
                self.rejected = Some(RejectedIndex::report(index_offset, entries, reader.reports));
                self.blocks = Vec::new();
                self.progress = match self.first_block {
                    Some(next) => Progress::Walking { next },
                    None => Progress::Complete,
                };
            }
            return Ok(());
        };
        let block = FoundBlock { header, ..block };
        reader.judge(&block);
        self.blocks[index] = block;
        Ok(())
    }

    /// Returns `true` if the block with this number ends at the offset that the index lists for the next block.
    fn leads_to(&self, index: usize, reader: HeaderReader<'_>) -> bool {
        let Some([block, next]) = self.blocks.get(index..).and_then(<[FoundBlock]>::first_chunk)
        else {
            return false;
        };
        let read = match block.header {
            HeaderState::Unread => reader.block_at(block.offset).ok(),
            _ => Some(block.clone()),
        };
        let end = read.and_then(|block| block.header.good()?.next_offset());
        end == Some(next.offset)
    }

    /// Adds the block at `next`, even if one byte of its magic is damaged. If there is none, but a block begins
    /// directly after the data of the last block, continues with that block. Otherwise, marks the table as
    /// complete.
    fn step(&mut self, next: u64, reader: HeaderReader<'_>) -> Result<()> {
        reader.limits.check_items("blocks", self.blocks.len() as u64 + 1)?;
        if self.blocks.len() == self.blocks.capacity() {
            let more = self.blocks.len().max(FIRST_CAPACITY) as u64;
            binio::memory::grow(&mut self.blocks, "block headers", more)?;
        }
        let block = reader.block_at(next)?;
        if block.header.has_no_magic() {
            if let Some(end) = reader.end_without_magic(next)? {
                reader.judge(&block);
                self.blocks.push(block);
                self.progress = Progress::Walking { next: end };
                return Ok(());
            }
            let last = self.blocks.last().and_then(|block| block.header.good());
            if let (false, Some(last)) = (reader.is_boundary(next)?, last) {
                if let Some(after_data) = reader.block_after_data(last)? {
                    reader.report_contradicted(last, after_data);
                    self.progress = Progress::Walking { next: after_data };
                    return Ok(());
                }
            }
            self.progress = Progress::Complete;
            let trailing = trailing_bytes(next, self.blocks.last(), reader)?;
            let is_cut = self.blocks.last().is_some_and(|last| {
                last.header.good().is_some_and(|header| !header.fits(reader.file_len()))
            });
            if is_cut || trailing.is_some() {
                // Begin the search for other blocks inside the last block, because nothing confirms
                // its sizes.
                let last = self.blocks.last().map_or(next, |last| last.offset);
                self.broken_end = Some(last.saturating_add(BLOCK_MAGIC.len() as u64));
            }
            if let Some(offset) = trailing {
                self.report_trailing(offset, reader)?;
            }
        } else {
            reader.judge(&block);
            self.push(block);
        }
        if self.progress == Progress::Complete {
            self.judge_index(reader);
        }
        Ok(())
    }

    /// Adds a block. Marks the table as complete if the block is streamed or its header is invalid.
    fn push(&mut self, block: FoundBlock) {
        self.progress = match &block.header {
            HeaderState::Good(header) if header.is_streamed() => Progress::Complete,
            HeaderState::Good(header) => {
                Progress::Walking { next: header.next_offset().unwrap_or(u64::MAX) }
            }
            HeaderState::Bad(_) | HeaderState::Unread => {
                self.broken_end = Some(block.offset.saturating_add(BLOCK_MAGIC.len() as u64));
                Progress::Complete
            }
        };
        self.blocks.push(block);
    }

    /// Reports the defect of the rejected index, now that all blocks are known.
    fn judge_index(&mut self, reader: HeaderReader<'_>) {
        let Some(RejectedIndex { offset, entries, code }) = self.rejected.take() else { return };
        if self.is_data(offset, reader.file_len()) {
            // Withdraw the diagnostic, because the apparent index is part of a block's data.
            reader.reports.retract(code, offset);
            return;
        }
        let blocks = self.blocks.len();
        let Some(entries) = entries.map(|entries| entries.len()) else { return };
        let code = match entries.cmp(&blocks) {
            Ordering::Less => Code::IndexShort,
            Ordering::Equal => return,
            Ordering::Greater => Code::IndexLong,
        };
        reader.reports.retract(Code::IndexStale, offset);
        let listed = count(entries, "block");
        let message = format!("the block index lists {listed}, but the file has {blocks}");
        reader.reports.report(code, offset, message);
    }

    /// Reports bytes after the last block. If a rejected index shows that the blocks have moved,
    /// reports their displacement instead.
    fn report_trailing(&mut self, offset: u64, reader: HeaderReader<'_>) -> Result<()> {
        if let (Some(index), Some(first)) = (&self.rejected, self.first_block) {
            let listed = index.entries.as_deref().unwrap_or_default();
            let listed = listed.get(..MAX_COMPARED).unwrap_or(listed);
            let drift = DriftedBlocks::find(listed, first, reader)?;
            if let Some(message) = drift.as_ref().and_then(DriftedBlocks::message) {
                reader.reports.retract(index.code, index.offset);
                self.rejected = None;
                reader.reports.report(Code::IndexDrift, first, message);
                return Ok(());
            }
        }
        let message = "the bytes after the last block are neither a block nor the index";
        reader.reports.report(Code::TrailingBytes, offset, message);
        Ok(())
    }

    /// Returns `true` if the byte at `offset` is part of a block's data.
    fn is_data(&self, offset: u64, file_len: u64) -> bool {
        let after = self.blocks.partition_point(|block| block.offset <= offset);
        let before = after.checked_sub(1).and_then(|index| self.blocks.get(index));
        before.is_some_and(|block| block.has_data_at(offset, file_len))
    }
}

/// Returns the offset of the first nonzero byte within [`TRAILING_LOOK`] bytes after the last block. Returns
/// `None` if there is no such byte, or if an index directly follows the block. `end` is the offset at which another
/// block would begin.
fn trailing_bytes(
    end: u64,
    last: Option<&FoundBlock>,
    reader: HeaderReader<'_>,
) -> Result<Option<u64>> {
    let file_len = reader.file_len();
    // Used bytes beyond the allocated size belong to the data, so they are not trailing bytes.
    let used_end = match last.map(|block| &block.header) {
        Some(HeaderState::Good(header)) => header.claimed_range(file_len).end,
        _ => end,
    };
    // Ignore the allocated size if the allocated space extends past the end of the file.
    let mut at = if end > file_len { used_end } else { end.max(used_end) };
    let look_end = file_len.min(at.saturating_add(TRAILING_LOOK));
    let mut begin = true;
    // Ignore the index, which usually follows the last block immediately.
    for piece in reader.source.pieces(at..look_end, 4096) {
        let piece = piece?;
        if std::mem::take(&mut begin) && piece.starts_with(INDEX_HEADER) {
            return Ok(None);
        }
        if let Some(place) = piece.iter().position(|&b| b != 0) {
            return Ok(Some(at + place as u64));
        }
        at += piece.len() as u64;
    }
    Ok(None)
}
