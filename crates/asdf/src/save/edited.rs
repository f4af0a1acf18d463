//! The result of edits: the new tree text, the new blocks, and the plan that derives the edited
//! file from the existing one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use binio::ReadAt as _;
use binio::diagnostic::count;

use super::block::{ArrayData, BlockOptions, Content};
use super::options::MAX_PADDING;
use super::plan::{FilePlan, Part};
use crate::asdf::Asdf;
use crate::error::{Error, Result};
use crate::file::blocks::BlockRef;
use crate::layout::BlockHeader;
use crate::value::edit::TreeText;
use crate::yaml::YamlNode;

/// The number of bytes that a file system usually writes as a unit.
pub(super) const PAGE: u64 = 4096;
/// The largest data alignment that an edit preserves, in bytes.
const MAX_ALIGN: u64 = 4096;
/// Data alignment in bytes for a file that has no blocks yet.
const ALIGN: u64 = 64;

/// An existing file together with all edits that have been made to it.
pub(super) struct EditedFile<'a> {
    pub(super) file: &'a Asdf,
    /// The edited tree.
    pub(super) edited: &'a TreeText,
    /// The edited tree without negative block numbers, if they had to be replaced because the
    /// number of blocks changes.
    pub(super) resolved: Option<TreeText>,
    /// The tree text in the existing file.
    pub(super) before: &'a str,
    /// The data of new blocks, by block number.
    pub(super) blocks: &'a BTreeMap<usize, ArrayData>,
    /// Numbers of the blocks in the existing file that no array uses any more.
    pub(super) dropped: BTreeSet<usize>,
    /// Whether the existing file is changed in place, so that blocks keep their offsets.
    pub(super) in_place: bool,
}

/// The tree in the existing file, with the space after it.
pub(super) struct TreeSpace {
    pub(super) tree: Range<u64>,
    /// The padding directly after the tree: spaces, tabs, line breaks and zeros, at most [`MAX_PADDING`] bytes.
    padding: Vec<u8>,
    /// The offset of the first block or, without blocks, the length of the file. `padding` may end
    /// before this offset and be followed by other bytes or more padding.
    end: u64,
}

/// The block headers of a file that contains nothing but zeros or an index after its last block.
struct ContiguousBlocks {
    headers: Vec<BlockHeader>,
    /// The largest alignment in bytes that all blocks share.
    align: u64,
}

