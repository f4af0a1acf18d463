//! Compressing data that arrives piece by piece.

use std::io;

use binio::diagnostic::count;

use crate::WriteOptions;
use crate::error::{ErrorKind, Result};
use crate::parallel::{in_order_here, workers};
use crate::write::chunk_encoder::Recipe;

/// The length in bytes up to which chunks are gathered into a batch, to be compressed together on
/// several threads. Batches are large, because all threads have to finish before the next batch can
/// start. If fewer chunks than threads fit into this length, a batch has one chunk per thread. With
/// a single thread, every batch is one chunk.
const BATCH: usize = 32 << 20;

/// Gathers data until there is a batch of chunks for all threads, and compresses the batch.
pub(crate) struct Filling {
    recipe: Recipe,
    threads: usize,
    chunk_size: usize,
    /// The data gathered for the next batch.
    batch: Vec<u8>,
    /// The length of a full batch in bytes, which is a multiple of the chunk size.
    batch_len: usize,
    len: u64,
    /// The announced length of the data in bytes, or `None` if it is unknown.
    expected: Option<u64>,
    failed: bool,
}

impl Filling {
    /// Checks the options. Returns an empty batch to gather data in, and the metadata section of
    /// the file.
    pub(crate) fn new(options: &WriteOptions, expected: Option<u64>) -> Result<(Self, Vec<u8>)> {
        let (recipe, section) = options.check()?;
        let (chunk_size, threads) =
            (options.chunk_size.bytes()? as usize, workers(options.threads));
        let chunks = if threads > 1 { threads.max(BATCH / chunk_size) } else { 1 };
        let batch_len = chunk_size.saturating_mul(chunks);
        let batch = Vec::new();
        let (len, failed) = (0, false);
        Ok((Self { recipe, threads, chunk_size, batch, batch_len, len, expected, failed }, section))
    }

    /// Returns the length in bytes of all data gathered so far, including compressed batches.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fails if the length was announced and `is_right(len, announced)` is false.
    fn check_len(&self, is_right: impl Fn(u64, u64) -> bool, len: u64) -> Result<()> {
        match self.expected {
            Some(expected) if !is_right(len, expected) => {
                let expected = count(expected, "byte");
                let message = format!("expected {expected}, found {len}");
                Err(ErrorKind::InvalidOption { option: "len", message }.into())
            }
            _ => Ok(()),
        }
    }

    /// Gathers some bytes from the start of `data`, and returns their number. If this fills the
    /// batch, compresses its chunks and passes them to `commit` in order.
    pub(crate) fn take(
        &mut self,
        data: &[u8],
        commit: impl FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<usize> {
        self.check()?;
        self.check_len(|len, expected| len <= expected, self.len + data.len() as u64)?;
        let taken = if self.batch.is_empty() && data.len() >= self.batch_len {
            // Compress the data without copying it.
            let whole = data.len() - data.len() % self.batch_len;
            self.store(&data[..whole], commit)?;
            whole
        } else {
            let taken = data.len().min(self.batch_len - self.batch.len());
            self.batch.extend_from_slice(&data[..taken]);
            if self.batch.len() == self.batch_len {
                self.store_batch(commit)?;
            }
            taken
        };
        self.len += taken as u64;
        Ok(taken)
    }

    /// Like [`take`](Self::take), but gathers all bytes of `data`.
    pub(crate) fn take_all(
        &mut self,
        data: &[u8],
        mut commit: impl FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut rest = data;
        while !rest.is_empty() {
            let taken = self.take(rest, &mut commit)?;
            rest = &rest[taken..];
        }
        Ok(())
    }

    /// Compresses the remaining data and passes its chunks to `commit`. If there was no data,
    /// passes no chunk. Fails if the data does not have the announced length.
    pub(crate) fn end(&mut self, commit: impl FnMut(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.check()?;
        self.store_batch(commit)?;
        self.check_len(|len, expected| len == expected, self.len)
    }

    fn check(&self) -> Result<()> {
        if self.failed {
            // Fail in every later call as well, because the file would lack the chunk that was not
            // written.
            return Err(io::Error::other("an earlier chunk could not be written").into());
        }
        Ok(())
    }

    /// Returns the chunk that represents empty data.
    pub(crate) fn empty_chunk(&self) -> Result<Vec<u8>> {
        let mut stored = Vec::new();
        self.recipe.store(&[], &mut stored)?;
        Ok(stored)
    }

    fn store_batch(&mut self, commit: impl FnMut(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        self.store(&batch, commit)?;
        batch.clear();
        self.batch = batch;
        Ok(())
    }

    fn store(&mut self, data: &[u8], commit: impl FnMut(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let chunks = data.chunks(self.chunk_size);
        let recipe = self.recipe;
        let store = |(): &mut (), chunk: &[u8], stored: &mut Vec<u8>| recipe.store(chunk, stored);
        let outcome = in_order_here(self.threads.min(chunks.len()), chunks, || (), store, commit);
        self.failed = outcome.is_err();
        outcome
    }
}
