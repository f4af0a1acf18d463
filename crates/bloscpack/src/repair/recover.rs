//! Salvaging a valid file from a damaged one.
//!
//! | damage | recovered |
//! |---|---|
//! | a killed writer: offsets of -1, and a truncated end | the complete chunks |
//! | a truncated download | the complete chunks |
//! | an append that was killed before it wrote the header | all chunks, including the appended ones |
//! | an overwritten table, or invalid numbers in the header | the chunks that a search finds |
//! | a bad chunk in the middle | the chunks before the bad chunk; with `skip_bad`, also the chunks after it |
//!
//! Chunks and their digests are copied unchanged. A chunk is good if its structure and its digest are
//! valid and, in a file without checksums, if it also decodes.

use std::io::{Seek, Write};
use std::ops::Range;

use binio::ReadAt;
use binio::blosc::{CompressOptions, Compressor, compress};
use bytes::Bytes;

use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::{Error, ErrorKind, Result};
use crate::format::chunking::sizes_of;
use crate::format::header::{Header, Version};
use crate::format::layout::ChunkEntry;
use crate::format::metadata::{MetaHeader, Metadata};
use crate::options::OpenOptions;
use crate::read::chunk::{ChunkSource, Stored, zeroed};
use crate::repair::survey::{Found, Survey, survey};
use crate::write::container::ContainerWriter;

/// The maximum number of spare offsets per chunk. The original program reserves ten by default.
const MAX_ROOM: u64 = 10;

/// Options for salvaging a damaged file.
#[derive(Clone, Debug, Default)]
pub struct RecoverOptions {
    skip_bad: bool,
    fill_zeros: bool,
    opening: OpenOptions,
}

impl RecoverOptions {
    /// Returns options that keep only the chunks before the first bad chunk.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets whether to continue after bad chunks. The data that follows a bad chunk then moves
        /// to a lower offset, unless [`fill_zeros`](Self::fill_zeros) replaces the chunk with
        /// zeros.
        skip_bad: bool;
        /// Sets whether to continue after bad chunks and to replace each of them with a chunk of
        /// zeros, whose size is the `chunk_size` in the header. If the header states no
        /// `chunk_size`, no bad chunk is replaced. Bad chunks at the end of the file are never
        /// replaced. If the number of consecutive bad chunks cannot be derived from the table, a
        /// single bad chunk is assumed.
        fill_zeros: bool;
    }

    /// Sets the limits for reading the damaged file.
    #[must_use]
    pub fn limits(mut self, limits: binio::Limits) -> Self {
        self.opening = self.opening.limits(limits);
        self
    }
}

/// Consecutive chunks of a damaged file that were lost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// The indices of the lost chunks in the damaged file.
    pub chunks: Range<u64>,
    /// The range of bytes in the damaged file that the lost chunks occupy. It is empty if the file
    /// ends before these chunks.
    pub bytes: Range<u64>,
    /// The number of zero bytes that replace the data of the lost chunks.
    pub zeros: u64,
    /// The error in the first lost chunk.
    pub reason: Error,
}

/// The result of salvaging a file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecoverReport {
    /// The number of chunks that were kept.
    pub kept: u64,
    /// The length of the data in the new file in bytes, including the zeros that replace lost
    /// chunks.
    pub plain_len: u64,
    /// The lost chunks, in file order.
    pub lost: Vec<Loss>,
    /// Irregularities in the header, the table of offsets and the metadata.
    pub diagnostics: Vec<Diagnostic>,
}

