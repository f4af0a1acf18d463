//! Undoing a line-ending conversion by a tool that mistook the file for text.
//!
//! ```text
//! as written  | head, tree        | block 0          | block 1          | index: 2043, 9000
//! found       | each LF is CR LF  | some bytes more  | some bytes more  | index: 2043, 9000
//! ```
//!
//! The index lists the original offsets of the blocks. Since the index itself may be wrong, a conversion is
//! only undone if there is proof of it:
//!
//! - If the headers lead from block to block up to the index, there was no conversion.
//! - If the offsets in the index are correct after removing the CR before each LF, the conversion added these
//!   CRs.
//! - Otherwise, a block is only changed if the result has the length that the index and the header
//!   state, and if the data matches the checksum. A block without a checksum is only changed if its
//!   present header is invalid or implausible. If the block has more line endings than were
//!   converted, all combinations are tried, unless there are too many.
//! - The text before the blocks has the same meaning with either kind of line ending. It is only
//!   changed if blocks are changed.
//!
//! Blocks for which there is no proof of a conversion are left unchanged.

use std::ops::Range;
use std::sync::Arc;

use binio::checksum::Algorithm;
use binio::diagnostic::count;
use binio::{Limits, ReadAt, Span};

use super::pieces::{Pieces, View, with_cr, without_cr};
use crate::diagnostic::{Code, Diagnostic, Reports};
use crate::error::{BlockError, Result};
use crate::file::blocks::{digest_of, has_checksum};
use crate::file::locate::{
    self, CachedSource, DriftedBlocks, FileParts, HeaderReader, HeaderState, KnownBlocks,
    RejectedIndex,
};
use crate::layout::{BLOCK_HEADER_LEN, BlockHeader};
use crate::options::OpenOptions;

/// Maximum size in bytes of a piece for which combinations of line endings are tried.
const MAX_PIECE: u64 = 16 << 20;
/// Maximum number of bytes that are hashed to try all combinations of line endings in a piece.
const MAX_HASHED: u64 = 1 << 30;
/// Maximum total size in bytes of the pieces that are restored by trying combinations of line
/// endings. These pieces are kept in memory.
const MAX_REPLACED: u64 = 64 << 20;

/// A file whose original line endings have been restored if possible.
pub(super) struct Undone {
    pub(super) source: Arc<dyn ReadAt>,
    /// A note about the conversion, if one was undone.
    pub(super) note: Option<Diagnostic>,
    /// The blocks whose line-ending conversion could not be undone, each with its offset in
    /// `source` and the error.
    pub(super) damaged: Vec<(u64, BlockError)>,
}

/// Undoes a line-ending conversion if the index shows that there was one.
pub(super) fn undo(source: Arc<dyn ReadAt>, limits: &Limits) -> Result<Undone> {
    let as_is = |source| Undone { source, note: None, damaged: Vec::new() };
    let mut ends = CachedSource::new(Arc::clone(&source), true);
    let (options, reports) = (OpenOptions::new().limits(*limits), Reports::default());
    let FileParts { blocks, .. } = locate::locate(&mut ends, &options, &reports)?;
    let KnownBlocks::From {
        first,
        rejected: Some(RejectedIndex { offset, entries: Some(listed), .. }),
    } = blocks
    else {
        return Ok(as_is(source));
    };
    let Some(&first_listed) = listed.first() else { return Ok(as_is(source)) };
    if agrees(&source, &listed)? || leads_to(&ends, first.offset, offset)? {
        return Ok(as_is(source));
    }
    if first.offset > first_listed {
        // Try to remove the CR before each LF, because most tools add it.
        let end = source.len();
        let all: Arc<dyn ReadAt> =
            Arc::new(Pieces::new(Arc::clone(&source), vec![(0..end, View::WithoutCr)])?);
        if agrees(&all, &listed)? {
            let note = Some(undone(first_listed, end - all.len(), "added"));
            return Ok(Undone { source: all, note, damaged: Vec::new() });
        }
    }
    let reader = HeaderReader { source: &ends, limits, reports: &reports };
    let Some(drift) = DriftedBlocks::find(&listed, first.offset, reader)? else {
        return Ok(as_is(source));
    };
    by_pieces(source, &drift, offset)
}

