//! Finding the remaining blocks of a damaged file.
//!
//! Normal reading stops at the first gap. Salvaging searches all bytes outside intact blocks for block
//! magics, up to the end of the file, and accepts every plausible header as a block:
//!
//! ```text
//! block 0 | gap | block 1 | block 2, which claims the rest of the file ... block 3 ... | end
//! ```
//!
//! Blocks with broken headers are included, so that the other blocks keep their numbers. After a
//! gap that may have contained a block, [numbering](super::numbering) needs the index. Without it,
//! the numbers of later blocks are uncertain, and arrays that use these numbers cannot be read.
//! Blocks that were found by a search are reported, unless the index explains their displacement.

use std::collections::HashSet;

use binio::ReadAt as _;
use binio::diagnostic::count;
use binio::source::Scanner;

use super::cached_source::CachedSource;
use super::drift::DriftedBlocks;
use super::found_block::{FoundBlock, HeaderState};
use super::header_reader::HeaderReader;
use super::index::is_padding;
use super::numbering::{IndexNumbers, Numbered, number};
use crate::diagnostic::Code;
use crate::error::{BlockError, Result};
use crate::layout::block_header::{BLOCK_HEADER_LEN, BLOCK_MAGIC, BlockHeader};

/// All blocks of a damaged file.
pub(super) struct SalvagedBlocks {
    pub(super) blocks: Vec<FoundBlock>,
    /// The first block number that may be wrong, or `usize::MAX` if all numbers are certain. From
    /// this number on, blocks are numbered in file order.
    pub(super) certain: usize,
    /// Whether the blocks are numbered by the index.
    pub(super) by_index: bool,
}

/// Finds all blocks of the file. The search starts after the first block or, if the first block is
/// unknown, at `from`. `listed` contains the offsets in the index.
pub(super) fn find_blocks(
    from: u64,
    first: Option<FoundBlock>,
    listed: Option<&[u64]>,
    reader: HeaderReader<'_>,
) -> Result<SalvagedBlocks> {
    let file_len = reader.file_len();
    let mut at = match &first {
        Some(first) => resume_after(first, reader)?,
        None => from,
    };
    let mut chained = first.as_ref().is_some_and(|first| is_whole(&first.header, file_len));
    let mut blocks: Vec<FoundBlock> = first.into_iter().collect();
    let mut gaps = Vec::new();
    let mut leads_nowhere = false;
    let mut certain = None;
    // Use one scanner for the whole file, so that the search reads nothing twice.
    let mut scanner = Scanner::new(reader.source, &BLOCK_MAGIC, at..file_len);
    while at < file_len {
        let damaged_end = match chained {
            true if reader.source.has_magic(at)? => None,
            true => reader.end_without_magic(at)?,
            false => None,
        };
        if let Some(end) = damaged_end {
            reader.limits.check_items("blocks", blocks.len() as u64 + 1)?;
            blocks.push(reader.block_at(at)?);
            at = end;
            continue;
        }
        if !(chained && reader.source.has_magic(at)?) {
            let Some(found) = next_plausible(&mut scanner, at, reader)? else {
                leads_nowhere = !reader.source.has_index(at)?;
                break;
            };
            let gap = found - at;
            gaps.push((found, gap));
            if chained && gap >= BLOCK_HEADER_LEN as u64 {
                certain.get_or_insert(blocks.len());
            }
            at = found;
        }
        let items = blocks.len() as u64 + 1;
        reader.limits.check_items("blocks", items)?;
        let block = reader.block_at(at)?;
        at = resume_after(&block, reader)?;
        chained = is_whole(&block.header, file_len);
        blocks.push(block);
    }
    let lost = match (blocks.first(), listed) {
        (Some(first), Some(listed)) => lost_before(from, first.offset, listed, reader)?,
        _ => false,
    };
    let listed = listed.filter(|_| lost || leads_nowhere || !gaps.is_empty());
    let drift = match (listed, blocks.first()) {
        (Some(listed), Some(first)) => DriftedBlocks::find(listed, first.offset, reader)?,
        _ => None,
    };
    let index =
        drift.as_ref().and_then(|drift| IndexNumbers::of_drift(&blocks, certain.as_slice(), drift));
    let drift = drift.filter(|_| index.is_some());
    let exact = listed.filter(|_| lost && index.is_none());
    let index = index
        .or_else(|| IndexNumbers::exact(&blocks, certain.as_slice(), exact.unwrap_or_default()));
    if let Some(drift) = &drift {
        // Add blocks that lie inside the claimed range of another block.
        let known: HashSet<u64> = blocks.iter().map(|block| block.offset).collect();
        for offset in drift.blocks().iter().filter_map(|&(_, found)| found) {
            if !known.contains(&offset) {
                blocks.push(reader.block_at(offset)?);
            }
        }
    }
    match drift.as_ref().and_then(DriftedBlocks::message) {
        Some(message) => {
            let first = blocks.first().map_or(from, |first| first.offset);
            reader.reports.report(Code::IndexDrift, first, message);
        }
        None => {
            for (found, gap) in gaps {
                let gap = count(gap, "byte");
                let message = format!("salvaging skipped {gap} to find this block");
                reader.reports.report(Code::Salvaged, found, message);
            }
        }
    }
    let numbered = number(blocks, certain.as_slice(), index.as_ref(), &[], file_len);
    let is_uncertain = |block: &Numbered| matches!(block, Numbered::Uncertain(_));
    let certain = numbered.iter().position(is_uncertain).unwrap_or(usize::MAX);
    let blocks: Vec<FoundBlock> =
        numbered.into_iter().map(|block| to_block(block, file_len)).collect();
    for block in &blocks {
        reader.judge(block);
        report_cut(block, reader);
    }
    Ok(SalvagedBlocks { blocks, certain, by_index: index.is_some() })
}

