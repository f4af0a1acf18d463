//! Finding the chunks, each of which begins where the previous one ends.
//!
//! If there is no table of offsets, or if the table is unset or lists the chunks in file order, the
//! data is in file order as well. If the table contains the same offsets in a different order,
//! tools disagree about the order of the data, so the caller has to choose an order. If the table
//! is wrong in any other way, lenient reading ignores it, but only if the structure and the digest
//! of every chunk are valid.

use std::fmt;
use std::ops::Range;

use binio::ReadAt;

use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::{Error, ErrorKind, Result};
use crate::format::header::{Header, Version};
use crate::format::layout::ChunkEntry;
use crate::format::layout::Sections;
use crate::format::offset_table::{Entries, Table};
use crate::options::{ChunkOrder, OpenOptions, Strictness};
use crate::read::chunk::{ChunkSource, Stored};
use crate::read::open::within;

/// The minimum length of a chunk: a Blosc header without data.
pub(crate) const MIN_CHUNK: u64 = 16;
/// The number of Blosc headers that a remote source fetches at a time.
const PREFETCH: usize = 4096;

/// Finds the chunks of a file whose header is known.
pub(crate) struct Chain<'a> {
    pub(crate) source: &'a dyn ReadAt,
    pub(crate) header: &'a Header,
    pub(crate) options: &'a OpenOptions,
}

