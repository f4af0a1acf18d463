//! What a file will consist of, part by part, and writing it.
//!
//! Every file that this crate writes goes through a [`FilePlan`]:
//!
//! ```text
//! new file    | bytes: header line | tree | padding | block | block | index |
//! edited      | copy: header line | bytes: tree | copy: padding and blocks | block | index |
//! repaired    | bytes: header line, tree | header, copy: block 0 | header, copy: block 1 | index |
//! ```
//!
//! A [`Sink`] carries it out: an [output of any kind](super::output), or a [change in
//! place](super::in_place), for which copying a range to where it already is costs nothing.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;
use std::sync::mpsc::channel;

use super::block::{ArrayData, BlockOptions, Checksums, Content, Encoded, SMALL};
use super::numbered_tree::NumberedTree;
use super::output::{Output, Sink};
use crate::codec::encode::{beside, map, threads, with_threads};
use crate::error::Result;
use crate::layout::{BlockHeader, index};

/// Data of small blocks that is encoded at a time, for each thread and at most.
const BATCH_OF_THREAD: u64 = 1 << 20;
const MAX_BATCH: u64 = 16 << 20;

/// A part of a file.
pub(super) enum Part<'a> {
    Bytes(Cow<'a, [u8]>),
    /// A range of the existing file, with the offsets there of the blocks that begin in it.
    Copy {
        range: Range<u64>,
        blocks: Vec<u64>,
    },
    Tree(&'a NumberedTree<'a>),
    /// This many bytes: blanks, and a line end.
    Padding(u64),
    /// The complete header of a block.
    Header(Vec<u8>),
    /// A block, to be encoded. If `next` is given, zeros follow it until the offset is congruent to
    /// `next` modulo the alignment, so that blocks that are copied after it stay aligned.
    Block {
        content: Content<'a>,
        next: Option<u64>,
    },
    /// The index of all blocks before it, if there are any.
    Index,
}

/// The parts of a file in their order.
pub(super) struct FilePlan<'a> {
    pub(super) parts: Vec<Part<'a>>,
    pub(super) block_options: BlockOptions,
}

/// A file that was written.
pub(super) struct Written {
    pub(super) len: u64,
    /// Offsets of all blocks.
    pub(super) blocks: Vec<u64>,
}

impl<'a> FilePlan<'a> {
    pub(super) fn new(block_options: BlockOptions) -> Self {
        Self { parts: Vec::new(), block_options }
    }

    pub(super) fn bytes(&mut self, bytes: impl Into<Cow<'a, [u8]>>) {
        self.parts.push(Part::Bytes(bytes.into()));
    }

    /// Adds a range of the existing file in which no block begins.
    pub(super) fn copy(&mut self, range: Range<u64>) {
        self.copy_blocks(range, Vec::new());
    }

    /// Adds a range of the existing file in which blocks begin at these offsets. If it continues the
    /// range before, both become one.
    pub(super) fn copy_blocks(&mut self, range: Range<u64>, blocks: Vec<u64>) {
        match self.parts.last_mut() {
            Some(Part::Copy { range: last, blocks: known }) if last.end == range.start => {
                last.end = range.end;
                known.extend(blocks);
            }
            _ if range.is_empty() => {}
            _ => self.parts.push(Part::Copy { range, blocks }),
        }
    }

    pub(super) fn block(&mut self, content: Content<'a>) {
        self.parts.push(Part::Block { content, next: None });
    }

    /// Returns the length of the parts so far, as far as it is known before they are written: trees
    /// and blocks do not count.
    pub(super) fn known_len(&self) -> u64 {
        self.parts.iter().filter_map(Part::len).sum()
    }

    /// Writes the file at the current position of the sink.
    ///
    /// While a batch of parts is written, the small blocks of the next batch are encoded on other threads.
    pub(super) fn write(&self, sink: impl Sink) -> Result<Written> {
        let mut file = Writing { out: Output::new(sink), blocks: Vec::new() };
        let is_before_blocks = |part: &&Part<'_>| !matches!(part, Part::Block { .. });
        let head = self.parts.iter().take_while(is_before_blocks).count();
        let (mut batch, mut rest) = self.parts.split_at(head);
        let mut encoded: Vec<Option<Encoded>> = iter::repeat_with(|| None).take(head).collect();
        let (computed, digests) = channel();
        with_threads(|spawn| -> Result<()> {
            let checksums = spawn.map(|spawn| Checksums { spawn, computed });
            loop {
                let (next, after) = rest.split_at(batch_len(rest));
                let mut encoded_next = Ok(Vec::new());
                beside(
                    || encoded_next = self.encode_small(next),
                    || {
                        let mut parts = batch.iter().zip(encoded);
                        parts.try_for_each(|(part, encoded)| {
                            file.part(part, self.block_options, encoded, checksums.as_ref())
                        })
                    },
                )?;
                if next.is_empty() {
                    return Ok(());
                }
                (batch, rest, encoded) = (next, after, encoded_next?);
            }
        })?;
        for (offset, digest) in digests {
            file.out.patch(offset, digest.as_bytes())?;
        }
        let len = file.out.position();
        file.out.finish()?;
        Ok(Written { len, blocks: file.blocks })
    }

