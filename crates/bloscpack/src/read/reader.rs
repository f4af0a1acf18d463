//! Reading an open file.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use binio::memory::prefer_huge_pages;
use binio::source::check_range;
use binio::write::Journaled;
use binio::{FileSource, ReadAt, blosc};
use bytes::Bytes;

use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::{ErrorKind, Result};
use crate::format::header::Header;
use crate::format::layout::ChunkEntry;
use crate::format::layout::Layout;
use crate::format::metadata::{MetaHeader, Metadata};
use crate::journal::{self, Pending};
use crate::options::{OpenOptions, Strictness, Verify};
use crate::read::chunk::{self, ChunkSource, Scratch, zeroed};
use crate::read::open::{self, Opened};

/// A Bloscpack file that is open for reading.
///
/// Opening a file reads the header, the metadata, the table of offsets and 16 bytes of each chunk.
/// Opening succeeds if the structure of the file is valid. Irregularities that do not prevent
/// reading are reported as [`diagnostics`](Self::diagnostics), and a damaged chunk is an error only
/// when it is read.
///
/// Many threads can read a file at the same time.
///
/// ```
/// use bloscpack::Reader;
///
/// // One chunk of four bytes, which is not compressed, without offsets and checksum.
/// let mut bytes = b"blpk\x03\x00\x00\x01".to_vec();
/// bytes.extend(4_i32.to_le_bytes()); // chunk_size
/// bytes.extend(4_i32.to_le_bytes()); // last_chunk
/// bytes.extend(1_i64.to_le_bytes()); // nchunks
/// bytes.extend(0_i64.to_le_bytes()); // max_app_chunks
/// bytes.extend(b"\x02\x01\x02\x01\x04\0\0\0\x04\0\0\0\x14\0\0\0data");
///
/// let file = Reader::from_bytes(bytes)?;
/// assert_eq!(file.len(), 4);
/// assert_eq!(file.read_all()?, b"data");
/// let mut part = [0; 2];
/// file.read_exact_at(&mut part, 1)?;
/// assert_eq!(&part, b"at");
/// # Ok::<(), bloscpack::Error>(())
/// ```
pub struct Reader {
    source: Arc<dyn ReadAt>,
    options: OpenOptions,
    header: Header,
    meta: Option<MetaHeader>,
    metadata: Option<Result<Metadata>>,
    layout: Layout,
    diagnostics: Vec<Diagnostic>,
    /// One bit per chunk, which is set once the digest of the chunk has matched.
    verified: Vec<AtomicU64>,
}

/// A nonempty part of the data of a chunk.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The index of the chunk.
    pub(crate) index: usize,
    /// The byte range of this piece within the uncompressed data of its chunk.
    pub(crate) range: Range<usize>,
    /// The offset in bytes of this piece in the uncompressed data of the file.
    pub(crate) position: u64,
}

