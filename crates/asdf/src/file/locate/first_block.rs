//! The first block: the first magic after the tree that begins a plausible block, or that the index
//! names.

use binio::ReadAt;
use binio::source::Scanner;
use memchr::memmem;

use super::cached_source::FIRST_STEP;
use super::found_block::{FoundBlock, HeaderState};
use super::header_reader::HeaderReader;
use crate::diagnostic::{Code, Reports};
use crate::error::Result;
use crate::layout::block_header::{BLOCK_MAGIC, BlockHeader};
use crate::layout::index::INDEX_HEADER;

/// How far a plausible block is searched for, at least, after a magic that begins none.
const MIN_SEARCHED: u64 = 1 << 20;

/// The magics after the tree, up to the first that begins a plausible block.
#[derive(Default)]
pub(super) struct Candidates {
    /// Those that do not.
    passed: Vec<FoundBlock>,
    plausible: Option<FoundBlock>,
}

impl Candidates {
    /// Searches from the end of the tree, or of the comments, on. Padding may have any length,
    /// because a tree may have become shorter. After a magic that begins no plausible block, the
    /// search soon ends: it would otherwise go through the data of a damaged block.
    pub(super) fn search(from: u64, reader: HeaderReader<'_>) -> Result<Self> {
        let source = reader.source;
        let end = source.len().min(from.saturating_add(MIN_SEARCHED.max(from)));
        let mut candidates = Self::default();
        for at in memmem::find_iter(&source.head(from..end), &BLOCK_MAGIC) {
            if candidates.add(from + at as u64, reader)? {
                return Ok(candidates);
            }
        }
        // A magic may begin in the last three bytes of what was read.
        let resume = source.head_len().saturating_sub(3).max(from);
        if resume < end && !source.is_complete() {
            let window = usize::try_from(FIRST_STEP).unwrap_or(usize::MAX);
            let mut scanner = Scanner::new(source, &BLOCK_MAGIC, resume..end).window(window);
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

    /// Adds a magic; `true` if it begins a plausible block.
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

    /// Offset of the first magic.
    pub(super) fn first_magic(&self) -> Option<u64> {
        self.passed.first().or(self.plausible.as_ref()).map(|block| block.offset)
    }

    /// Whether no index can follow the plausible block: it is streamed, and what looks like an
    /// index is its data, or it ends with the file.
    pub(super) fn reaches_the_end(&self, file_len: u64) -> bool {
        match &self.plausible {
            Some(FoundBlock { header: HeaderState::Good(header), .. }) => {
                // A block that is marked as STREAMED by mistake has sizes.
                let is_streamed = header.is_streamed() && header.allocated_size == 0;
                is_streamed || header.allocated_end() == Some(file_len)
            }
            _ => false,
        }
    }

    /// Takes the first block. With no plausible one it is the first magic, whatever is wrong with
    /// it; and the index may show that a magic which is not plausible is a block all the same.
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
            let message = "a block magic in the padding that begins no plausible block";
            reports.report(Code::FalseMagic, offset, message);
        }
        chosen
    }
}

/// Whether a block, its index or the end of the file is at the end that the header states: it is
/// no accident then, whatever its flags are.
fn ends_at_something(header: &BlockHeader, reader: HeaderReader<'_>) -> Result<bool> {
    match header.next_offset() {
        Some(next) if next == reader.file_len() => Ok(true),
        Some(next) if next < reader.file_len() => {
            Ok(reader.source.has_magic(next)? || reader.source.has(INDEX_HEADER, next)?)
        }
        _ => Ok(false),
    }
}
