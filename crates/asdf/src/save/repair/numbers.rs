//! The numbers of the blocks, by which arrays name them.
//!
//! ```text
//! found    block 0 | gap | block ? | block ? | end      the gap may have held a block
//! index    which offsets had which numbers: certain
//! tree     arrays name the blocks 0 to 3: one is missing, and their sizes fit in one way
//! neither  blocks after the gap come after all that arrays name, so that no array reads them
//! ```

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use binio::{Limits, ReadAt};

use crate::asdf::Asdf;
use crate::error::Result;
use crate::file::blocks::{Block, BlockRef};
use crate::file::locate::{Ends, Index};
use crate::layout::BLOCK_HEADER_LEN;

/// What is at a number.
pub(super) enum Slot<'a> {
    Found(Block<'a>),
    /// A block whose number is not known.
    Unplaced(Block<'a>),
    /// A block that should have been there.
    Missing {
        offset: u64,
    },
}

impl Slot<'_> {
    pub(super) fn offset(&self) -> u64 {
        match self {
            Self::Found(block) | Self::Unplaced(block) => block.offset(),
            Self::Missing { offset } => *offset,
        }
    }
}

/// An array of the tree that is in a block.
pub(super) struct ArrayUse {
    pub(super) pointer: String,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) source: BlockRef,
    /// The bytes of the block's data that it needs; `None` if it takes what is there.
    pub(super) needs: Option<Range<u64>>,
}

/// The blocks by their numbers.
pub(super) struct Numbered<'a> {
    pub(super) slots: Vec<Slot<'a>>,
    pub(super) arrays: Vec<ArrayUse>,
    /// Where blocks begin, in the order of the file.
    starts: Vec<u64>,
    index: Option<u64>,
    file_len: u64,
}

/// Finds out the numbers of the blocks.
pub(super) fn number<'a>(
    file: &'a Asdf,
    arrays: Vec<ArrayUse>,
    limits: &Limits,
) -> Result<Numbered<'a>> {
    let mut blocks: Vec<Block<'a>> = file.blocks().iter().collect::<Result<_>>()?;
    let file_len = file.source().len();
    // A magic by chance: more blocks than arrays name, and a header that makes no sense.
    let makes_sense =
        |block: &Block<'_>| block.header().is_ok_and(|header| header.is_plausible(file_len));
    let plausible: Vec<u64> =
        blocks.iter().filter(|block| makes_sense(block)).map(Block::offset).collect();
    let is_in_order = plausible.windows(2).all(|pair| pair[0] < pair[1]);
    if is_in_order && plausible.len() == named(&arrays, blocks.len()) {
        blocks.retain(makes_sense);
    }
    let is_good = |block: &&Block<'_>| block.header().is_ok();
    let mut starts: Vec<u64> = blocks.iter().filter(is_good).map(Block::offset).collect();
    starts.sort_unstable();
    let content_end = super::text::content_end(file);
    let mut ends = Ends::new(Arc::clone(file.source()), true);
    let index = Index::find(&mut ends, content_end, limits)?;
    let index = index.filter(|index| !is_data(&blocks, index.offset, file_len));
    let offset = index.as_ref().map(|index| index.offset);
    let listed = index.and_then(|index| index.entries).unwrap_or_default();
    let listed = if listed.first() >= Some(&content_end) { &listed[..] } else { &[] };
    let mut gaps = gaps(&blocks, file.blocks().certain());
    let first = blocks.first().map_or(content_end, Block::offset);
    if first.saturating_sub(content_end) >= BLOCK_HEADER_LEN as u64
        && named(&arrays, blocks.len()) > blocks.len()
        && !super::text::is_padding(file, content_end..first)?
    {
        gaps.insert(0, 0);
    }
    let slots = slots(blocks, &gaps, listed, &arrays, file_len);
    Ok(Numbered { slots, arrays, starts, index: offset, file_len })
}

/// The numbers of blocks before which others may be missing.
fn gaps(blocks: &[Block<'_>], certain: usize) -> Vec<usize> {
    let is_gap = |&number: &usize| {
        let before = blocks.get(number - 1).and_then(end_of);
        let offset = blocks.get(number).map_or(0, Block::offset);
        before.is_none_or(|end| offset.saturating_sub(end) >= BLOCK_HEADER_LEN as u64)
    };
    (certain.clamp(1, blocks.len().max(1))..blocks.len()).filter(is_gap).collect()
}

fn slots<'a>(
    mut blocks: Vec<Block<'a>>,
    gaps: &[usize],
    listed: &[u64],
    arrays: &[ArrayUse],
    file_len: u64,
) -> Vec<Slot<'a>> {
    let first = blocks.first().map(Block::offset);
    let is_first_missing = first.is_some_and(|first| listed.first() < Some(&first));
    let known = blocks.iter().filter(|block| listed.binary_search(&block.offset()).is_ok()).count();
    let is_in_order = listed.windows(2).all(|pair| pair[0] < pair[1]);
    let is_known = known > 0 && 2 * known >= listed.len();
    if (is_first_missing || !gaps.is_empty()) && is_in_order && is_known {
        return by_index(blocks, listed);
    }
    let found = |block: Block<'a>| match block.header() {
        // Only the index has it.
        Err(_) if has_no_magic(&block) => Slot::Missing { offset: block.offset() },
        _ => Slot::Found(block),
    };
    let Some(&certain) = gaps.first() else { return blocks.into_iter().map(found).collect() };
    let placed = placed(&blocks, gaps, arrays, file_len);
    let named = named(arrays, blocks.len());
    let rest = blocks.split_off(placed.map_or(certain, |(before, _)| before));
    let end = blocks.last().and_then(end_of).or(first).unwrap_or(0);
    let mut slots: Vec<_> = blocks.into_iter().map(found).collect();
    let missing = placed.map_or(named.saturating_sub(certain), |(_, missing)| missing);
    slots.extend((0..missing).map(|_| Slot::Missing { offset: end }));
    let slot = if placed.is_some() { Slot::Found } else { Slot::Unplaced };
    slots.extend(rest.into_iter().map(slot));
    slots
}