/// Returns `true` if a block begins at each listed offset, and an index follows the last of these
/// blocks.
fn agrees(source: &Arc<dyn ReadAt>, listed: &[u64]) -> Result<bool> {
    let ends = CachedSource::new(Arc::clone(source), true);
    for &offset in listed {
        if !ends.has_magic(offset)? {
            return Ok(false);
        }
    }
    let Some(&last) = listed.last() else { return Ok(false) };
    let HeaderState::Good(header) = ends.header(last)? else { return Ok(false) };
    Ok(match header.next_offset() {
        Some(next) => ends.has_index(next)?,
        None => false,
    })
}

/// Returns `true` if the block headers lead from the first block to the index, so that there is no
/// conversion to undo.
fn leads_to(ends: &CachedSource, first: u64, index: u64) -> Result<bool> {
    let mut at = first;
    while at < index {
        let HeaderState::Good(header) = ends.header(at)? else { return Ok(false) };
        let Some(next) = header.next_offset() else { return Ok(false) };
        at = next;
    }
    Ok(at == index)
}

fn undone(first: u64, bytes: u64, what: &str) -> Diagnostic {
    let bytes = count(bytes, "byte");
    let message = format!("a line-ending conversion had {what} {bytes}; it was undone");
    super::mended(Code::IndexDrift, first, message)
}

/// Undoes the conversion in each piece of the file that is proved to have been converted.
fn by_pieces(source: Arc<dyn ReadAt>, drift: &DriftedBlocks, index: u64) -> Result<Undone> {
    let has_drifted = drift.message().is_some();
    // The current and the original offset of each piece.
    let mut places = vec![(0, 0)];
    places.extend(drift.blocks().iter().filter_map(|&(listed, found)| Some((found?, listed))));
    let mut views: Vec<(Range<u64>, View)> = Vec::with_capacity(places.len() + 1);
    let mut damaged = Vec::new();
    let (mut start, mut changed, mut replaced, mut text) = (0, 0, 0, None);
    for (number, &(at, was_at)) in places.iter().enumerate() {
        let next = places.get(number + 1);
        let end = next.map_or(index, |&(next, _)| next);
        if end < at {
            continue;
        }
        let piece = Piece { source: &source, range: at..end, is_block: number > 0 };
        let wanted = next.map(|&(_, next)| next.saturating_sub(was_at));
        let solved = match wanted {
            Some(wanted) => piece.solve(wanted, MAX_REPLACED - replaced)?,
            None => piece.solve_last(MAX_REPLACED - replaced)?,
        };
        let len = piece.len();
        match solved {
            Ok((view, was)) if number == 0 => {
                text = Some((view, was));
                views.push((at..end, View::AsStored));
                start += len;
            }
            Ok((view, was)) => {
                changed += was.abs_diff(len);
                if let View::Replaced(bytes) = &view {
                    replaced += bytes.len() as u64;
                }
                views.push((at..end, view));
                start += was;
            }
            Err(Unsolved { added, is_likely }) => {
                // If no block has moved, do not report a conversion: a wrong length then has
                // another cause, such as stray bytes after the last block.
                if number > 0 && has_drifted && (is_likely || added < 0) {
                    damaged.push((start, BlockError::Drifted { added }));
                }
                views.push((at..end, View::AsStored));
                start += len;
            }
        }
    }
    if changed == 0 {
        // If no conversion was undone, surplus bytes may simply be stray bytes between two blocks.
        let is_shorter =
            |error: &BlockError| matches!(error, BlockError::Drifted { added } if *added < 0);
        damaged.retain(|(_, error)| is_shorter(error));
        return Ok(Undone { source, note: None, damaged });
    }
    if let (Some((view, was)), Some(first)) = (text, views.first_mut()) {
        let len = first.0.end - first.0.start;
        changed += was.abs_diff(len);
        first.1 = view;
        for (offset, _) in &mut damaged {
            *offset = *offset + was - len;
        }
    }
    views.push((index..source.len(), View::AsStored));
    let first = drift.blocks().first().map_or(0, |&(listed, _)| listed);
    let is_longer = drift.blocks().iter().any(|&(listed, found)| found > Some(listed));
    let note = Some(undone(first, changed, if is_longer { "added" } else { "removed" }));
    let source: Arc<dyn ReadAt> = Arc::new(Pieces::new(source, views)?);
    Ok(Undone { source, note, damaged })
}

