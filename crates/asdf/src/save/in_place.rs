//! A change of the file itself: one write, or several under a journal.
//!
//! Readers of this crate see the old content through the journal as long as it exists; the next
//! command that opens the file for writing undoes what was not finished.

use std::io::{self, Seek, SeekFrom, Write};

use binio::ReadAt as _;
use binio::write::{Change, ChangePlan, Storage, WriteAt};

use super::blocks::Output;
use super::draft::{Draft, differing};
use super::plan::NewBlock;
use super::rewrite::new_block;
use crate::error::{Error, Result};
use crate::layout::{BlockHeader, index};

/// The longest part of the tree that identifies the file although it changes.
const MAX_MARKER: usize = 4096;

/// What is written where.
pub(super) struct InPlace<'a> {
    /// The bytes of the tree that differ, and their place.
    tree: Option<(u64, Vec<u8>)>,
    /// Blocks after the last one.
    added: Vec<&'a NewBlock>,
    /// Where they begin.
    end: u64,
    align: u64,
    /// Places of the blocks that stay; with them an index follows the new ones.
    offsets: Option<Vec<u64>>,
    /// A header that claims more than the file has: its place, and what it claims then.
    claim: Option<(u64, u64)>,
    /// Length of the file if no block follows the tree.
    len: Option<u64>,
    plan: ChangePlan,
}

/// Writes bytes within one page.
pub(super) fn patch(storage: &mut dyn Storage, offset: u64, bytes: &[u8]) -> Result<()> {
    storage.file_mut().write_all_at(bytes, offset)?;
    Ok(storage.file_mut().sync()?)
}

impl<'a> InPlace<'a> {
    /// Plans the change. Fails if the tree does not fit its room.
    pub(super) fn new(draft: &'a Draft<'a>) -> Result<Self> {
        let layout = draft.file.layout();
        let room = draft.room()?;
        let source = draft.file.source();
        let chain = if draft.blocks.is_empty() { None } else { Some(draft.chain()?) };
        let has_blocks = layout.first_block.is_some();
        let mut len = None;
        let new = if has_blocks {
            draft.in_room(&room).ok_or_else(|| {
                let (has, needs) = (room.end - room.tree.start, draft.text().text().len());
                let message = format!(
                    "the tree needs {needs} bytes and has room for {has} before the first block: \
                     only a new file has room for it"
                );
                Error::unwritable(message)
            })?
        } else {
            let mut new = draft.text().text().as_bytes().to_vec();
            let before = room.tree.start.saturating_sub(1);
            if layout.tree.is_none() && source.bytes_at(before, 1)?[..] != *b"\n" {
                // The header line of a file without a tree may have no line end.
                new.insert(0, b'\n');
            }
            if chain.is_some() && room.padding.is_none() {
                let message = "text follows the tree, where a block would have its place";
                return Err(Error::unwritable(message));
            }
            if chain.is_none() {
                let rest = usize::try_from(room.end - room.tree.end).unwrap_or(usize::MAX);
                new.extend_from_slice(&source.bytes_at(room.tree.end, rest)?);
                len = Some(room.tree.start + new.len() as u64);
            }
            new
        };
        let old_len = usize::try_from(room.end - room.tree.start).unwrap_or(usize::MAX);
        let old = source.bytes_at(room.tree.start, old_len)?;
        let tree = differing(&old, &new).map(|(start, end)| {
            let end = if old.len() == new.len() { end } else { new.len() };
            (room.tree.start + start as u64, new[start..end].to_vec())
        });
        let first = tree.as_ref().map_or(room.tree.start, |(at, _)| *at);
        let untouched = match (&chain, has_blocks) {
            (None, true) => room.end..layout.file_len,
            (Some(chain), true) => {
                let last = chain.headers.last();
                last.map_or(0..first, |last| last.data_start().min(chain.end)..chain.end)
            }
            (_, false) => 0..first,
        };
        let untouched = if untouched.is_empty() { 0..first } else { untouched };
        let mut plan = ChangePlan::new(untouched);
        if let Some((at, bytes)) = &tree {
            let within = old_len.saturating_sub(usize::try_from(at - room.tree.start).unwrap_or(0));
            let marker = bytes.get(..bytes.len().min(within).min(MAX_MARKER)).unwrap_or_default();
            plan = plan.marker(*at, marker).overwrite(*at..*at + bytes.len() as u64);
        }
        if len.is_some() {
            plan = plan.overwrite(first..layout.file_len);
        }
        let mut change = Self {
            tree,
            added: draft.blocks.values().collect(),
            end: room.tree.start + new.len() as u64,
            align: 1,
            offsets: None,
            claim: None,
            len,
            plan,
        };
        if let Some(chain) = chain {
            change.align = chain.align;
            if let Some(last) = chain.headers.last() {
                change.end = chain.end;
                if last.next_offset() != Some(chain.end) {
                    let at = last.offset + BlockHeader::ALLOCATED_SIZE_OFFSET;
                    change.claim = Some((at, chain.end.saturating_sub(last.data_start())));
                    change.plan = change.plan.overwrite(at..at + 8);
                }
            }
            change.plan = change.plan.overwrite(change.end..layout.file_len);
            if chain.headers.is_empty() || layout.index.is_some() {
                change.offsets = Some(chain.headers.iter().map(|header| header.offset).collect());
            }
        }
        Ok(change)
    }

    /// Changes the file, and returns its length. A failure undoes what was done.
    pub(super) fn apply(&self, storage: &mut dyn Storage) -> Result<u64> {
        let mut change = Change::begin(storage, &self.plan)?;
        if !self.added.is_empty() {
            let mut offsets = self.offsets.clone();
            let at = At { target: &mut change, position: self.end };
            let mut out = Output::at(at, self.end);
            for block in &self.added {
                if let Some(offsets) = &mut offsets {
                    offsets.push(out.position());
                }
                new_block(&mut out, block, self.align, None)?;
            }
            if let Some(offsets) = offsets {
                out.put(index::to_text(&offsets).as_bytes())?;
            }
            let end = out.position();
            out.finish()?;
            change.set_len(end)?;
        }
        if let Some((at, size)) = self.claim {
            change.write_all_at(&size.to_be_bytes(), at)?;
        }
        if let Some((at, bytes)) = &self.tree {
            change.write_all_at(bytes, *at)?;
        }
        if let Some(len) = self.len {
            change.set_len(len)?;
        }
        let len = change.len();
        change.commit()?;
        Ok(len)
    }
}

/// Writes to a target from a position on.
struct At<'t> {
    target: &'t mut dyn WriteAt,
    position: u64,
}

impl Write for At<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.target.write_all_at(bytes, self.position)?;
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for At<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.target.len().checked_add_signed(by),
        };
        self.position = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