/// Copies the intact chunks of a damaged file to a sink, as a file of version 3.
///
/// ```
/// use std::io::Cursor;
/// use bloscpack::repair::{RecoverOptions, recover};
/// use bloscpack::{ChunkSize, Reader, WriteOptions, pack_to_vec};
///
/// let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(1000));
/// let mut bytes = pack_to_vec(&[7; 3500], &options)?;
/// bytes.truncate(bytes.len() - 1);
/// assert!(Reader::from_bytes(bytes.clone()).is_err());
///
/// let mut sink = Cursor::new(Vec::new());
/// let report = recover(&bytes, &mut sink, &RecoverOptions::new())?;
/// assert_eq!((report.kept, report.lost.len()), (3, 1));
/// assert_eq!(Reader::from_bytes(sink.into_inner())?.read_all()?, [7; 3000]);
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`ErrorKind::Damaged`] if no chunk is intact, and with [`ErrorKind::Output`] if the
/// sink cannot be written. Also fails if the header is incomplete or has no signature, if the
/// version or the checksum is unknown, if any field in the header of a version 1 file is invalid,
/// if reading fails, or if a limit is exceeded. For a file without checksums, also fails with
/// [`ErrorKind::UnsupportedChunk`] if this build does not support the codec of a chunk, because
/// the chunk may be intact.
pub fn recover<W: Write + Seek>(
    source: &dyn ReadAt,
    sink: &mut W,
    options: &RecoverOptions,
) -> Result<RecoverReport> {
    let skip_bad = options.skip_bad || options.fill_zeros;
    let Survey { header, metadata, found, diagnostics } =
        survey(source, &options.opening, skip_bad)?;
    let mut report = RecoverReport { diagnostics, ..RecoverReport::default() };
    let last_kept = found.iter().rposition(|found| matches!(found, Found::Chunk(_)));
    let Some(last_kept) = last_kept else {
        let reason = found.into_iter().find_map(|found| match found {
            Found::Hole { reason, .. } => Some(reason.to_string()),
            Found::Chunk(_) => None,
        });
        let reason = reason.unwrap_or_else(|| "the file contains no chunks".to_owned());
        return Err(ErrorKind::Damaged(format!("no chunk is intact: {reason}")).into());
    };
    let section = match metadata {
        Some(range) => section(source, &range, &options.opening, &mut report.diagnostics)?,
        None => Bytes::new(),
    };
    let reader = ChunkSource { source, checksum: header.checksum };
    let mut pieces = Vec::new();
    for (at, found) in found.into_iter().enumerate() {
        match found {
            Found::Chunk(chunk) => {
                report.kept += 1;
                pieces.push(Piece::Kept(chunk));
            }
            Found::Hole { chunks, bytes, reason } => {
                let size = header.chunk_size.filter(|_| options.fill_zeros && at < last_kept);
                let (count, size) = (chunks.end.saturating_sub(chunks.start), size.unwrap_or(0));
                let zeros = count.saturating_mul(size.into());
                if zeros > 0 {
                    options.opening.limits.check_alloc("bytes of a chunk of zeros", size.into())?;
                    pieces.push(Piece::Zeros { count, size });
                }
                report.lost.push(Loss { chunks, bytes, zeros, reason });
            }
        }
    }
    report.plain_len = pieces.iter().map(|piece| piece.count() * u64::from(piece.size())).sum();
    write(reader, &header, &section, &pieces, sink)?;
    Ok(report)
}

/// A part of the new file: an intact chunk, or consecutive chunks of zeros.
enum Piece {
    Kept(ChunkEntry),
    /// `count` chunks, each of which contains `size` zeros.
    Zeros {
        count: u64,
        size: u32,
    },
}

impl Piece {
    fn count(&self) -> u64 {
        match self {
            Self::Kept(_) => 1,
            Self::Zeros { count, .. } => *count,
        }
    }

    /// Returns the uncompressed length of each chunk, in bytes.
    fn size(&self) -> u32 {
        match self {
            Self::Kept(chunk) => chunk.nbytes,
            Self::Zeros { size, .. } => *size,
        }
    }
}

