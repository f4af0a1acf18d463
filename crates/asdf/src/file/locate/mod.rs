//! Locating the parts of a file with few reads.
//!
//! 1. The head, which is initially 16 to 64 KiB long. Further reads, each of which usually doubles
//!    its length, extend it until the end of the tree is known. If the first block begins after the
//!    head, the bytes before the block are searched.
//! 2. The last 16 to 64 KiB, which may contain the block index. If they could be the end of a long
//!    index, more bytes before them are read.
//! 3. The header of the last block in the index.
//!
//! No other bytes of an intact file are read while opening it, however large it is, unless it is opened
//! strictly or salvaged. The blocks between the first and the last are discovered on demand by
//! [`BlockStore`](crate::file::blocks::BlockStore).

mod cached_source;
mod drift;
mod first_block;
mod found_block;
mod header_reader;
mod index;
pub(crate) mod numbering;
mod read_ahead;
mod salvage;
#[cfg(test)]
pub(crate) mod test_file;
mod tree;

use binio::ReadAt;
use bytes::Bytes;

use crate::diagnostic::{Code, Reports};
use crate::error::{BlockError, Error, Result};
use crate::layout::head::{self, Content, Head};
use crate::layout::index::IndexError;
use crate::layout::{IndexText, Layout};
use crate::options::{OpenOptions, Strictness};
use first_block::Candidates;

pub(crate) use cached_source::CachedSource;
pub(crate) use drift::DriftedBlocks;
pub(crate) use found_block::{FoundBlock, HeaderState};
pub(crate) use header_reader::HeaderReader;
pub(crate) use index::{Index, is_padding};

/// Maximum total length in bytes of the header and the comments.
const MAX_HEAD: u64 = 16 << 20;

/// The parts of a file.
pub(crate) struct FileParts {
    pub(crate) layout: Layout,
    pub(crate) tree_text: Bytes,
    pub(crate) blocks: KnownBlocks,
}

/// The blocks that are known after locating the parts of a file.
pub(crate) enum KnownBlocks {
    /// All offsets are known from the index.
    Indexed { offsets: Vec<u64>, first: HeaderState, last: HeaderState, index_offset: u64 },
    /// Only the first block is known; further blocks are found by following the headers.
    From { first: FoundBlock, rejected: Option<RejectedIndex> },
    /// All blocks are known. Numbers from `certain` on may be wrong.
    All { blocks: Vec<FoundBlock>, certain: usize, rejected: Option<RejectedIndex> },
}

/// An index that is not used, because it is not a list of offsets, is too long, or does not agree with the blocks.
#[derive(Clone, Debug)]
pub(crate) struct RejectedIndex {
    pub(crate) offset: u64,
    /// The listed offsets, or `None` if the index is not a list of offsets or exceeds the limit on items.
    pub(crate) entries: Option<Vec<u64>>,
    /// The code of the diagnostic that reported this index.
    pub(crate) code: Code,
}

impl RejectedIndex {
    /// Reports an index that will not be used.
    pub(crate) fn report(
        offset: u64,
        entries: Result<Vec<u64>, IndexError>,
        reports: &Reports,
    ) -> Self {
        let (code, message) = match &entries {
            Err(IndexError::NotAList) => {
                (Code::IndexUnparsable, "the block index is not a list of offsets".to_owned())
            }
            Err(IndexError::TooLong(limit)) => (
                Code::IndexUnparsable,
                format!("the block index exceeds the limit of {limit} entries, so it is not used"),
            ),
            Ok(_) => {
                (Code::IndexStale, "the block index does not agree with the blocks".to_owned())
            }
        };
        reports.report(code, offset, message);
        Self { offset, entries: entries.ok(), code }
    }
}

