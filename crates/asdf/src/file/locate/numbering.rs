//! Numbering the blocks of a damaged file, so that arrays refer to the right blocks.
//!
//! ```text
//! found    block 0 | gap | block ? | block ? | end      the gap may have contained a block
//! index    lists the offset of each block, so all numbers are certain
//! arrays   refer to blocks 0 to 3: one is missing, and the sizes of the others fit in only one way
//! else     blocks after the gap get numbers that no array refers to, so no array reads them
//! ```
//!
//! Both the reader and `repair` call [`number`]. The reader numbers the blocks before the tree is
//! parsed, so it cannot use the arrays, but it accepts an index even if the blocks have drifted from
//! the listed offsets. `repair` starts from the blocks that the reader found, and also uses the sizes
//! that the arrays need.

use std::collections::HashMap;
use std::ops::Range;

use super::drift::DriftedBlocks;
use super::found_block::FoundBlock;
use crate::file::blocks::BlockRef;
use crate::layout::{BLOCK_HEADER_LEN, BlockHeader};

/// A numbered block of a damaged file.
pub(crate) enum Numbered {
    /// A block whose number is certain.
    Certain(FoundBlock),
    /// A block whose number is uncertain.
    Uncertain(FoundBlock),
    /// A block that was not found. It began near `offset`.
    Missing { offset: u64 },
}

impl Numbered {
    /// Returns the offset of the block in the file, which is only approximate for a missing block.
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Self::Certain(block) | Self::Uncertain(block) => block.offset,
            Self::Missing { offset } => *offset,
        }
    }
}

/// A reference from an array to a block, with the data that the array needs.
#[derive(Clone, Debug)]
pub(crate) struct ArrayUse {
    /// The block number in the `source` of the array.
    pub(crate) source: BlockRef,
    /// The range of the block's data that the array needs, or `None` if the array adapts to the size of the
    /// block.
    pub(crate) needs: Option<Range<u64>>,
}

/// Returns the number of blocks that must have existed according to the arrays: the highest block
/// number plus 1, ignoring implausible numbers.
pub(crate) fn named_blocks(arrays: &[ArrayUse], found: usize) -> usize {
    let bound = found.saturating_add(arrays.len());
    let numbers = arrays.iter().filter_map(|array| match array.source {
        BlockRef::Index(index) => Some(index),
        BlockRef::FromEnd(_) => None,
    });
    numbers.filter(|&number| number < bound).max().map_or(0, |number| number + 1)
}

/// A block index used for numbering: pairs of a listed offset and the offset of the corresponding
/// block, if it was found.
pub(crate) struct IndexNumbers(Vec<(u64, Option<u64>)>);

impl IndexNumbers {
    /// Prepares for numbering blocks that have drifted from their offsets in the index. Returns
    /// `None` unless the index agrees with all blocks before the first of `gaps`.
    pub(crate) fn of_drift(
        blocks: &[FoundBlock],
        gaps: &[usize],
        drift: &DriftedBlocks,
    ) -> Option<Self> {
        let certain = gaps.first().and_then(|&gap| blocks.get(..gap)).unwrap_or(blocks);
        if !drift.begins_with(certain) {
            return None;
        }
        let places = drift.blocks();
        let is_there = |(block, (_, found)): (&FoundBlock, &(u64, Option<u64>))| {
            found.is_none_or(|found| found == block.offset)
        };
        if blocks.len() == places.len() && blocks.iter().zip(places).all(is_there) {
            // There are as many blocks as entries, so even blocks far from their listed offsets can be matched
            // in order.
            let numbered = places.iter().zip(blocks);
            return Some(Self(
                numbered.map(|(&(at, _), block)| (at, Some(block.offset))).collect(),
            ));
        }
        Some(Self(places.to_vec()))
    }

