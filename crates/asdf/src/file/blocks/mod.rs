//! Binary blocks: their headers, stored bytes and decoded data.

mod block_ref;
mod cache;
mod checksum;
mod digest;
mod store;
mod table;

use std::ops::Range;

use binio::checksum::Algorithm;
use binio::{ReadAt, Span};
use bytes::Bytes;
#[cfg(feature = "rayon")]
use rayon::prelude::*;

use crate::codec::{BLOSC_VERSION, Chunk, DecodeJob, Decoder, Failure, Irregularity};
use crate::error::{BlockError, CodecError, Error, ErrorKind, Result};
use crate::file::locate::{CachedSource, FoundBlock, HeaderState};
use crate::layout::BlockHeader;

pub use block_ref::BlockRef;
pub use checksum::ChecksumVerdict;
pub(crate) use checksum::has_checksum;
pub(crate) use digest::digest_of;
use digest::{decode_and_digest, read_and_digest};
pub(crate) use store::BlockStore;

/// Maximum stored size in bytes of a block that `Block::stored` reads as a whole. Larger blocks are read on
/// demand.
const SMALL_BLOCK: u64 = 1 << 20;

/// The blocks of a file.
///
/// By default, headers are read on demand. With a valid index, usually only the header of the
/// requested block is read. Without an index, all headers up to the requested block are read.
///
/// See the ASDF standard, "Low-level file layout", Blocks.
///
/// ```
/// use asdf::value::Array;
/// use asdf::{Asdf, Tree, Writer};
///
/// let mut tree = Tree::default();
/// tree.set("/a", Array::from_slice(b"first", &[5])?)?;
/// tree.set("/b", Array::from_slice(b"second", &[6])?)?;
/// let mut bytes = std::io::Cursor::new(Vec::new());
/// Writer::new(tree).write_to(&mut bytes)?;
///
/// let file = Asdf::from_bytes(bytes.into_inner())?;
/// let blocks = file.blocks();
/// assert_eq!(blocks.len()?, 2);
/// assert_eq!(blocks.get(0)?.decode()?, "first");
/// assert_eq!(blocks.by_source(-1)?.decode()?, "second");
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    store: &'a BlockStore,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(store: &'a BlockStore) -> Self {
        Self { store }
    }

    /// Returns the number of blocks. Without a valid index, this reads all headers.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Io`] if a header cannot be read from the source, and with [`ErrorKind::Limit`]
    /// if there are more than [`Limits::max_items`](crate::Limits::max_items) blocks. An invalid header is not
    /// an error here.
    pub fn len(&self) -> Result<usize> {
        self.store.len()
    }

    /// Returns `true` if the file has no blocks.
    ///
    /// # Errors
    ///
    /// Same as [`len`](Self::len).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.find(0)?.is_none())
    }

    /// Returns the block with this number, counted from 0. A block with an invalid header is also returned,
    /// but its [`Block::header`] fails.
    ///
    /// # Errors
    ///
    /// Same as [`len`](Self::len). Also fails with [`ErrorKind::Block`] of kind
    /// [`NoSuchBlock`](BlockError::NoSuchBlock) if the number is too large.
    pub fn get(&self, index: usize) -> Result<Block<'a>> {
        let block = self.find(index)?;
        block.ok_or_else(|| {
            let count = self.len().unwrap_or(index);
            no_such_block(index, count)
        })
    }

    /// Returns the block that an array's `source` refers to. Negative numbers count from the end; -1 is the
    /// last block.
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get). A negative number that counts back past the first block is
    /// treated like a number that is too large. Also fails with [`ErrorKind::Block`] of kind
    /// [`Uncertain`](BlockError::Uncertain) if the number of the block is uncertain:
    ///
    /// - A negative number is uncertain if the file seems to contain more blocks than those found by
    ///   following the headers.
    /// - In a file opened with [`Strictness::Salvage`](crate::Strictness::Salvage), a number that counts
    ///   from the start is uncertain if blocks may be missing from a gap before the block. A negative
    ///   number is uncertain if blocks may be missing from a gap after the block.
    pub fn by_source(&self, source: impl Into<BlockRef>) -> Result<Block<'a>> {
        let certain = self.store.certain();
        let (index, is_certain) = match source.into() {
            BlockRef::Index(index) => (index, index < certain),
            source @ BlockRef::FromEnd(_) => {
                let count = self.len()?;
                let index = source.resolve(count).ok_or_else(|| no_such_block(0, count))?;
                let is_after_gaps = count <= certain || index >= self.store.certain_from_end();
                (index, self.store.is_end_certain()? && is_after_gaps)
            }
        };
        let block = self.get(index)?;
        if is_certain { Ok(block) } else { Err(block.error(BlockError::Uncertain)) }
    }

    /// Returns the first block number of a salvaged file that is uncertain, or `usize::MAX` if all numbers are
    /// certain.
    pub(crate) fn certain(self) -> usize {
        self.store.certain()
    }

    /// Iterates over all blocks in the order of their numbers. Headers are read one at a time. The iteration
    /// ends after an error.
    pub fn iter(&self) -> BlockIter<'a> {
        BlockIter { blocks: *self, next: Some(0) }
    }

    /// Decodes all blocks in parallel and returns their data in the order of the block numbers.
    ///
    /// # Errors
    ///
    /// Same as [`len`](Self::len). If a block cannot be decoded, only its own result is an error; see
    /// [`Block::decode`].
    pub fn decode_all(&self) -> Result<Vec<Result<Bytes>>> {
        self.for_each(Block::decode)
    }

    /// Verifies the checksums of all blocks in parallel and returns the verdicts in the order of the block
    /// numbers.
    ///
    /// # Errors
    ///
    /// Same as [`len`](Self::len). If a block cannot be read, only its own result is an error; see
    /// [`Block::verify`].
    pub fn verify_all(&self) -> Result<Vec<Result<ChecksumVerdict>>> {
        self.for_each(Block::verify)
    }

    /// Checks in parallel that each block is complete, can be decoded and matches its checksum.
    /// After checking a block, calls `done` on any thread, and returns the result of `done`
    /// together with the verdict.
    pub(crate) fn check_all<T: Send>(
        self,
        done: impl Fn(&Block<'a>) -> T + Send + Sync,
    ) -> Result<Vec<(T, Result<ChecksumVerdict>)>> {
        self.for_each(|block| {
            let verdict = block.check_whole();
            (done(block), verdict)
        })
    }

    fn for_each<T: Send>(self, task: impl Fn(&Block<'a>) -> T + Send + Sync) -> Result<Vec<T>> {
        let blocks = self.iter().collect::<Result<Vec<_>>>()?;
        #[cfg(feature = "rayon")]
        return Ok(blocks.par_iter().map(task).collect());
        #[cfg(not(feature = "rayon"))]
        return Ok(blocks.iter().map(task).collect());
    }

    fn find(self, index: usize) -> Result<Option<Block<'a>>> {
        Ok(self.store.block(index)?.map(|block| self.block(index, block)))
    }

    /// Returns the offset and the header of every block, in the order of the block numbers.
    pub(crate) fn found(self) -> Result<Vec<FoundBlock>> {
        (0..self.len()?).filter_map(|index| self.store.block(index).transpose()).collect()
    }

    /// Converts a [`FoundBlock`] to a [`Block`]. `index` is the number of the block, which may
    /// differ from its position among the blocks in the file.
    pub(crate) fn block(self, index: usize, found: FoundBlock) -> Block<'a> {
        let FoundBlock { offset, header } = found;
        let header = match header {
            HeaderState::Good(header) => Ok(header),
            HeaderState::Bad(error) => Err(*error),
            HeaderState::Unread => Err(BlockError::Magic { offset }),
        };
        Block { store: self.store, index, offset, header }
    }
}