    /// Encodes the small blocks of a batch, over threads.
    fn encode_small(&self, batch: &[Part<'_>]) -> Result<Vec<Option<Encoded>>> {
        map(batch.iter().collect(), |part| match part {
            Part::Block { content, .. } => content.encode_small(self.block_options),
            _ => Ok(None),
        })
    }
}

impl Part<'_> {
    /// The length of the part, if it is known before the part is written.
    pub(super) fn len(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Header(bytes) => Some(bytes.len() as u64),
            Self::Copy { range, .. } => Some(range.end - range.start),
            Self::Padding(len) => Some(*len),
            Self::Tree(_) | Self::Block { .. } | Self::Index => None,
        }
    }

    /// The length of the data of a block that is small enough to be encoded in memory.
    fn small_len(&self) -> u64 {
        match self {
            Self::Block { content: Content::Array(ArrayData { data, .. }), .. } => {
                Some(data.len()).filter(|len| *len <= SMALL).unwrap_or(0)
            }
            _ => 0,
        }
    }
}

/// The number of parts whose small blocks are encoded at a time.
fn batch_len(parts: &[Part<'_>]) -> usize {
    let limit = MAX_BATCH.min(BATCH_OF_THREAD * threads() as u64);
    let mut sum = 0;
    let fits = |part: &&Part<'_>| {
        sum += part.small_len();
        sum <= limit
    };
    parts.iter().take_while(fits).count()
}

/// A file that is being written.
struct Writing<S> {
    out: Output<S>,
    blocks: Vec<u64>,
}

impl<S: Sink> Writing<S> {
    fn part(
        &mut self,
        part: &Part<'_>,
        options: BlockOptions,
        encoded: Option<Encoded>,
        checksums: Option<&Checksums<'_>>,
    ) -> Result<()> {
        let offset = self.out.position();
        match part {
            Part::Bytes(bytes) => self.out.put(bytes),
            Part::Copy { range, blocks } => {
                self.blocks.extend(blocks.iter().map(|block| block - range.start + offset));
                self.out.copy(range.clone())
            }
            Part::Tree(tree) => tree.emit(&mut self.out),
            Part::Padding(len) => self.pad(*len),
            Part::Header(bytes) => {
                self.blocks.push(offset);
                self.out.put(bytes)
            }
            Part::Block { content, next } => {
                self.blocks.push(offset);
                let header = content.write(&mut self.out, options, encoded, checksums)?;
                next.map_or(Ok(()), |next| self.fill_up(&header, next, options.align))
            }
            Part::Index if self.blocks.is_empty() => Ok(()),
            Part::Index => self.out.put(index::to_text(&self.blocks).as_bytes()),
        }
    }

    fn pad(&mut self, len: u64) -> Result<()> {
        const BLANKS: [u8; 4096] = [b' '; 4096];
        let Some(mut left) = len.checked_sub(1) else { return Ok(()) };
        while left > 0 {
            let part = left.min(BLANKS.len() as u64);
            self.out.put(&BLANKS[..usize::try_from(part).unwrap_or(0)])?;
            left -= part;
        }
        self.out.put(b"\n")
    }

    /// Adds unused space to a block, until the offset is congruent to `next` modulo `align`.
    fn fill_up(&mut self, header: &BlockHeader, next: u64, align: u64) -> Result<()> {
        let missing = next.wrapping_sub(self.out.position()) & (align - 1);
        if missing == 0 {
            return Ok(());
        }
        self.out.put(&vec![0; usize::try_from(missing).unwrap_or(0)])?;
        let allocated = self.out.position() - header.data_start();
        let field = header.offset + BlockHeader::ALLOCATED_SIZE_OFFSET;
        self.out.patch(field, &allocated.to_be_bytes())
    }
}