/// Returns `true` if the index lists a block before the first block that was found, and the file
/// contains more than padding at the offset of that block.
fn lost_before(from: u64, first: u64, listed: &[u64], reader: HeaderReader<'_>) -> Result<bool> {
    let len = BLOCK_HEADER_LEN as u64;
    let lost = listed.first().copied().filter(|&lost| lost >= from);
    let Some(lost) = lost.filter(|&lost| first.checked_sub(lost).is_some_and(|gap| gap >= len))
    else {
        return Ok(false);
    };
    let bytes = reader.source.bytes_at(lost, BLOCK_HEADER_LEN)?;
    Ok(!bytes.iter().all(|&byte| is_padding(byte)))
}

/// Converts a numbered block to a [`FoundBlock`]. For a missing block, the header is an error, and
/// the offset is reduced if it is past the end of the file.
fn to_block(block: Numbered, file_len: u64) -> FoundBlock {
    match block {
        Numbered::Certain(block) | Numbered::Uncertain(block) => block,
        Numbered::Missing { offset } => {
            let offset = offset.min(file_len.saturating_sub(1));
            FoundBlock { offset, header: HeaderState::Bad(Box::new(BlockError::Magic { offset })) }
        }
    }
}

/// Returns the offset at which to continue the search after a block. For an invalid or incomplete block, this
/// is the end of its magic. For a complete block, it is the end of the allocated space if a block, an index or
/// the end of the file is there, and the end of the data otherwise.
fn resume_after(block: &FoundBlock, reader: HeaderReader<'_>) -> Result<u64> {
    let file_len = reader.file_len();
    let after_magic = block.offset.saturating_add(BLOCK_MAGIC.len() as u64);
    let HeaderState::Good(header) = &block.header else { return Ok(after_magic) };
    if !header.fits(file_len) {
        return Ok(after_magic);
    }
    let end = header.claimed_range(file_len).end.max(after_magic);
    // The end of the allocated space takes priority, even if the data extends past it.
    match header.next_offset().filter(|&next| next <= file_len) {
        Some(next) if reader.is_boundary(next)? => Ok(next),
        _ => Ok(end),
    }
}

fn is_whole(header: &HeaderState, file_len: u64) -> bool {
    matches!(header, HeaderState::Good(header) if header.fits(file_len))
}

/// Returns the offset of the next magic at or after `from` that begins a plausible block.
fn next_plausible(
    scanner: &mut Scanner<'_, CachedSource>,
    from: u64,
    reader: HeaderReader<'_>,
) -> Result<Option<u64>> {
    let file_len = reader.file_len();
    scanner.skip_to(from);
    while let Some(offset) = scanner.next_match()? {
        match reader.source.header(offset)? {
            HeaderState::Good(header) if header.is_plausible(file_len) => return Ok(Some(offset)),
            _ => {}
        }
    }
    Ok(None)
}