impl<'a> IntoIterator for &Blocks<'a> {
    type Item = Result<Block<'a>>;
    type IntoIter = BlockIter<'a>;

    fn into_iter(self) -> BlockIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for Blocks<'a> {
    type Item = Result<Block<'a>>;
    type IntoIter = BlockIter<'a>;

    fn into_iter(self) -> BlockIter<'a> {
        self.iter()
    }
}

/// An iterator over the blocks of a file; see [`Blocks::iter`].
#[derive(Clone, Debug)]
pub struct BlockIter<'a> {
    blocks: Blocks<'a>,
    next: Option<usize>,
}

impl<'a> Iterator for BlockIter<'a> {
    type Item = Result<Block<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next.take()?;
        match self.blocks.find(index) {
            Ok(None) => None,
            Ok(Some(block)) => {
                self.next = index.checked_add(1);
                Some(Ok(block))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// A binary block.
///
/// See the ASDF standard, "Low-level file layout", Blocks.
///
/// ```
/// use asdf::block::ChecksumVerdict;
/// use asdf::value::Array;
/// use asdf::{Asdf, Tree, Writer};
///
/// let mut tree = Tree::default();
/// tree.set("/data", Array::from_slice(b"0123456789", &[10])?)?;
/// let mut bytes = std::io::Cursor::new(Vec::new());
/// Writer::new(tree).write_to(&mut bytes)?;
///
/// let file = Asdf::from_bytes(bytes.into_inner())?;
/// let block = file.blocks().get(0)?;
/// assert_eq!(block.header()?.used_size, 10);
/// assert_eq!(block.decode_range(2..5)?, "234");
/// assert_eq!(block.verify()?, ChecksumVerdict::Stored);
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Block<'a> {
    store: &'a BlockStore,
    index: usize,
    offset: u64,
    header: Result<BlockHeader, BlockError>,
}

impl Block<'_> {
    /// Returns the number of the block, counted from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the offset of the block's magic bytes in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the header.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Block`] if the header has no magic bytes ([`BlockError::Magic`]), if its size is
    /// below 48 ([`BlockError::HeaderSize`]), or if it is truncated by the end of the file
    /// ([`BlockError::HeaderTruncated`]).
    pub fn header(&self) -> Result<&BlockHeader> {
        self.header.as_ref().map_err(|kind| self.error(kind.clone()))
    }

    /// Returns `true` if the data is stored in compressed form.
    pub fn is_compressed(&self) -> bool {
        self.header.as_ref().is_ok_and(BlockHeader::is_compressed)
    }

    /// Returns the range of the stored bytes in the file. With
    /// [`Strictness::Salvage`](crate::Strictness::Salvage), the range of a truncated block is the part that
    /// exists.
    ///
    /// # Errors
    ///
    /// Same as [`header`](Self::header). Also fails with [`ErrorKind::Block`] of kind
    /// [`PastEnd`](BlockError::PastEnd) if the range extends past the end of the file, unless the file is being
    /// salvaged.
    pub fn data_range(&self) -> Result<Range<u64>> {
        let file_len = self.store.source().len();
        let range = self.header()?.claimed_range(file_len);
        if range.end <= file_len {
            Ok(range)
        } else if self.store.is_salvage() {
            Ok(range.start.min(file_len)..file_len)
        } else {
            Err(self.error(BlockError::PastEnd { range, file_len }))
        }
    }

    /// Returns the size of the decoded data in bytes: `data_size` for a compressed block, the stored size for
    /// an uncompressed one.
    ///
    /// # Errors
    ///
    /// Same as [`data_range`](Self::data_range), except that a compressed block may extend past the end of the
    /// file.
    pub fn data_len(&self) -> Result<u64> {
        let header = self.header()?;
        if header.is_compressed() && !header.is_streamed() {
            return Ok(header.data_size);
        }
        let range = self.data_range()?;
        Ok(range.end - range.start)
    }

    /// Returns the source from which the block is read.
    pub(crate) fn source(&self) -> &'_ dyn ReadAt {
        self.store.source()
    }