impl EditedFile<'_> {
    /// Returns the tree to be written.
    pub(super) fn text(&self) -> &TreeText {
        self.resolved.as_ref().unwrap_or(self.edited)
    }

    pub(super) fn has_changed(&self) -> bool {
        self.text().text() != self.before || self.changes_blocks()
    }

    /// Returns `true` if blocks are added, replaced or removed.
    pub(super) fn changes_blocks(&self) -> bool {
        !self.blocks.is_empty() || !self.dropped.is_empty()
    }

    /// Returns the number of blocks after the edits. `count` is the number before the edits. Unused blocks at
    /// the end are omitted; any other unused block becomes empty.
    pub(super) fn block_count(&self, count: usize) -> usize {
        let after_new = self.blocks.keys().next_back().map_or(0, |last| last + 1);
        let is_kept = |number: &usize| !self.dropped.contains(number);
        let after_kept = (0..count).rev().find(is_kept).map_or(0, |last| last + 1);
        after_kept.max(after_new)
    }

    pub(super) fn space(&self) -> Result<TreeSpace> {
        let layout = self.file.layout();
        let end = layout.first_block.unwrap_or(layout.file_len);
        let tree = layout.tree.clone().unwrap_or(end..end);
        let len = end.saturating_sub(tree.end).min(MAX_PADDING);
        let after = self.file.source().bytes_at(tree.end, usize::try_from(len).unwrap_or(0))?;
        let is_blank = |byte: &&u8| b" \t\r\n\0".contains(byte);
        let padding = after.iter().take_while(is_blank).copied().collect();
        Ok(TreeSpace { tree, padding, end })
    }

    /// Returns the plan of the edited file. Fails if a file with blocks must be changed in place, but
    /// the tree does not fit into the space of the old tree and its padding.
    pub(super) fn plan(&self) -> Result<FilePlan<'_>> {
        let space = self.space()?;
        if self.changes_blocks() {
            self.with_new_blocks(&space)
        } else {
            self.with_same_blocks(&space)
        }
    }

    /// Adds everything before the first block to a plan. If the first block moves, it moves by a
    /// multiple of `align`.
    fn head<'p>(&'p self, plan: &mut FilePlan<'p>, space: &TreeSpace, align: u64) -> Result<()> {
        let layout = self.file.layout();
        plan.copy(0..space.tree.start);
        if layout.tree.is_none() && space.tree.start > 0 {
            // In a file without a tree, the header line may lack a line break, so add one.
            let last = self.file.source().bytes_at(space.tree.start - 1, 1)?;
            if *last != *b"\n" {
                plan.bytes(&b"\n"[..]);
            }
        }
        let text = self.text().text();
        let has_blocks = layout.first_block.is_some();
        if has_blocks {
            if let Some(filled) = self.fits(space).then(|| space.fill(text)).flatten() {
                plan.bytes(filled);
                plan.copy(space.padded().end..space.end);
                return Ok(());
            }
            if self.in_place {
                let Range { start, end } = space.padded();
                let (has, needs) = (end - start, count(text.len(), "byte"));
                return Err(Error::unwritable(format!(
                    "the tree needs {needs}, but only {has} are available, including the padding \
                     after the old tree: write a new file instead of changing this one in place"
                )));
            }
        }
        plan.bytes(text.as_bytes());
        let is_last = !has_blocks && self.blocks.is_empty();
        if is_last || space.padded().end < space.end {
            plan.copy(space.tree.end..space.end);
        }
        if is_last {
            return Ok(());
        }
        if !text.ends_with('\n') {
            plan.bytes(&b"\n"[..]);
        }
        let missing = space.end.wrapping_sub(plan.known_len()) & (align - 1);
        if missing > 0 && has_blocks {
            plan.parts.push(Part::Padding(missing));
        }
        Ok(())
    }

    /// Returns `true` if blocks should keep their offsets when the tree fits before them. Returns
    /// `false` if a new file is written and the edited tree is more than a page shorter, because
    /// keeping the offsets would then require a large amount of padding.
    fn fits(&self, space: &TreeSpace) -> bool {
        let old_len = space.tree.end - space.tree.start;
        self.in_place || old_len.saturating_sub(self.text().text().len() as u64) <= PAGE
    }

    /// Plans a file in which the unchanged blocks follow the new tree. If the blocks move, the
    /// index is rewritten, provided that the old index was correct.
    fn with_same_blocks(&self, space: &TreeSpace) -> Result<FilePlan<'_>> {
        let layout = self.file.layout();
        let align = self.alignment();
        let mut plan = FilePlan::new(BlockOptions { align, checksum: true });
        self.head(&mut plan, space, align)?;
        let Some(first) = layout.first_block else { return Ok(plan) };
        let offsets = self.file.blocks().iter().map(|block| Ok(block?.offset()));
        let offsets = offsets.collect::<Result<Vec<u64>>>()?;
        let has_moved = plan.known_len() != first;
        match layout.index.as_ref().filter(|index| index.accepted && has_moved) {
            Some(index) => {
                plan.copy_blocks(first..index.offset, offsets);
                plan.parts.push(Part::Index);
            }
            None => plan.copy_blocks(first..layout.file_len, offsets),
        }
        Ok(plan)
    }

    /// Returns the largest alignment in bytes that all blocks with readable headers share.
    fn alignment(&self) -> u64 {
        let headers =
            self.file.blocks().iter().filter_map(|block| Some(*block.ok()?.header().ok()?));
        headers.map(|header| alignment_of(&header)).min().unwrap_or(1)
    }

    /// Plans a file whose blocks are copied, added, replaced or removed one by one.
    fn with_new_blocks(&self, space: &TreeSpace) -> Result<FilePlan<'_>> {
        let ContiguousBlocks { headers, align } = self.contiguous_blocks()?;
        let mut plan = FilePlan::new(BlockOptions { align, checksum: true });
        self.head(&mut plan, space, align)?;
        for number in 0..self.block_count(headers.len()) {
            let next = headers.get(number + 1).map(|next| next.offset);
            match (self.blocks.get(&number), headers.get(number)) {
                (Some(array), _) => {
                    plan.parts.push(Part::Block { content: Content::Array(array.clone()), next });
                }
                (None, Some(old)) if !self.dropped.contains(&number) => {
                    self.copy_block(&mut plan, old)?;
                }
                // Keep the number of the unused block, because a block with a higher number is in use.
                (None, _) => plan.parts.push(Part::Block { content: Content::Empty, next }),
            }
        }
        let had_index = headers.is_empty() || self.file.layout().index.is_some();
        let is_last_kept =
            headers.len().checked_sub(1).is_some_and(|last| !self.dropped.contains(&last));
        let is_streamed = is_last_kept && headers.last().is_some_and(BlockHeader::is_streamed);
        if had_index && !is_streamed {
            plan.parts.push(Part::Index);
        }
        Ok(plan)
    }

    /// Adds a copy of a block to a plan. If the block extends past the end of the file, the
    /// allocated size in the copied header is reduced to the bytes that exist.
    fn copy_block(&self, plan: &mut FilePlan<'_>, old: &BlockHeader) -> Result<()> {
        let file_len = self.file.layout().file_len;
        let end = old.next_offset().unwrap_or(file_len);
        if old.is_streamed() || end <= file_len {
            plan.copy_blocks(old.offset..end.min(file_len), vec![old.offset]);
            return Ok(());
        }
        let Some(allocated) = file_len.checked_sub(old.data_start()) else {
            return Err(Error::unwritable(format!(
                "the header of the block at offset {} ends at offset {}, but the file has only \
                 {file_len} bytes",
                old.offset,
                old.data_start(),
            )));
        };
        let field = old.offset + BlockHeader::ALLOCATED_SIZE_OFFSET;
        let allocated = allocated.to_be_bytes();
        plan.copy_blocks(old.offset..field, vec![old.offset]);
        plan.bytes(allocated.to_vec());
        plan.copy(field + allocated.len() as u64..file_len);
        Ok(())
    }

    /// Reads the headers of all blocks. Fails if a header is invalid, or if anything but zeros or
    /// an index follows the last block.
    fn contiguous_blocks(&self) -> Result<ContiguousBlocks> {
        let layout = self.file.layout();
        let headers = self.file.blocks().iter().map(|block| Ok(*block?.header()?));
        let headers = headers.collect::<Result<Vec<BlockHeader>>>()?;
        let tree_end = layout.first_block.unwrap_or(layout.file_len);
        let end = headers.last().map_or(tree_end, |last| {
            last.next_offset().unwrap_or(layout.file_len).min(layout.file_len)
        });
        let is_index = layout.index.as_ref().is_some_and(|index| index.offset == end);
        if !is_index && self.has_content(end)? {
            let message = "the bytes after the last block are neither zeros nor an index: repair \
                           the file first";
            return Err(Error::unwritable(format!("offset {end}: {message}")));
        }
        let align = headers.iter().map(alignment_of).min().unwrap_or(ALIGN);
        Ok(ContiguousBlocks { headers, align })
    }

    /// Returns `true` if the file has a nonzero byte at or after `from`.
    fn has_content(&self, from: u64) -> Result<bool> {
        let source = self.file.source();
        for piece in source.pieces(from..source.len(), source.preferred_piece()) {
            if piece?.iter().any(|byte| *byte != 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl TreeSpace {
    /// Returns the range of the tree and the padding after it.
    pub(super) fn padded(&self) -> Range<u64> {
        self.tree.start..self.tree.end + self.padding.len() as u64
    }

    /// Returns the tree text, padded to fill the space exactly. Returns `None` if it does not fit.
    pub(super) fn fill(&self, text: &str) -> Option<Vec<u8>> {
        let padding = &self.padding;
        let Range { start, end } = self.padded();
        let len = usize::try_from(end - start).ok()?;
        let missing = len.checked_sub(text.len())?;
        let mut out = text.as_bytes().to_vec();
        if let Some(unused) = padding.len().checked_sub(missing) {
            out.extend_from_slice(&padding[unused..]);
        } else {
            let blank = if padding.first() == Some(&0) { 0 } else { b' ' };
            out.resize(len - padding.len(), blank);
            if let Some(last) = out.last_mut().filter(|_| padding.is_empty()) {
                *last = b'\n';
            }
            out.extend_from_slice(padding);
        }
        Some(out)
    }
}

/// Returns the alignment of a block's data in bytes: the largest power of two that divides the offset of the
/// data, but no more than a page.
fn alignment_of(header: &BlockHeader) -> u64 {
    const { assert!(MAX_ALIGN.is_power_of_two()) };
    1 << header.data_start().trailing_zeros().min(MAX_ALIGN.trailing_zeros())
}

/// Returns the nodes of all arrays that are stored in blocks, each with its block reference.
pub(super) fn sources(root: YamlNode<'_>) -> impl Iterator<Item = (YamlNode<'_>, BlockRef)> {
    root.document().nodes().filter_map(|node| Some((node, node.block_ref()?)))
}
