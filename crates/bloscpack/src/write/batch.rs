//! Making chunks from data that arrives piece by piece.

use std::io;

use binio::diagnostic::count;

use crate::WriteOptions;
use crate::error::{ErrorKind, Result};
use crate::parallel::{in_order_here, workers};
use crate::write::chunk_encoder::Recipe;

/// The number of bytes that are compressed together. The threads start and end with each batch, so batches are large.
/// If a chunk is larger than the share of a thread, each thread compresses one chunk.
const BATCH: usize = 32 << 20;

/// Gathers data until there are chunks for all threads, and compresses them.
pub(crate) struct Filling {
    recipe: Recipe,
    threads: usize,
    chunk_size: usize,
    /// Complete chunks, and the beginning of the next one.
    batch: Vec<u8>,
    /// The length at which the batch is compressed, a multiple of the chunk size.
    batch_len: usize,
    len: u64,
    /// The length of the data, if it was announced.
    expected: Option<u64>,
    failed: bool,
}

impl Filling {
    /// Checks the options. Returns a value that is ready to gather data, and the metadata section.
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

    /// Returns the length of the data so far in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fails if the length was announced and `is_right(len, announced)` is false.
    fn check_len(&self, is_right: impl Fn(u64, u64) -> bool, len: u64) -> Result<()> {
        match self.expected {
            Some(expected) if !is_right(len, expected) => {
                let expected = count(expected, "byte");
                let message = format!("{expected} expected, but {len} written");
                Err(ErrorKind::InvalidOption { option: "len", message }.into())
            }
            _ => Ok(()),
        }
    }

    /// Takes bytes from the front of `data`, and returns their number. Passes stored chunks to `commit` in order.
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

    /// Like [`take`](Self::take), but repeats until all of `data` is consumed.
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

    /// Passes the remaining chunks to `commit`, or nothing if there was no data. Fails if the data does not have the
    /// announced length.
    pub(crate) fn end(&mut self, commit: impl FnMut(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.check()?;
        self.store_batch(commit)?;
        self.check_len(|len, expected| len == expected, self.len)
    }

    fn check(&self) -> Result<()> {
        if self.failed {
            // Fail again, because the data of the lost chunk would be missing.
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
