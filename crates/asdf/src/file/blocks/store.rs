//! State shared by all blocks of a file: the source, the table of blocks, the cache and the
//! diagnostics.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use binio::Limits;

use super::cache::DecodedCache;
use super::table::BlockTable;
use crate::diagnostic::Reports;
use crate::error::{Error, Result};
use crate::file::locate::{CachedSource, FoundBlock, HeaderReader, KnownBlocks};
use crate::options::{OpenOptions, Strictness, Verify};

/// The blocks of a file, together with their source.
pub(crate) struct BlockStore {
    source: CachedSource,
    limits: Limits,
    strictness: Strictness,
    verify: Option<Verify>,
    reports: Reports,
    table: Mutex<BlockTable>,
    cache: Mutex<DecodedCache>,
    /// The results of the checksum verifications so far, by block offset. Each result is the error
    /// with which reading the block fails, or `None` if the block may be read.
    verified: Mutex<HashMap<u64, Option<Error>>>,
}

impl BlockStore {
    pub(crate) fn new(
        source: CachedSource,
        blocks: KnownBlocks,
        options: &OpenOptions,
        reports: Reports,
    ) -> Self {
        let reader = HeaderReader { source: &source, limits: &options.limits, reports: &reports };
        // By default, do not verify checksums while salvaging, because many would not match.
        let salvage = options.strictness == Strictness::Salvage;
        let verify = options.verify.or(salvage.then_some(Verify::Never));
        let table = Mutex::new(BlockTable::new(blocks, reader));
        Self {
            source,
            limits: options.limits,
            strictness: options.strictness,
            verify,
            reports,
            table,
            cache: Mutex::new(DecodedCache::new(options.cache_size)),
            verified: Mutex::default(),
        }
    }

    pub(crate) fn source(&self) -> &CachedSource {
        &self.source
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    pub(super) fn is_salvage(&self) -> bool {
        self.strictness == Strictness::Salvage
    }

    pub(super) fn verify(&self) -> Option<Verify> {
        self.verify
    }

    /// Returns the first block number that is uncertain because of a gap, or `usize::MAX` if all
    /// numbers are certain.
    pub(super) fn certain(&self) -> usize {
        lock(&self.table).certain()
    }

    /// Returns the number of the first block after all gaps of a salvaged file.
    pub(super) fn certain_from_end(&self) -> usize {
        lock(&self.table).certain_from_end()
    }

    /// Returns `true` if the last block that was found is certainly the last block of the file.
    pub(super) fn is_end_certain(&self) -> Result<bool> {
        lock(&self.table).is_end_certain(self.reader())
    }

    /// Returns the number of blocks. Without an index, reads all headers that have not been read yet.
    pub(super) fn len(&self) -> Result<usize> {
        lock(&self.table).len(self.reader())
    }

    /// Returns the block with this number, if it exists. Without an index, reads all headers up to the
    /// block.
    pub(super) fn block(&self, index: usize) -> Result<Option<FoundBlock>> {
        lock(&self.table).get(index, self.reader())
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, DecodedCache> {
        lock(&self.cache)
    }

    pub(super) fn verified(&self) -> MutexGuard<'_, HashMap<u64, Option<Error>>> {
        lock(&self.verified)
    }

    fn reader(&self) -> HeaderReader<'_> {
        HeaderReader { source: &self.source, limits: &self.limits, reports: &self.reports }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for BlockStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockStore").finish_non_exhaustive()
    }
}
