//! Determining the block numbers by which arrays refer to blocks. Repair uses more information than
//! [reading](crate::file::locate::numbering), such as the sizes of the arrays.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use binio::{Limits, ReadAt};

use crate::asdf::Asdf;
use crate::diagnostic::Reports;
use crate::error::Result;
use crate::file::blocks::BlockRef;
use crate::file::locate::numbering::{
    ArrayUse, IndexNumbers, Numbered, gaps, named_blocks, number,
};
use crate::file::locate::{CachedSource, FoundBlock, HeaderReader, HeaderState, Index};
use crate::layout::BLOCK_HEADER_LEN;

/// An array that is stored in a block.
pub(super) struct ArrayInBlock {
    pub(super) pointer: String,
    /// Pointers to the arrays whose mask is this array. They cannot be read without their mask.
    pub(super) masked: Vec<String>,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) used: ArrayUse,
}

impl ArrayInBlock {
    /// Returns pointers to this array and to the arrays that cannot be read without it.
    pub(super) fn pointers(&self) -> impl Iterator<Item = String> {
        std::iter::once(&self.pointer).chain(&self.masked).cloned()
    }
}

/// The numbered blocks, with the offsets at which blocks and the index begin.
pub(super) struct NumberedBlocks {
    pub(super) blocks: Vec<Numbered>,
    /// Offsets of the blocks with readable headers, in ascending order.
    starts: Vec<u64>,
    index: Option<u64>,
    file_len: u64,
}

/// Numbers the blocks of a damaged file, using its index and the sizes of its arrays.
pub(super) fn number_blocks(
    file: &Asdf,
    arrays: &[ArrayInBlock],
    limits: &Limits,
) -> Result<NumberedBlocks> {
    let arrays: Vec<ArrayUse> = arrays.iter().map(|array| array.used.clone()).collect();
    let mut blocks = file.blocks().found()?;
    let file_len = file.source().len();
    let start = |block: &FoundBlock| block.header.good().map(|_| block.offset);
    let content_end = super::text::content_end(file);
    let mut ends = CachedSource::new(Arc::clone(file.source()), true);
    let index = Index::find(&mut ends, content_end, limits)?;
    drop_false_magics(&mut blocks, &arrays, index.as_ref(), file, &ends)?;
    let mut starts: Vec<u64> = blocks.iter().filter_map(start).collect();
    starts.sort_unstable();
    let is_data = |at| blocks.iter().any(|block| block.has_data_at(at, file_len));
    let index = index.filter(|index| !is_data(index.offset));
    let offset = index.as_ref().map(|index| index.offset);
    let listed = index.and_then(|index| index.entries.ok()).unwrap_or_default();
    let listed = if listed.first() >= Some(&content_end) { &listed[..] } else { &[] };
    let mut gaps = gaps(&blocks, file.blocks().certain());
    let first = blocks.first().map_or(content_end, |block| block.offset);
    if first.saturating_sub(content_end) >= BLOCK_HEADER_LEN as u64
        && named_blocks(&arrays, blocks.len()) > blocks.len()
        && !super::text::is_padding(file, content_end..first)?
    {
        gaps.insert(0, 0);
    }
    let by_index = IndexNumbers::exact(&blocks, &gaps, listed);
    let blocks = number(blocks, &gaps, by_index.as_ref(), &arrays, file_len);
    Ok(NumberedBlocks { blocks, starts, index: offset, file_len })
}

/// Removes blocks whose magic bytes occur by chance. The header of each removed block is
/// implausible, its data does not end at a boundary, and a reliable index does not list it. Does
/// nothing if no array refers to a block, or if an array has a negative block number. Also does
/// nothing if the remaining blocks would be out of order, or if there would be more or fewer of them
/// than the arrays refer to.
fn drop_false_magics(
    blocks: &mut Vec<FoundBlock>,
    arrays: &[ArrayUse],
    index: Option<&Index>,
    file: &Asdf,
    ends: &CachedSource,
) -> Result<()> {
    let named = named_blocks(arrays, blocks.len());
    if named == 0 || arrays.iter().any(|array| matches!(array.source, BlockRef::FromEnd(_))) {
        return Ok(());
    }
    let (limits, reports) = (&file.options().limits, &Reports::default());
    let reader = HeaderReader { source: ends, limits, reports };
    let listed = index.map(Index::listed).unwrap_or_default();
    let listed: HashSet<u64> = listed.iter().copied().collect();
    // If the index lists all plausible blocks, trust it to decide about the other blocks.
    let plausible = |block: &&FoundBlock| {
        block.header.good().is_some_and(|header| header.is_plausible(ends.len()))
    };
    let is_index_right =
        blocks.iter().filter(plausible).all(|block| listed.contains(&block.offset));
    let mut kept = Vec::with_capacity(blocks.len());
    for block in blocks.iter() {
        let makes_sense = match &block.header {
            _ if is_index_right && listed.contains(&block.offset) => true,
            HeaderState::Good(header) => {
                let file_len = ends.len();
                let data_end = header.claimed_range(file_len).end;
                header.is_plausible(file_len)
                    || (data_end > header.data_start() && reader.is_boundary(data_end)?)
            }
            _ => false,
        };
        if makes_sense {
            kept.push(block.clone());
        }
    }
    let is_in_order = kept.windows(2).all(|pair| pair[0].offset < pair[1].offset);
    if is_in_order && kept.len() == named {
        *blocks = kept;
    }
    Ok(())
}

impl NumberedBlocks {
    /// Returns the offset of the first block with a readable header.
    pub(super) fn first_offset(&self) -> Option<u64> {
        self.starts.first().copied()
    }

    /// Returns the first offset after `offset` at which a block begins, the index begins, or the file ends.
    pub(super) fn end_of(&self, offset: u64) -> u64 {
        let next = self.starts.partition_point(|&start| start <= offset);
        let next = self.starts.get(next).copied();
        let index = self.index.filter(|&index| index > offset);
        next.into_iter().chain(index).fold(self.file_len, u64::min)
    }

    /// Returns the ranges of the old file that precede the index, are not in `known`, and contain a
    /// nonzero byte.
    pub(super) fn removed(
        &self,
        mut known: Vec<Range<u64>>,
        file: &Asdf,
    ) -> Result<Vec<Range<u64>>> {
        known.sort_by_key(|range| range.start);
        let end = self.index.unwrap_or(self.file_len);
        let mut removed = Vec::new();
        let mut at = 0;
        for range in known.into_iter().chain(std::iter::once(end..self.file_len)) {
            // Do not list a range of zeros, because zeros have no meaning between blocks.
            if range.start > at && !is_zero(file, at..range.start)? {
                removed.push(at..range.start);
            }
            at = at.max(range.end);
        }
        Ok(removed)
    }
}

fn is_zero(file: &Asdf, bytes: Range<u64>) -> Result<bool> {
    super::contains_only(file, bytes, |byte| byte == 0)
}
