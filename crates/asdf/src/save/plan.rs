//! Planning a file part by part, and writing the file according to the plan.
//!
//! New, edited and repaired files are written from a [`FilePlan`]:
//!
//! ```text
//! new file    | bytes: header line | tree | padding | block | block | index |
//! edited      | copy: header line | bytes: tree, padding | copy: blocks | block | index |
//! repaired    | bytes: header line, tree | copy: padding | header, copy: block 0 | header, copy: block 1 | index |
//! ```
//!
//! The file is written to a [`Sink`]: [any output](super::output), or an [in-place change](super::in_place), which
//! skips ranges that are already at their final offset.

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

/// The maximum total size in bytes, per thread, of the small blocks in a batch.
const BATCH_OF_THREAD: u64 = 1 << 20;
/// The maximum total size in bytes of the small blocks in a batch, for any number of threads.
const MAX_BATCH: u64 = 16 << 20;

/// A part of a file.
pub(super) enum Part<'a> {
    Bytes(Cow<'a, [u8]>),
    /// A range of the existing file, with the offsets of the blocks that begin in it.
    Copy {
        range: Range<u64>,
        blocks: Vec<u64>,
    },
    Tree(&'a NumberedTree<'a>),
    /// Padding with the given length in bytes: spaces, then a line feed.
    Padding(u64),
    /// The complete header of a block.
    Header(Vec<u8>),
    /// A block to encode. If `next` is set, zeros are appended until the offset is congruent to
    /// `next` modulo the alignment, so that the blocks copied after this one stay aligned.
    Block {
        content: Content<'a>,
        next: Option<u64>,
    },
    /// An index of all preceding blocks, which is omitted if there are no blocks.
    Index,
}

/// The parts of a file in order.
pub(super) struct FilePlan<'a> {
    pub(super) parts: Vec<Part<'a>>,
    pub(super) block_options: BlockOptions,
}

/// Properties of a written file.
pub(super) struct Written {
    pub(super) len: u64,
    /// The offset of each block in bytes.
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

    /// Adds a range of the existing file in which blocks begin at the given offsets. Merges it with the
    /// previous range if they are adjacent.
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

    /// Returns the total length in bytes of all parts except the tree, the blocks to encode and the index,
    /// whose lengths are not known before writing.
    pub(super) fn known_len(&self) -> u64 {
        self.parts.iter().filter_map(Part::len).sum()
    }

    /// Writes the file at the current position of the sink.
    ///
    /// While one batch of parts is written, other threads encode the small blocks of the next batch.
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

    /// Encodes the small blocks of a batch in parallel.
    fn encode_small(&self, batch: &[Part<'_>]) -> Result<Vec<Option<Encoded>>> {
        map(batch.iter().collect(), |part| match part {
            Part::Block { content, .. } => content.encode_small(self.block_options),
            _ => Ok(None),
        })
    }
}

impl Part<'_> {
    /// Returns the length of the part in bytes, if it is known before writing.
    pub(super) fn len(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Header(bytes) => Some(bytes.len() as u64),
            Self::Copy { range, .. } => Some(range.end - range.start),
            Self::Padding(len) => Some(*len),
            Self::Tree(_) | Self::Block { .. } | Self::Index => None,
        }
    }

    /// Returns the length of the data in bytes if the part is a small block with a new array, otherwise 0.
    fn small_len(&self) -> u64 {
        match self {
            Self::Block { content: Content::Array(ArrayData { data, .. }), .. } => {
                Some(data.len()).filter(|len| *len <= SMALL).unwrap_or(0)
            }
            _ => 0,
        }
    }
}

/// Returns the number of parts in the next batch.
fn batch_len(parts: &[Part<'_>]) -> usize {
    let limit = MAX_BATCH.min(BATCH_OF_THREAD * threads() as u64);
    let mut sum = 0;
    let fits = |part: &&Part<'_>| {
        sum += part.small_len();
        sum <= limit
    };
    parts.iter().take_while(fits).count()
}

/// The state of a file that is being written.
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

    /// Extends a block with unused space until the offset is congruent to `next` modulo `align`.
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