    /// Prepares for numbering blocks according to an index. Returns `None` if the index is empty or
    /// out of order, or if fewer than half of the listed offsets are exact. Also returns `None` if
    /// no block can be missing: there is no space for a block between the first listed offset and the
    /// first block, and `gaps` is empty. Entries between two exact offsets may be slightly off,
    /// provided that there are as many blocks as entries between these offsets.
    pub(crate) fn exact(blocks: &[FoundBlock], gaps: &[usize], listed: &[u64]) -> Option<Self> {
        let first = blocks.first()?.offset;
        let has_space = |&listed: &u64| {
            first.checked_sub(listed).is_some_and(|gap| gap >= BLOCK_HEADER_LEN as u64)
        };
        let is_missing = listed.first().is_some_and(has_space) || !gaps.is_empty();
        let is_in_order = listed.windows(2).all(|pair| pair[0] < pair[1]);
        let offsets: Vec<u64> = blocks.iter().map(|block| block.offset).collect();
        let known = offsets.iter().filter(|offset| listed.binary_search(offset).is_ok()).count();
        if !is_missing || !is_in_order || known == 0 || 2 * known < listed.len() {
            return None;
        }
        let mut places: Vec<(u64, Option<u64>)> = Vec::with_capacity(listed.len());
        let numbers: HashMap<u64, usize> =
            offsets.iter().enumerate().map(|(number, &offset)| (offset, number)).collect();
        let (mut listed, mut start) = (listed, 0);
        loop {
            let known = |offset: &u64| numbers.get(offset).copied().filter(|&it| it >= start);
            let common = listed.iter().position(|offset| known(offset).is_some());
            let (between, rest) = listed.split_at(common.unwrap_or(listed.len()));
            let end = rest.first().and_then(known).unwrap_or(offsets.len());
            let is_paired = end - start == between.len();
            // Match offsets that differ by less than the length of a header, because they must
            // refer to the same block.
            let near = |at: usize, listed: u64| {
                let found = offsets.get(start + at).copied().filter(|_| is_paired)?;
                (found.abs_diff(listed) < BLOCK_HEADER_LEN as u64).then_some(found)
            };
            let others = between
                .iter()
                .enumerate()
                .map(|(at, &offset)| (offset, near(at, offset).or(Some(offset))));
            places.extend(others);
            let Some((&next, after)) = rest.split_first() else { break };
            places.push((next, Some(next)));
            (listed, start) = (after, end + 1);
        }
        Some(Self(places))
    }
}

/// Finds gaps that may have contained a block, because they are large enough or because their size is
/// unknown. Returns the number of the block after each gap. Skips numbers below `certain`.
pub(crate) fn gaps(blocks: &[FoundBlock], certain: usize) -> Vec<usize> {
    let is_gap = |&number: &usize| {
        let before = blocks.get(number - 1).and_then(next_offset);
        let offset = blocks.get(number).map_or(0, |block| block.offset);
        before.is_none_or(|end| offset.saturating_sub(end) >= BLOCK_HEADER_LEN as u64)
    };
    (certain.clamp(1, blocks.len().max(1))..blocks.len()).filter(is_gap).collect()
}

/// Numbers the blocks that were found: by the index if one is given, otherwise by the sizes that
/// the arrays need. If the sizes are ambiguous, the blocks after the first gap get numbers that no
/// array refers to, in file order. `gaps` are the numbers of blocks that may be preceded by missing
/// blocks.
pub(crate) fn number(
    mut blocks: Vec<FoundBlock>,
    gaps: &[usize],
    index: Option<&IndexNumbers>,
    arrays: &[ArrayUse],
    file_len: u64,
) -> Vec<Numbered> {
    if let Some(index) = index {
        return by_index(blocks, index);
    }
    let certain = |block: FoundBlock| match &block.header {
        // A block with a damaged magic cannot be read, so it counts as missing.
        header if header.has_no_magic() => Numbered::Missing { offset: block.offset },
        _ => Numbered::Certain(block),
    };
    let Some(&first_gap) = gaps.first() else { return blocks.into_iter().map(certain).collect() };
    let placed = by_arrays(&blocks, gaps, arrays, file_len);
    let named = named_blocks(arrays, blocks.len());
    let (before, missing) = placed.unwrap_or((first_gap, named.saturating_sub(first_gap)));
    let first = blocks.first().map(|block| block.offset);
    let rest = blocks.split_off(before);
    let end = blocks.last().and_then(next_offset).or(first).unwrap_or(0);
    let mut numbered: Vec<_> = blocks.into_iter().map(certain).collect();
    numbered.extend((0..missing).map(|_| Numbered::Missing { offset: end }));
    let after = if placed.is_some() { Numbered::Certain } else { Numbered::Uncertain };
    numbered.extend(rest.into_iter().map(after));
    numbered
}