/// Reports a block that extends past the end of the file.
fn report_cut(block: &FoundBlock, reader: HeaderReader<'_>) {
    let file_len = reader.file_len();
    let HeaderState::Good(header) = &block.header else { return };
    if !header.fits(file_len) {
        let BlockHeader { offset, used_size, .. } = *header;
        let there = file_len.saturating_sub(header.data_start());
        let used = count(used_size, "byte");
        let message =
            format!("the block should have {used}, but the file contains only {there} of them");
        reader.reports.report(Code::Salvaged, offset, message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_file::{HEAD, TREE, block, codes, contents};
    use super::*;
    use crate::options::{OpenOptions, Strictness};

    fn salvage(bytes: Vec<u8>) -> crate::Asdf {
        OpenOptions::new().strictness(Strictness::Salvage).from_bytes(bytes).unwrap()
    }

    #[test]
    fn salvaging_finds_the_blocks_after_a_gap() {
        let gap = &b"oops"[..];
        let bytes = [HEAD, TREE, &block(b"one").bytes(), gap, &block(b"two").bytes()].concat();
        assert_eq!(contents(&crate::Asdf::from_bytes(bytes.clone()).unwrap()), ["one"]);
        let file = salvage(bytes);
        assert_eq!(contents(&file), ["one", "two"]);
        assert!(codes(&file).contains(&Code::Salvaged));
    }

    #[test]
    fn salvaging_finds_blocks_after_a_broken_header_and_keeps_their_numbers() {
        let bad = block(b"two").header_size(47).bytes();
        let bytes = [HEAD, TREE, &block(b"one").bytes(), &bad, &block(b"three").bytes()].concat();
        let file = salvage(bytes);
        assert_eq!(file.blocks().len().unwrap(), 3);
        assert!(file.blocks().get(1).unwrap().header().is_err());
        assert_eq!(file.blocks().get(2).unwrap().decode().unwrap(), "three");
    }

    #[test]
    fn salvaging_finds_blocks_inside_a_block_with_a_false_size() {
        let lying = block(b"one").used_size(1 << 40).allocated_size(1 << 40).bytes();
        let bytes = [HEAD, TREE, &block(b"zero").bytes(), &lying, &block(b"two").bytes()].concat();
        let file = salvage(bytes);
        assert_eq!(file.blocks().len().unwrap(), 3);
        assert_eq!(file.blocks().get(2).unwrap().decode().unwrap(), "two");
    }

    #[test]
    fn salvaging_ignores_block_headers_in_the_data_of_intact_blocks() {
        let inner = [HEAD, TREE, &block(b"inner").bytes()[..]].concat();
        let bytes = [HEAD, TREE, &block(&inner).bytes(), &block(b"two").bytes()].concat();
        let file = salvage(bytes);
        assert_eq!(file.blocks().len().unwrap(), 2);
        assert_eq!(codes(&file), []);
    }

    #[test]
    fn salvaging_a_truncated_block_returns_the_remaining_bytes() {
        let mut bytes = [HEAD, TREE, &block(b"0123456789").bytes()].concat();
        bytes.truncate(bytes.len() - 4);
        let file = salvage(bytes);
        assert_eq!(contents(&file), ["012345"]);
        assert_eq!(codes(&file), [Code::BadBlock, Code::Salvaged]);
    }

    #[test]
    fn salvaging_an_intact_file_finds_the_same_blocks_without_diagnostics() {
        let blocks = [block(b"one").bytes(), block(b"two").allocated_size(9).bytes()].concat();
        let file = salvage([HEAD, TREE, &blocks].concat());
        assert_eq!(contents(&file), ["one", "two"]);
        assert_eq!(codes(&file), []);
    }

    #[test]
    fn salvaging_a_file_with_many_gaps_reads_less_than_four_times_its_length() {
        let mut bytes = [HEAD, TREE].concat();
        for _ in 0..2000 {
            bytes.extend(block(b"one").bytes());
            bytes.extend(b"gap");
        }
        let len = bytes.len() as u64;
        let source = std::sync::Arc::new(binio::source::ReadLog::new(bytes));
        let options = OpenOptions::new().strictness(Strictness::Salvage);
        let file = options.from_source(source.clone()).unwrap();
        assert_eq!(file.blocks().len().unwrap(), 2000);
        let read: u64 = source.ranges().iter().map(|range| range.end - range.start).sum();
        assert!(read < 4 * len, "{read} bytes read of {len}");
    }
}
