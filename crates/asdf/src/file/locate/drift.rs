//! Finding blocks near their listed offsets.
//!
//! If a tool mistakes the file for text and converts its line endings, it adds or removes a byte at
//! each line ending, even within blocks. Each block is then displaced a little further from its
//! listed offset than the previous block, and the sizes in the headers no longer lead from block to
//! block:
//!
//! ```text
//! listed    |block 0         |block 1         |block 2
//! found     |block 0        |block 1       |block 2
//! drift      0               -1             -3
//! ```

use binio::ReadAt;
use memchr::memmem;

use super::found_block::{FoundBlock, HeaderState};
use super::header_reader::HeaderReader;
use crate::error::Result;
use crate::layout::block_header::BLOCK_MAGIC;

/// Assumed minimum length of a line in bytes. For each line of this length since the previous block,
/// the range that is searched for a block grows by one byte on either side.
const BYTES_PER_LINE: u64 = 8;
/// Minimum number of bytes to search on either side of a block's expected offset, unless another listed
/// offset is too close.
const MIN_REACH: u64 = 64;
/// Maximum number of bytes to search on either side of a block's expected offset.
const MAX_REACH: u64 = 64 << 10;

/// The offsets listed by an index, each with the block found at or near it, if any.
pub(crate) struct DriftedBlocks {
    /// Pairs of a listed offset and the offset of the block found at or near it.
    blocks: Vec<(u64, Option<u64>)>,
}

impl DriftedBlocks {
    /// Searches for the listed blocks near their offsets; `first` is the known offset of the first
    /// block. Returns `None` if the index is out of order, or if at most half of the blocks are
    /// found, because the index then probably belongs to another file.
    pub(crate) fn find(
        listed: &[u64],
        first: u64,
        reader: HeaderReader<'_>,
    ) -> Result<Option<Self>> {
        if listed.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Ok(None);
        }
        let mut blocks = Vec::with_capacity(listed.len());
        let (mut last_listed, mut last) = (0, 0);
        for (at, &offset) in listed.iter().enumerate() {
            let reach = offset.saturating_sub(last_listed) / BYTES_PER_LINE;
            let reach = reach.clamp(MIN_REACH, MAX_REACH);
            // Do not search beyond the midpoint between two listed offsets, because a block there
            // is closer to the neighbouring offset.
            let neighbours = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
            let neighbours = neighbours.filter_map(|at| listed.get(at));
            let reach = neighbours.fold(reach, |reach, it| reach.min(it.abs_diff(offset) / 2));
            let found = if blocks.is_empty() {
                Some(first).filter(|first| first.abs_diff(offset) <= reach)
            } else {
                // Assume that this block has moved as far as the previous block.
                let expected = offset.saturating_add(last).saturating_sub(last_listed);
                nearest(expected, reach, last, reader)?
            };
            if let Some(found) = found {
                (last_listed, last) = (offset, found);
            }
            blocks.push((offset, found));
        }
        let found = blocks.iter().filter(|(_, found)| found.is_some()).count();
        Ok((2 * found > blocks.len()).then_some(Self { blocks }))
    }

    /// Returns pairs of a listed offset and the offset of the block found at or near it.
    pub(crate) fn blocks(&self) -> &[(u64, Option<u64>)] {
        &self.blocks
    }

    /// Returns `true` if `blocks` are exactly the blocks found for the first `blocks.len()` listed offsets.
    pub(super) fn begins_with(&self, blocks: &[FoundBlock]) -> bool {
        self.blocks.len() >= blocks.len()
            && blocks.iter().zip(&self.blocks).all(|(block, (_, at))| Some(block.offset) == *at)
    }

    /// Describes the drift and its likely cause. Returns `None` if all blocks found are at their listed
    /// offsets.
    pub(crate) fn message(&self) -> Option<String> {
        let drift = |&(listed, found): &(u64, Option<u64>)| {
            Some(i128::from(found?) - i128::from(listed)).filter(|&drift| drift != 0)
        };
        let mut drifts: Vec<i128> = self.blocks.iter().filter_map(drift).collect();
        drifts.dedup();
        let shown: Vec<String> = drifts.iter().take(3).map(|drift| format!("{drift:+}")).collect();
        let more = if drifts.len() > shown.len() { ", .." } else { "" };
        (!drifts.is_empty()).then(|| {
            let unit = if matches!(drifts[..], [1 | -1]) { "byte" } else { "bytes" };
            format!(
                "probably because of a line-ending conversion, blocks are shifted by {}{more} \
                 {unit} from their offsets in the index",
                shown.join(", ")
            )
        })
    }
}

/// Finds the plausible block closest to `expected`, within `reach` and after the offset `after`. If there is
/// none, finds the closest magic with a valid header in the same range.
fn nearest(expected: u64, reach: u64, after: u64, reader: HeaderReader<'_>) -> Result<Option<u64>> {
    let start = expected.saturating_sub(reach).max(after.saturating_add(1));
    let end = expected.saturating_add(reach).min(reader.file_len());
    let Ok(len) = usize::try_from(end.saturating_sub(start)) else { return Ok(None) };
    if start >= end {
        return Ok(None);
    }
    let bytes = reader.source.bytes_at(start, len)?;
    let mut found: Vec<u64> =
        memmem::find_iter(&bytes, &BLOCK_MAGIC).map(|at| start + at as u64).collect();
    found.sort_by_key(|at| at.abs_diff(expected));
    let file_len = reader.file_len();
    let mut broken = None;
    for at in found {
        match reader.block_at(at)?.header {
            HeaderState::Good(header) if header.is_plausible(file_len) => return Ok(Some(at)),
            // The magic may occur by chance, so this block is only used if no plausible block is
            // found.
            HeaderState::Good(_) => broken = broken.or(Some(at)),
            _ => {}
        }
    }
    Ok(broken)
}
