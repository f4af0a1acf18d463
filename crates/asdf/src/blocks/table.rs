//! Which blocks there are: known from the index, or found by walking from header to header, no
//! further than somebody asked.
//!
//! ```text
//! magic | header | data ... allocated | magic | header | data ... | index or end
//!   0   `--------- next_offset -------> 1                         ^ the walk ends here
//! ```

use std::cmp::Ordering;

use binio::{Limits, ReadAt};

use crate::diagnostic::Code;
use crate::diagnostic::Reports;
use crate::error::{BlockError, Error, Result};
use crate::layout::block_header::{BLOCK_HEADER_LEN, BLOCK_MAGIC, BlockHeader};
use crate::layout::index::INDEX_HEADER;

/// How many bytes after the last block are looked at, to tell NUL bytes from others.
const TRAILING_LOOK: u64 = 1 << 20;

/// What the table needs to read more headers.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) source: &'a dyn ReadAt,
    pub(crate) limits: &'a Limits,
    pub(crate) reports: &'a Reports,
}

/// A block and its header, or why it has none.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) header: Header,
}

/// What is known of a header.
#[derive(Clone, Debug)]
pub(crate) enum Header {
    /// The index gives the place; nothing was read there yet.
    Unread,
    Good(BlockHeader),
    Bad(Box<BlockError>),
}

/// The blocks known so far.
#[derive(Debug)]
pub(crate) struct BlockTable {
    entries: Vec<Entry>,
    progress: Progress,
    /// The index that was not used, until the walk shows what is wrong with it.
    rejected: Option<RejectedIndex>,
    first_block: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// An index was accepted, so the number of blocks is known.
    Indexed { index_offset: u64 },
    /// Blocks may follow at this offset.
    Walking { next: u64 },
    /// All blocks are known.
    Complete,
}

/// An index that did not agree with the blocks.
#[derive(Clone, Copy, Debug)]
struct RejectedIndex {
    offset: u64,
    entries: Option<usize>,
    /// As what it was reported.
    code: Code,
}

impl Reading<'_> {
    /// Reads the header at `offset` and reports what is odd about it.
    pub(crate) fn header(&self, offset: u64) -> Result<Header> {
        let file_len = self.source.len();
        let left = usize::try_from(file_len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = [0; BLOCK_HEADER_LEN];
        let bytes = &mut bytes[..left.min(BLOCK_HEADER_LEN)];
        self.source.read_exact_at(bytes, offset.min(file_len))?;
        Ok(match BlockHeader::parse(bytes, offset, file_len) {
            Ok(header) => Header::Good(header),
            Err(error) => Header::Bad(Box::new(error)),
        })
    }

    /// Whether what was read at an entry of an index shows that the index leads astray: no magic
    /// there, or a block that reaches into the next one listed, or one that is followed by a block
    /// which the index passes over.
    pub(crate) fn index_is_wrong(&self, header: &Header, listed_next: Option<u64>) -> Result<bool> {
        let header = match header {
            Header::Good(header) => header,
            Header::Bad(error) => return Ok(matches!(**error, BlockError::Magic { .. })),
            Header::Unread => return Ok(false),
        };
        let Some(listed) = listed_next else { return Ok(false) };
        let Some(next) = header.next_offset().filter(|&next| next <= listed) else {
            return Ok(true);
        };
        Ok(next != listed && has_magic(self.source, next)?)
    }

    /// Reports what is odd about a block.
    pub(crate) fn judge(&self, offset: u64, header: &Header) {
        let file_len = self.source.len();
        match header {
            Header::Unread => {}
            Header::Bad(error) => self.reports.report(Code::BadBlock, offset, error.to_string()),
            Header::Good(header) => self.judge_fields(header, file_len),
        }
    }

    fn judge_fields(&self, header: &BlockHeader, file_len: u64) {
        let report = |code, message: String| self.reports.report(code, header.offset, message);
        if header.unknown_flags() != 0 {
            report(Code::UnknownFlags, format!("block flags {:#x}", header.unknown_flags()));
        }
        let range = header.claimed_range(file_len);
        if range.end > file_len {
            report(Code::BadBlock, BlockError::PastEnd { range, file_len }.to_string());
        }
        if header.is_streamed() {
            return;
        }
        let BlockHeader { allocated_size, used_size, data_size, .. } = *header;
        if used_size > allocated_size {
            let message = format!("used_size {used_size} is above allocated_size {allocated_size}");
            report(Code::UsedExceedsAllocated, message);
        }
        if !header.is_compressed() && data_size != used_size {
            let message = format!("data_size {data_size} is not used_size {used_size}");
            report(Code::DataSizeMismatch, message);
        }
    }
}

