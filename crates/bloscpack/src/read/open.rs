//! Opening a file. A few reads find its parts:
//!
//! 1. The first 32 bytes: the version and the header.
//! 2. The metadata section, if there is one: its header, then payload and digest.
//! 3. The table of offsets, if there is one.
//! 4. The 16-byte Blosc header of each chunk, and the first 16 bytes after the last chunk, if any.
//!
//! Nothing else is read, no matter how large the file is. If the table of offsets is wrong,
//! however, lenient reading also reads and checks every chunk.

use std::ops::Range;

use binio::ReadAt;
use binio::diagnostic::count;

use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::{Error, ErrorKind, Result};
use crate::format::header::Header;
use crate::format::layout::ChunkEntry;
use crate::format::layout::{Layout, Sections};
use crate::format::metadata::{MetaHeader, Metadata};
use crate::format::offset_table::Table;
use crate::options::{OpenOptions, Strictness};
use crate::read::chunk_index::Chain;
use crate::read::unversioned;

/// The number of bytes read first, which is the length of the longest header.
const HEAD: u64 = 32;

/// The parts of a file.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) header: Header,
    pub(crate) meta: Option<MetaHeader>,
    /// The metadata, or the error from reading it.
    pub(crate) metadata: Option<Result<Metadata>>,
    pub(crate) layout: Layout,
}