/// A range of the file: either the text before the blocks, or a block with everything up to the next block or the
/// index.
struct Piece<'a> {
    source: &'a Arc<dyn ReadAt>,
    range: Range<u64>,
    is_block: bool,
}

/// The conversion that restores a piece, with the restored length.
type Solved = std::result::Result<(View, u64), Unsolved>;

/// A piece whose length is wrong and could not be restored.
struct Unsolved {
    /// The number of surplus bytes, which is negative if bytes are missing.
    added: i64,
    /// Whether the piece has enough line endings to explain the difference in length.
    is_likely: bool,
}

impl Piece<'_> {
    fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Finds the conversion that restores the piece to `wanted` bytes. `max_replaced` is the
    /// maximum number of bytes to keep in memory if the piece is replaced.
    fn solve(&self, wanted: u64, max_replaced: u64) -> Result<Solved> {
        let len = self.len();
        let added = i64::try_from(i128::from(len) - i128::from(wanted)).unwrap_or(i64::MAX);
        if added == 0 {
            return Ok(Ok((View::AsStored, len)));
        }
        let (pairs, singles) = self.count()?;
        if added > 0 && pairs == added.unsigned_abs() && self.is_proved(View::WithoutCr, wanted)? {
            return Ok(Ok((View::WithoutCr, wanted)));
        }
        if added < 0 && singles == added.unsigned_abs() && self.is_proved(View::WithCr, wanted)? {
            return Ok(Ok((View::WithCr, wanted)));
        }
        let all = if added > 0 { pairs } else { singles };
        let unsolved = Unsolved { added, is_likely: all >= added.unsigned_abs() };
        // Only try combinations for blocks, because the exact line endings of text do not matter.
        if !self.is_block || !unsolved.is_likely || len > MAX_PIECE || wanted > max_replaced {
            return Ok(Err(unsolved));
        }
        let bytes = self.source.bytes_at(self.range.start, usize::try_from(len).unwrap_or(0))?;
        Ok(match search(&bytes, wanted, added) {
            Some(found) => Ok((View::Replaced(found.into()), wanted)),
            None => Err(unsolved),
        })
    }

    /// Returns `true` if the converted piece is a block of `wanted` bytes whose data matches its checksum.
    /// Without a checksum, the conversion is accepted only if the block header is invalid or implausible
    /// without the conversion. Text needs no proof.
    fn is_proved(&self, view: View, wanted: u64) -> Result<bool> {
        if !self.is_block {
            return Ok(true);
        }
        let views = vec![(self.range.clone(), view)];
        let seen: Arc<dyn ReadAt> = Arc::new(Pieces::new(Arc::clone(self.source), views)?);
        let HeaderState::Good(header) = CachedSource::new(Arc::clone(&seen), true).header(0)?
        else {
            return Ok(false);
        };
        if seen.len() != wanted || header.next_offset() != Some(wanted) || !header.fits(wanted) {
            return Ok(false);
        }
        if has_checksum(&header) {
            let stored = Span::new(&*seen, header.claimed_range(wanted))?;
            return Ok(digest_of(&stored)?.as_bytes() == header.checksum);
        }
        let as_is = CachedSource::new(Arc::clone(self.source), true).header(self.range.start)?;
        Ok(as_is.good().is_none_or(|header| !header.is_plausible(self.source.len())))
    }

    /// Like [`Self::solve`], but for the last block, whose length is only known from its header.
    fn solve_last(&self, max_replaced: u64) -> Result<Solved> {
        let len = usize::try_from(self.len().min(4 * BLOCK_HEADER_LEN as u64)).unwrap_or(0);
        let head = self.source.bytes_at(self.range.start, len)?;
        let heads =
            [head.to_vec(), without_cr(&head, 0..head.len()), with_cr(&head, 0..head.len())];
        let mut failed = None;
        for head in heads {
            let Some(wanted) = block_len(&head) else { continue };
            // A conversion changes the length by at most a factor of two.
            if wanted > 2 * self.len() || self.len() > wanted.saturating_mul(2) {
                continue;
            }
            match self.solve(wanted, max_replaced)? {
                Ok(solved) => return Ok(Ok(solved)),
                Err(unsolved) => failed = failed.or(Some(unsolved)),
            }
        }
        // If no header states a plausible length, leave the block unchanged; its checksum shows whether it is
        // intact.
        Ok(failed.map_or(Ok((View::AsStored, self.len())), Err))
    }

    /// Returns the number of LFs that follow a CR, and the number of LFs that do not.
    fn count(&self) -> Result<(u64, u64)> {
        let (mut pairs, mut singles) = (0, 0);
        let mut before = 0;
        for bytes in self.source.pieces(self.range.clone(), self.source.preferred_piece()) {
            let bytes = bytes?;
            for place in memchr::memchr_iter(b'\n', &bytes) {
                let before = place.checked_sub(1).map_or(before, |before| bytes[before]);
                if before == b'\r' { pairs += 1 } else { singles += 1 }
            }
            before = bytes.last().copied().unwrap_or(before);
        }
        Ok((pairs, singles))
    }
}