impl BlockTable {
    /// A file without blocks.
    pub(crate) fn empty() -> Self {
        Self::from_entries(Vec::new())
    }

    /// All blocks of a file.
    pub(crate) fn from_entries(entries: Vec<Entry>) -> Self {
        let first_block = entries.first().map(|entry| entry.offset);
        Self { entries, progress: Progress::Complete, rejected: None, first_block }
    }

    /// The blocks of a file whose index was accepted.
    pub(crate) fn from_index(
        offsets: &[u64],
        first: Header,
        last: Header,
        index_offset: u64,
    ) -> Self {
        let unread = |&offset: &u64| Entry { offset, header: Header::Unread };
        let mut entries: Vec<_> = offsets.iter().map(unread).collect();
        if let Some(entry) = entries.last_mut() {
            entry.header = last;
        }
        if let Some(entry) = entries.first_mut() {
            entry.header = first;
        }
        let progress = Progress::Indexed { index_offset };
        Self { entries, progress, rejected: None, first_block: offsets.first().copied() }
    }

    /// The blocks of a file that are to be found by their headers, from the first on.
    pub(crate) fn from_first(offset: u64, header: Header) -> Self {
        let mut table = Self::empty();
        table.first_block = Some(offset);
        table.push(offset, header);
        table
    }

    /// Remembers an index that was not used, for the report. `entries` is how many it lists, if it
    /// is a list.
    pub(crate) fn reject_index(
        &mut self,
        offset: u64,
        entries: Option<usize>,
        reading: Reading<'_>,
    ) {
        let (code, message) = match entries {
            None => (Code::IndexUnparsable, "the block index is no list of offsets"),
            Some(_) => (Code::IndexStale, "the block index does not agree with the blocks"),
        };
        reading.reports.report(code, offset, message);
        self.rejected = Some(RejectedIndex { offset, entries, code });
        if self.progress == Progress::Complete {
            self.judge_index(reading);
        }
    }

    /// How many blocks there are.
    pub(crate) fn len(&mut self, reading: Reading<'_>) -> Result<usize> {
        while let Progress::Walking { next } = self.progress {
            self.step(next, reading)?;
        }
        Ok(self.entries.len())
    }

    /// The block of this number, if there is one.
    pub(crate) fn get(&mut self, index: usize, reading: Reading<'_>) -> Result<Option<Entry>> {
        loop {
            if let Some(entry) = self.entries.get(index) {
                if !matches!(entry.header, Header::Unread) {
                    return Ok(Some(entry.clone()));
                }
                self.touch(index, reading)?;
                continue;
            }
            match self.progress {
                Progress::Walking { next } => self.step(next, reading)?,
                Progress::Indexed { .. } | Progress::Complete => return Ok(None),
            }
        }
    }

    /// Reads the header of a block that only the index told of. If the index is wrong about it,
    /// or about the one after it, the index is dropped and the table begins again.
    fn touch(&mut self, index: usize, reading: Reading<'_>) -> Result<()> {
        let offset = self.entries[index].offset;
        let header = reading.header(offset)?;
        let listed_next = self.entries.get(index + 1).map(|entry| entry.offset);
        if reading.index_is_wrong(&header, listed_next)? {
            if let Progress::Indexed { index_offset } = self.progress {
                let entries = self.entries.len();
                self.entries = Vec::new();
                self.progress = match self.first_block {
                    Some(next) => Progress::Walking { next },
                    None => Progress::Complete,
                };
                self.reject_index(index_offset, Some(entries), reading);
            }
            return Ok(());
        }
        reading.judge(offset, &header);
        self.entries[index].header = header;
        Ok(())
    }