/// Numbers blocks by an index. Blocks that are not listed get numbers after the listed blocks.
fn by_index(blocks: Vec<FoundBlock>, IndexNumbers(listed): &IndexNumbers) -> Vec<Numbered> {
    let numbers: HashMap<u64, usize> = listed
        .iter()
        .enumerate()
        .filter_map(|(number, &(_, found))| Some((found?, number)))
        .collect();
    let missing = |&(offset, _): &(u64, Option<u64>)| Numbered::Missing { offset };
    let mut numbered: Vec<_> = listed.iter().map(missing).collect();
    for block in blocks.into_iter().filter(|block| !block.header.has_no_magic()) {
        match numbers.get(&block.offset) {
            Some(&number) => numbered[number] = Numbered::Certain(block),
            None => numbered.push(Numbered::Uncertain(block)),
        }
    }
    numbered
}

/// Returns the number of the first missing block, and how many blocks are missing. Assumes that all
/// missing blocks were in one gap, or that all were at the end of a truncated file. Returns `None` if
/// the arrays do not determine the result.
fn by_arrays(
    blocks: &[FoundBlock],
    gaps: &[usize],
    arrays: &[ArrayUse],
    file_len: u64,
) -> Option<(usize, usize)> {
    let missing = named_blocks(arrays, blocks.len()).checked_sub(blocks.len())?;
    let certain = gaps.first().copied().unwrap_or(0);
    let end_by_number = needed_ends(arrays, blocks.len() + missing);
    // If blocks are missing, the arrays that would use a block must extend exactly to the end of its data.
    // Otherwise, they only have to fit into the block.
    let fits = |before: usize| {
        let mut whole = blocks.iter().enumerate().skip(certain).filter_map(|(number, block)| {
            let header = block.header.good().filter(|header| header.fits(file_len))?;
            Some((number, data_len(header, file_len)))
        });
        whole.all(|(number, len)| {
            let number = if number < before { number } else { number + missing };
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

/// Maps each block number to the data size in bytes that the arrays need. The size is `None` if one
/// of the arrays does not state it.
fn needed_ends(arrays: &[ArrayUse], count: usize) -> HashMap<usize, Option<u64>> {
    let mut needed: HashMap<usize, Option<u64>> = HashMap::new();
    for array in arrays {
        let Some(number) = array.source.resolve(count) else { continue };
        let end = array.needs.as_ref().map(|needs| needs.end);
        let known = needed.entry(number).or_insert(Some(0));
        *known = known.zip(end).map(|(known, end)| known.max(end));
    }
    needed
}

/// Returns the size of the decoded data of a complete block, in bytes.
fn data_len(header: &BlockHeader, file_len: u64) -> u64 {
    if header.is_compressed() && !header.is_streamed() {
        return header.data_size;
    }
    let range = header.claimed_range(file_len);
    range.end - range.start
}

fn next_offset(block: &FoundBlock) -> Option<u64> {
    block.header.good()?.next_offset()
}

#[cfg(test)]
mod tests {
    use super::super::found_block::HeaderState;
    use super::*;

    const FILE_LEN: u64 = 10_000;

    /// Creates a block with `len` bytes of data.
    fn block(offset: u64, len: u64) -> FoundBlock {
        let header = BlockHeader {
            offset,
            header_size: 48,
            flags: 0,
            compression: [0; 4],
            allocated_size: len,
            used_size: len,
            data_size: len,
            checksum: [0; 16],
        };
        FoundBlock { offset, header: HeaderState::Good(header) }
    }

    /// Creates blocks of 100, 200 and 300 bytes, with gaps before the second and the third.
    fn blocks() -> Vec<FoundBlock> {
        vec![block(1000, 100), block(2000, 200), block(3000, 300)]
    }

    /// Creates arrays that fill their blocks, from pairs of a block number and a size.
    fn arrays<const N: usize>(blocks: [(i64, u64); N]) -> Vec<ArrayUse> {
        blocks.map(|(source, len)| ArrayUse { source: source.into(), needs: Some(0..len) }).to_vec()
    }

    /// Formats numbered blocks for comparison in tests: `1000` is certain, `1000?` is uncertain, and `-1000` is
    /// missing.
    fn shown(numbered: &[Numbered]) -> String {
        let show = |numbered: &Numbered| match numbered {
            Numbered::Certain(block) => block.offset.to_string(),
            Numbered::Uncertain(block) => format!("{}?", block.offset),
            Numbered::Missing { offset } => format!("-{offset}"),
        };
        numbered.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    fn by_arrays(arrays: &[ArrayUse]) -> String {
        let blocks = blocks();
        let gaps = gaps(&blocks, 1);
        shown(&number(blocks, &gaps, None, arrays, FILE_LEN))
    }

    fn by_index(listed: &[u64]) -> String {
        let blocks = blocks();
        let gaps = gaps(&blocks, 1);
        let index = IndexNumbers::exact(&blocks, &gaps, listed);
        shown(&number(blocks, &gaps, index.as_ref(), &[], FILE_LEN))
    }

    #[test]
    fn a_gap_too_small_for_a_block_header_is_ignored() {
        let close = [block(1000, 100), block(1154 + 53, 100), block(1361 + 54, 100)];
        assert_eq!(gaps(&close, 1), [2]);
        assert_eq!(gaps(&close, 3), [0; 0]);
        assert_eq!(gaps(&[], 1), [0; 0]);
    }

    #[test]
    fn blocks_without_a_gap_are_numbered_in_order() {
        assert_eq!(shown(&number(blocks(), &[], None, &[], FILE_LEN)), "1000 2000 3000");
    }

    #[test]
    fn blocks_after_a_gap_are_uncertain_and_get_numbers_that_no_array_refers_to() {
        assert_eq!(by_arrays(&[]), "1000 2000? 3000?");
        assert_eq!(
            by_arrays(&arrays([(0, 100), (3, 50)])),
            "1000 -1154 -1154 -1154 2000? 3000?",
            "the sizes fit in no way"
        );
    }

    #[test]
    fn blocks_are_numbered_by_the_arrays_if_the_sizes_fit_in_only_one_way() {
        let before_last = arrays([(0, 100), (1, 200), (3, 300)]);
        assert_eq!(by_arrays(&before_last), "1000 2000 -2254 3000");
        let at_the_end = arrays([(0, 100), (1, 200), (2, 300), (3, 400)]);
        assert_eq!(by_arrays(&at_the_end), "1000 2000 3000 -3354");
        let none_missing = arrays([(0, 100), (1, 200), (2, 250)]);
        assert_eq!(by_arrays(&none_missing), "1000 2000 3000");
    }

    #[test]
    fn listed_blocks_are_numbered_by_the_index_and_unlisted_blocks_come_after_them() {
        assert_eq!(by_index(&[1000, 1500, 3000]), "1000 -1500 3000 2000?");
        assert_eq!(by_index(&[500, 1000, 2000, 3000]), "-500 1000 2000 3000");
    }

    #[test]
    fn an_index_that_is_empty_out_of_order_or_mostly_inexact_is_not_used() {
        for listed in [&[2000, 1000, 3000][..], &[1000, 1500, 1600, 1700], &[1500], &[]] {
            assert_eq!(by_index(listed), "1000 2000? 3000?", "{listed:?}");
        }
    }

    #[test]
    fn implausible_block_numbers_of_arrays_are_ignored() {
        assert_eq!(named_blocks(&arrays([(0, 1), (2, 1)]), 3), 3);
        assert_eq!(named_blocks(&arrays([(0, 1), (5, 1)]), 3), 1);
        assert_eq!(named_blocks(&arrays([(-2, 1)]), 3), 0);
    }
}
