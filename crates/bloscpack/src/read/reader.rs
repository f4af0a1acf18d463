//! A file that is open for reading.

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
/// Opening reads the header, the metadata, the table of offsets and 16 bytes of each chunk. A file
/// opens when its structure holds: what is merely irregular is among the [`diagnostics`](Self::diagnostics),
/// and a chunk whose bytes are wrong fails when it is read.
///
/// Many threads may read one file.
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
    /// A bit for each chunk whose digest was found right.
    verified: Vec<AtomicU64>,
}

/// A part of a chunk, none of them empty.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The chunk.
    pub(crate) index: usize,
    /// The bytes of the chunk's data.
    pub(crate) range: Range<usize>,
    /// Where they begin in the data of the file.
    pub(crate) position: u64,
}

impl Reader {
    /// Opens a file with the default options.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::default().open(path)
    }

    /// Reads a file that is in memory, with the default options. Nothing is copied.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        OpenOptions::default().from_bytes(bytes)
    }

    /// Reads a file from any source, with the default options.
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

    /// The header, as it is in the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the parts of the file are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What was found irregular on opening, in the order in which the file was read.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub(crate) fn with_diagnostic(mut self, diagnostic: Diagnostic) -> Self {
        self.diagnostics.push(diagnostic);
        self
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &Arc<dyn ReadAt> {
        &self.source
    }

    /// How the file was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Length of the data in bytes.
    pub fn len(&self) -> u64 {
        self.layout.plain_len()
    }

    /// Whether the data is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The header of the metadata section, if there is one.
    pub fn meta_header(&self) -> Option<&MetaHeader> {
        self.meta.as_ref()
    }

    /// The metadata, if the file has a section of them. Fails where their text cannot be had:
    /// every call with the same error.
    pub fn metadata(&self) -> Result<Option<&Metadata>> {
        match &self.metadata {
            None => Ok(None),
            Some(Ok(metadata)) => Ok(Some(metadata)),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    /// The metadata section as it is in the file; empty if there is none.
    pub(crate) fn section(&self) -> Result<Bytes> {
        let section = self.layout.metadata().unwrap_or_default();
        let len = usize::try_from(section.end - section.start).unwrap_or(usize::MAX);
        Ok(self.source.bytes_at(section.start, len)?)
    }

    /// The chunks, in the order of their data.
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

    /// The Blosc header of a chunk: codec, shuffle, typesize and so on.
    pub fn chunk_header(&self, index: usize) -> Result<blosc::Header> {
        self.chunk_source().header(index as u64, self.chunk(index)?.offset)
    }

    /// The Blosc buffer of a chunk, as it is in the file. Its digest is checked unless that was
    /// done before or [`Verify::Never`] is chosen.
    pub fn chunk_bytes(&self, index: usize) -> Result<Bytes> {
        let chunk = self.chunk(index)?;
        let len = chunk.ctbytes as usize + self.header.checksum.len();
        let mut buffer = self.source.bytes_at(chunk.offset, len)?;
        let digest = buffer.split_off(chunk.ctbytes as usize);
        self.check_digest(index, &buffer, &digest)?;
        Ok(buffer)
    }

    /// Checks the digest of a chunk, unless that was done before or is not wanted.
    fn check_digest(&self, index: usize, buffer: &[u8], digest: &[u8]) -> Result<()> {
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

    /// The data of a chunk. Memory grows with what is decoded.
    pub fn decode_chunk(&self, index: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decode_chunk_to(index, &mut out, &mut Scratch::default())?;
        Ok(out)
    }

    /// The data of a chunk, into a buffer whose content is replaced and whose memory is used again.
    pub fn decode_chunk_to(
        &self,
        index: usize,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let limits = &self.options.limits;
        self.with_chunk(index, scratch, |buffer, blosc| buffer.decode_to(out, limits, blosc))
    }

    /// The data of a chunk, into `out`, which is as long ([`ChunkEntry::nbytes`]).
    pub fn decode_chunk_into(
        &self,
        index: usize,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let whole = 0..self.chunk(index)?.nbytes as usize;
        self.decode_chunk_range_into(index, whole, out, scratch)
    }

    /// The bytes of a chunk's data in `range`, into `out`, which is as long. Only the Blosc blocks
    /// that the range touches are decoded.
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

    /// Runs `decode` on the buffer of a chunk, whose digest is checked before.
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

    /// Fills `out` with the data from `offset` on. Of each chunk that it touches the stored
    /// bytes are read, and the Blosc blocks that it touches are decoded.
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

    /// Announces to a remote source which chunks a range of the data needs, so that it fetches them at
    /// once.
    pub(crate) fn prefetch_data(&self, range: Range<u64>) -> Result<()> {
        if self.source.is_memory() {
            return Ok(());
        }
        let source = self.chunk_source();
        let chunks = self.pieces(range)?.filter_map(|piece| self.chunks().get(piece.index));
        let stored: Vec<_> = chunks.map(|chunk| chunk.offset..source.end(chunk)).collect();
        Ok(self.source.prefetch(&stored)?)
    }

    /// The parts of chunks that make up a range of the data. Chunks without bytes in it are not
    /// among them.
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

    /// All data. Memory is that of the data, which the limits bound (16 GiB unless set), and is
    /// only taken up as they are decoded.
    pub fn read_all(&self) -> Result<Vec<u8>> {
        let mut out = self.room_for(self.len())?;
        self.read_exact_at(&mut out, 0)?;
        Ok(out)
    }

    /// Zeros for `count` elements of data, which take no memory before they are written to.
    pub(crate) fn room_for<T: bytemuck::Zeroable>(&self, count: u64) -> Result<Vec<T>> {
        let len = count.saturating_mul(size_of::<T>() as u64);
        self.options.limits.check_decoded("length of the data", len)?;
        let mut out = zeroed("data", count)?;
        prefer_huge_pages(&mut out);
        Ok(out)
    }
}

impl OpenOptions {
    /// Opens a file. It is read by position, so that what is in memory does not grow with it; a memory
    /// map, which gains nothing here, goes through [`from_source`](Self::from_source).
    ///
    /// If a change in place was interrupted, or another process is making one (see [`journal`]), the
    /// reader sees the file as it was before, and reports that; in strict reading it is an error. A
    /// journal of another file is always an error.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Reader> {
        let path = path.as_ref();
        let file = FileSource::open(path)?;
        let Some(pending) = journal::pending(path)? else {
            return self.from_source(file);
        };
        let (source, message): (Arc<dyn ReadAt>, _) = match pending {
            Pending::Unchanged => {
                (Arc::new(file), "a change in place was interrupted before it began")
            }
            Pending::Changed => {
                match Journaled::open(path)? {
                    Some(journaled) => (
                        Arc::new(journaled),
                        "a change in place is not finished: the file is read as it was before",
                    ),
                    // It has been finished meanwhile.
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

    /// Reads a file that is in memory. Nothing is copied.
    #[allow(
        clippy::wrong_self_convention,
        reason = "options build readers, as in std's OpenOptions"
    )]
    pub fn from_bytes(&self, bytes: impl Into<Bytes>) -> Result<Reader> {
        let bytes: Bytes = bytes.into();
        Reader::with_options(Arc::new(bytes), self.clone())
    }

    /// Reads a file from any source.
    #[allow(
        clippy::wrong_self_convention,
        reason = "options build readers, as in std's OpenOptions"
    )]
    pub fn from_source(&self, source: impl ReadAt + 'static) -> Result<Reader> {
        Reader::with_options(Arc::new(source), self.clone())
    }
}

/// The data as a source, so that a format whose file was packed is read without unpacking it.
///
/// Offsets count in the data. An error of a chunk says in its text where the chunk lies in the packed
/// file.
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