/// The blocks by the numbers of an index, then those that it does not list.
fn by_index<'a>(blocks: Vec<Block<'a>>, listed: &[u64]) -> Vec<Slot<'a>> {
    let mut slots: Vec<_> = listed.iter().map(|&offset| Slot::Missing { offset }).collect();
    let mut others = Vec::new();
    for block in blocks.into_iter().filter(|block| !has_no_magic(block)) {
        match listed.binary_search(&block.offset()) {
            Ok(number) => slots[number] = Slot::Found(block),
            Err(_) => others.push(Slot::Unplaced(block)),
        }
    }
    slots.extend(others);
    slots
}

/// Before which block others are missing, and how many: all in one gap, or at the end, since the file
/// may be cut. `None` if that is not known.
fn placed(
    blocks: &[Block<'_>],
    gaps: &[usize],
    arrays: &[ArrayUse],
    file_len: u64,
) -> Option<(usize, usize)> {
    let missing = named(arrays, blocks.len()).checked_sub(blocks.len())?;
    let certain = gaps.first().copied().unwrap_or(0);
    let end_by_number = needed(arrays, blocks.len() + missing);
    // Whether the arrays lie in the blocks that have their numbers then; with missing blocks, exactly.
    let fits = |before: usize| {
        let uncertain = blocks.iter().enumerate().skip(certain);
        let is_whole = |block: &Block<'_>| block.header().is_ok_and(|header| header.fits(file_len));
        uncertain.filter(|(_, block)| is_whole(block)).all(|(number, block)| {
            let number = if number < before { number } else { number + missing };
            let len = block.data_len().unwrap_or(0);
            match end_by_number.get(&number) {
                Some(Some(end)) => *end == len || (missing == 0 && *end <= len),
                Some(None) => true,
                None => missing == 0,
            }
        })
    };
    if missing == 0 {
        return fits(blocks.len()).then_some((blocks.len(), 0));
    }
    let mut places = gaps.iter().copied().chain([blocks.len()]).filter(|&before| fits(before));
    let place = places.next()?;
    places.next().is_none().then_some((place, missing))
}

/// For each number of a block, how many bytes of data its arrays need, if all of them say it.
fn needed(arrays: &[ArrayUse], count: usize) -> HashMap<usize, Option<u64>> {
    let mut needed: HashMap<usize, Option<u64>> = HashMap::new();
    for array in arrays {
        let Some(number) = array.source.resolve(count) else { continue };
        let end = array.needs.as_ref().map(|needs| needs.end);
        let known = needed.entry(number).or_insert(Some(0));
        *known = known.zip(end).map(|(known, end)| known.max(end));
    }
    needed
}

/// How many blocks the arrays name, as far as that is plausible.
fn named(arrays: &[ArrayUse], found: usize) -> usize {
    let bound = found.saturating_add(arrays.len());
    let numbers = arrays.iter().filter_map(|array| match array.source {
        BlockRef::Index(index) => Some(index),
        BlockRef::FromEnd(_) => None,
    });
    numbers.filter(|&number| number < bound).max().map_or(0, |number| number + 1)
}

fn end_of(block: &Block<'_>) -> Option<u64> {
    block.header().ok()?.next_offset()
}

fn has_no_magic(block: &Block<'_>) -> bool {
    let kind = block.header().err();
    kind.is_some_and(|error| {
        use crate::error::{BlockError, ErrorKind};
        matches!(error.kind(), ErrorKind::Block { kind: BlockError::Magic { .. }, .. })
    })
}

/// Whether a byte is data of a whole block.
fn is_data(blocks: &[Block<'_>], at: u64, file_len: u64) -> bool {
    blocks.iter().any(|block| match block.header() {
        Ok(header) => header.fits(file_len) && header.claimed_range(file_len).contains(&at),
        Err(_) => false,
    })
}

impl Numbered<'_> {
    /// Where the first block of the file begins.
    pub(super) fn first_offset(&self) -> Option<u64> {
        self.starts.first().copied()
    }

    /// Where the next block, the index or the file ends what begins at an offset.
    pub(super) fn end_of(&self, offset: u64) -> u64 {
        let next = self.starts.partition_point(|&start| start <= offset);
        let next = self.starts.get(next).copied();
        let index = self.index.filter(|&index| index > offset);
        next.into_iter().chain(index).fold(self.file_len, u64::min)
    }

    /// The bytes that are none of these, nor the index.
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
            // Zeros mean nothing.
            if range.start > at && !is_zero(file, at..range.start)? {
                removed.push(at..range.start);
            }
            at = at.max(range.end);
        }
        Ok(removed)
    }
}

fn is_zero(file: &Asdf, bytes: Range<u64>) -> Result<bool> {
    let mut at = bytes.start;
    while at < bytes.end {
        let len = super::PIECE.min(bytes.end - at);
        let piece = file.source().bytes_at(at, usize::try_from(len).unwrap_or(usize::MAX))?;
        if piece.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += len;
    }
    Ok(true)
}
