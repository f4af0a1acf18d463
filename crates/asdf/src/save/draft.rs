//! The file to be: what the edits ask for, and where it differs from the file that exists.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use binio::ReadAt as _;

use super::plan::NewBlock;
use crate::asdf::Asdf;
use crate::error::{Error, Result};
use crate::file::blocks::BlockRef;
use crate::layout::BlockHeader;
use crate::value::edit::TreeText;
use crate::yaml::YamlNode;
use crate::yaml::edit::check::{Expectation, is_as_expected, nodes};

/// Bytes that a single write changes at once.
pub(super) const PAGE: u64 = 4096;
/// The largest unit to which the data of blocks stay aligned.
const MAX_ALIGN: u64 = 4096;
/// The unit for the first block of a file.
const ALIGN: u64 = 64;

/// What is to be written.
pub(super) struct Draft<'a> {
    pub(super) file: &'a Asdf,
    /// The tree as it was edited.
    pub(super) edited: &'a TreeText,
    /// The edited tree with other sources, if these have to change because the number of blocks does.
    pub(super) resolved: Option<TreeText>,
    /// The text of the tree in the file.
    pub(super) before: &'a str,
    /// New blocks by their numbers.
    pub(super) blocks: &'a BTreeMap<usize, NewBlock>,
    /// Blocks whose arrays were removed.
    pub(super) dropped: BTreeSet<usize>,
}

/// Where the tree is in the file, and the room that it has.
pub(super) struct Room {
    pub(super) tree: Range<u64>,
    /// Where the first block or the file ends it.
    pub(super) end: u64,
    /// What follows the tree in it, if that is only blanks, line ends and zeros.
    pub(super) padding: Option<Vec<u8>>,
}

/// The blocks of a file that has nothing between them.
pub(super) struct Chain {
    pub(super) headers: Vec<BlockHeader>,
    /// Where the last one ends, at most at the end of the file.
    pub(super) end: u64,
    /// The unit to which all data are aligned.
    pub(super) align: u64,
}

impl Chain {
    pub(super) fn is_streamed(&self) -> bool {
        self.headers.last().is_some_and(BlockHeader::is_streamed)
    }
}

