//! Elements from the data into memory, side by side in the order of a view's axes.
//!
//! The data are gone through from front to back, whatever the order of the axes: each Blosc block
//! that has elements is decoded once, the others not at all, and only one is kept.

use std::ops::Range;

use binio::blosc::Scratch;
use bytes::Bytes;

use crate::array::view::View;
use crate::error::{Error, ErrorKind, Result};
use crate::{Reader, UnpackOptions, chunk};

/// A run of bytes from which on it is decoded over threads.
const PARALLEL: usize = 4 << 20;

/// Reads parts of the data, which are best asked for from front to back.
pub(crate) struct Cursor<'r> {
    file: &'r Reader,
    /// The chunk that was used last, and its Blosc buffer.
    chunk: Option<(usize, Bytes)>,
    /// The bytes of the data that are at the beginning of `data`.
    block: Range<u64>,
    data: Vec<u8>,
    scratch: Scratch,
}

/// An axis on which elements are copied.
#[derive(Clone, Copy)]
struct Step {
    count: u64,
    /// Bytes from one element to the next in the data.
    from: u64,
    /// The same in memory; elements that lie backwards in the data have negative steps here.
    to: i64,
}

impl<'r> Cursor<'r> {
    pub(crate) fn new(file: &'r Reader) -> Self {
        let scratch = Scratch::default();
        Self { file, chunk: None, block: 0..0, data: Vec::new(), scratch }
    }

    /// Copies the elements of a view to `out`, which has just their size.
    pub(crate) fn gather(&mut self, view: &View, out: &mut [u8]) -> Result<()> {
        if view.is_empty() {
            return Ok(());
        }
        let (mut from, mut to) = (view.offset, 0);
        let mut steps = Vec::with_capacity(view.axes.len());
        let mut width = i64::try_from(view.itemsize).unwrap_or(i64::MAX);
        for axis in view.axes.iter().rev() {
            let mut step = Step { count: axis.count, from: axis.stride.unsigned_abs(), to: width };
            width = width.saturating_mul(i64::try_from(axis.count).unwrap_or(i64::MAX));
            if axis.stride < 0 {
                let last = axis.count - 1;
                from = from.wrapping_sub(last.wrapping_mul(step.from));
                to += step.to.wrapping_mul(i64::try_from(last).unwrap_or(0));
                step.to = -step.to;
            }
            if step.count > 1 {
                steps.push(step);
            }
        }
        steps.sort_by_key(|step| step.from);
        // Axes that are side by side on both sides are one run.
        let mut run = view.itemsize;
        let is_run = |step: &Step, run: u64| step.from == run && i64::try_from(run) == Ok(step.to);
        while let Some(step) = steps.first().filter(|step| is_run(step, run)) {
            run *= step.count;
            steps.remove(0);
        }
        let run = usize::try_from(run).unwrap_or(usize::MAX);
        self.copy(&steps, run, from, to, out)
    }

    /// Copies runs: the last of the steps is the outermost.
    fn copy(
        &mut self,
        steps: &[Step],
        run: usize,
        mut from: u64,
        mut to: i64,
        out: &mut [u8],
    ) -> Result<()> {
        let Some((outer, inner)) = steps.split_last() else {
            let start = usize::try_from(to).unwrap_or(usize::MAX);
            let room = out.get_mut(start..).and_then(|room| room.get_mut(..run));
            let room = room.ok_or_else(|| Error::new(past(from, self.file.len())))?;
            return self.read(from, room);
        };
        for _ in 0..outer.count {
            self.copy(inner, run, from, to, out)?;
            // Past the last one the sums are not used.
            from = from.wrapping_add(outer.from);
            to = to.wrapping_add(outer.to);
        }
        Ok(())
    }

    /// Fills `out` with the data from `at` on.
    fn read(&mut self, mut at: u64, mut out: &mut [u8]) -> Result<()> {
        if out.len() >= PARALLEL {
            return self.file.read_into(at, out, &UnpackOptions::new());
        }
        while !out.is_empty() {
            if !self.block.contains(&at) {
                let done = self.load(at, out)?;
                at += done as u64;
                out = out.split_at_mut(done).1;
                continue;
            }
            let start = usize::try_from(at - self.block.start).unwrap_or(usize::MAX);
            let len = usize::try_from(self.block.end - at).unwrap_or(usize::MAX).min(out.len());
            let (place, rest) = out.split_at_mut(len);
            place.copy_from_slice(&self.data[start..][..len]);
            at += len as u64;
            out = rest;
        }
        Ok(())
    }

    /// Decodes the block that has the byte at `at`: to the beginning of `out` if it takes the whole
    /// block, and says how many bytes that is; else to the cursor, and 0.
    fn load(&mut self, at: u64, out: &mut [u8]) -> Result<usize> {
        let len = self.file.len();
        let index = self.file.layout().chunk_at(at).ok_or_else(|| Error::new(past(at, len)))?;
        let entry = self.file.chunk(index)?;
        let (number, offset, chunk_start) = (index as u64, entry.offset, entry.plain_offset());
        let bytes = match &self.chunk {
            Some((held, bytes)) if *held == index => bytes,
            _ => {
                let bytes = self.file.chunk_bytes(index)?;
                &self.chunk.insert((index, bytes)).1
            }
        };
        let buffer = chunk::parse(number, offset, bytes)?;
        let corrupt = |error| chunk::corrupt(number, offset, bytes, error);
        let block_len = buffer.block_range(0).map_or(1, |block| block.len() as u64);
        let block = u32::try_from((at - chunk_start) / block_len).ok();
        // There is one, unless the source changed after it was opened.
        let range = block.and_then(|block| buffer.block_range(block));
        let range = range.ok_or_else(|| Error::new(past(at, len)))?;
        let start = chunk_start + range.start as u64;
        if at == start && out.len() >= range.len() {
            let place = out.split_at_mut(range.len()).0;
            buffer.decode_range_into(range.clone(), place, &mut self.scratch).map_err(corrupt)?;
            return Ok(range.len());
        }
        self.block = 0..0;
        if self.data.len() < range.len() {
            self.data = Vec::new();
            self.data = self.file.room_for(range.len() as u64)?;
        }
        let place = &mut self.data[..range.len()];
        buffer.decode_range_into(range.clone(), place, &mut self.scratch).map_err(corrupt)?;
        self.block = start..start + range.len() as u64;
        Ok(0)
    }
}

fn past(start: u64, len: u64) -> ErrorKind {
    ErrorKind::OutOfRange { start, end: start.saturating_add(1), len }
}