impl Chain<'_> {
    fn reader(&self) -> ChunkSource<'_> {
        ChunkSource { source: self.source, checksum: self.header.checksum }
    }

    /// Finds the chunks, and returns them in the order in which their data is unpacked.
    pub(crate) fn chunks(
        &self,
        sections: &Sections,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Vec<ChunkEntry>> {
        let start = sections.data_start;
        let Some(nchunks) = self.header.nchunks else {
            let message = "the number of chunks is unknown (-1), so the file is read to its end";
            diagnostics.push(diagnostic::at(
                Code::UnknownCount,
                nchunks_offset(self.header),
                message,
            ));
            return self.scan_to_end(start);
        };
        let chunk_len = MIN_CHUNK + self.reader().digest_len();
        within(self.source, "chunks", start, nchunks.checked_mul(chunk_len))?;
        self.options.limits.check_items("chunks", nchunks)?;
        let Some(range) = &sections.offsets else { return self.scan(start, nchunks) };

        let possible = start..(self.source.len() + 1).saturating_sub(chunk_len);
        let table = Table::read(self.source, range, nchunks, &possible)?;
        if let Some((index, value)) = table.spare {
            let message = format!("spare entry {index} is {value}, expected -1");
            let offset = Table::entry(range.start, index);
            diagnostics.push(diagnostic::at(Code::SpareOffset, offset, message));
        }
        let fault = match table.entries {
            Entries::Unset => {
                let message = "no offsets are set, so each chunk was located from the end of the previous one";
                diagnostics.push(diagnostic::at(Code::OffsetsUnset, range.start, message));
                return self.scan(start, nchunks);
            }
            Entries::Broken { index, value } => Fault { index, value, expected: None },
            Entries::Set(offsets) => match self.follow(start, &offsets)? {
                Followed::Chunks(chunks) => return Ok(chunks),
                Followed::Fault(fault) => match self.permuted(start, &offsets)? {
                    Some(chunks) => {
                        return self.ordered(chunks, &offsets, range, &fault, diagnostics);
                    }
                    None => fault,
                },
            },
        };
        self.scan_instead(start, nchunks, range, &fault, diagnostics)
    }

    /// Returns the chunks at `offsets` if the first offset is `start` and every other offset is the
    /// end of the previous chunk. Otherwise, returns the first wrong offset.
    fn follow(&self, start: u64, offsets: &[u64]) -> Result<Followed> {
        let reader = self.reader();
        let (mut chunks, mut expected) = (Vec::new(), start);
        for (at, &offset) in offsets.iter().enumerate() {
            let index = at as u64;
            if offset != expected {
                let value = i64::try_from(offset).unwrap_or(i64::MAX);
                return Ok(Followed::Fault(Fault { index, value, expected: Some(expected) }));
            }
            if at % PREFETCH == 0 && !self.source.is_memory() {
                let next = offsets[at..].iter().take(PREFETCH);
                let headers: Vec<_> = next.map(|&offset| offset..offset + MIN_CHUNK).collect();
                self.source.prefetch(&headers)?;
            }
            let chunk = reader.entry(index, offset)?;
            expected = reader.end(&chunk);
            chunks.push(chunk);
        }
        Ok(Followed::Chunks(chunks))
    }

    /// Returns the chunks in file order if the offsets are correct but in a different order.
    /// Otherwise, returns `None`.
    fn permuted(&self, start: u64, offsets: &[u64]) -> Result<Option<Vec<ChunkEntry>>> {
        let mut sorted = offsets.to_vec();
        sorted.sort_unstable();
        match self.follow(start, &sorted) {
            Ok(Followed::Chunks(chunks)) => Ok(Some(chunks)),
            Err(error) if error.is_io() => Err(error),
            Ok(Followed::Fault(_)) | Err(_) => Ok(None),
        }
    }

    /// Resolves a conflict between the order of the offsets and the order of the chunks in the file. Returns the
    /// chunks in the order set by [`ChunkOrder`], and adds a diagnostic. Fails if the order is `Unambiguous`.
    fn ordered(
        &self,
        mut chunks: Vec<ChunkEntry>,
        offsets: &[u64],
        table: &Range<u64>,
        fault: &Fault,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Vec<ChunkEntry>> {
        let place = Table::entry(table.start, fault.index);
        let chosen = match self.options.order {
            ChunkOrder::Unambiguous => {
                let message =
                    "the offsets and the chunks in the file are in different orders, and tools \
                    disagree about which order is right"
                        .to_owned();
                let kind = ErrorKind::OffsetMismatch { message, permuted: true };
                return Err(Error::new(kind).at(place));
            }
            ChunkOrder::File => "the chunks in the file",
            ChunkOrder::Offsets => {
                let by_offset = |offset: &u64| {
                    let found = chunks.binary_search_by_key(offset, |chunk| chunk.offset).ok()?;
                    chunks.get(found).copied()
                };
                chunks = offsets.iter().filter_map(by_offset).collect();
                "the offsets"
            }
        };
        let message =
            format!("offsets and chunks are in different orders; the order of {chosen} is used");
        diagnostics.push(diagnostic::at(Code::OffsetMismatch, place, message));
        Ok(chunks)
    }

    /// Returns the contiguous chunks despite a wrong table. Fails in strict mode, or if the
    /// structure or the digest of a chunk is invalid.
    fn scan_instead(
        &self,
        start: u64,
        nchunks: u64,
        table: &Range<u64>,
        fault: &Fault,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Vec<ChunkEntry>> {
        let place = Table::entry(table.start, fault.index);
        let mismatch =
            |message| Error::new(ErrorKind::OffsetMismatch { message, permuted: false }).at(place);
        let reader = self.reader();
        let scanned = self.scan(start, nchunks).and_then(|chunks| {
            if self.options.strictness == Strictness::Strict {
                return Err(mismatch(fault.to_string()));
            }
            let mut room = Stored::default();
            for (index, chunk) in (0..).zip(&chunks) {
                reader.hold(index, chunk, &mut room)?;
            }
            Ok(chunks)
        });
        match scanned {
            Ok(chunks) => {
                let message =
                    format!("{fault}, so each chunk was located from the end of the previous one");
                diagnostics.push(diagnostic::at(Code::OffsetMismatch, place, message));
                Ok(chunks)
            }
            Err(error) => {
                // In a truncated file, offsets can point past the end of the file, so report the
                // truncation instead.
                let kept = matches!(
                    error.kind(),
                    ErrorKind::Truncated { .. } | ErrorKind::OffsetMismatch { .. }
                );
                let failed = mismatch(format!(
                    "{fault}, and locating each chunk after the previous one failed as well: {error}"
                ));
                Err(if kept || error.is_of_caller() { error } else { failed })
            }
        }
    }

    fn scan(&self, start: u64, nchunks: u64) -> Result<Vec<ChunkEntry>> {
        scan(self.reader(), start, nchunks)
    }

    /// Returns the contiguous chunks from offset `start` to the end of the file.
    fn scan_to_end(&self, start: u64) -> Result<Vec<ChunkEntry>> {
        let (reader, limits) = (self.reader(), &self.options.limits);
        let (mut chunks, mut position) = (Vec::new(), start);
        while position < self.source.len() {
            let chunk = reader.entry(chunks.len() as u64, position)?;
            position = reader.end(&chunk);
            chunks.push(chunk);
            limits.check_items("chunks", chunks.len() as u64)?;
        }
        Ok(chunks)
    }

    /// Returns `true` if there seems to be another chunk at `offset`, complete or truncated. It
    /// must begin with a Blosc header whose `nbytes` is not zero. If the file header states both
    /// `chunk_size` and `last_chunk`, `nbytes` must also equal one of them. The tail of an old
    /// chunk, which appending may leave behind, does not begin with such a header.
    pub(crate) fn begins_chunk(&self, index: u64, offset: u64) -> Result<bool> {
        if self.source.len().saturating_sub(offset) < MIN_CHUNK {
            return Ok(false);
        }
        match self.reader().header(index, offset) {
            Ok(found) => {
                let is_size = |size: Option<u32>| size.is_none_or(|size| found.nbytes() == size);
                let (size, last) = (self.header.chunk_size, self.header.last_chunk);
                Ok(found.nbytes() > 0 && (is_size(size) || is_size(last)))
            }
            Err(error) if error.is_of_caller() => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Returns the offset at which the last chunk in the file ends, including its digest, or `None`
    /// if there are no chunks.
    pub(crate) fn end(&self, chunks: &[ChunkEntry]) -> Option<u64> {
        let reader = self.reader();
        chunks.iter().map(|chunk| reader.end(chunk)).max()
    }
}

/// The result of following the offsets.
enum Followed {
    Chunks(Vec<ChunkEntry>),
    Fault(Fault),
}

/// The first wrong entry in the table of offsets.
#[derive(Debug)]
struct Fault {
    index: u64,
    value: i64,
    expected: Option<u64>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, value, expected } = self;
        write!(f, "the offset of chunk {index} is {value}, ")?;
        match expected {
            Some(expected) => write!(f, "expected {expected}"),
            None => f.write_str("where no chunk can begin"),
        }
    }
}

/// Returns the offset of the field `nchunks` in the file.
fn nchunks_offset(header: &Header) -> u64 {
    match header.version {
        Version::Unversioned => 4,
        Version::V1 => 8,
        Version::V2 | Version::V3 => 16,
    }
}

/// Returns `nchunks` contiguous chunks, starting with the chunk at offset `start`.
pub(crate) fn scan(reader: ChunkSource<'_>, start: u64, nchunks: u64) -> Result<Vec<ChunkEntry>> {
    let (mut chunks, mut position) = (Vec::new(), start);
    for index in 0..nchunks {
        let chunk = reader.entry(index, position)?;
        position = reader.end(&chunk);
        chunks.push(chunk);
    }
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;
    use crate::diagnostic::Code;
    use crate::format::test_file::TestFile;

    fn file() -> TestFile {
        TestFile::of(&[&[1; 100], &[2; 100], &[3; 40]])
    }

    fn data() -> Vec<u8> {
        [&[1; 100][..], &[2; 100], &[3; 40]].concat()
    }

    fn open(file: &TestFile, strictness: Strictness, order: ChunkOrder) -> Result<Reader> {
        OpenOptions::new().strictness(strictness).order(order).from_bytes(file.bytes())
    }

    fn lenient(file: &TestFile) -> Result<Reader> {
        open(file, Strictness::Lenient, ChunkOrder::Unambiguous)
    }

    fn strict(file: &TestFile) -> Result<Reader> {
        open(file, Strictness::Strict, ChunkOrder::Unambiguous)
    }

    fn codes(reader: &Reader) -> Vec<Code> {
        reader.diagnostics().iter().map(|diagnostic| diagnostic.code).collect()
    }

    fn with_offset(index: usize, value: i64) -> TestFile {
        let mut file = file();
        file.offsets.as_mut().unwrap()[index] = value;
        file
    }

    #[test]
    fn a_file_with_unset_offsets_is_read_in_sequence() {
        let mut file = file();
        file.offsets = Some(vec![-1; 4]);
        for reader in [lenient(&file).unwrap(), strict(&file).unwrap()] {
            assert_eq!(codes(&reader), [Code::OffsetsUnset]);
            assert_eq!(reader.read_all().unwrap(), data());
        }
    }

    #[test]
    fn a_wrong_offset_is_an_error_in_strict_mode_and_a_diagnostic_in_lenient_mode() {
        let start = i64::try_from(file().chunk_start(1)).unwrap();
        for (index, value) in [
            (0, -1),
            (1, -1),
            (1, 0),
            (1, start + 1),
            (1, i64::try_from(file().chunk_start(0)).unwrap()),
            (2, start),
            (2, 1 << 62),
            (2, i64::MIN),
        ] {
            let file = with_offset(index, value);
            let error = strict(&file).unwrap_err();
            assert_eq!(error.offset(), Some(32 + 8 * index as u64));
            let message = format!("the offset of chunk {index} is {value}, ");
            assert!(error.to_string().starts_with(&message), "{error}");
            let is_mismatch =
                matches!(error.kind(), ErrorKind::OffsetMismatch { permuted: false, .. });
            assert!(is_mismatch, "{error}");

            let reader = lenient(&file).unwrap();
            assert_eq!(codes(&reader), [Code::OffsetMismatch]);
            assert_eq!(reader.read_all().unwrap(), data());
        }
    }

    #[test]
    fn wrong_offsets_are_ignored_only_if_every_digest_is_valid() {
        let mut file = with_offset(1, -1);
        *file.chunks[2].last_mut().unwrap() ^= 1;
        let error = lenient(&file).unwrap_err();
        let is_mismatch = matches!(error.kind(), ErrorKind::OffsetMismatch { permuted: false, .. });
        assert!(is_mismatch && error.to_string().contains("adler32"), "{error}");
        // If the offsets are right, the file can be opened, and only reading the damaged chunk
        // fails.
        file.set_offsets();
        let reader = lenient(&file).unwrap();
        assert!(reader.decode_chunk(1).is_ok() && reader.decode_chunk(2).is_err());
    }

    #[test]
    fn an_ambiguous_chunk_order_is_rejected_unless_the_caller_chooses_an_order() {
        let mut file = file();
        file.offsets.as_mut().unwrap().swap(0, 1);
        for rejected in [lenient(&file), strict(&file)] {
            let error = rejected.unwrap_err();
            let is_permuted =
                matches!(error.kind(), ErrorKind::OffsetMismatch { permuted: true, .. });
            assert!(is_permuted, "{error}");
        }
        let by_offsets = open(&file, Strictness::Lenient, ChunkOrder::Offsets).unwrap();
        let swapped = [&[2; 100][..], &[1; 100], &[3; 40]].concat();
        assert_eq!(by_offsets.read_all().unwrap(), swapped);
        let by_file = open(&file, Strictness::Lenient, ChunkOrder::File).unwrap();
        assert_eq!(by_file.read_all().unwrap(), data());
        for reader in [by_offsets, by_file] {
            assert_eq!(codes(&reader), [Code::OffsetMismatch]);
            assert_eq!(reader.layout().stale_tail().count(), 0);
        }
    }

    #[test]
    fn a_spare_offset_that_is_not_minus_one_is_only_a_diagnostic_even_in_strict_mode() {
        let reader = strict(&with_offset(3, 7)).unwrap();
        assert_eq!(codes(&reader), [Code::SpareOffset]);
        assert_eq!(reader.diagnostics()[0].place.offset, Some(32 + 24));
    }

    #[test]
    fn the_first_byte_of_a_chunk_distinguishes_blosc2_from_corruption() {
        for (version, is_blosc2) in [(3, true), (5, true), (1, false), (72, false), (255, false)] {
            let mut file = file();
            file.chunks[1][0] = version;
            let error = lenient(&file).unwrap_err();
            let named = match error.kind() {
                ErrorKind::Blosc2Chunk { chunk: 1 } => true,
                ErrorKind::CorruptChunk { chunk: 1, .. } => false,
                other => panic!("{other}"),
            };
            assert_eq!(named, is_blosc2);
            assert_eq!(error.offset(), Some(file.chunk_start(1)));
        }
    }

    #[test]
    fn a_corrupt_chunk_is_reported_with_its_offset_in_the_file() {
        let mut file = file();
        file.chunks[1][2] |= 0x08;
        let error = lenient(&file).unwrap_err();
        let offset = file.chunk_start(1) + 2;
        let flags = file.chunks[1][2];
        let message = format!(
            "chunk 1: Blosc flags {flags:#04x}: bit 3 is set, expected 0 (offset {offset})"
        );
        assert_eq!(error.to_string(), message);
    }
}
