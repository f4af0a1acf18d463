//! Opening a file: the few reads that tell where its parts are.
//!
//! 1. The head, in steps that double from 64 KiB, until the end of the tree and the first block
//!    are known.
//! 2. The last 64 KiB, for the block index; more only if they can be the end of a long index.
//! 3. The header of the last block that the index names.
//!
//! Nothing else is read, however large the file is.

pub(crate) mod salvage;
#[cfg(test)]
pub(crate) mod test_file;

use std::ops::Range;

use binio::{Limits, ReadAt, Scanner};
use bytes::Bytes;
use memchr::memmem;

use crate::blocks::table::{BlockTable, Header, Reading, has_magic};
use crate::diagnostic::Code;
use crate::diagnostic::Reports;
use crate::error::{Error, Result};
use crate::layout::block_header::{BLOCK_HEADER_LEN, BLOCK_MAGIC, BlockHeader};
use crate::layout::head::{self, Content, Head};
use crate::layout::index::{self, INDEX_HEADER};
use crate::layout::tree_end::{self, TreeEnd};
use crate::layout::{IndexText, Layout};

/// First step of reading the head, and of reading the tail.
const FIRST_STEP: u64 = 64 << 10;
/// Largest step of reading the head.
const MAX_STEP: u64 = 16 << 20;
/// The head ends here at the latest: what is not found before is not there.
const MAX_HEAD: u64 = 16 << 20;
/// How far a magic is searched for after the tree, or the tree's end after a false magic.
const MAX_PADDING: u64 = 1 << 20;
/// Most of the file's end that is read for an index: about a million entries.
const MAX_TAIL: u64 = 16 << 20;
/// Bytes at the start of a piece of the tail that may be part of the index's first lines.
const INDEX_FIRST_LINES: usize = 64;

/// A file whose parts are known.
pub(crate) struct Opened {
    pub(crate) layout: Layout,
    pub(crate) tree_text: Bytes,
    pub(crate) table: BlockTable,
}

/// Finds the parts of the file.
pub(crate) fn open(source: &dyn ReadAt, limits: &Limits, reports: &Reports) -> Result<Opened> {
    let reading = Reading { source, limits, reports };
    let mut prefix = Prefix::new(source);
    let head = read_head(&mut prefix)?;
    reports.extend(head.diagnostics.iter().cloned());
    let start = head.len as u64;
    let tree = match head.content {
        Content::Tree => Some(start..find_tree_end(&mut prefix, &head, limits, reports)?),
        Content::Block | Content::Nothing => None,
    };
    let content_end = tree.as_ref().map_or(start, |tree| tree.end);
    let tree_text = tree.as_ref().map(|tree| prefix.slice(tree)).unwrap_or_default();
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
        _ => find_first_block(&prefix, content_end, reading)?,
    };
    let table = build_table(&mut layout, &prefix, candidates, reading)?;
    Ok(Opened { layout, tree_text, table })
}

/// The beginning of the file, as far as it was read.
struct Prefix<'a> {
    source: &'a dyn ReadAt,
    bytes: Bytes,
}

impl<'a> Prefix<'a> {
    fn new(source: &'a dyn ReadAt) -> Self {
        Self { source, bytes: Bytes::new() }
    }

    /// Reads more: at least as much again.
    fn grow(&mut self) -> Result<()> {
        let len = self.bytes.len() as u64;
        let step = len.clamp(FIRST_STEP, MAX_STEP).min(self.source.len() - len);
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        if self.source.is_memory() {
            self.bytes = self.source.bytes_at(0, self.bytes.len() + step)?;
            return Ok(());
        }
        let mut buffer: Vec<u8> = std::mem::take(&mut self.bytes).into();
        buffer.resize(buffer.len() + step, 0);
        let from = buffer.len() - step;
        let result = self.source.read_exact_at(&mut buffer[from..], len);
        self.bytes = buffer.into();
        Ok(result?)
    }

    fn is_complete(&self) -> bool {
        self.bytes.len() as u64 == self.source.len()
    }

    fn slice(&self, range: &Range<u64>) -> Bytes {
        let place =
            |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        self.bytes.slice(place(range.start)..place(range.end))
    }

    /// The header at `offset`, from what was read if it is there.
    fn header(&self, offset: u64, reading: Reading<'_>) -> Result<Header> {
        header_within(&self.bytes, 0, offset, reading)
    }
}