impl Reader {
    /// Opens a file with the default options.
    ///
    /// ```
    /// use bloscpack::{Reader, WriteOptions, pack_to_file};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("data.blp");
    /// pack_to_file(b"some data", &path, &WriteOptions::new(), None)?;
    /// let file = Reader::open(&path)?;
    /// assert_eq!(file.read_all()?, b"some data");
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::default().open(path)
    }

    /// Opens a file that is already in memory, with the default options. Nothing is copied.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::from_source`].
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        OpenOptions::default().from_bytes(bytes)
    }

    /// Opens a file in any source with the default options.
    ///
    /// ```
    /// use binio::{Bytes, Span};
    /// use bloscpack::{Reader, WriteOptions, pack_to_vec};
    ///
    /// // A Bloscpack file within another file.
    /// let packed = pack_to_vec(b"some data", &WriteOptions::new())?;
    /// let outer = Bytes::from([b"head", &packed[..]].concat());
    /// let file = Reader::from_source(Span::new(outer, 4..4 + packed.len() as u64)?)?;
    /// assert_eq!(file.len(), 9);
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::from_source`].
    pub fn from_source(source: impl ReadAt + 'static) -> Result<Self> {
        OpenOptions::default().from_source(source)
    }

    pub(crate) fn with_options(source: Arc<dyn ReadAt>, options: OpenOptions) -> Result<Self> {
        let mut diagnostics = Vec::new();
        let opened = open::open(&source, &options, &mut diagnostics)?;
        let Opened { header, meta, metadata, layout } = opened;
        let verified = (0..layout.chunks().len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { source, options, header, meta, metadata, layout, diagnostics, verified })
    }

    /// Returns the header of the file. If the file has no table of offsets, `max_app_chunks` is 0,
    /// even if the stored number is not.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the ranges of all parts of the file.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the irregularities found while opening the file.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub(crate) fn with_diagnostic(mut self, diagnostic: Diagnostic) -> Self {
        self.diagnostics.push(diagnostic);
        self
    }

    /// Returns the source from which the file is read.
    pub fn source(&self) -> &Arc<dyn ReadAt> {
        &self.source
    }

    /// Returns the options with which the file was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Returns the length of the data in bytes.
    pub fn len(&self) -> u64 {
        self.layout.plain_len()
    }

    /// Returns `true` if there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the header of the metadata section, or `None` if the file has no metadata section.
    pub fn meta_header(&self) -> Option<&MetaHeader> {
        self.meta.as_ref()
    }

    /// Returns the metadata, or `None` if the file has no metadata section.
    ///
    /// ```
    /// use bloscpack::{Reader, WriteOptions, pack_to_vec};
    ///
    /// let options = WriteOptions::new().metadata(&serde_json::json!({"unit": "K"}));
    /// let file = Reader::from_bytes(pack_to_vec(b"data", &options)?)?;
    /// let metadata = file.metadata()?.expect("it was packed with metadata");
    /// assert_eq!(metadata.json()?["unit"], "K");
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the text of the metadata could not be read when the file was opened: its digest
    /// does not match, its codec or level is invalid, it does not decompress, it does not have the
    /// stated length, or it exceeds [`OpenOptions::max_metadata`]. Every call fails with the same
    /// error.
    pub fn metadata(&self) -> Result<Option<&Metadata>> {
        match &self.metadata {
            None => Ok(None),
            Some(Ok(metadata)) => Ok(Some(metadata)),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    /// Returns the metadata section as stored in the file. It is empty if the file has no metadata
    /// section.
    pub(crate) fn section(&self) -> Result<Bytes> {
        let section = self.layout.metadata().unwrap_or_default();
        let len = usize::try_from(section.end - section.start).unwrap_or(usize::MAX);
        Ok(self.source.bytes_at(section.start, len)?)
    }

    /// Returns the chunks in the order in which their data is unpacked, which may differ from their
    /// order in the file.
    ///
    /// ```
    /// use bloscpack::{ChunkSize, Reader, WriteOptions, pack_to_vec};
    ///
    /// let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(1000));
    /// let file = Reader::from_bytes(pack_to_vec(&[7; 2500], &options)?)?;
    /// let sizes: Vec<u32> = file.chunks().iter().map(|chunk| chunk.nbytes).collect();
    /// assert_eq!(sizes, [1000, 1000, 500]);
    /// assert_eq!(file.chunks()[2].plain_range(), 2000..2500);
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    pub fn chunks(&self) -> &[ChunkEntry] {
        self.layout.chunks()
    }

    pub(crate) fn chunk(&self, index: usize) -> Result<&ChunkEntry> {
        self.chunks().get(index).ok_or_else(|| {
            let (index, len) = (index as u64, self.chunks().len() as u64);
            ErrorKind::NoChunk { index, len }.into()
        })
    }

    pub(crate) fn chunk_source(&self) -> ChunkSource<'_> {
        ChunkSource { source: &self.source, checksum: self.header.checksum }
    }

    /// Reads the Blosc header of a chunk. The header states the codec, shuffle, typesize and block
    /// size.
    ///
    /// ```
    /// use bloscpack::{Compressor, Reader, Shuffle, WriteOptions, pack_to_vec};
    ///
    /// let options = WriteOptions::new().compressor(Compressor::Lz4).shuffle(Shuffle::Bit).typesize(2);
    /// let file = Reader::from_bytes(pack_to_vec(&[7; 2500], &options)?)?;
    /// let header = file.chunk_header(0)?;
    /// assert_eq!((header.codec().name(), header.shuffle(), header.typesize()), ("lz4", Shuffle::Bit, 2));
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NoChunk`] if there is no chunk with this index, and with
    /// [`ErrorKind::CorruptChunk`] or [`ErrorKind::Blosc2Chunk`] if the chunk does not begin with a
    /// Blosc header. Also fails if reading fails.
    pub fn chunk_header(&self, index: usize) -> Result<blosc::Header> {
        self.chunk_source().header(index as u64, self.chunk(index)?.offset)
    }

    /// Reads the Blosc buffer of a chunk as stored in the file. Checks its digest, unless it was checked before or
    /// [`Verify::Never`] is set.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NoChunk`] if there is no chunk with this index, and with
    /// [`ErrorKind::ChecksumMismatch`] if the digest does not match. Also fails if reading fails.
    pub fn chunk_bytes(&self, index: usize) -> Result<Bytes> {
        let chunk = self.chunk(index)?;
        let len = chunk.ctbytes as usize + self.header.checksum.len();
        let mut buffer = self.source.bytes_at(chunk.offset, len)?;
        let digest = buffer.split_off(chunk.ctbytes as usize);
        self.check_digest(index, &buffer, &digest)?;
        Ok(buffer)
    }

    /// Checks the digest of a chunk, unless it was checked before or [`Verify::Never`] is set.
    pub(crate) fn check_digest(&self, index: usize, buffer: &[u8], digest: &[u8]) -> Result<()> {
        if self.options.verify == Verify::OnRead && !self.is_verified(index) {
            self.chunk_source().check(index as u64, self.chunk(index)?, buffer, digest)?;
            self.set_verified(index);
        }
        Ok(())
    }

    fn is_verified(&self, index: usize) -> bool {
        let bits = self.verified.get(index / 64).map_or(0, |bits| bits.load(Ordering::Relaxed));
        bits >> (index % 64) & 1 == 1
    }

    fn set_verified(&self, index: usize) {
        if let Some(bits) = self.verified.get(index / 64) {
            bits.fetch_or(1 << (index % 64), Ordering::Relaxed);
        }
    }

    /// Decodes the data of a chunk. Memory is allocated as the data is decoded, because the size in
    /// the header of the chunk may be wrong.
    ///
    /// ```
    /// use bloscpack::{ChunkSize, Reader, WriteOptions, pack_to_vec};
    ///
    /// let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(4));
    /// let file = Reader::from_bytes(pack_to_vec(b"some data", &options)?)?;
    /// assert_eq!(file.decode_chunk(1)?, b" dat");
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`chunk_bytes`](Self::chunk_bytes). Also fails with [`ErrorKind::CorruptChunk`] if the chunk does not
    /// decode, with [`ErrorKind::UnsupportedChunk`] if this build does not support its codec, and with
    /// [`ErrorKind::Limit`] if its data exceeds [`Limits::max_decoded`](crate::Limits::max_decoded) or
    /// [`Limits::max_alloc`](crate::Limits::max_alloc).
    pub fn decode_chunk(&self, index: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decode_chunk_to(index, &mut out, &mut Scratch::default())?;
        Ok(out)
    }

    /// Decodes the data of a chunk into `out`, whose content is replaced and whose memory is
    /// reused.
    ///
    /// ```
    /// use bloscpack::{ChunkSize, Reader, Scratch, WriteOptions, pack_to_vec};
    ///
    /// let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(1000));
    /// let file = Reader::from_bytes(pack_to_vec(&[1; 2500], &options)?)?;
    /// // One vector and one scratch for all chunks.
    /// let (mut data, mut scratch, mut sum) = (Vec::new(), Scratch::default(), 0);
    /// for index in 0..file.chunks().len() {
    ///     file.decode_chunk_to(index, &mut data, &mut scratch)?;
    ///     sum += data.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    /// }
    /// assert_eq!(sum, 2500);
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`decode_chunk`](Self::decode_chunk).
    pub fn decode_chunk_to(
        &self,
        index: usize,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let limits = &self.options.limits;
        self.with_chunk(index, scratch, |buffer, blosc| buffer.decode_to(out, limits, blosc))
    }

    /// Decodes the data of a chunk into a slice of the same length, [`ChunkEntry::nbytes`].
    ///
    /// # Errors
    ///
    /// Same as [`decode_chunk_range_into`](Self::decode_chunk_range_into).
    pub fn decode_chunk_into(
        &self,
        index: usize,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let whole = 0..self.chunk(index)?.nbytes as usize;
        self.decode_chunk_range_into(index, whole, out, scratch)
    }

    /// Decodes a range of the data of a chunk into a slice of the same length. Only the Blosc blocks that overlap the
    /// range are decoded.
    ///
    /// # Errors
    ///
    /// Same as [`chunk_bytes`](Self::chunk_bytes). Also fails with [`ErrorKind::OutOfRange`] if the range is not
    /// within the data of the chunk or `out` has a different length, with [`ErrorKind::CorruptChunk`] if a block does
    /// not decode, and with [`ErrorKind::UnsupportedChunk`] if this build does not support the codec of the chunk.
    pub fn decode_chunk_range_into(
        &self,
        index: usize,
        range: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let len = u64::from(self.chunk(index)?.nbytes);
        let (start, end) = (range.start as u64, range.end as u64);
        if start > end || end > len || end - start != out.len() as u64 {
            let end = start.saturating_add(out.len() as u64).max(end);
            return Err(ErrorKind::OutOfRange { start, end, len }.into());
        }
        self.with_chunk(index, scratch, |buffer, blosc| buffer.decode_range_into(range, out, blosc))
    }

    /// Checks the digest of a chunk, and runs `decode` on its buffer.
    fn with_chunk<T>(
        &self,
        index: usize,
        scratch: &mut Scratch,
        decode: impl FnOnce(&blosc::Buffer<'_>, &mut blosc::Scratch) -> binio::Result<T>,
    ) -> Result<T> {
        let Scratch { stored, blosc } = scratch;
        let (number, chunk) = (index as u64, self.chunk(index)?);
        let (bytes, digest) = self.chunk_source().stored(chunk, stored)?;
        self.check_digest(index, bytes, digest)?;
        let buffer = chunk::parse(number, chunk.offset, bytes)?;
        decode(&buffer, blosc).map_err(|error| chunk::corrupt(number, chunk.offset, bytes, error))
    }

    /// Fills `out` with the data that begins at `offset`. Reads all stored bytes of the chunks that
    /// overlap this range, but decodes only the Blosc blocks that overlap it.
    ///
    /// ```
    /// use bloscpack::{Reader, WriteOptions, pack_to_vec};
    ///
    /// let file = Reader::from_bytes(pack_to_vec(b"some data", &WriteOptions::new())?)?;
    /// let mut part = [0; 4];
    /// file.read_exact_at(&mut part, 5)?;
    /// assert_eq!(&part, b"data");
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::OutOfRange`] if the range extends past the end of the data, with
    /// [`ErrorKind::ChecksumMismatch`] or [`ErrorKind::CorruptChunk`] if one of the chunks is
    /// damaged, and with [`ErrorKind::UnsupportedChunk`] if this build does not support the codec
    /// of one of the chunks. Also fails if reading fails.
    pub fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<()> {
        let end = offset.saturating_add(out.len() as u64);
        self.prefetch_data(offset..end)?;
        let mut scratch = Scratch::default();
        let mut rest = out;
        for Piece { index, range, .. } in self.pieces(offset..end)? {
            let (part, after) = rest.split_at_mut(range.len());
            self.decode_chunk_range_into(index, range, part, &mut scratch)?;
            rest = after;
        }
        Ok(())
    }

    /// Tells the source which stored chunks contain a range of the data, so that a remote source
    /// can fetch them together.
    pub(crate) fn prefetch_data(&self, range: Range<u64>) -> Result<()> {
        if self.source.is_memory() {
            return Ok(());
        }
        let source = self.chunk_source();
        let chunks = self.pieces(range)?.filter_map(|piece| self.chunks().get(piece.index));
        let stored: Vec<_> = chunks.map(|chunk| chunk.offset..source.end(chunk)).collect();
        Ok(self.source.prefetch(&stored)?)
    }

    /// Divides a range of the data at the chunk boundaries, and returns the nonempty parts.
    pub(crate) fn pieces(
        &self,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Piece> + Send + use<'_>> {
        let (start, end, len) = (range.start, range.end, self.len());
        if start > end || end > len {
            return Err(ErrorKind::OutOfRange { start, end, len }.into());
        }
        let first = if start == end { None } else { self.layout.chunk_at(start) };
        let chunks = first.and_then(|first| Some((first, self.chunks().get(first..)?)));
        let (first, chunks) = chunks.unwrap_or_default();
        let piece = move |(index, chunk): (usize, &ChunkEntry)| {
            let position = chunk.plain_offset().max(start);
            let place = |position: u64| {
                let place = (position - chunk.plain_offset()).min(u64::from(chunk.nbytes));
                usize::try_from(place).unwrap_or(usize::MAX)
            };
            Piece { index, range: place(position)..place(end), position }
        };
        Ok((first..)
            .zip(chunks)
            .take_while(move |(_, chunk)| chunk.plain_offset() < end)
            .map(piece)
            .filter(|piece| !piece.range.is_empty()))
    }

    /// Reads all data. Memory is committed only as data is decoded.
    ///
    /// # Errors
    ///
    /// Same as [`read_exact_at`](Self::read_exact_at). Also fails with [`ErrorKind::Limit`] if the data exceeds
    /// [`Limits::max_decoded`](crate::Limits::max_decoded), which is 16 GiB by default.
    pub fn read_all(&self) -> Result<Vec<u8>> {
        let mut out = self.room_for(self.len())?;
        self.read_exact_at(&mut out, 0)?;
        Ok(out)
    }

    /// Returns a vector of `count` zeros. The vector takes no memory until it is written to. Fails
    /// if the vector would exceed the limit on decoded data.
    pub(crate) fn room_for<T: bytemuck::Zeroable>(&self, count: u64) -> Result<Vec<T>> {
        let len = count.saturating_mul(size_of::<T>() as u64);
        self.options.limits.check_decoded("bytes of data", len)?;
        let mut out = zeroed("data", count)?;
        prefer_huge_pages(&mut out);
        Ok(out)
    }
}

impl OpenOptions {
    /// Opens a file. Only the ranges that each call needs are read, so the file is never loaded as
    /// a whole. A memory map would not be faster; to use one, pass it to
    /// [`from_source`](Self::from_source).
    ///
    /// If an in-place change was interrupted or is still in progress (see [`journal`]), the reader sees the file as it
    /// was before the change and reports this as a diagnostic.
    ///
    /// # Errors
    ///
    /// Same as [`from_source`](Self::from_source). Also fails if the file cannot be opened. Fails
    /// with [`ErrorKind::ForeignJournal`] if its journal belongs to another file, and in strict
    /// mode with [`ErrorKind::Damaged`] if there is any other journal. Also fails if the journal
    /// cannot be read or is invalid, for example because its version is unknown.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Reader> {
        let path = path.as_ref();
        let file = FileSource::open(path)?;
        let Some(pending) = journal::pending(path)? else {
            return self.from_source(file);
        };
        let (source, message): (Arc<dyn ReadAt>, _) = match pending {
            Pending::Unchanged => {
                (Arc::new(file), "an in-place change is incomplete, but has not modified the file")
            }
            Pending::Changed => {
                match Journaled::open(path)? {
                    Some(journaled) => (
                        Arc::new(journaled),
                        "an in-place change is incomplete: the file is read as it was before the change",
                    ),
                    // The journal is gone or no longer applies, because the change has been
                    // completed or rolled back in the meantime.
                    None => return self.open(path),
                }
            }
            _ => return Err(binio::Error::new(binio::ErrorKind::ForeignJournal).into()),
        };
        let message = format!("{message}; {}", journal::REMEDY);
        if self.strictness == Strictness::Strict {
            return Err(ErrorKind::Damaged(message).into());
        }
        let reader = self.from_source(source)?;
        Ok(reader.with_diagnostic(diagnostic::at(Code::Journal, 0, message)))
    }

    /// Opens a file that is already in memory. Nothing is copied.
    ///
    /// # Errors
    ///
    /// Same as [`from_source`](Self::from_source).
    #[allow(
        clippy::wrong_self_convention,
        reason = "options build readers, as in std's OpenOptions"
    )]
    pub fn from_bytes(&self, bytes: impl Into<Bytes>) -> Result<Reader> {
        let bytes: Bytes = bytes.into();
        Reader::with_options(Arc::new(bytes), self.clone())
    }

    /// Opens a file in any source.
    ///
    /// # Errors
    ///
    /// Fails if the source is not a Bloscpack file, if its version, checksum or option bits are
    /// unknown, if a header field is invalid, and with [`ErrorKind::Truncated`] if the file ends
    /// before the end of its last chunk. Fails with [`ErrorKind::OffsetMismatch`] if the order of
    /// the chunks is ambiguous, or if an offset is wrong and any chunk is damaged. Fails with
    /// [`ErrorKind::SizeMismatch`] if there are more chunks than the header states or if a chunk is
    /// unexpectedly empty, and with [`ErrorKind::ChecksumMismatch`] if the digest of the metadata
    /// is wrong and [`ignore_metadata`](Self::ignore_metadata) is unset. Also fails if a chunk does
    /// not begin with a valid Blosc header, if reading fails, or if a limit is exceeded. Metadata
    /// that exceeds [`max_metadata`](Self::max_metadata) is an error only in strict mode.
    ///
    /// Other irregularities are diagnostics. With [`Strictness::Strict`], however, most violations
    /// of the format are errors. Damaged data in a chunk is an error only when the chunk is read,
    /// unless an offset is wrong: all chunks are then checked when the file is opened.
    #[allow(
        clippy::wrong_self_convention,
        reason = "options build readers, as in std's OpenOptions"
    )]
    pub fn from_source(&self, source: impl ReadAt + 'static) -> Result<Reader> {
        Reader::with_options(Arc::new(source), self.clone())
    }
}

/// Reads the uncompressed data as a source, so that a packed file in another format can be read
/// without unpacking it.
///
/// Offsets count from the start of the uncompressed data, but the message of an error about a chunk
/// contains an offset in the packed file.
impl ReadAt for Reader {
    fn len(&self) -> u64 {
        self.layout.plain_len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        check_range(self.layout.plain_len(), offset, buf.len() as u64)?;
        Ok(Self::read_exact_at(self, buf, offset)?)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> binio::Result<()> {
        for range in ranges {
            let end = range.end.min(self.layout.plain_len());
            self.prefetch_data(range.start.min(end)..end)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("header", &self.header).finish_non_exhaustive()
    }
}
