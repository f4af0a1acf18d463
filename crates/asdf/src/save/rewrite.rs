//! The whole file anew: blocks that stay are copied as they are.

use std::io::{Seek, Write};
use std::ops::Range;

use super::WriteOptions;
use super::blocks::{BlockData, Output, write as write_block};
use super::draft::{Chain, Draft, Room};
use super::plan::NewBlock;
use crate::error::{Error, Result};
use crate::layout::{BlockHeader, index};

/// Copies bytes of the old file to the end of the new one.
pub(super) type CopyRange<'c, W> = &'c mut dyn FnMut(&mut W, Range<u64>) -> Result<()>;

/// Copies in pieces, whatever the output is.
pub(super) fn copy_pieces<W: Write>(
    draft: &Draft<'_>,
    out: &mut W,
    range: Range<u64>,
) -> Result<()> {
    let source = draft.file.source();
    source.pieces(range, source.preferred_piece()).try_for_each(|piece| Ok(out.write_all(&piece?)?))
}

impl Draft<'_> {
    /// Writes the file, and returns its length and number of blocks.
    pub(super) fn write<W: Write + Seek>(
        &self,
        out: &mut W,
        copy: CopyRange<'_, W>,
    ) -> Result<(u64, usize)> {
        let mut out = Output::new(out);
        let room = self.room()?;
        let (file_len, count) = if self.changes_blocks() {
            self.with_new_blocks(&mut out, &room, copy)?
        } else {
            self.with_same_blocks(&mut out, &room, copy)?
        };
        out.finish()?;
        Ok((file_len, count))
    }

    /// Writes what comes before the first block. `unit` is that to which its place is aligned.
    fn head<W: Write + Seek>(
        &self,
        out: &mut Output<&mut W>,
        room: &Room,
        unit: Option<u64>,
        copy: CopyRange<'_, W>,
    ) -> Result<()> {
        put(out, 0..room.tree.start, copy)?;
        if self.file.layout().tree.is_none() && room.tree.start > 0 {
            // A head without a line end at the end of the file.
            let last = self.file.source().bytes_at(room.tree.start - 1, 1)?;
            if *last != *b"\n" {
                out.put(b"\n")?;
            }
        }
        let has_blocks = self.file.layout().first_block.is_some();
        if let Some(whole) = self.in_room(room).filter(|_| unit.is_some() && has_blocks) {
            return out.put(&whole);
        }
        out.put(self.text().text().as_bytes())?;
        let Some(unit) = unit else {
            // Nothing follows, so that what was after the tree can stay.
            return put(out, room.tree.end..room.end, copy);
        };
        if room.padding.is_none() {
            put(out, room.tree.end..room.end, copy)?;
        }
        if !self.text().text().ends_with('\n') {
            out.put(b"\n")?;
        }
        let by = room.end.wrapping_sub(out.position()) & (unit - 1);
        if by > 0 && has_blocks {
            let mut blanks = vec![b' '; usize::try_from(by).unwrap_or(0)];
            if let Some(last) = blanks.last_mut() {
                *last = b'\n';
            }
            out.put(&blanks)?;
        }
        Ok(())
    }

    /// All after the tree as it is, only with other numbers in the index.
    fn with_same_blocks<W: Write + Seek>(
        &self,
        out: &mut Output<&mut W>,
        room: &Room,
        copy: CopyRange<'_, W>,
    ) -> Result<(u64, usize)> {
        let layout = self.file.layout();
        let Some(first) = layout.first_block else {
            self.head(out, room, None, copy)?;
            return Ok((out.position(), 0));
        };
        let offsets = self.file.blocks().iter().map(|block| Ok(block?.offset()));
        let offsets = offsets.collect::<Result<Vec<u64>>>()?;
        let fits = self.in_room(room).is_some();
        // A block that cannot be read is copied, too, but nothing is known of its place.
        let align = if fits { 1 } else { self.alignment() };
        self.head(out, room, Some(align), copy)?;
        let moved = |offset: u64, place: u64| offset - first + place;
        let place = out.position();
        match layout.index.as_ref().filter(|index| index.accepted && place != first) {
            Some(index) => {
                put(out, first..index.offset, copy)?;
                let offsets: Vec<u64> = offsets.iter().map(|&at| moved(at, place)).collect();
                out.put(index::to_text(&offsets).as_bytes())?;
            }
            None => put(out, first..layout.file_len, copy)?,
        }
        Ok((out.position(), offsets.len()))
    }

    /// The unit to which the data of all blocks are aligned.
    fn alignment(&self) -> u64 {
        let headers =
            self.file.blocks().iter().filter_map(|block| Some(*block.ok()?.header().ok()?));
        let units = headers.map(|header| 1 << header.data_start().trailing_zeros().min(12));
        units.min().unwrap_or(1)
    }

    /// Block by block.
    fn with_new_blocks<W: Write + Seek>(
        &self,
        out: &mut Output<&mut W>,
        room: &Room,
        copy: CopyRange<'_, W>,
    ) -> Result<(u64, usize)> {
        let chain = self.chain()?;
        let Chain { headers, align, .. } = &chain;
        self.head(out, room, Some(*align), copy)?;
        let is_kept = |number: &usize| !self.dropped.contains(number);
        let count = self.block_count(headers.len());
        let mut offsets = Vec::with_capacity(count);
        for number in 0..count {
            let old = headers.get(number);
            let next = headers.get(number + 1).map(|next| next.offset);
            offsets.push(out.position());
            match (self.blocks.get(&number), old) {
                (Some(block), _) => {
                    new_block(out, block, *align, next)?;
                }
                (None, Some(_)) if !is_kept(&number) => {
                    let offset = out.position();
                    let header = BlockHeader::aligned(offset, [0; 4], *align);
                    out.put(&header.to_bytes())?;
                    room_for_next(out, &header, *align, next)?;
                }
                (None, Some(old)) => self.same_block(out, old, copy)?,
                (None, None) => return Err(Error::unwritable("a block has no data")),
            }
        }
        let had_index = headers.is_empty() || self.file.layout().index.is_some();
        let is_last_kept = headers.len().checked_sub(1).is_some_and(|last| is_kept(&last));
        let is_streamed = is_last_kept && chain.is_streamed();
        if had_index && !is_streamed && !offsets.is_empty() {
            out.put(index::to_text(&offsets).as_bytes())?;
        }
        Ok((out.position(), count))
    }

    /// Copies a block. One that claims more room than the file has claims what there is.
    fn same_block<W: Write + Seek>(
        &self,
        out: &mut Output<&mut W>,
        old: &BlockHeader,
        copy: CopyRange<'_, W>,
    ) -> Result<()> {
        let file_len = self.file.layout().file_len;
        let end = old.next_offset().unwrap_or(file_len);
        if old.is_streamed() || end <= file_len {
            return put(out, old.offset..end.min(file_len), copy);
        }
        let Some(left) = file_len.checked_sub(old.data_start()) else {
            return Err(Error::unwritable(format!(
                "the header of the block at offset {} ends at {}, but the file has only {file_len} bytes",
                old.offset,
                old.data_start(),
            )));
        };
        let offset = out.position();
        put(out, old.offset..file_len, copy)?;
        out.patch(offset + BlockHeader::ALLOCATED_SIZE_OFFSET, &left.to_be_bytes())
    }
}