/// The header at `offset`, from `piece`, which begins at `start` of the file, or else read.
fn header_within(piece: &[u8], start: u64, offset: u64, reading: Reading<'_>) -> Result<Header> {
    let file_len = reading.source.len();
    let end = offset.saturating_add(BLOCK_HEADER_LEN as u64).min(file_len);
    let place = |offset: u64| usize::try_from(offset.checked_sub(start)?).ok();
    let inside = place(offset).zip(place(end)).and_then(|(from, to)| piece.get(from..to));
    match inside.map(|bytes| BlockHeader::parse(bytes, offset, file_len)) {
        Some(Ok(header)) => Ok(Header::Good(header)),
        Some(Err(error)) => Ok(Header::Bad(Box::new(error))),
        None => reading.header(offset),
    }
}

fn read_head(prefix: &mut Prefix<'_>) -> Result<Head> {
    loop {
        if !prefix.is_complete() {
            prefix.grow()?;
        }
        let capped = prefix.slice(&(0..MAX_HEAD));
        let complete = prefix.is_complete() || capped.len() < prefix.bytes.len();
        if let Some(head) = head::parse(&capped, complete)? {
            return Ok(head);
        }
    }
}

/// The end of the tree that begins at the end of the head.
fn find_tree_end(
    prefix: &mut Prefix<'_>,
    head: &Head,
    limits: &Limits,
    reports: &Reports,
) -> Result<u64> {
    let start = head.len;
    let mut from = 0;
    // A magic that begins no plausible block: after it the tree is damaged, or there is no end.
    let mut false_magic: Option<usize> = None;
    loop {
        let all = prefix.slice(&(start as u64..u64::MAX));
        let bound = false_magic.and_then(|at| at.checked_add(usize::try_from(MAX_PADDING).ok()?));
        let text = &all[..bound.unwrap_or(usize::MAX).min(all.len())];
        let complete = prefix.is_complete() && text.len() == all.len();
        let found = match tree_end::search(text, from, complete) {
            TreeEnd::Found { len, unusual } => {
                if unusual {
                    let message = "the tree ends with ... before a block or a lone carriage return";
                    reports.report(Code::DocumentEndForm, (start + len) as u64, message);
                }
                return Ok((start + len) as u64);
            }
            TreeEnd::Magic { at } if is_plausible(&text[at..], start + at, prefix)? => Some(at),
            TreeEnd::Magic { at } => {
                false_magic.get_or_insert(at);
                from = at + 1;
                continue;
            }
            TreeEnd::Unknown { resume } => {
                from = resume;
                let given_up = bound.is_some_and(|bound| text.len() >= bound);
                (complete || given_up).then(|| false_magic.unwrap_or(all.len()))
            }
        };
        if let Some(len) = found {
            let message = "no line ... ends the tree";
            reports.report(Code::MissingDocumentEnd, (start + len) as u64, message);
            return Ok((start + len) as u64);
        }
        let tree_len = all.len() as u64;
        limits
            .check_alloc("bytes of the tree", tree_len.saturating_add(1))
            .map_err(Error::from_binio)?;
        prefix.grow()?;
    }
}