/// Finds the parts of a file, and adds irregularities to `diagnostics`.
pub(crate) fn open(
    source: &dyn ReadAt,
    options: &OpenOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Opened> {
    let head = source.bytes_at(0, usize::try_from(source.len().min(HEAD)).unwrap_or_default())?;
    if let Some(chunks) = unversioned::find(source, &head, &options.limits)? {
        let header = unversioned::header(chunks.len() as u64);
        let sections = Sections { metadata: None, offsets: None, data_start: header.len() };
        let layout = Layout::new(sections, source.len(), source.len(), chunks);
        return Ok(Opened { header, meta: None, metadata: None, layout });
    }
    let header = Header::parse(&head, options.strictness, diagnostics)?;
    let (sections, meta) = sections(source, &header)?;
    let section = meta.as_ref().zip(sections.metadata.as_ref());
    let metadata = section
        .map(|(meta, section)| read_metadata(source, meta, section.start, options, diagnostics))
        .transpose()?;
    let chain = Chain { source, header: &header, options };
    let chunks = chain.chunks(&sections, diagnostics)?;
    let data_end = chain.end(&chunks).unwrap_or(sections.data_start);
    check_sizes(&header, &chunks, options.strictness, diagnostics)?;
    if data_end < source.len() {
        let nchunks = chunks.len() as u64;
        if chain.begins_chunk(nchunks, data_end)? {
            let chunks = count(nchunks, "chunk");
            let message =
                format!("the header states {chunks}, but another chunk follows the last one");
            return Err(Error::new(ErrorKind::SizeMismatch { message }).at(data_end));
        }
        let bytes = count(source.len() - data_end, "byte");
        let message = format!("{bytes} after the last chunk");
        diagnostics.push(diagnostic::at(Code::StaleTail, data_end, message));
    }
    let layout = Layout::new(sections, data_end, source.len(), chunks);
    Ok(Opened { header, meta, metadata, layout })
}

/// Reads and checks the metadata. In lenient mode, errors in the metadata become diagnostics. A
/// wrong digest becomes a diagnostic only if `ignore_metadata` is set.
fn read_metadata(
    source: &dyn ReadAt,
    header: &MetaHeader,
    start: u64,
    options: &OpenOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Result<Metadata>> {
    let metadata = Metadata::read(source, header, start, options.max_metadata);
    let checked = match &metadata {
        Ok(metadata) => metadata.check(options.strictness, diagnostics),
        Err(error) => Err(error.clone()),
    };
    if let Err(error) = checked {
        let is_digest = matches!(error.kind(), ErrorKind::ChecksumMismatch { .. });
        let stops = options.strictness == Strictness::Strict
            || error.is_io()
            || is_digest && !options.ignore_metadata;
        if stops {
            return Err(error);
        }
        diagnostics.push(diagnostic::from_error(Code::Metadata, &error));
    }
    Ok(metadata)
}

/// Finds the metadata section and the table of offsets, and checks that both are within the file.
pub(crate) fn sections(
    source: &dyn ReadAt,
    header: &Header,
) -> Result<(Sections, Option<MetaHeader>)> {
    let mut end = header.len();
    let mut metadata = None;
    if header.metadata {
        let len = MetaHeader::LEN as u64;
        within(source, "header of the metadata section", end, Some(len))?;
        let meta = MetaHeader::parse(&source.bytes_at(end, MetaHeader::LEN)?, end)?;
        let section = within(source, "metadata section", end, Some(meta.section_len()))?;
        end = section.end;
        metadata = Some((section, meta));
    }
    let mut offsets = None;
    if header.offsets {
        let table = within(source, "offset table", end, Table::len_of(header.offsets_len()))?;
        end = table.end;
        offsets = Some(table);
    }
    if !source.is_memory() {
        let payload = metadata.as_ref().map(|(section, meta)| meta.read_ranges(section.start));
        let ranges: Vec<_> = payload.into_iter().flatten().chain(offsets.clone()).collect();
        source.prefetch(&ranges)?;
    }
    let (metadata, meta) = metadata.unzip();
    Ok((Sections { metadata, offsets, data_start: end }, meta))
}

/// Returns the range of a part of `len` bytes that begins at `start`. Fails if the part extends
/// past the end of the file. Always fails if `len` is `None`, which stands for a length beyond 64
/// bits.
pub(crate) fn within(
    source: &dyn ReadAt,
    what: &'static str,
    start: u64,
    len: Option<u64>,
) -> Result<Range<u64>> {
    let available = source.len().saturating_sub(start);
    match len {
        Some(len) if len <= available => Ok(start..start + len),
        _ => {
            let needed = len.unwrap_or(u64::MAX);
            Err(Error::new(ErrorKind::Truncated { what, needed, available }).at(start))
        }
    }
}

/// Compares the sizes in the header with the sizes of the chunks, which take precedence. Fails in
/// strict mode if the sizes differ, and in both modes if a chunk is unexpectedly empty.
fn check_sizes(
    header: &Header,
    chunks: &[ChunkEntry],
    strictness: Strictness,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<()> {
    let Some((last, others)) = chunks.split_last() else { return Ok(()) };
    let sizes = [
        ("chunk_size", 8, header.chunk_size, 0, others),
        ("last_chunk", 12, header.last_chunk, others.len() as u64, std::slice::from_ref(last)),
    ];
    for (field, offset, expected, first, chunks) in sizes {
        let Some(expected) = expected else { continue };
        let mut wrong = (first..).zip(chunks).filter(|(_, chunk)| chunk.nbytes != expected);
        let Some((index, chunk)) = wrong.next() else { continue };
        let (mut others, mut empty) = (0_u64, (chunk.nbytes == 0).then_some(chunk));
        for (_, chunk) in wrong {
            others += 1;
            empty = empty.or((chunk.nbytes == 0).then_some(chunk));
        }
        let has = count(chunk.nbytes, "byte");
        let message = match others {
            0 => format!("{field} is {expected}, but chunk {index} has {has}"),
            _ => format!(
                "{field} is {expected}, but {} chunks differ in size: for example, chunk {index} has {has}",
                others + 1
            ),
        };
        // Reject an empty chunk even in lenient mode: tools skip it silently, so its data would be
        // missing.
        if let Some(chunk) = empty.or((strictness == Strictness::Strict).then_some(chunk)) {
            return Err(Error::new(ErrorKind::SizeMismatch { message }).at(chunk.offset));
        }
        diagnostics.push(diagnostic::of_chunk(Code::SizeMismatch, index, offset, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use binio::source::ReadLog;

    use super::*;
    use crate::Checksum;
    use crate::format::test_file::TestFile;

    fn file() -> TestFile {
        TestFile::of(&[&[1; 100], &[2; 100], &[3; 40]])
    }

    fn open_as(file: &TestFile, strictness: Strictness) -> Result<(Opened, Vec<Diagnostic>)> {
        let mut diagnostics = Vec::new();
        let options = OpenOptions::new().strictness(strictness);
        let opened = open(&file.bytes(), &options, &mut diagnostics)?;
        Ok((opened, diagnostics))
    }

    fn lenient(file: &TestFile) -> (Opened, Vec<Code>) {
        let (opened, diagnostics) = open_as(file, Strictness::Lenient).unwrap();
        (opened, diagnostics.iter().map(|diagnostic| diagnostic.code).collect())
    }

    fn sizes(opened: &Opened) -> Vec<u32> {
        opened.layout.chunks().iter().map(|chunk| chunk.nbytes).collect()
    }

    #[test]
    fn the_parts_of_a_valid_file_are_found_without_diagnostics() {
        let file = file();
        let (opened, diagnostics) = open_as(&file, Strictness::Strict).unwrap();
        assert_eq!(diagnostics, []);
        assert_eq!(sizes(&opened), [100, 100, 40]);
        let layout = opened.layout;
        assert_eq!((layout.metadata(), layout.offsets()), (None, Some(32..64)));
        assert_eq!(layout.data(), 64..file.bytes().len() as u64);
        assert_eq!((layout.stale_tail().count(), layout.plain_len()), (0, 240));
        assert_eq!(layout.chunks()[1].offset, file.chunk_start(1));
        assert_eq!(layout.chunks()[2].plain_range(), 200..240);
    }

    #[test]
    fn opening_reads_only_the_header_the_table_and_16_bytes_per_chunk() {
        let file = file();
        let starts: Vec<u64> = (0..3).map(|index| file.chunk_start(index)).collect();
        let headers = starts.iter().map(|&start| start..start + 16);
        let source = ReadLog::new(file.bytes());
        open(&source, &OpenOptions::new(), &mut Vec::new()).unwrap();
        assert_eq!(source.ranges(), [0..32, 32..64].into_iter().chain(headers).collect::<Vec<_>>());
        // Without a table, each Blosc header is found only once the previous one has been read.
        let file = file.without_offsets();
        let headers = (0..3).map(|index| file.chunk_start(index)..file.chunk_start(index) + 16);
        let source = ReadLog::new(file.bytes());
        open(&source, &OpenOptions::new(), &mut Vec::new()).unwrap();
        let expected = std::iter::once(0..32).chain(headers);
        assert_eq!(source.ranges(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_stale_tail_is_a_note_in_strict_and_lenient_mode() {
        let mut file = file();
        let end = file.bytes().len() as u64;
        file.tail = b"left by an append".to_vec();
        let (opened, codes) = lenient(&file);
        assert_eq!((codes, opened.layout.stale_tail()), (vec![Code::StaleTail], end..end + 17));
        assert!(open_as(&file, Strictness::Strict).is_ok());
    }

    #[test]
    fn the_sizes_of_the_chunks_take_precedence_over_the_sizes_in_the_header() {
        for (chunk_size, last_chunk, message) in [
            (
                101,
                40,
                "chunk_size is 101, but 2 chunks differ in size: for example, chunk 0 has 100 bytes",
            ),
            (100, 0, "last_chunk is 0, but chunk 2 has 40 bytes"),
        ] {
            let file = TestFile { chunk_size, last_chunk, ..file() };
            let (opened, diagnostics) = open_as(&file, Strictness::Lenient).unwrap();
            assert_eq!(sizes(&opened), [100, 100, 40]);
            assert_eq!(diagnostics.len(), 1);
            assert_eq!(
                (diagnostics[0].code, diagnostics[0].message.as_str()),
                (Code::SizeMismatch, message)
            );
            let error = open_as(&file, Strictness::Strict).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::SizeMismatch { .. }), "{error}");
        }
    }

    #[test]
    fn unknown_sizes_in_the_header_are_not_a_mismatch() {
        let file = TestFile { chunk_size: -1, last_chunk: -1, ..file() };
        assert!(open_as(&file, Strictness::Strict).unwrap().1.is_empty());
    }

    #[test]
    fn an_empty_chunk_is_an_error_if_the_header_states_another_size() {
        let mut file = TestFile::of(&[&[1; 100], &[], &[3; 40]]);
        let error = open_as(&file, Strictness::Lenient).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::SizeMismatch { .. }), "{error}");
        assert_eq!(error.offset(), Some(file.chunk_start(1)));
        // If the header does not state the chunk size, any chunk may be empty.
        file.chunk_size = -1;
        assert_eq!(sizes(&lenient(&file).0), [100, 0, 40]);
        let empty = TestFile::of(&[&[]]);
        assert_eq!(sizes(&open_as(&empty, Strictness::Strict).unwrap().0), [0]);
    }

    #[test]
    fn chunks_are_read_to_the_end_of_the_file_if_their_number_is_unknown() {
        let mut file = TestFile { nchunks: -1, ..file().without_offsets() };
        let (opened, codes) = lenient(&file);
        assert_eq!((sizes(&opened), codes), (vec![100, 100, 40], vec![Code::UnknownCount]));
        file.tail = vec![2; 15];
        let error = open_as(&file, Strictness::Lenient).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 16, available: 15, .. }));
    }

    #[test]
    fn claimed_counts_are_checked_against_the_file_length_before_reading() {
        let file = file();
        for (nchunks, max_app_chunks, what) in [
            (1 << 40, 1, "offset table"),
            (i64::MAX - 1, 1, "offset table"),
            (3, 1 << 40, "offset table"),
            (3, i64::MAX - 3, "offset table"),
        ] {
            let source = ReadLog::new(TestFile { nchunks, max_app_chunks, ..file.clone() }.bytes());
            let error = open(&source, &OpenOptions::new(), &mut Vec::new()).unwrap_err();
            assert!(error.to_string().starts_with(what), "{error}");
            assert!(matches!(error.kind(), ErrorKind::Truncated { .. }));
            assert_eq!(source.ranges(), vec![0..32]);
        }
        let file = TestFile { nchunks: 1 << 40, ..file.without_offsets() };
        let error = open_as(&file, Strictness::Lenient).unwrap_err();
        assert!(error.to_string().starts_with("chunks: "), "{error}");
    }

    #[test]
    fn the_number_of_chunks_is_limited_by_max_items() {
        let options = OpenOptions::new().limits(binio::Limits::default().max_items(2));
        for file in [file(), TestFile { nchunks: -1, ..file().without_offsets() }] {
            let error = open(&file.bytes(), &options, &mut Vec::new()).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Limit { what: "chunks", .. }), "{error}");
        }
    }

    #[test]
    fn a_file_that_ends_before_the_end_of_its_last_digest_is_reported_as_truncated() {
        for checksum in [Checksum::Adler32, Checksum::Sha512] {
            let mut file = TestFile { checksum, ..file() };
            file.chunks = [[1_u8; 100], [2; 100]].iter().map(|data| file.chunk(data)).collect();
            file.nchunks = 2;
            file.max_app_chunks = 2;
            file.last_chunk = 100;
            file.set_offsets();
            let bytes = file.bytes();
            assert!(open(&bytes, &OpenOptions::new(), &mut Vec::new()).is_ok());
            for len in 0..bytes.len() {
                let cut = bytes[..len].to_vec();
                let error = open(&cut, &OpenOptions::new(), &mut Vec::new()).unwrap_err();
                let is_truncated = matches!(error.kind(), ErrorKind::Truncated { .. });
                assert!(is_truncated, "{len}: {error}");
                assert!(error.offset().is_some());
            }
        }
    }

    #[test]
    fn a_table_of_version_2_has_no_spare_entries() {
        let mut file = TestFile { version: 2, max_app_chunks: 0, ..file() };
        file.offsets = Some(vec![0; 3]);
        file.set_offsets();
        let (opened, codes) = lenient(&file);
        assert_eq!((sizes(&opened), codes), (vec![100, 100, 40], vec![]));
        assert_eq!(opened.layout.offsets(), Some(32..56));
    }
}
