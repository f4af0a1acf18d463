//! Finding the intact chunks of a damaged file, and the holes between them.
//!
//! A header that can be parsed is trusted, except for the offset of the first chunk, which is
//! checked. A table entry is trusted only if there is an intact chunk at its offset. If neither
//! determines the offset of the next chunk, every following byte may be the start of a chunk.

use std::ops::Range;

use binio::ReadAt;
use binio::source::Scanner;

use crate::Checksum;
use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::{Error, ErrorKind, Result};
use crate::format::header::{Header, Version};
use crate::format::layout::ChunkEntry;
use crate::format::layout::Sections;
use crate::format::offset_table::Table;
use crate::options::{OpenOptions, Strictness};
use crate::read::chunk::{self, ChunkSource, Scratch};
use crate::read::chunk_index::MIN_CHUNK;
use crate::read::open::sections;
use crate::read::unversioned;

/// The first bytes of every Blosc buffer.
const BLOSC: &[u8] = &[2, 1];
/// The maximum number of bytes to read while searching for chunks, as a multiple of the length of
/// the file.
const MAX_EFFORT: u64 = 16;

/// An intact chunk, or a hole that consists of consecutive bad chunks.
#[derive(Debug)]
pub(crate) enum Found {
    /// An intact chunk.
    Chunk(ChunkEntry),
    /// Consecutive bad chunks: their indices, their range in the file, and the error in the first
    /// bad chunk.
    Hole { chunks: Range<u64>, bytes: Range<u64>, reason: Error },
}

/// The intact and bad parts of a file.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) header: Header,
    /// The range of the metadata section. `None` if there is no section, if its end is unknown, or
    /// if it extends past the end of the file.
    pub(crate) metadata: Option<Range<u64>>,
    /// The chunks and holes, in file order.
    pub(crate) found: Vec<Found>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Finds the intact chunks of a file up to the first bad chunk, or up to the end of the file if
/// `skip_bad` is `true`.
pub(crate) fn survey(source: &dyn ReadAt, options: &OpenOptions, skip_bad: bool) -> Result<Survey> {
    let mut diagnostics = Vec::new();
    let (header, is_whole) = header(source, &mut diagnostics)?;
    let sections = parts(source, &header, &mut diagnostics)?;
    let metadata = sections.as_ref().and_then(|sections| sections.metadata.clone());
    let offsets = sections.as_ref().and_then(|sections| sections.offsets.clone());
    let before_table = metadata.as_ref().map_or(header.len(), |section| section.end);
    let mut search = Search {
        reader: ChunkSource { source, checksum: header.checksum },
        header: &header,
        options,
        table: offsets
            .map_or(Ok(Vec::new()), |range| Table::raw(source, &range, header.nchunks))?,
        effort: source.len().saturating_mul(MAX_EFFORT),
        data: Vec::new(),
        scratch: Scratch::default(),
    };
    let start = sections.filter(|_| is_whole).map(|sections| sections.data_start);
    let start = search.first(start, before_table, &mut diagnostics)?;
    let found = search.walk(start, skip_bad)?;
    Ok(Survey { header, metadata, found, diagnostics })
}

/// Finds the metadata section and the table of offsets, but ignores a table that extends past the
/// end of the file. Returns `None` if the metadata section extends past the end of the file, or if
/// its end is unknown because its header is invalid.
fn parts(
    source: &dyn ReadAt,
    header: &Header,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Sections>> {
    let error = match sections(source, header) {
        Ok((sections, _)) => return Ok(Some(sections)),
        Err(error) if error.is_of_caller() => return Err(error),
        Err(error) => error,
    };
    let code = match error.kind() {
        ErrorKind::Truncated { .. } => Code::Truncated,
        // The header of the metadata section is invalid.
        _ => Code::Metadata,
    };
    diagnostics.push(diagnostic::from_error(code, &error));
    match sections(source, &Header { offsets: false, ..header.clone() }) {
        Ok((sections, _)) => Ok(Some(sections)),
        Err(error) if error.is_of_caller() => Err(error),
        Err(_) => Ok(None),
    }
}

/// Returns the header, and `true` if it is valid. If only some fields are invalid, returns a header
/// that contains only the version, the checksum and the typesize.
fn header(source: &dyn ReadAt, diagnostics: &mut Vec<Diagnostic>) -> Result<(Header, bool)> {
    let head = source.bytes_at(0, usize::try_from(source.len().min(32)).unwrap_or_default())?;
    if let Some(nchunks) = unversioned::claimed(&head) {
        let reader = ChunkSource { source, checksum: Checksum::None };
        match reader.entry(0, unversioned::HEADER_LEN) {
            Ok(_) => return Ok((unversioned::header(nchunks), true)),
            Err(error) if error.is_of_caller() => return Err(error),
            Err(_) => {}
        }
    }
    let error = match Header::parse(&head, Strictness::Lenient, diagnostics) {
        Ok(header) => return Ok((header, true)),
        Err(error) => error,
    };
    let version = match head.get(4) {
        Some(2) => Version::V2,
        Some(3) => Version::V3,
        _ => return Err(error),
    };
    let checksum = head.get(6).and_then(|&id| Checksum::from_id(id));
    match (checksum, error.kind()) {
        (Some(checksum), ErrorKind::InvalidHeader { .. } | ErrorKind::UnknownOptions(_)) => {
            diagnostics.push(diagnostic::from_error(Code::Header, &error));
            let typesize = head.get(7).copied().unwrap_or_default();
            Ok((Header { version, checksum, typesize, ..Header::default() }, false))
        }
        _ => Err(error),
    }
}

struct Search<'a> {
    reader: ChunkSource<'a>,
    header: &'a Header,
    options: &'a OpenOptions,
    /// The table entries of the chunks, by chunk index.
    table: Vec<i64>,
    /// The number of bytes that may still be read while searching for chunks.
    effort: u64,
    data: Vec<u8>,
    scratch: Scratch,
}