    /// Adds the block at `next`, or finds that there is none.
    fn step(&mut self, next: u64, reading: Reading<'_>) -> Result<()> {
        reading
            .limits
            .check_items("blocks", self.entries.len() as u64 + 1)
            .map_err(Error::from_binio)?;
        let header = reading.header(next)?;
        if matches!(&header, Header::Bad(error) if matches!(**error, BlockError::Magic { .. })) {
            report_trailing(next, self.entries.last(), reading)?;
            self.progress = Progress::Complete;
        } else {
            reading.judge(next, &header);
            self.push(next, header);
        }
        if self.progress == Progress::Complete {
            self.judge_index(reading);
        }
        Ok(())
    }

    /// Adds a block; the table is complete if none can follow it.
    fn push(&mut self, offset: u64, header: Header) {
        self.progress = match &header {
            Header::Good(header) => match header.next_offset() {
                Some(next) => Progress::Walking { next },
                None => Progress::Complete,
            },
            Header::Bad(_) | Header::Unread => Progress::Complete,
        };
        self.entries.push(Entry { offset, header });
    }

    /// Says what is wrong with the index that was not used, now that all blocks are known.
    fn judge_index(&mut self, reading: Reading<'_>) {
        let Some(RejectedIndex { offset, entries, code }) = self.rejected.take() else { return };
        if self.is_data(offset, reading.source.len()) {
            // What looked like an index is a part of some block's data.
            reading.reports.retract(code, offset);
            return;
        }
        let blocks = self.entries.len();
        let Some(entries) = entries else { return };
        let code = match entries.cmp(&blocks) {
            Ordering::Less => Code::IndexShort,
            Ordering::Equal => return,
            Ordering::Greater => Code::IndexLong,
        };
        reading.reports.retract(Code::IndexStale, offset);
        let message = format!("the block index lists {entries} blocks, the file has {blocks}");
        reading.reports.report(code, offset, message);
    }

    /// Whether the byte at `offset` is used data of a block.
    fn is_data(&self, offset: u64, file_len: u64) -> bool {
        let after = self.entries.partition_point(|entry| entry.offset <= offset);
        let before = after.checked_sub(1).and_then(|index| self.entries.get(index));
        match before.map(|entry| &entry.header) {
            Some(Header::Good(header)) => {
                header.fits(file_len) && header.claimed_range(file_len).contains(&offset)
            }
            _ => false,
        }
    }
}

/// Whether a block magic stands at `offset`.
pub(crate) fn has_magic(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    if source.len().saturating_sub(offset) < BLOCK_MAGIC.len() as u64 {
        return Ok(false);
    }
    let mut magic = [0; 4];
    source.read_exact_at(&mut magic, offset)?;
    Ok(magic == BLOCK_MAGIC)
}

/// Reports bytes after the last block, unless they are a block index or all zero. `end` is where
/// the next block would begin.
fn report_trailing(end: u64, last: Option<&Entry>, reading: Reading<'_>) -> Result<()> {
    let file_len = reading.source.len();
    // Used bytes above the allocated ones are data, not trailing.
    let used_end = match last.map(|entry| &entry.header) {
        Some(Header::Good(header)) => header.claimed_range(file_len).end,
        _ => end,
    };
    let mut at = end.max(used_end);
    let look_end = file_len.min(at.saturating_add(TRAILING_LOOK));
    let mut window = [0; 4096];
    let mut begin = true;
    while at < look_end {
        let len = usize::try_from(look_end - at).unwrap_or(usize::MAX).min(window.len());
        let piece = &mut window[..len];
        reading.source.read_exact_at(piece, at)?;
        if std::mem::take(&mut begin) && piece.starts_with(INDEX_HEADER) {
            return Ok(());
        }
        if let Some(place) = piece.iter().position(|&b| b != 0) {
            let offset = at + place as u64;
            let message = "bytes after the last block that are neither a block nor the index";
            reading.reports.report(Code::TrailingBytes, offset, message);
            return Ok(());
        }
        at += len as u64;
    }
    Ok(())
}