/// Returns the metadata section unchanged if its digest matches, even if the metadata has other
/// errors. Returns an empty section if the digest does not match.
fn section(
    source: &dyn ReadAt,
    range: &Range<u64>,
    opening: &OpenOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Bytes> {
    opening.limits.check_alloc("bytes of the metadata section", range.end - range.start)?;
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let bytes = source.bytes_at(range.start, len)?;
    let header = MetaHeader::parse(bytes.get(..MetaHeader::LEN).unwrap_or_default(), range.start)?;
    match Metadata::read(source, &header, range.start, opening.max_metadata) {
        Err(error) if error.is_io() => Err(error),
        Err(error) if matches!(error.kind(), ErrorKind::ChecksumMismatch { .. }) => {
            diagnostics.push(diagnostic::from_error(Code::Metadata, &error));
            Ok(Bytes::new())
        }
        _ => Ok(bytes),
    }
}

/// Writes the chunks in `pieces` to a version 3 file with an offset table.
fn write<W: Write + Seek>(
    reader: ChunkSource<'_>,
    old: &Header,
    section: &[u8],
    pieces: &[Piece],
    sink: &mut W,
) -> Result<()> {
    let nchunks: u64 = pieces.iter().map(Piece::count).sum();
    let (chunk_size, last_chunk) = sizes_of(pieces.iter().map(Piece::size));
    let typesize = match (old.typesize, pieces.iter().find_map(kept)) {
        // The headers of old versions state no typesize, so use the typesize of the first chunk.
        (0, Some(chunk)) => reader.header(0, chunk.offset)?.typesize().max(1),
        (typesize, _) => typesize.max(1),
    };
    let header = Header {
        version: Version::V3,
        offsets: true,
        typesize,
        chunk_size,
        last_chunk,
        nchunks: Some(nchunks),
        max_app_chunks: old.max_app_chunks.min(nchunks.saturating_mul(MAX_ROOM)),
        ..old.clone()
    };
    let mut writer = ContainerWriter::new(sink, header, section)?;
    let mut stored = Stored::default();
    for piece in pieces {
        match piece {
            Piece::Kept(chunk) => {
                let (buffer, digest) = reader.stored(chunk, &mut stored)?;
                let len = (buffer.len() + digest.len()) as u64;
                writer.put_with(&[len], |sink| {
                    let written = sink.write_all(buffer).and_then(|()| sink.write_all(digest));
                    written.map_err(Error::of_output)
                })?;
            }
            Piece::Zeros { count, size } => {
                let stored = zeros(reader, typesize, *size)?;
                for _ in 0..*count {
                    writer.put(&stored)?;
                }
            }
        }
    }
    writer.finish(chunk_size, last_chunk)?;
    Ok(())
}

fn kept(piece: &Piece) -> Option<&ChunkEntry> {
    match piece {
        Piece::Kept(chunk) => Some(chunk),
        Piece::Zeros { .. } => None,
    }
}

/// Returns the stored bytes of a chunk of `size` zeros: its Blosc buffer and its digest. The
/// compressor is lz4, because every build has it.
fn zeros(reader: ChunkSource<'_>, typesize: u8, size: u32) -> Result<Vec<u8>> {
    let options = CompressOptions::new(Compressor::Lz4).typesize(typesize);
    let mut stored = compress(&zeroed::<u8>("a chunk of zeros", size.into())?, &options)?;
    let digest = reader.checksum.compute(&stored);
    stored.extend_from_slice(&digest);
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::format::test_file::{TestFile, buffer};
    use crate::{Checksum, Reader, Strictness, VerifyOptions, verify};

    const SIZE: usize = 1000;

    /// Returns the data of chunk `index`.
    fn data(index: usize) -> Vec<u8> {
        (0..SIZE).map(|at| (at / 3 + index * 7).to_le_bytes()[0]).collect()
    }

    fn file() -> TestFile {
        let chunks: Vec<Vec<u8>> = (0..4).map(data).collect();
        TestFile::of(&chunks.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    fn data_of(chunks: &[usize]) -> Vec<u8> {
        chunks.iter().flat_map(|&index| data(index)).collect()
    }

    /// Recovers a file, and checks that the new file has no diagnostics.
    fn recovered(bytes: &[u8], options: &RecoverOptions) -> (Vec<u8>, RecoverReport) {
        let mut sink = Cursor::new(Vec::new());
        let report = recover(&bytes, &mut sink, options).unwrap();
        let strict = OpenOptions::new().strictness(Strictness::Strict);
        let file = strict.from_bytes(sink.into_inner()).unwrap();
        assert_eq!(verify(&file, &VerifyOptions::new()).unwrap().diagnostics, []);
        let data = file.read_all().unwrap();
        assert_eq!(report.plain_len, data.len() as u64);
        (data, report)
    }

    fn lost(report: &RecoverReport) -> Vec<(Range<u64>, u64)> {
        report.lost.iter().map(|loss| (loss.chunks.clone(), loss.zeros)).collect()
    }

    #[test]
    fn an_intact_file_is_recovered_completely() {
        let (data, report) = recovered(&file().bytes(), &RecoverOptions::new());
        assert_eq!(data, data_of(&[0, 1, 2, 3]));
        assert_eq!((report.kept, report.lost.len(), report.diagnostics), (4, 0, vec![]));
    }

    #[test]
    fn the_complete_chunks_of_a_killed_writer_are_recovered() {
        let mut file = file();
        file.offsets = Some(vec![-1; 5]);
        let bytes = file.bytes();
        for (end, kept) in [(3, 3), (2, 2), (1, 1)] {
            for more in [0, 1, 15, 17] {
                let len = usize::try_from(file.chunk_start(end)).unwrap() + more;
                let (data, report) = recovered(&bytes[..len], &RecoverOptions::new());
                assert_eq!(data, data_of(&(0..kept).collect::<Vec<_>>()));
                assert_eq!(lost(&report), [(kept as u64..4, 0)]);
            }
        }
        let none = bytes[..usize::try_from(file.chunk_start(1)).unwrap() - 1].to_vec();
        let error = recover(&none, &mut Cursor::new(Vec::new()), &RecoverOptions::new());
        assert!(error.unwrap_err().to_string().starts_with("no chunk is intact: "));
    }

    #[test]
    fn the_chunks_of_an_interrupted_append_are_recovered() {
        // The header states three chunks, and the last one is short. In the file, this chunk has
        // been filled up, and a fourth chunk follows it.
        let file = TestFile { nchunks: 3, last_chunk: 10, ..file() };
        let mut bytes = file.bytes();
        // The table still has five entries: three for chunks, and two spare ones.
        bytes[24] = 2;
        let (data, report) = recovered(&bytes, &RecoverOptions::new());
        assert_eq!((data, report.kept), (data_of(&[0, 1, 2, 3]), 4));
    }

    #[test]
    fn stale_bytes_after_the_last_chunk_are_not_recovered() {
        let mut file = file();
        file.chunks[3] = file.chunk(&[1; 10]);
        file.last_chunk = 10;
        file.tail = file.chunk(&[2; 10]);
        file.set_offsets();
        let (data, report) = recovered(&file.bytes(), &RecoverOptions::new());
        assert_eq!((data.len(), report.kept, report.lost.len()), (3 * SIZE + 10, 4, 0));
    }

    #[test]
    fn a_bad_chunk_ends_the_recovery_unless_it_is_skipped_or_replaced_with_zeros() {
        let mut file = file();
        file.chunks[1][30] ^= 1;
        let bytes = file.bytes();
        let (data, report) = recovered(&bytes, &RecoverOptions::new());
        assert_eq!((data, lost(&report)), (data_of(&[0]), vec![(1..4, 0)]));
        assert!(matches!(report.lost[0].reason.kind(), ErrorKind::ChecksumMismatch { .. }));
        let (data, report) = recovered(&bytes, &RecoverOptions::new().skip_bad(true));
        assert_eq!((data, lost(&report)), (data_of(&[0, 2, 3]), vec![(1..2, 0)]));
        assert_eq!(report.lost[0].bytes, file.chunk_start(1)..file.chunk_start(2));
        let (data, report) = recovered(&bytes, &RecoverOptions::new().fill_zeros(true));
        let expected = [data_of(&[0]), vec![0; SIZE], data_of(&[2, 3])].concat();
        assert_eq!((data, lost(&report)), (expected, vec![(1..2, SIZE as u64)]));
    }

    #[test]
    fn chunks_after_two_overwritten_chunks_are_found_with_or_without_a_table() {
        for has_table in [true, false] {
            let mut file = if has_table { file() } else { file().without_offsets() };
            let junk = |len: usize| vec![0xaa; len];
            file.chunks[1] = junk(file.chunks[1].len());
            file.chunks[2] = junk(file.chunks[2].len());
            let (data, report) = recovered(&file.bytes(), &RecoverOptions::new().skip_bad(true));
            assert_eq!(data, data_of(&[0, 3]));
            // Without a table, recovery assumes that only one chunk was lost after the first chunk.
            // It therefore counts the fourth chunk as the third, and reports the fourth as lost.
            let expected = if has_table { vec![(1..3, 0)] } else { vec![(1..2, 0), (3..4, 0)] };
            assert_eq!(lost(&report), expected);
        }
    }

    #[test]
    fn chunks_are_recovered_despite_a_wrong_number_of_table_entries() {
        for (at, value) in [(24, 0), (24, 3), (24, 100), (16, 3)] {
            let mut bytes = file().bytes();
            bytes[at] = value;
            let (data, report) = recovered(&bytes, &RecoverOptions::new());
            assert_eq!(data, data_of(&[0, 1, 2, 3]), "{at}: {value}");
            assert!(
                report.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::OffsetMismatch)
            );
        }
    }

    #[test]
    fn chunks_are_recovered_despite_wrong_numbers_in_the_header() {
        for patch in [(8, -5_i64), (16, -2), (24, -1)] {
            let mut bytes = file().bytes();
            bytes[patch.0..patch.0 + 8].copy_from_slice(&patch.1.to_le_bytes());
            let (data, report) = recovered(&bytes, &RecoverOptions::new());
            assert_eq!(data, data_of(&[0, 1, 2, 3]));
            assert_eq!(report.diagnostics[0].code, Code::Header);
        }
        for (at, value) in [(0, b'B'), (4, 9), (6, 9)] {
            let mut bytes = file().bytes();
            bytes[at] = value;
            assert!(recover(&bytes, &mut Cursor::new(Vec::new()), &RecoverOptions::new()).is_err());
        }
    }

    #[test]
    fn old_versions_are_recovered_as_version_3() {
        let chunks: Vec<u8> = (0..4).flat_map(|index| buffer(&data(index))).collect();
        let unversioned = [&b"blpk\x04\0\0\0"[..], &chunks].concat();
        let v1 = [&b"blpk\x01\0\0\0\x04\0\0\0\0\0\0\0"[..], &chunks].concat();
        for bytes in [unversioned, v1] {
            let (data, _) = recovered(&bytes, &RecoverOptions::new());
            assert_eq!(data, data_of(&[0, 1, 2, 3]));
            let cut = bytes[..bytes.len() - 1].to_vec();
            assert_eq!(recovered(&cut, &RecoverOptions::new()).0, data_of(&[0, 1, 2]));
            let mut sink = Cursor::new(Vec::new());
            recover(&bytes, &mut sink, &RecoverOptions::new()).unwrap();
            let file = Reader::from_bytes(sink.into_inner()).unwrap();
            let header = file.header();
            assert_eq!((header.version, header.checksum), (Version::V3, Checksum::None));
            assert_eq!((header.typesize, header.chunk_size), (4, Some(1000)));
        }
    }

    #[test]
    fn the_metadata_section_is_kept_unchanged_unless_its_digest_is_wrong() {
        let text = b"[1,NaN]";
        let mut section = b"JSON\0\0\0\0\0\x01\0\x06".to_vec();
        section.extend([7_u32.to_le_bytes(), 20_u32.to_le_bytes(), 7_u32.to_le_bytes()].concat());
        section.extend([0; 8]);
        section.extend(text);
        section.extend([0; 13]);
        section.extend(Checksum::Adler32.compute(text));
        let mut file = TestFile { metadata: section, ..file() };
        file.set_offsets();
        let mut sink = Cursor::new(Vec::new());
        recover(&file.bytes(), &mut sink, &RecoverOptions::new()).unwrap();
        let written = sink.into_inner();
        assert_eq!(written[32..32 + file.metadata.len()], file.metadata);
        file.metadata[33] = b'7';
        let mut sink = Cursor::new(Vec::new());
        let report = recover(&file.bytes(), &mut sink, &RecoverOptions::new()).unwrap();
        assert_eq!(report.diagnostics[0].code, Code::Metadata);
        assert!(!Reader::from_bytes(sink.into_inner()).unwrap().header().metadata);
    }

    #[test]
    fn a_metadata_section_with_an_invalid_header_is_distinguished_from_a_truncated_one() {
        // Only the last of the sections below is truncated: the space that it reserves extends past
        // the end of the file.
        let section = |checksum, max_meta_size: u32| {
            let mut section = b"JSON\0\0\0\0\0\0\0\x06".to_vec();
            section[9] = checksum;
            let sizes = [20_u32, max_meta_size, 20].map(u32::to_le_bytes);
            section.extend([sizes.concat(), vec![0; 28]].concat());
            section
        };
        for (section, code) in [
            (section(9, 20), Code::Metadata),
            (section(0, 19), Code::Metadata),
            (section(0, 1 << 20), Code::Truncated),
        ] {
            let mut file = TestFile { metadata: section, ..file() };
            file.set_offsets();
            let (data, report) = recovered(&file.bytes(), &RecoverOptions::new());
            assert_eq!((data.len(), report.diagnostics[0].code), (4 * SIZE, code));
        }
    }

    #[test]
    fn many_invalid_blosc_headers_do_not_make_recovery_slow() {
        // There is a Blosc header every 16 bytes. Each claims the rest of the file, but none of
        // these buffers is valid.
        let mut file = file().without_offsets();
        let len = 1 << 20;
        let header = |at: usize| {
            let ctbytes = u32::try_from(len - at - 4).unwrap().to_le_bytes();
            [&[2, 1, 0x13, 4][..], &ctbytes, &[16, 0, 0, 0], &ctbytes].concat()
        };
        file.tail = (0..len / 16).flat_map(|at| header(at * 16)).collect();
        file.nchunks = 1 << 10;
        let begun = std::time::Instant::now();
        let (_, report) = recovered(&file.bytes(), &RecoverOptions::new().skip_bad(true));
        assert_eq!(report.kept, 4);
        assert!(begun.elapsed().as_secs() < 10);
    }
}