impl Search<'_> {
    fn file_len(&self) -> u64 {
        self.reader.source.len()
    }

    /// Reads chunk `index` at `offset`. The inner error says why there is no intact chunk; the
    /// outer error means that reading the source failed, or that this build cannot decode the
    /// chunk, which may be intact. A chunk that exceeds a limit is not intact, because arbitrary
    /// bytes may claim any size.
    fn chunk(&mut self, index: u64, offset: u64) -> Result<Result<ChunkEntry>> {
        match self.held(index, offset) {
            Err(error) if error.is_io() => Err(error),
            Err(error) if matches!(error.kind(), ErrorKind::UnsupportedChunk { .. }) => Err(error),
            held => Ok(held),
        }
    }

    fn held(&mut self, index: u64, offset: u64) -> Result<ChunkEntry> {
        self.effort = self.effort.saturating_sub(MIN_CHUNK);
        let chunk = self.reader.entry(index, offset)?;
        let is_last = self.header.nchunks == Some(index + 1);
        let size = if is_last { self.header.last_chunk } else { self.header.chunk_size };
        if chunk.nbytes == 0 && size.is_some_and(|size| size != 0) {
            let message = format!("chunk {index} is empty");
            return Err(Error::new(ErrorKind::SizeMismatch { message }).at(offset));
        }
        let (buffer, digest) = self.reader.stored(&chunk, &mut self.scratch.stored)?;
        self.effort = self.effort.saturating_sub(buffer.len() as u64);
        self.reader.check(index, &chunk, buffer, digest)?;
        let parsed = chunk::parse(index, offset, buffer)?;
        if self.header.checksum == Checksum::None {
            // Without a digest, only decoding can detect damage.
            parsed
                .decode_to(&mut self.data, &self.options.limits, &mut self.scratch.blosc)
                .map_err(|error| chunk::corrupt(index, offset, buffer, error))?;
        }
        Ok(chunk)
    }

    /// Returns the offset of the first chunk. If no chunk begins at `start`, the offset that the
    /// header implies, tries the first table entry and then searches the bytes from `before_table`,
    /// because the table may be shorter or longer than the header states.
    fn first(
        &mut self,
        start: Option<u64>,
        before_table: u64,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<u64> {
        let end = self.file_len();
        if let Some(start) = start {
            if start >= end || self.begins(start)? {
                return Ok(start);
            }
        }
        let named = self.table.first().and_then(|&offset| u64::try_from(offset).ok());
        let found = match named {
            Some(named) if self.chunk(0, named)?.is_ok() => Some(named),
            _ => self.scan(0, before_table..start.unwrap_or(end))?,
        };
        if let Some(found) = found {
            let message = match start {
                Some(_) => {
                    "the chunks begin at this offset, but the header implies a different one"
                }
                None => "the chunks begin at this offset, which the header does not determine",
            };
            diagnostics.push(diagnostic::at(Code::OffsetMismatch, found, message));
        }
        Ok(found.or(start).unwrap_or(end))
    }

    /// Returns `true` if a chunk may begin at this offset. The chunk may be truncated, but its
    /// Blosc header must be valid, unless the file ends before the end of the header.
    fn begins(&self, offset: u64) -> Result<bool> {
        match self.reader.entry(0, offset) {
            Ok(_) => Ok(true),
            Err(error) if error.is_of_caller() => Err(error),
            Err(error) => Ok(matches!(error.kind(), ErrorKind::Truncated { .. })),
        }
    }

    /// Returns the chunks and holes from offset `start` on. Stops at the first hole unless
    /// `skip_bad` is `true`.
    fn walk(&mut self, start: u64, skip_bad: bool) -> Result<Vec<Found>> {
        let (mut found, mut index, mut position) = (Vec::new(), 0, start);
        let nchunks = self.header.nchunks;
        while position < self.file_len() {
            let is_beyond = nchunks.is_some_and(|nchunks| index >= nchunks);
            // An interrupted append may have left chunks that the header does not count, so
            // continue after the last counted chunk. But stop at a chunk that is not full, because
            // anything after it must be left over from an earlier append.
            if is_beyond && !self.is_full(found.last()) {
                break;
            }
            let reason = match self.chunk(index, position)? {
                Ok(chunk) => {
                    position = self.reader.end(&chunk);
                    index += 1;
                    found.push(Found::Chunk(chunk));
                    self.options.limits.check_items("chunks", index)?;
                    continue;
                }
                Err(_) if is_beyond => break,
                Err(reason) => reason,
            };
            let next = if skip_bad { self.next(index, position)? } else { None };
            let Some((next_index, next_position)) = next else {
                let chunks = index..nchunks.unwrap_or(index + 1);
                found.push(Found::Hole { chunks, bytes: position..self.file_len(), reason });
                return Ok(found);
            };
            let (chunks, bytes) = (index..next_index, position..next_position);
            found.push(Found::Hole { chunks, bytes, reason });
            (index, position) = (next_index, next_position);
        }
        if let Some(nchunks) = nchunks.filter(|&nchunks| index < nchunks) {
            let (what, available) = ("chunks", 0);
            let needed = (nchunks - index).saturating_mul(MIN_CHUNK);
            let reason = Error::new(ErrorKind::Truncated { what, needed, available }).at(position);
            found.push(Found::Hole { chunks: index..nchunks, bytes: position..position, reason });
        }
        Ok(found)
    }

    /// Returns `true` if a chunk that the header does not count may follow `found`, the last chunk
    /// or hole so far. An interrupted append leaves no such chunk after a hole, or after a chunk
    /// whose size differs from the `chunk_size` in the header.
    fn is_full(&self, found: Option<&Found>) -> bool {
        match (found, self.header.chunk_size) {
            (Some(Found::Chunk(chunk)), Some(size)) => chunk.nbytes == size,
            // Expect at least one chunk, even if the header states none.
            (Some(Found::Chunk(_)), None) | (None, _) => true,
            _ => false,
        }
    }

    /// Returns the index and the offset of the next intact chunk after the bad chunk `index` at
    /// `position`. If the bad chunk is the last one, returns the end of the file. Returns `None` if
    /// no chunk was found.
    fn next(&mut self, index: u64, position: u64) -> Result<Option<(u64, u64)>> {
        // The length of the bad chunk may be right, so look for the next chunk at its end.
        if let Ok(bad) = self.reader.entry(index, position) {
            let end = self.reader.end(&bad);
            let is_last = end == self.file_len() && self.header.nchunks == Some(index + 1);
            if is_last || self.chunk(index + 1, end)?.is_ok() {
                return Ok(Some((index + 1, end)));
            }
        }
        for at in usize::try_from(index).map_or(usize::MAX, |at| at + 1)..self.table.len() {
            if self.effort == 0 {
                return Ok(None);
            }
            self.effort -= 1;
            let offset = self.table.get(at).and_then(|&offset| u64::try_from(offset).ok());
            let Some(offset) = offset.filter(|&offset| offset > position) else { continue };
            if self.chunk(at as u64, offset)?.is_ok() {
                return Ok(Some((at as u64, offset)));
            }
        }
        let found = self.scan(index + 1, position + 1..self.file_len())?;
        // A scan cannot tell how many chunks it has skipped, so assume that it skipped only the bad
        // chunk.
        Ok(found.map(|position| (index + 1, position)))
    }

    /// Returns the first offset in `range` at which an intact chunk begins, or `None` if there is
    /// none or `effort` is used up.
    fn scan(&mut self, index: u64, range: Range<u64>) -> Result<Option<u64>> {
        let mut scanner = Scanner::new(self.reader.source, BLOSC, range);
        while let Some(candidate) = scanner.next_match()? {
            if self.effort == 0 {
                return Ok(None);
            }
            if self.chunk(index, candidate)?.is_ok() {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }
}