/// Writes a new block, with room after its data so that what follows stays aligned.
pub(super) fn new_block<W: Write + Seek>(
    out: &mut Output<W>,
    block: &NewBlock,
    align: u64,
    next: Option<u64>,
) -> Result<()> {
    let data = BlockData::New {
        data: &*block.data,
        compression: block.compression,
        itemsize: block.itemsize,
    };
    let options = WriteOptions::new().align(align);
    let offset = write_block(out, &data, None, &options)?;
    room_for_next(out, &BlockHeader::aligned(offset, [0; 4], align), align, next)
}

/// Adds zeros to a block until the next one can follow at a place that is as aligned as its old one.
fn room_for_next<W: Write + Seek>(
    out: &mut Output<W>,
    header: &BlockHeader,
    align: u64,
    next: Option<u64>,
) -> Result<()> {
    let Some(next) = next else { return Ok(()) };
    let by = next.wrapping_sub(out.position()) & (align - 1);
    if by == 0 {
        return Ok(());
    }
    out.put(&vec![0; usize::try_from(by).unwrap_or(0)])?;
    let allocated = out.position() - header.data_start();
    out.patch(header.offset + BlockHeader::ALLOCATED_SIZE_OFFSET, &allocated.to_be_bytes())
}

fn put<W: Write + Seek>(
    out: &mut Output<&mut W>,
    range: Range<u64>,
    copy: CopyRange<'_, W>,
) -> Result<()> {
    let len = range.end.saturating_sub(range.start);
    if len == 0 {
        return Ok(());
    }
    out.put_by(len, |inner| copy(inner, range))
}
