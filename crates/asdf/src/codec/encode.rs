//! Compressing the data of a block in pieces, in parallel in the caller's rayon pool.
//!
//! | code | stored bytes |
//! |---|---|
//! | none | the data, unchanged |
//! | `zlib` | a single stream of pieces, each deflated independently with the preceding 32 KiB as its dictionary |
//! | `bzp2` | a single stream of blocks, which are compressed independently and joined bit by bit |
//! | `lz4\0` | chunks with 4 MiB of data each |
//! | `lz4f`, `zstd` | a single frame, compressed by one thread |
//! | `blsc` | a single buffer with all data, or one buffer for each 4 MiB of data |
//!
//! The output does not depend on the number of threads.

#[cfg(any(feature = "lz4f", feature = "zstd"))]
use std::io::{self, Write};

use binio::ReadAt;
use bytes::Bytes;
#[cfg(feature = "rayon")]
use rayon::prelude::*;

use super::decoder::{Decoder, zeroed};
use super::{Compression, Failure};
use crate::error::{Error, Result};

/// Size in bytes of the pieces in which uncompressed data is read.
const PIECE: usize = 1 << 20;

/// Number of bytes after which no more pieces are added to a batch of data. While a batch is compressed, the next
/// batch is read, and the results of the previous batch are written.
const BATCH: usize = 12 << 20;

/// A function that receives the stored bytes in order.
pub(crate) type Sink<'s> = dyn FnMut(&[u8]) -> Result<()> + 's;

/// A function that compresses the data from a source and passes the stored bytes to a sink.
type Encode = fn(&mut dyn Source, Parameters, &mut Sink<'_>) -> Result<()>;

/// Compresses the data from a source, and passes the stored bytes to `sink`. `itemsize` is the size
/// of an array element in bytes.
pub(crate) fn encode(
    source: &mut dyn Source,
    compression: Compression,
    itemsize: u64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let encode: Encode = match compression {
        Compression::None => return source.pieces(sink),
        Compression::Zlib(_) => super::zlib::encode,
        Compression::Bzip2(_) => super::bzp2::encode,
        Compression::Lz4 => super::lz4::encode,
        #[cfg(feature = "lz4f")]
        Compression::Lz4Frame => super::lz4f::encode,
        #[cfg(feature = "zstd")]
        Compression::Zstd(_) => super::zstd::encode,
        #[cfg(feature = "blsc")]
        Compression::Blosc(_) => super::blsc::encode,
        #[cfg(feature = "blsc")]
        Compression::BloscChunked(_) => super::blsc::encode_chunks,
        #[cfg(not(all(feature = "lz4f", feature = "zstd", feature = "blsc")))]
        _ => {
            let error = super::unsupported(compression.code());
            return Err(Error::unwritable(error.to_string()));
        }
    };
    let level = compression.level().unwrap_or(0);
    encode(source, Parameters { level, itemsize }, sink)
}

/// Parameters of the compression.
#[derive(Clone, Copy)]
pub(super) struct Parameters {
    /// The level, or 0 for compressions without levels.
    pub(super) level: u8,
    /// Size of an array element in bytes.
    #[cfg_attr(not(feature = "blsc"), expect(dead_code, reason = "only Blosc uses the size"))]
    pub(super) itemsize: u64,
}

/// Data to compress, read from beginning to end.
pub(crate) trait Source {
    /// Returns the number of bytes that remain to be read.
    fn left(&self) -> u64;

    /// Returns the next `len` bytes, or fewer if the data ends earlier. Returns `None` at the end of the data
    /// or if `len` is 0.
    fn next(&mut self, len: usize) -> Result<Option<Bytes>>;

    /// Passes the rest of the data to a function, piece by piece.
    fn pieces(&mut self, take: &mut Sink<'_>) -> Result<()> {
        while let Some(piece) = self.next(PIECE)? {
            take(&piece)?;
        }
        Ok(())
    }
}

/// Uncompressed data that is read in order.
pub(crate) struct UncompressedSource<'a> {
    data: &'a dyn ReadAt,
    offset: u64,
}

impl<'a> UncompressedSource<'a> {
    pub(crate) fn new(data: &'a dyn ReadAt) -> Self {
        Self { data, offset: 0 }
    }
}

impl Source for UncompressedSource<'_> {
    fn left(&self) -> u64 {
        self.data.len().saturating_sub(self.offset)
    }

    fn next(&mut self, len: usize) -> Result<Option<Bytes>> {
        let len = usize::try_from(self.left()).unwrap_or(usize::MAX).min(len);
        if len == 0 {
            return Ok(None);
        }
        let piece = self.data.bytes_at(self.offset, len)?;
        self.offset += len as u64;
        Ok(Some(piece))
    }
}

/// The data of a compressed block, decoded on demand for recompression.
pub(crate) struct DecodedSource<'a, 'd, F> {
    decoder: &'a mut Decoder<'d>,
    /// Converts a failure of the decoder to an error with the number of the block.
    failure: F,
    /// Bytes that have been decoded, but not requested yet.
    rest: Bytes,
}