/// Locates the parts of a file: header line, comments, tree, first block and index.
pub(crate) fn locate(
    source: &mut CachedSource,
    options: &OpenOptions,
    reports: &Reports,
) -> Result<FileParts> {
    let limits = &options.limits;
    let head = read_head(source, options.strictness)?;
    reports.extend(head.diagnostics);
    let start = head.len as u64;
    let tree = match head.content {
        Content::Tree => Some(start..tree::find_end(source, start, limits, reports)?),
        Content::Block | Content::Nothing => None,
    };
    let content_end = tree.as_ref().map_or(start, |tree| tree.end);
    let tree_text = tree.clone().map(|tree| source.owned_head(tree)).unwrap_or_default();
    let mut layout = Layout {
        file_len: source.len(),
        format_version: head.format_version,
        standard_version: head.standard_version,
        comments: head.comments,
        tree,
        tree_line: head.line,
        first_block: None,
        index: None,
    };
    let candidates = match head.content {
        Content::Nothing => Candidates::default(),
        _ => Candidates::search(content_end, HeaderReader { source, limits, reports })?,
    };
    let index = match candidates.first_magic() {
        Some(magic) if !candidates.reaches_the_end(source.len()) => {
            Index::find(source, magic, limits)?
        }
        _ => None,
    };
    let first = candidates.choose(index.as_ref().and_then(Index::first_listed), reports);
    let reader = HeaderReader { source, limits, reports };
    let mut blocks = match first {
        None => KnownBlocks::All { blocks: Vec::new(), certain: 0, rejected: None },
        Some(first) => {
            let lost = match &index {
                Some(index) => index.lost_first(content_end, first.offset, reader)?,
                None => None,
            };
            layout.first_block = Some(lost.unwrap_or(first.offset));
            reader.judge(&first);
            known_blocks(lost, first, index, &mut layout, reader)?
        }
    };
    if options.strictness == Strictness::Salvage {
        let from = layout.tree.as_ref().map_or(0, |tree| tree.end);
        blocks = salvage(blocks, from, reader)?;
    }
    Ok(FileParts { layout, tree_text, blocks })
}

/// Reads the header and the comments. Fails if they are longer than [`MAX_HEAD`], unless the file
/// is being salvaged.
fn read_head(source: &mut CachedSource, strictness: Strictness) -> Result<Head> {
    loop {
        if !source.is_complete() {
            source.grow_head()?;
        }
        let text = source.head(0..MAX_HEAD);
        let is_capped = (text.len() as u64) < source.head_len();
        let ends_here =
            if is_capped { strictness == Strictness::Salvage } else { source.is_complete() };
        if let Some(head) = head::parse(&text, ends_here)? {
            return Ok(head);
        }
        if is_capped {
            let what = "bytes before the tree and the blocks";
            return Err(Error::limit(what, MAX_HEAD, MAX_HEAD + 1));
        }
    }
}

/// Returns the blocks known after locating the first block, using the index if it agrees with the
/// blocks. `lost` is the offset of an earlier block that is only known from the index.
fn known_blocks(
    lost: Option<u64>,
    first: FoundBlock,
    index: Option<Index>,
    layout: &mut Layout,
    reader: HeaderReader<'_>,
) -> Result<KnownBlocks> {
    let Some(mut index) = index else { return Ok(KnownBlocks::From { first, rejected: None }) };
    let lost = match (lost, &mut index.entries) {
        (Some(lost), Ok(entries)) => {
            entries.remove(0);
            let error = Box::new(BlockError::Magic { offset: lost });
            Some(FoundBlock { offset: lost, header: HeaderState::Bad(error) })
        }
        _ => None,
    };
    let checked = index.check(&first, reader)?;
    let Index { offset, mut entries } = index;
    if let (Some(lost), Ok(entries)) = (&lost, &mut entries) {
        entries.insert(0, lost.offset);
    }
    let listed = entries.as_ref().ok().map(Vec::len);
    layout.index = Some(IndexText { offset, entries: listed, accepted: checked.is_some() });
    Ok(match (entries, checked) {
        (Ok(offsets), Some((first, last))) => {
            let first = match lost {
                Some(lost) => {
                    reader.judge(&lost);
                    lost.header
                }
                None => first,
            };
            KnownBlocks::Indexed { offsets, first, last, index_offset: offset }
        }
        (entries, _) => {
            let rejected = Some(RejectedIndex::report(offset, entries, reader.reports));
            KnownBlocks::From { first, rejected }
        }
    })
}

/// Finds the blocks of a damaged file. The index is only used if blocks seem to be missing or displaced.
fn salvage(blocks: KnownBlocks, from: u64, reader: HeaderReader<'_>) -> Result<KnownBlocks> {
    let (first, listed, rejected) = match blocks {
        KnownBlocks::Indexed { offsets, first, .. } => {
            let first = offsets.first().map(|&offset| FoundBlock { offset, header: first });
            (first, Some(offsets), None)
        }
        KnownBlocks::From { first, rejected } => {
            (Some(first), rejected.as_ref().and_then(|index| index.entries.clone()), rejected)
        }
        KnownBlocks::All { rejected, .. } => (None, None, rejected),
    };
    let found = salvage::find_blocks(from, first, listed.as_deref(), reader)?;
    let rejected = rejected.filter(|index| {
        if found.by_index {
            reader.reports.retract(index.code, index.offset);
        }
        !found.by_index
    });
    Ok(KnownBlocks::All { blocks: found.blocks, certain: found.certain, rejected })
}

#[cfg(test)]
mod tests;
