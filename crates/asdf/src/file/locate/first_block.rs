//! Finding the first block: usually the first plausible block after the tree. An earlier block magic at the first
//! offset in the index takes priority.

use binio::ReadAt;
use binio::source::Scanner;
use memchr::memmem;

use super::found_block::{FoundBlock, HeaderState};
use super::header_reader::HeaderReader;
use crate::diagnostic::{Code, Reports};
use crate::error::Result;
use crate::layout::block_header::{BLOCK_MAGIC, BlockHeader};
use crate::layout::index::INDEX_HEADER;

/// Minimum number of bytes after the tree that are searched for a plausible block, even if other
/// magics precede it.
const MIN_SEARCHED: u64 = 1 << 20;
/// Number of bytes after the head that are searched at a time for the first block.
const WINDOW: usize = 64 << 10;

/// The block magics found after the tree, up to the first one that begins a plausible block.
#[derive(Default)]
pub(super) struct Candidates {
    /// Magics that do not begin a plausible block.
    passed: Vec<FoundBlock>,
    plausible: Option<FoundBlock>,
}

impl Candidates {
    /// Searches for block magics after the tree or the comments. The search for the first magic
    /// extends to the end of the file if necessary, because padding may have any length. If that
    /// magic does not begin a plausible block, the search for further magics is limited, because it
    /// would otherwise read all the data of a damaged block.
    pub(super) fn search(from: u64, reader: HeaderReader<'_>) -> Result<Self> {
        let source = reader.source;
        let end = source.len().min(from.saturating_add(MIN_SEARCHED.max(from)));
        let mut candidates = Self::default();
        for at in memmem::find_iter(&source.head(from..end), &BLOCK_MAGIC) {
            if candidates.add(from + at as u64, reader)? {
                return Ok(candidates);
            }
        }
        // Include the last three bytes of the head, because a magic may begin there.
        let resume = source.head_len().saturating_sub(3).max(from);
        if resume < end && !source.is_complete() {
            let mut scanner = Scanner::new(source, &BLOCK_MAGIC, resume..end).window(WINDOW);
            while let Some(offset) = scanner.next_match()? {
                if candidates.add(offset, reader)? {
                    return Ok(candidates);
                }
            }
        }
        if candidates.passed.is_empty() && end < source.len() {
            let resume = end.saturating_sub(3).max(from);
            let mut scanner = Scanner::new(source, &BLOCK_MAGIC, resume..source.len());
            if let Some(offset) = scanner.next_match()? {
                candidates.add(offset, reader)?;
            }
        }
        Ok(candidates)
    }

    /// Adds a magic. Returns `true` if it begins a plausible block.
    fn add(&mut self, offset: u64, reader: HeaderReader<'_>) -> Result<bool> {
        let block = reader.block_at(offset)?;
        let plausible = match &block.header {
            HeaderState::Good(header) => {
                header.is_plausible(reader.file_len()) || ends_at_something(header, reader)?
            }
            HeaderState::Bad(_) | HeaderState::Unread => false,
        };
        if plausible {
            self.plausible = Some(block);
        } else {
            self.passed.push(block);
        }
        Ok(plausible)
    }

    /// Returns the offset of the first magic.
    pub(super) fn first_magic(&self) -> Option<u64> {
        self.passed.first().or(self.plausible.as_ref()).map(|block| block.offset)
    }

    /// Returns `true` if the plausible block is streamed or extends exactly to the end of the file.
    /// No index can follow this block: anything that resembles an index is part of its data.
    pub(super) fn reaches_the_end(&self, file_len: u64) -> bool {
        match &self.plausible {
            Some(FoundBlock { header: HeaderState::Good(header), .. }) => {
                // If the size is not zero, the block was marked as STREAMED by mistake.
                let is_streamed = header.is_streamed() && header.allocated_size == 0;
                is_streamed || header.allocated_end() == Some(file_len)
            }
            _ => false,
        }
    }

    /// Selects the first block, and reports all magics before it. If there is a magic at
    /// `first_listed`, the first offset in the index, selects that magic. Otherwise, selects the
    /// plausible block or, if no block is plausible, the first magic.
    pub(super) fn choose(
        mut self,
        first_listed: Option<u64>,
        reports: &Reports,
    ) -> Option<FoundBlock> {
        let listed = self.passed.iter().position(|block| Some(block.offset) == first_listed);
        let chosen = match (listed, self.plausible) {
            (None, Some(block)) => Some(block),
            (None, None) if self.passed.is_empty() => None,
            (listed, _) => Some(self.passed.drain(listed.unwrap_or(0)..).next()?),
        };
        for FoundBlock { offset, .. } in self.passed {
            let message = "the padding contains a block magic, but no plausible block begins there";
            reports.report(Code::FalseMagic, offset, message);
        }
        chosen
    }
}

/// Returns `true` if the header leads to a block, an index or the end of the file. The header is then genuine,
/// even if it has unknown flags.
fn ends_at_something(header: &BlockHeader, reader: HeaderReader<'_>) -> Result<bool> {
    match header.next_offset() {
        Some(next) if next == reader.file_len() => Ok(true),
        Some(next) if next < reader.file_len() => {
            Ok(reader.source.has_magic(next)? || reader.source.has(INDEX_HEADER, next)?)
        }
        _ => Ok(false),
    }
}
