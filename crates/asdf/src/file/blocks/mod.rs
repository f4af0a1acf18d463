//! The binary blocks: their headers, their bytes as stored, their data.

mod block_ref;
mod cache;
mod checksum;
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
pub(crate) use checksum::{digest_of, has_checksum};
pub(crate) use store::BlockStore;

/// The blocks of a file.
///
/// Headers are read when a block is asked for: with an index just that one, without an index all
/// up to it.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    store: &'a BlockStore,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(store: &'a BlockStore) -> Self {
        Self { store }
    }

    /// How many blocks the file has. Without an index all headers are read for it.
    pub fn len(&self) -> Result<usize> {
        self.store.len()
    }

    /// Whether the file has no blocks.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.find(0)?.is_none())
    }

    /// The block of this number, counted from 0. A block with a broken header is included; its
    /// [`Block::header`] is an error.
    pub fn get(&self, index: usize) -> Result<Block<'a>> {
        let block = self.find(index)?;
        block.ok_or_else(|| {
            let count = self.len().unwrap_or(index);
            no_such_block(index, count)
        })
    }

    /// The block that an array's `source` names: negative numbers count from the end, -1 is the
    /// last block. Fails where blocks may be missing between it and the end that it is counted
    /// from: after a gap in a file that was opened with
    /// [`Strictness::Salvage`](crate::Strictness::Salvage), or if other blocks follow the last one that
    /// the headers lead to.
    pub fn by_source(&self, source: impl Into<BlockRef>) -> Result<Block<'a>> {
        let certain = self.store.certain();
        let (index, is_certain) = match source.into() {
            BlockRef::Index(index) => (index, index < certain),
            source @ BlockRef::FromEnd(_) => {
                let count = self.len()?;
                let index = source.resolve(count).ok_or_else(|| no_such_block(0, count))?;
                (index, self.store.is_end_certain()? && (index >= certain || count <= certain))
            }
        };
        let block = self.get(index)?;
        if is_certain { Ok(block) } else { Err(block.error(BlockError::Uncertain)) }
    }

    /// The first number that may be wrong, after a gap in a file that is salvaged.
    pub(crate) fn certain(self) -> usize {
        self.store.certain()
    }

    /// All blocks in the order of the file. Each header is read when its turn comes; a source that
    /// fails ends it with an error.
    pub fn iter(&self) -> BlockIter<'a> {
        BlockIter { blocks: *self, next: Some(0) }
    }

    /// The data of all blocks, decoded in parallel, in their order.
    pub fn decode_all(&self) -> Result<Vec<Result<Bytes>>> {
        self.for_each(Block::decode)
    }

    /// The verdicts on the checksums of all blocks, found in parallel, in their order.
    pub fn verify_all(&self) -> Result<Vec<Result<ChecksumVerdict>>> {
        self.for_each(Block::verify)
    }

    /// Checks all blocks in parallel: that each is in the file and decodes, and its checksum. With
    /// each verdict comes what `done` returned, which is called when a block is finished, from any
    /// thread.
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

    /// All blocks as they were found, in their order.
    pub(crate) fn found(self) -> Result<Vec<FoundBlock>> {
        (0..self.len()?).filter_map(|index| self.store.block(index).transpose()).collect()
    }

    /// A block that was found, under a number that may differ from the one by which it was found.
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

/// The blocks of a file in their order; see [`Blocks::iter`].
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
#[derive(Clone, Debug)]
pub struct Block<'a> {
    store: &'a BlockStore,
    index: usize,
    offset: u64,
    header: Result<BlockHeader, BlockError>,
}