/// Returns the length in bytes of the block that begins with these bytes, including its header.
fn block_len(bytes: &[u8]) -> Option<u64> {
    let header = BlockHeader::parse(bytes.get(..BLOCK_HEADER_LEN)?, 0, u64::MAX).ok()?;
    header.next_offset()
}

/// Tries all combinations of line endings to convert. Returns the first result that is a block of
/// `wanted` bytes whose data matches its checksum.
fn search(bytes: &[u8], wanted: u64, added: i64) -> Option<Vec<u8>> {
    let is_place = |at: &usize| {
        let has_cr = at.checked_sub(1).is_some_and(|before| bytes[before] == b'\r');
        has_cr == (added > 0)
    };
    let places: Vec<usize> = memchr::memchr_iter(b'\n', bytes).filter(is_place).collect();
    let changed = usize::try_from(added.unsigned_abs()).ok()?;
    // Choose either the line endings to change or the ones to keep, whichever are fewer.
    let chosen = changed.min(places.len().checked_sub(changed)?);
    let is_changed_chosen = chosen == changed;
    let mut choices: u64 = 1;
    for step in 0..chosen as u64 {
        choices = choices.checked_mul(places.len() as u64 - step)? / (step + 1);
        if choices.checked_mul(wanted)? > MAX_HASHED {
            return None;
        }
    }
    let mut choice: Vec<usize> = (0..chosen).collect();
    let mut candidate = Vec::new();
    loop {
        let is_changed = |place: usize| choice.binary_search(&place).is_ok() == is_changed_chosen;
        candidate.clear();
        let mut from = 0;
        let changed = places.iter().enumerate().filter(|(number, _)| is_changed(*number));
        for (_, &at) in changed {
            let end = if added > 0 { at - 1 } else { at };
            candidate.extend_from_slice(&bytes[from..end]);
            if added < 0 {
                candidate.push(b'\r');
            }
            from = at;
        }
        candidate.extend_from_slice(&bytes[from..]);
        if is_right(&candidate, wanted) {
            return Some(candidate);
        }
        if !next_choice(&mut choice, places.len()) {
            return None;
        }
    }
}

/// Advances to the next combination of indices below `count`. Returns `false` after the last one.
fn next_choice(choice: &mut [usize], count: usize) -> bool {
    let len = choice.len();
    let Some(at) = (0..len).rev().find(|&at| choice[at] < count - len + at) else { return false };
    choice[at] += 1;
    for next in at + 1..len {
        choice[next] = choice[next - 1] + 1;
    }
    true
}

/// Returns `true` if these bytes are a block of `wanted` bytes whose data matches its checksum.
fn is_right(block: &[u8], wanted: u64) -> bool {
    let header = block.get(..BLOCK_HEADER_LEN).map(|bytes| BlockHeader::parse(bytes, 0, u64::MAX));
    let Some(Ok(header)) = header else { return false };
    let used = header.claimed_range(wanted);
    let place = |at: u64| usize::try_from(at).ok();
    let data = place(used.start).zip(place(used.end)).and_then(|(from, to)| block.get(from..to));
    let is_length = header.next_offset() == Some(wanted);
    data.is_some_and(|data| is_length && Algorithm::Md5.digest(data).as_bytes() == header.checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_are_enumerated_in_order() {
        let mut choice = vec![0, 1];
        let mut all = vec![choice.clone()];
        while next_choice(&mut choice, 4) {
            all.push(choice.clone());
        }
        assert_eq!(all, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
        assert!(!next_choice(&mut [], 4));
    }
}