impl<'a, 'd, F: Fn(Failure) -> Error + Send> DecodedSource<'a, 'd, F> {
    pub(crate) fn new(decoder: &'a mut Decoder<'d>, failure: F) -> Self {
        Self { decoder, failure, rest: Bytes::new() }
    }

    /// Decodes at least `len` more bytes, and appends them to `rest`.
    fn decode(&mut self, len: usize) -> Result<(), Failure> {
        let old = self.rest.len();
        let mut piece = zeroed(old + self.decoder.piece_len(len).max(len))?;
        piece[..old].copy_from_slice(&self.rest);
        self.decoder.fill(&mut piece[old..])?;
        self.rest = piece.into();
        Ok(())
    }
}

impl<F: Fn(Failure) -> Error + Send> Source for DecodedSource<'_, '_, F> {
    fn left(&self) -> u64 {
        self.rest.len() as u64 + self.decoder.left()
    }

    fn next(&mut self, len: usize) -> Result<Option<Bytes>> {
        let len = usize::try_from(self.left()).unwrap_or(usize::MAX).min(len);
        if len > self.rest.len() {
            self.decode(len - self.rest.len()).map_err(&self.failure)?;
        }
        Ok(Some(self.rest.split_to(len)).filter(|piece| !piece.is_empty()))
    }

    /// Decodes the next piece while `take` processes the current one.
    fn pieces(&mut self, take: &mut Sink<'_>) -> Result<()> {
        let mut piece = self.next(PIECE)?;
        while let Some(current) = piece {
            let mut next = Ok(None);
            beside(|| next = self.next(PIECE), || take(&current))?;
            piece = next?;
        }
        Ok(())
    }
}

/// Compresses pieces, several at a time in parallel, and passes the results to `pass` in the original order.
/// While pieces are compressed, the next pieces are read. `len_of` returns the length of a piece in bytes.
pub(super) fn pipeline<T: Send, R: Send>(
    len_of: impl Fn(&T) -> usize,
    mut read: impl FnMut() -> Result<Option<T>>,
    compress: impl Fn(T) -> Result<R> + Sync + Send,
    mut pass: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let count = 4 * threads();
    let mut read_batch = || -> Result<Vec<T>> {
        let (mut pieces, mut len) = (Vec::new(), 0);
        while pieces.len() < count && len < BATCH {
            let Some(piece) = read()? else { break };
            len += len_of(&piece);
            pieces.push(piece);
        }
        Ok(pieces)
    };
    let mut pieces = read_batch()?;
    let mut done: Vec<R> = Vec::new();
    while !(pieces.is_empty() && done.is_empty()) {
        let mut compressed = Ok(Vec::new());
        let next: Result<Vec<T>> = beside(
            || compressed = map(pieces, &compress),
            || {
                done.into_iter().try_for_each(&mut pass)?;
                read_batch()
            },
        );
        (pieces, done) = (next?, compressed?);
    }
    Ok(())
}

pub(crate) fn threads() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    return 1;
}

/// Calls `first` on another thread while this thread calls `second`, and returns the result of `second`. If
/// there is only one thread, calls `first` and then `second`.
pub(crate) fn beside<R>(first: impl FnOnce() + Send, second: impl FnOnce() -> R) -> R {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        return rayon::in_place_scope(|scope| {
            scope.spawn(|_| first());
            second()
        });
    }
    first();
    second()
}

/// A task for another thread.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

/// Calls `work` with a function that submits tasks to other threads in order, or with `None` if there is only
/// one thread. Returns when all tasks are finished.
pub(crate) fn with_threads<R>(work: impl FnOnce(Option<&dyn Fn(Task)>) -> R) -> R {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        return rayon::in_place_scope_fifo(|scope| {
            work(Some(&|task| scope.spawn_fifo(move |_| task())))
        });
    }
    work(None)
}

/// Calls a function for each item, in parallel if there is more than one thread. Returns the results
/// in the order of the items.
pub(crate) fn map<T: Send, R: Send>(
    items: Vec<T>,
    compress: impl Fn(T) -> Result<R> + Sync + Send,
) -> Result<Vec<R>> {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        return items.into_par_iter().map(compress).collect();
    }
    items.into_iter().map(compress).collect()
}

/// Returns the error for a failure in a compressor. Compressors should not fail for any input.
pub(super) fn encoder_error(codec: &str, error: impl std::fmt::Display) -> Error {
    Error::unwritable(format!("{codec}: {error}"))
}

/// A writer that passes the output of an encoder to a sink. An error of the sink is wrapped in an
/// `io::Error`.
#[cfg(any(feature = "lz4f", feature = "zstd"))]
pub(super) struct Writer<'a, 's>(pub(super) &'a mut Sink<'s>);

#[cfg(any(feature = "lz4f", feature = "zstd"))]
impl Write for Writer<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the original error of the sink if the sink failed; otherwise, returns the error of the
/// encoder.
#[cfg(any(feature = "lz4f", feature = "zstd"))]
pub(super) fn write_error(codec: &str, error: impl Into<io::Error>) -> Error {
    let error = error.into().downcast::<Error>();
    error.unwrap_or_else(|error| encoder_error(codec, error))
}