impl Block<'_> {
    /// Number of the block, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Offset of the block's magic in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The header, or what is wrong with it.
    pub fn header(&self) -> Result<&BlockHeader> {
        self.header.as_ref().map_err(|kind| self.error(kind.clone()))
    }

    /// Whether the data is stored in a compressed form.
    pub fn is_compressed(&self) -> bool {
        self.header.as_ref().is_ok_and(BlockHeader::is_compressed)
    }

    /// The stored bytes, as offsets in the file. An error if they reach past its end; with
    /// [`Strictness::Salvage`](crate::Strictness::Salvage) the part that exists.
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

    /// Size of the decoded data in bytes: the `data_size` of a compressed block, the stored
    /// size of an uncompressed one.
    pub fn data_len(&self) -> Result<u64> {
        let header = self.header()?;
        if header.is_compressed() && !header.is_streamed() {
            return Ok(header.data_size);
        }
        let range = self.data_range()?;
        Ok(range.end - range.start)
    }

    /// Where the stored bytes come from.
    pub(crate) fn source(&self) -> &'_ dyn ReadAt {
        self.store.source()
    }

    /// The bytes as stored. Shared with the source if that is memory. Never checked.
    pub fn raw(&self) -> Result<Bytes> {
        let range = self.data_range()?;
        let len = range.end - range.start;
        Ok(self.store.source().bytes_at(range.start, Self::in_memory(len)?)?)
    }

    /// Returns `true` if another block has the same compression, size and stored bytes, so that it decodes
    /// to the same data.
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

    /// The bytes as stored, for decoding: read once if they are one stream, else chunk by chunk.
    fn stored(&self, job: &DecodeJob) -> Result<Box<dyn ReadAt + '_>> {
        Ok(if job.is_chunked() { Box::new(self.span()?) } else { Box::new(self.raw()?) })
    }

    /// The data. Of an uncompressed block it is shared with the source if that is memory; of a
    /// compressed one it is shared with others who asked for it, or decoded.
    pub fn decode(&self) -> Result<Bytes> {
        let verify = self.must_verify(true)?;
        let Some(job) = self.job()? else {
            let data = self.raw()?;
            if verify {
                self.check(Algorithm::Md5.digest(&data), None)?;
            }
            return Ok(data);
        };
        if !verify {
            return self.decode_unverified();
        }
        self.check_decoded(job.data_size)?;
        let stored = self.stored(&job)?;
        let mut notes = Vec::new();
        let (digest, decoded) = join(|| digest_of(&*stored), || job.decode(&*stored, &mut notes));
        self.report(notes)?;
        let data = decoded.map_err(|failure| self.failure(failure))?;
        self.check(digest?, Some(&data))?;
        Ok(self.store.cache().insert(self.offset, data))
    }

    /// Calls a function that decodes the data of a compressed block, all of it and in pieces. The
    /// data is right only if this succeeds. The checksum is not compared.
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

    /// The data, into a buffer of exactly its size.
    pub fn decode_into(&self, buffer: &mut [u8]) -> Result<()> {
        let (want, got) = (self.data_len()?, buffer.len() as u64);
        if want != got {
            return Err(self.error(BlockError::BufferSize { want, got }));
        }
        let verify = self.must_verify(true)?;
        let Some(job) = self.job()? else {
            self.store.source().read_exact_at(buffer, self.data_range()?.start)?;
            return if verify { self.check(Algorithm::Md5.digest(buffer), None) } else { Ok(()) };
        };
        self.check_decoded(want)?;
        if let Some(data) = self.cached().filter(|_| !verify) {
            buffer.copy_from_slice(&data);
            return Ok(());
        }
        let stored = self.stored(&job)?;
        let mut notes = Vec::new();
        let (digest, decoded) = join(
            || verify.then(|| digest_of(&*stored)).transpose(),
            || job.decode_into(&*stored, buffer, &mut notes),
        );
        self.report(notes)?;
        decoded.map_err(|failure| self.failure(failure))?;
        digest?.map_or(Ok(()), |digest| self.check(digest, Some(buffer)))
    }

    /// A part of the data. Of an uncompressed block only these bytes are read, of an `lz4` or
    /// `blsc` block only the chunks that hold them are decoded. Other blocks are decoded whole if
    /// they are small enough to be kept for the next call, else up to the end of the range.
    pub fn decode_range(&self, range: Range<u64>) -> Result<Bytes> {
        let len = self.data_len()?;
        if range.start > range.end || range.end > len {
            return Err(self.error(BlockError::RangeOutside { range, len }));
        }
        let Some(job) = self.job()? else {
            self.verify_on_read()?;
            let start = self.data_range()?.start.saturating_add(range.start);
            let len = Self::in_memory(range.end - range.start)?;
            return Ok(self.store.source().bytes_at(start, len)?);
        };
        if (!job.is_chunked() || range == (0..len)) && self.store.cache().keeps(len) {
            match self.decode() {
                Ok(data) => return Ok(Self::part(&data, &range)),
                Err(error) if is_checksum_error(&error) => return Err(error),
                // The beginning of a stream that is damaged further on is still decoded.
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

    /// The chunks of a block that is compressed in chunks, as `lz4` and `blsc` are: `stored` are
    /// offsets in the file, `decoded` those in the data. Only the lengths before each chunk are
    /// read. `None` for other blocks.
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

    /// Returns `true` if the block is compressed in chunks of Blosc buffers, each with its length in front
    /// ([`Compression::BloscChunked`](crate::Compression::BloscChunked)). The header does not distinguish
    /// them from a single buffer, so the first stored byte is read.
    pub fn is_blosc_chunked(&self) -> Result<bool> {
        let range = self.data_range()?;
        if self.header()?.compression != *b"blsc" || range.is_empty() {
            return Ok(false);
        }
        Ok(self.store.source().bytes_at(range.start, 1)?[0] != BLOSC_VERSION)
    }

    /// A part of the data for which the whole must be sound: as [`Self::decode_range`] where parts
    /// can be decoded by themselves, else the part of what [`Self::decode`] returns.
    pub(crate) fn decode_part(&self, range: Range<u64>) -> Result<Bytes> {
        let len = self.data_len()?;
        match self.job()? {
            Some(job) if !job.is_chunked() || range == (0..len) => {
                let data = match self.decode() {
                    // A stream that is cut has a beginning.
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
        // No lock is held while decoding: it may use the threads that wait for the lock.
        let result = job.decode(&*self.stored(&job)?, &mut notes);
        self.report(notes)?;
        let data = result.map_err(|failure| self.failure(failure))?;
        Ok(self.store.cache().insert(self.offset, data))
    }

    /// How to decode the block; `None` if it is not compressed.
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

    /// Whether the block is decoded already and still there.
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

    /// A length that a buffer can have on this machine.
    fn in_memory(len: u64) -> Result<usize> {
        let limit = u64::try_from(isize::MAX).unwrap_or(u64::MAX);
        usize::try_from(len).map_err(|_| Error::limit("bytes of a block", limit, len))
    }

    /// Adds the irregularities of the stream to the file's diagnostics.
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

/// Runs both, on two threads where that is possible.
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