impl Draft<'_> {
    /// The tree as it will be.
    pub(super) fn text(&self) -> &TreeText {
        self.resolved.as_ref().unwrap_or(self.edited)
    }

    pub(super) fn has_changed(&self) -> bool {
        self.text().text() != self.before || !self.blocks.is_empty() || !self.dropped.is_empty()
    }

    pub(super) fn room(&self) -> Result<Room> {
        let layout = self.file.layout();
        let end = layout.first_block.unwrap_or(layout.file_len);
        let tree = layout.tree.clone().unwrap_or(end..end);
        let len = end.saturating_sub(tree.end);
        // Files have some pages of it at most.
        let padding = match usize::try_from(len) {
            Ok(len) if len <= 64 << 20 => {
                let bytes = self.file.source().bytes_at(tree.end, len)?;
                let is_blank = bytes.iter().all(|byte| b" \t\r\n\0".contains(byte));
                is_blank.then(|| bytes.to_vec())
            }
            _ => None,
        };
        Ok(Room { tree, end, padding })
    }

    /// The headers of all blocks. Fails where the file has something that is not a block.
    pub(super) fn chain(&self) -> Result<Chain> {
        let layout = self.file.layout();
        let headers = self.file.blocks().iter().map(|block| Ok(*block?.header()?));
        let headers = headers.collect::<Result<Vec<BlockHeader>>>()?;
        let room_end = layout.first_block.unwrap_or(layout.file_len);
        let end = headers.last().map_or(room_end, |last| {
            last.next_offset().unwrap_or(layout.file_len).min(layout.file_len)
        });
        let is_index = layout.index.as_ref().is_some_and(|index| index.offset == end);
        if !is_index && self.has_content(end)? {
            let message = "what follows the last block is not a block: repair the file first";
            return Err(Error::unwritable(format!("offset {end}: {message}")));
        }
        let units = headers.iter().map(|header| 1 << header.data_start().trailing_zeros().min(12));
        let align = units.min().unwrap_or(ALIGN).min(MAX_ALIGN);
        Ok(Chain { headers, end, align })
    }

    /// Whether the file has something else than zeros from a place on.
    fn has_content(&self, from: u64) -> Result<bool> {
        let source = self.file.source();
        for piece in source.pieces(from..source.len(), source.preferred_piece()) {
            if piece?.iter().any(|byte| *byte != 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of blocks that the file will have if it has `count` now. Dropped blocks at the end are
    /// left out; an empty block takes the place of any other.
    pub(super) fn block_count(&self, count: usize) -> usize {
        let after_new = self.blocks.keys().next_back().map_or(0, |last| last + 1);
        let is_kept = |number: &usize| !self.dropped.contains(number);
        let after_kept = (0..count).rev().find(is_kept).map_or(0, |last| last + 1);
        after_kept.max(after_new)
    }

    /// Whether blocks are added, replaced or removed.
    pub(super) fn changes_blocks(&self) -> bool {
        !self.blocks.is_empty() || !self.dropped.is_empty()
    }

    /// The tree and the bytes after it in the room of the old one, where it fits and blocks follow.
    pub(super) fn in_room(&self, room: &Room) -> Option<Vec<u8>> {
        fill(self.text().text().as_bytes(), room)
    }

    /// The same with the bytes that differ within one page: where a text becomes shorter or longer,
    /// blanks at the end of the line make up for it.
    pub(super) fn in_one_page(&self, room: &Room) -> Result<Option<(u64, Vec<u8>)>> {
        let len = usize::try_from(room.end - room.tree.start).unwrap_or(usize::MAX);
        let old = self.file.source().bytes_at(room.tree.start, len)?;
        let fits = |text: &str| {
            let new = if self.file.layout().first_block.is_some() {
                fill(text.as_bytes(), room)?
            } else {
                // Nothing holds the end of the file in its place.
                let rest = old.get(self.before.len()..)?;
                (text.len() == self.before.len()).then(|| [text.as_bytes(), rest].concat())?
            };
            let (start, end) = differing(&old, &new)?;
            let at = room.tree.start + start as u64;
            let last = room.tree.start + end as u64 - 1;
            (at / PAGE == last / PAGE).then(|| (at, new[start..end].to_vec()))
        };
        if let Some(found) = fits(self.text().text()) {
            return Ok(Some(found));
        }
        let Some(text) = self.of_the_same_length() else { return Ok(None) };
        Ok(fits(&text).filter(|_| self.means_the_same(text)))
    }

    /// The text with more or fewer blanks at the end of the line where it differs from the old one, or
    /// before its comment, if it then has the same length. `None` if lines were added or removed: no line
    /// of blanks is left in their place.
    fn of_the_same_length(&self) -> Option<String> {
        let (old, new) = (self.before, self.text().text());
        let (start, end) = differing(old.as_bytes(), new.as_bytes())?;
        let old_end = (old.len() + end).checked_sub(new.len())?;
        let breaks = |text: &str, end| Some(text.get(start..end)?.matches('\n').count());
        if breaks(old, old_end)? != breaks(new, end)? {
            return None;
        }
        // The line ends, or has a comment.
        let rest = new.get(end..)?;
        let rest = rest.get(..rest.find(['\n', '\r'])?)?;
        let at = end + rest.find(" #").unwrap_or(rest.len());
        let (line, after) = new.split_at_checked(at)?;
        let mut text = line.to_owned();
        if let Some(more) = new.len().checked_sub(old.len()) {
            let blanks = line.len() - line.trim_end_matches(' ').len();
            if blanks < more || at - more < end {
                return None;
            }
            text.truncate(at - more);
        } else {
            text.push_str(&" ".repeat(old.len() - new.len()));
        }
        text.push_str(after);
        Some(text)
    }

    /// Whether another text has the same tree.
    fn means_the_same(&self, text: String) -> bool {
        let Ok(other) = self.text().parse_like(text) else { return false };
        let (root, found) = (self.text().document().root(), other.document().root());
        let expected = Expectation { container: root.id(), children: nodes(root) };
        is_as_expected(root, found, &expected)
    }
}

/// The arrays of a tree that are in blocks, with the blocks that they name.
pub(super) fn sources(root: YamlNode<'_>) -> impl Iterator<Item = (YamlNode<'_>, BlockRef)> {
    root.document().nodes().filter_map(|node| Some((node, node.block_ref()?)))
}

/// A tree in a room of which the end stays, if it fits.
fn fill(text: &[u8], room: &Room) -> Option<Vec<u8>> {
    let padding = room.padding.as_ref()?;
    let len = usize::try_from(room.end - room.tree.start).ok()?;
    let missing = len.checked_sub(text.len())?;
    let mut out = text.to_vec();
    if missing <= padding.len() {
        out.extend_from_slice(&padding[padding.len() - missing..]);
    } else {
        let blank = if padding.first() == Some(&0) { 0 } else { b' ' };
        out.resize(text.len() + missing - padding.len(), blank);
        if padding.is_empty() {
            if let Some(last) = out.last_mut() {
                *last = b'\n';
            }
        }
        out.extend_from_slice(padding);
    }
    Some(out)
}

/// The first and the end of what differs in the second of two texts.
pub(super) fn differing(old: &[u8], new: &[u8]) -> Option<(usize, usize)> {
    let start = old.iter().zip(new).position(|(old, new)| old != new);
    let start = start.or_else(|| (old.len() != new.len()).then(|| old.len().min(new.len())))?;
    let (old, rest) = (&old[start..], &new[start..]);
    let same = old.iter().rev().zip(rest.iter().rev()).take_while(|(old, new)| old == new);
    Some((start, new.len() - same.count()))
}