    /// Returns the stored bytes without verifying the checksum. They are shared with the source if it is in
    /// memory.
    ///
    /// # Errors
    ///
    /// Same as [`data_range`](Self::data_range). Also fails with [`ErrorKind::Io`] if the source cannot be
    /// read, with [`ErrorKind::OutOfMemory`] if there is not enough memory for the bytes, and with
    /// [`ErrorKind::Limit`] if the stored size exceeds the address space.
    pub fn raw(&self) -> Result<Bytes> {
        let range = self.data_range()?;
        let len = range.end - range.start;
        Ok(self.store.source().bytes_at(range.start, Self::in_memory(len)?)?)
    }

    /// Returns `true` if another block has the same compression, size and stored bytes, and therefore the
    /// same data.
    pub(crate) fn is_stored_like(&self, other: &Block<'_>) -> Result<bool> {
        const PIECE: usize = 1 << 20;
        let [one, two] = [self.header()?, other.header()?];
        let ranges = [self.data_range()?, other.data_range()?];
        let len = |range: &Range<u64>| range.end - range.start;
        if (one.compression, one.data_size, len(&ranges[0]))
            != (two.compression, two.data_size, len(&ranges[1]))
        {
            return Ok(false);
        }
        let [one, two] = [
            self.source().pieces(ranges[0].clone(), PIECE),
            other.source().pieces(ranges[1].clone(), PIECE),
        ];
        for (one, two) in one.zip(two) {
            if one? != two? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn span(&self) -> Result<Span<&CachedSource>> {
        Ok(Span::new(self.store.source(), self.data_range()?)?)
    }

    /// Returns the stored bytes for decoding. Reads a small block immediately, but a larger block
    /// on demand, so that its stored bytes need not fit into memory.
    fn stored(&self) -> Result<Box<dyn ReadAt + '_>> {
        let span = self.span()?;
        Ok(if span.len() <= SMALL_BLOCK { Box::new(self.raw()?) } else { Box::new(span) })
    }

    /// Returns the decoded data. The data of an uncompressed block is shared with the source if the
    /// source is in memory. The data of a compressed block is shared with other callers if it is
    /// already in memory.
    ///
    /// # Errors
    ///
    /// Same as [`raw`](Self::raw). Also fails with [`ErrorKind::Codec`] if the block cannot be
    /// decompressed or this build does not support the compression, with [`ErrorKind::Limit`] if a
    /// compressed block decodes to more than [`Limits::max_decoded`](crate::Limits::max_decoded)
    /// bytes, and with [`ErrorKind::Block`] of kind [`Checksum`](BlockError::Checksum) if the
    /// checksum has to be [verified](crate::OpenOptions::verify) and does not match.
    pub fn decode(&self) -> Result<Bytes> {
        let verify = self.must_verify(true)?;
        let Some(job) = self.job()? else {
            return if verify { self.read_verified() } else { self.raw() };
        };
        if !verify {
            return self.decode_unverified();
        }
        self.check_decoded(job.data_size)?;
        let stored = self.stored()?;
        let mut notes = Vec::new();
        let (decoded, digest) =
            decode_and_digest(&*stored, |stored| job.decode(stored, &mut notes));
        self.report(notes)?;
        let data = decoded.map_err(|failure| self.failure(failure))?;
        self.check(digest?, Some(&data))?;
        Ok(self.store.cache().insert(self.offset, data))
    }

    /// Returns the data of an uncompressed block, and compares it with the checksum in the same pass.
    fn read_verified(&self) -> Result<Bytes> {
        let range = self.data_range()?;
        let len = Self::in_memory(range.end - range.start)?;
        let source = self.store.source();
        if source.is_memory() {
            let data = source.bytes_at(range.start, len)?;
            self.check(Algorithm::Md5.digest(&data), None)?;
            return Ok(data);
        }
        let mut data = binio::memory::zeroed("data of a block", len)?;
        self.check(read_and_digest(source, range.start, &mut data)?, None)?;
        Ok(data.into())
    }

    /// Passes a decoder for the block to `decode`, which must read all data of the block from it.
    /// The data is only valid if this function succeeds. The checksum is not verified. Fails if the
    /// block is not compressed.
    pub(crate) fn with_decoder<R>(
        &self,
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<R>,
    ) -> Result<R> {
        let none = || self.failure(CodecError::UnknownCompression.into());
        let job = self.job()?.ok_or_else(none)?;
        self.check_decoded(job.data_size)?;
        let stored = self.span()?;
        let mut notes = Vec::new();
        let opened = job.open(&stored, &mut notes).map_err(|failure| self.failure(failure));
        let decoded = opened.and_then(|mut decoder| {
            let result = decode(&mut decoder)?;
            decoder.finish().map_err(|failure| self.failure(failure))?;
            Ok(result)
        });
        self.report(notes)?;
        decoded
    }

    /// Decodes the data into a buffer, which must have exactly the size of the data.
    ///
    /// # Errors
    ///
    /// Same as [`decode`](Self::decode). Also fails with [`ErrorKind::Block`] of kind
    /// [`BufferSize`](BlockError::BufferSize) if the buffer does not have [`data_len`](Self::data_len) bytes.
    pub fn decode_into(&self, buffer: &mut [u8]) -> Result<()> {
        let (expected, found) = (self.data_len()?, buffer.len() as u64);
        if expected != found {
            return Err(self.error(BlockError::BufferSize { expected, found }));
        }
        let verify = self.must_verify(true)?;
        let Some(job) = self.job()? else {
            let (source, start) = (self.store.source(), self.data_range()?.start);
            if verify {
                return self.check(read_and_digest(source, start, buffer)?, None);
            }
            return Ok(source.read_exact_at(buffer, start)?);
        };
        self.check_decoded(expected)?;
        if let Some(data) = self.cached().filter(|_| !verify) {
            buffer.copy_from_slice(&data);
            return Ok(());
        }
        let stored = self.stored()?;
        let mut notes = Vec::new();
        let mut decode = |stored: &dyn ReadAt| job.decode_into(stored, &mut *buffer, &mut notes);
        let (decoded, digest) = if verify {
            let (decoded, digest) = decode_and_digest(&*stored, decode);
            (decoded, Some(digest))
        } else {
            (decode(&*stored), None)
        };
        self.report(notes)?;
        decoded.map_err(|failure| self.failure(failure))?;
        digest.map_or(Ok(()), |digest| self.check(digest?, Some(buffer)))
    }

    /// Returns a range of the data. In an uncompressed block, only the requested bytes are read. In
    /// an `lz4` or `blsc` block, only the chunks that contain the requested bytes are decoded. Any
    /// other block is decoded entirely if it fits into the cache, and otherwise up to the end of the
    /// range. All stored bytes are read if the checksum has to be
    /// [verified](crate::OpenOptions::verify) first.
    ///
    /// # Errors
    ///
    /// Same as [`decode`](Self::decode). However, damage outside the decoded bytes may go unnoticed,
    /// and the limit applies only to the number of decoded bytes. Also fails with
    /// [`ErrorKind::Block`] of kind [`RangeOutside`](BlockError::RangeOutside) if the range is not
    /// inside the data.
    pub fn decode_range(&self, range: Range<u64>) -> Result<Bytes> {
        let len = self.data_len()?;
        if range.start > range.end || range.end > len {
            return Err(self.error(BlockError::RangeOutside { range, len }));
        }
        let Some(job) = self.job()? else {
            if range == (0..len) {
                return self.decode();
            }
            self.verify_on_read()?;
            let start = self.data_range()?.start.saturating_add(range.start);
            let len = Self::in_memory(range.end - range.start)?;
            return Ok(self.store.source().bytes_at(start, len)?);
        };
        if (!job.is_chunked() || range == (0..len)) && self.store.cache().keeps(len) {
            match self.decode() {
                Ok(data) => return Ok(Self::part(&data, &range)),
                Err(error) if is_checksum_error(&error) => return Err(error),
                // Decode the range anyway, because it may precede the damage.
                Err(_) => {}
            }
        }
        self.verify_on_read()?;
        if let Some(data) = self.cached() {
            return Ok(Self::part(&data, &range));
        }
        self.check_decoded(if job.is_chunked() { range.end - range.start } else { range.end })?;
        let stored = self.span()?;
        let data = job.decode_range(&stored, &range).map_err(|failure| self.failure(failure))?;
        Ok(data.into())
    }

    /// Returns the chunks of an `lz4` or `blsc` block. Returns `None` for any other block, and for an
    /// `lz4` block that consists of an LZ4 frame. The `stored` ranges are offsets in the file, and the
    /// `decoded` ranges are offsets in the data. Only the header of each chunk is read.
    ///
    /// # Errors
    ///
    /// Same as [`data_range`](Self::data_range). Also fails with [`ErrorKind::Codec`] if the headers of the
    /// chunks are invalid, if their lengths do not add up, if the block is both compressed and streamed, or if
    /// this build does not support the compression, and with [`ErrorKind::Io`] if the source cannot be read.
    pub fn chunks(&self) -> Result<Option<Vec<Chunk>>> {
        let Some(job) = self.job()? else { return Ok(None) };
        let range = self.data_range()?;
        let stored = Span::new(self.store.source(), range.clone())?;
        let mut chunks = job.chunks(&stored).map_err(|failure| self.failure(failure))?;
        for chunk in chunks.iter_mut().flatten() {
            chunk.stored = range.start + chunk.stored.start..range.start + chunk.stored.end;
        }
        Ok(chunks)
    }

    /// Returns `true` if the block consists of Blosc buffers, each preceded by its length
    /// ([`Compression::BloscChunked`](crate::Compression::BloscChunked)). The header does not distinguish
    /// this from a single buffer, so the first stored byte is read.
    ///
    /// # Errors
    ///
    /// Same as [`data_range`](Self::data_range). Also fails with [`ErrorKind::Io`] if the source cannot be
    /// read.
    pub fn is_blosc_chunked(&self) -> Result<bool> {
        let range = self.data_range()?;
        if self.header()?.compression != *b"blsc" || range.is_empty() {
            return Ok(false);
        }
        Ok(self.store.source().bytes_at(range.start, 1)?[0] != BLOSC_VERSION)
    }

    /// Returns a range of the data. Unlike [`Self::decode_range`], decodes all data of a block that is not
    /// chunked, so that damage after the range is an error as well. When salvaging, such damage is ignored.
    pub(crate) fn decode_part(&self, range: Range<u64>) -> Result<Bytes> {
        let len = self.data_len()?;
        match self.job()? {
            Some(job) if !job.is_chunked() || range == (0..len) => {
                let data = match self.decode() {
                    // When salvaging, return the part of a damaged stream that can be decoded.
                    Err(_) if self.store.is_salvage() => return self.decode_range(range),
                    data => data?,
                };
                if range.start > range.end || range.end > len {
                    return Err(self.error(BlockError::RangeOutside { range, len }));
                }
                Ok(Self::part(&data, &range))
            }
            _ => self.decode_range(range),
        }
    }

    fn decode_unverified(&self) -> Result<Bytes> {
        let Some(job) = self.job()? else { return self.raw() };
        self.check_decoded(job.data_size)?;
        if let Some(data) = self.cached() {
            return Ok(data);
        }
        let mut notes = Vec::new();
        // Do not hold the lock on the cache while decoding: the decoder may use threads that are
        // waiting for the lock.
        let result = job.decode(&*self.stored()?, &mut notes);
        self.report(notes)?;
        let data = result.map_err(|failure| self.failure(failure))?;
        Ok(self.store.cache().insert(self.offset, data))
    }

    /// Returns the parameters for decoding the block, or `None` if the block is not compressed.
    fn job(&self) -> Result<Option<DecodeJob>> {
        let header = self.header()?;
        if !header.is_compressed() {
            return Ok(None);
        }
        if header.is_streamed() {
            return Err(self.failure(CodecError::StreamedCompressed.into()));
        }
        let salvage = self.store.is_salvage();
        let (code, data_size) = (header.compression, header.data_size);
        Ok(Some(DecodeJob { code, data_size, salvage }))
    }

    /// Returns `true` if the decoded data is in memory.
    pub(crate) fn is_cached(&self) -> bool {
        self.cached().is_some()
    }

    fn cached(&self) -> Option<Bytes> {
        self.store.cache().get(self.offset)
    }

    fn part(data: &Bytes, range: &Range<u64>) -> Bytes {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(data.len());
        data.slice(place(range.start)..place(range.end))
    }

    fn check_decoded(&self, len: u64) -> Result<()> {
        let limits = self.store.limits();
        Ok(limits.check_decoded("decoded bytes of a block", len)?)
    }

    /// Converts a length to `usize`. Fails if the length exceeds the address space.
    fn in_memory(len: u64) -> Result<usize> {
        let limit = u64::try_from(isize::MAX).unwrap_or(u64::MAX);
        usize::try_from(len).map_err(|_| Error::limit("bytes of a block", limit, len))
    }

    /// Adds the irregularities of a compressed stream to the diagnostics of the file.
    fn report(&self, notes: Vec<Irregularity>) -> Result<()> {
        let start = self.header()?.data_start();
        for Irregularity { code, offset, message } in notes {
            let message = format!("block {}: {message}", self.index);
            self.store.reports().report(code, start.saturating_add(offset), message);
        }
        Ok(())
    }

    fn error(&self, kind: BlockError) -> Error {
        ErrorKind::Block { index: self.index, kind }.into()
    }

    pub(crate) fn failure(&self, failure: Failure) -> Error {
        let code = self.header.as_ref().map_or([0; 4], |header| header.compression);
        match failure {
            Failure::Codec(kind) => ErrorKind::Codec { index: self.index, code, kind }.into(),
            Failure::Binio(error) => Error::from(error),
        }
    }
}

/// Calls two functions, in parallel if the feature `rayon` is enabled, and returns their results.
pub(crate) fn join<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(feature = "rayon")]
    return rayon::join(first, second);
    #[cfg(not(feature = "rayon"))]
    return (first(), second());
}

fn is_checksum_error(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Block { kind: BlockError::Checksum { .. }, .. })
}

fn no_such_block(index: usize, count: usize) -> Error {
    ErrorKind::Block { index, kind: BlockError::NoSuchBlock { count } }.into()
}

#[cfg(test)]
mod tests;
