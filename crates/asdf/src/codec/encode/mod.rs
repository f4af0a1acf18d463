//! Compression of the data of a block, in pieces and by the threads of the caller's rayon pool.
//!
//! | code | pieces |
//! |---|---|
//! | none | as they are read |
//! | `zlib` | deflated by themselves, each with the 32 KiB before it as dictionary: one stream |
//! | `bzp2` | blocks of a stream, joined bit by bit: one stream |
//! | `lz4\0` | chunks of 4 MiB |
//! | `lz4f`, `zstd` | one frame, compressed by one thread |
//! | `blsc` | one buffer of all data |
//!
//! What is written does not depend on how many threads there are.

mod bzip2;
mod frame;
mod lz4;
mod zlib;

use binio::ReadAt;
use bytes::Bytes;
#[cfg(feature = "rayon")]
use rayon::prelude::*;

use super::Compression;
use crate::error::{Error, Result};

/// Uncompressed data are read in pieces of this size.
const PIECE: usize = 1 << 20;

/// Bytes that are compressed at a time, at most. As many are read meanwhile, and those before are
/// passed on.
const BATCH: usize = 12 << 20;

/// Takes the stored bytes, in their order.
pub(crate) type Sink<'s> = dyn FnMut(&[u8]) -> Result<()> + 's;

/// Compresses the data. `itemsize` is that of the elements.
pub(crate) fn encode(
    data: &dyn ReadAt,
    compression: Compression,
    itemsize: u64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    match compression {
        Compression::None => {
            let mut source = Source::new(data);
            while let Some(piece) = source.next(PIECE)? {
                sink(&piece)?;
            }
            Ok(())
        }
        Compression::Zlib(level) => zlib::encode(data, level, sink),
        Compression::Bzip2(level) => bzip2::encode(data, level, sink),
        Compression::Lz4 => lz4::encode(data, sink),
        Compression::Lz4Frame => frame::lz4(data, sink),
        Compression::Zstd(level) => frame::zstd(data, level, sink),
        Compression::Blosc(level) => frame::blosc(data, level, itemsize, sink),
    }
}

/// Data that are read from the beginning to the end.
struct Source<'a> {
    data: &'a dyn ReadAt,
    offset: u64,
}

impl<'a> Source<'a> {
    fn new(data: &'a dyn ReadAt) -> Self {
        Self { data, offset: 0 }
    }

    fn is_at_end(&self) -> bool {
        self.offset >= self.data.len()
    }

    /// The next bytes: as many as asked for, unless the data end.
    fn next(&mut self, len: usize) -> Result<Option<Bytes>> {
        let left = self.data.len().saturating_sub(self.offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(len);
        if len == 0 {
            return Ok(None);
        }
        let piece = self.data.bytes_at(self.offset, len)?;
        self.offset += len as u64;
        Ok(Some(piece))
    }
}

/// Compresses pieces of up to `size` bytes, some at a time over threads, and passes the results on in
/// the order of the pieces. Meanwhile the next pieces are read.
fn pipeline<T: Send, R: Send>(
    size: usize,
    mut read: impl FnMut() -> Result<Option<T>>,
    compress: impl Fn(T) -> Result<R> + Sync + Send,
    mut pass: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let count = (4 * threads()).clamp(1, (BATCH / size).max(1));
    let mut read_batch = || -> Result<Vec<T>> {
        let mut pieces = Vec::new();
        while pieces.len() < count {
            let Some(piece) = read()? else { break };
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

/// Calls the first function on other threads, if there are any, and the second on this one.
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

/// Work for another thread.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Calls the function with one that has jobs done by other threads, in their order, if there are any;
/// waits for all jobs.
pub(crate) fn with_threads<R>(work: impl FnOnce(Option<&dyn Fn(Job)>) -> R) -> R {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        return rayon::in_place_scope_fifo(|scope| {
            work(Some(&|job| scope.spawn_fifo(move |_| job())))
        });
    }
    work(None)
}

/// Calls the function for each item, over threads if there are any: a single other one would only
/// have to be waited for.
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

/// A failure of a compressor, which happens to none on any input.
fn failed(codec: &str, error: impl std::fmt::Display) -> Error {
    Error::unwritable(format!("{codec}: {error}"))
}