/// Whether the magic at `offset`, where `text` begins, begins a plausible block.
fn is_plausible(text: &[u8], offset: usize, prefix: &Prefix<'_>) -> Result<bool> {
    let (offset, file_len) = (offset as u64, prefix.source.len());
    let len = usize::try_from(file_len.saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut bytes = [0; BLOCK_HEADER_LEN];
    let bytes = &mut bytes[..len.min(BLOCK_HEADER_LEN)];
    match text.get(..bytes.len()) {
        Some(there) => bytes.copy_from_slice(there),
        None => prefix.source.read_exact_at(bytes, offset)?,
    }
    Ok(BlockHeader::parse(bytes, offset, file_len)
        .is_ok_and(|header| header.is_plausible(file_len)))
}

/// The magics after the tree, up to the first that begins a plausible block.
#[derive(Default)]
struct Candidates {
    /// Those that do not.
    passed: Vec<(u64, Header)>,
    plausible: Option<(u64, Header)>,
}

impl Candidates {
    /// Takes the first block. With no plausible one it is the first magic, whatever is wrong with
    /// it; and the index may tell that a magic which is not plausible is a block all the same.
    fn choose(mut self, index: Option<&[u64]>, reports: &Reports) -> Option<(u64, Header)> {
        let first_listed = index.and_then(|offsets| offsets.first().copied());
        let listed = self.passed.iter().position(|&(offset, _)| Some(offset) == first_listed);
        let chosen = match (listed, self.plausible) {
            (None, Some(block)) => Some(block),
            (None, None) if self.passed.is_empty() => None,
            (listed, _) => Some(self.passed.drain(listed.unwrap_or(0)..).next()?),
        };
        for (offset, _) in self.passed {
            let message = "a block magic in the padding that begins no plausible block";
            reports.report(Code::FalseMagic, offset, message);
        }
        chosen
    }
}

/// Searches for the first block from the end of the tree, or of the comments, on. Padding may be
/// as long as the tree: that is how writers leave it room to grow.
fn find_first_block(prefix: &Prefix<'_>, from: u64, reading: Reading<'_>) -> Result<Candidates> {
    let file_len = reading.source.len();
    let end = file_len.min(from.saturating_add(MAX_PADDING.max(from)));
    let mut candidates = Candidates::default();
    let in_prefix = prefix.slice(&(from..end));
    for at in memmem::find_iter(&in_prefix, &BLOCK_MAGIC) {
        if candidates.add(from + at as u64, prefix, reading)? {
            return Ok(candidates);
        }
    }
    // A magic may begin in the last three bytes of what was read.
    let resume = (prefix.bytes.len() as u64).saturating_sub(3).max(from);
    if resume < end && !prefix.is_complete() {
        let window = usize::try_from(FIRST_STEP).unwrap_or(usize::MAX);
        let mut scanner = Scanner::new(reading.source, &BLOCK_MAGIC, resume..end).window(window);
        while let Some(offset) = scanner.next_match()? {
            if candidates.add(offset, prefix, reading)? {
                return Ok(candidates);
            }
        }
    }
    if candidates.passed.is_empty() && end < file_len {
        let message = format!("no block in {} bytes; the search ends here", end - from);
        reading.reports.report(Code::TrailingBytes, end, message);
    }
    Ok(candidates)
}

impl Candidates {
    /// Adds a magic; `true` if it begins a plausible block.
    fn add(&mut self, offset: u64, prefix: &Prefix<'_>, reading: Reading<'_>) -> Result<bool> {
        let header = prefix.header(offset, reading)?;
        let plausible = match &header {
            Header::Good(header) => {
                header.is_plausible(reading.source.len()) || ends_where_it_says(header, reading)?
            }
            Header::Bad(_) | Header::Unread => false,
        };
        if plausible {
            self.plausible = Some((offset, header));
        } else {
            self.passed.push((offset, header));
        }
        Ok(plausible)
    }
}

/// Whether a block, its index or the end of the file stands where the block says it ends: no
/// accident then, whatever its flags are.
fn ends_where_it_says(header: &BlockHeader, reading: Reading<'_>) -> Result<bool> {
    let file_len = reading.source.len();
    match header.next_offset() {
        Some(next) if next == file_len => Ok(true),
        Some(next) if next < file_len => {
            Ok(has_magic(reading.source, next)? || begins_index(next, reading.source)?)
        }
        _ => Ok(false),
    }
}

fn begins_index(offset: u64, source: &dyn ReadAt) -> Result<bool> {
    if source.len().saturating_sub(offset) < INDEX_HEADER.len() as u64 {
        return Ok(false);
    }
    let mut bytes = [0; INDEX_HEADER.len()];
    source.read_exact_at(&mut bytes, offset)?;
    Ok(bytes == INDEX_HEADER)
}

/// Decides which magic is the first block and whether the index can be trusted.
fn build_table(
    layout: &mut Layout,
    prefix: &Prefix<'_>,
    candidates: Candidates,
    reading: Reading<'_>,
) -> Result<BlockTable> {
    let first_magic = candidates.passed.first().or(candidates.plausible.as_ref());
    let Some(first_magic) = first_magic.map(|&(offset, _)| offset) else {
        return Ok(BlockTable::empty());
    };
    let tail = match &candidates.plausible {
        // A streamed block has no index: what looks like one is data.
        Some((_, Header::Good(header))) if header.is_streamed() => None,
        Some((_, Header::Good(header))) if header.next_offset() == Some(layout.file_len) => None,
        _ => read_tail(prefix, first_magic, reading)?,
    };
    let entries = tail.as_ref().and_then(|tail| tail.entries(reading.limits));
    let Some((offset, first)) = candidates.choose(entries.as_deref(), reading.reports) else {
        return Ok(BlockTable::empty());
    };
    layout.first_block = Some(offset);
    reading.judge(offset, &first);
    let Some(tail) = tail else { return Ok(BlockTable::from_first(offset, first)) };
    let listed = entries.as_ref().map(Vec::len);
    let entries = entries.unwrap_or_default();
    let last = tail.accept(&entries, offset, &first, prefix, reading)?;
    layout.index =
        Some(IndexText { offset: tail.index, entries: listed, accepted: last.is_some() });
    if let Some(last) = last {
        return Ok(BlockTable::from_index(&entries, first, last, tail.index));
    }
    let mut table = BlockTable::from_first(offset, first);
    table.reject_index(tail.index, listed, reading);
    Ok(table)
}

/// The end of the file, with the text of an index in it.
struct Tail {
    bytes: Bytes,
    /// Where it begins in the file.
    start: u64,
    /// Where the index begins in the file.
    index: u64,
}

/// Reads the end of the file and finds the last index in it. Nothing before `after` is looked at.
fn read_tail(prefix: &Prefix<'_>, after: u64, reading: Reading<'_>) -> Result<Option<Tail>> {
    let file_len = reading.source.len();
    let mut len = FIRST_STEP;
    let mut bytes = Bytes::new();
    loop {
        let start = file_len.saturating_sub(len).max(after);
        bytes = extend_tail(start, &bytes, prefix, reading)?;
        if let Some(at) = memmem::rfind(&bytes, INDEX_HEADER) {
            return Ok(Some(Tail { index: start + at as u64, bytes, start }));
        }
        // The first lines of an index may have been cut: what follows them must be numbers.
        let numbers = bytes.get(INDEX_FIRST_LINES..).unwrap_or_default();
        if start == after || len >= MAX_TAIL || !index::looks_like_index(numbers) {
            return Ok(None);
        }
        len *= 2;
    }
}

/// The bytes from `start` to the end of the file, of which `later` are the last.
fn extend_tail(
    start: u64,
    later: &Bytes,
    prefix: &Prefix<'_>,
    reading: Reading<'_>,
) -> Result<Bytes> {
    let file_len = reading.source.len();
    let len = usize::try_from(file_len - start).unwrap_or(usize::MAX);
    if prefix.is_complete() {
        return Ok(prefix.slice(&(start..file_len)));
    }
    if reading.source.is_memory() || later.is_empty() {
        return Ok(reading.source.bytes_at(start, len)?);
    }
    let earlier = reading.source.bytes_at(start, len.saturating_sub(later.len()))?;
    Ok([earlier, later.clone()].concat().into())
}

impl Tail {
    /// The offsets that the index lists, if it is a list.
    fn entries(&self, limits: &Limits) -> Option<Vec<u64>> {
        let at = usize::try_from(self.index - self.start).ok()?;
        index::parse(self.bytes.get(at..)?, limits.max_items)
    }

    /// Checks the index as far as can be done with one more read. Gives the header of the last
    /// block if the index is right so far: its first entry is the first block, the entries grow by
    /// at least a header each, and the last one is a block after which the index begins.
    fn accept(
        &self,
        entries: &[u64],
        first_block: u64,
        first: &Header,
        prefix: &Prefix<'_>,
        reading: Reading<'_>,
    ) -> Result<Option<Header>> {
        let (Some(&first_listed), Some(&last_listed)) = (entries.first(), entries.last()) else {
            return Ok(None);
        };
        let apart = |pair: &[u64]| match *pair {
            [one, next] => next.checked_sub(one).is_some_and(|gap| gap >= BLOCK_HEADER_LEN as u64),
            _ => false,
        };
        let in_order = first_listed == first_block && entries.windows(2).all(apart);
        if !in_order || last_listed >= self.index {
            return Ok(None);
        }
        if reading.index_is_wrong(first, entries.get(1).copied())? {
            return Ok(None);
        }
        let last = if entries.len() == 1 {
            first.clone()
        } else if last_listed < prefix.bytes.len() as u64 {
            prefix.header(last_listed, reading)?
        } else {
            header_within(&self.bytes, self.start, last_listed, reading)?
        };
        let Header::Good(header) = &last else { return Ok(None) };
        let allocated_end = header.next_offset();
        let exact = allocated_end == Some(self.index);
        // Allocated past the index: the file was cut to its data, or never extended.
        let reaches_over = allocated_end.is_none_or(|end| end > self.index);
        let used_before = header.claimed_range(u64::MAX).end <= self.index;
        if header.is_streamed() || !(exact || (reaches_over && used_before)) {
            return Ok(None);
        }
        if entries.len() > 1 {
            reading.judge(last_listed, &last);
        }
        Ok(Some(last))
    }
}

#[cfg(test)]
mod tests;
