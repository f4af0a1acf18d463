//! What all blocks of a file share: the source, the table of headers, the cache, the diagnostics.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use binio::Limits;

use super::cache::DecodedCache;
use super::table::BlockTable;
use crate::diagnostic::Reports;
use crate::error::{Error, Result};
use crate::file::locate::{CachedSource, FoundBlock, HeaderReader, KnownBlocks};
use crate::options::{OpenOptions, Strictness, Verify};

/// The blocks of a file, and the source that they are read from.
pub(crate) struct BlockStore {
    source: CachedSource,
    limits: Limits,
    strictness: Strictness,
    verify: Option<Verify>,
    reports: Reports,
    table: Mutex<BlockTable>,
    cache: Mutex<DecodedCache>,
    /// Blocks whose checksum was checked on reading, by offset, and what is wrong with them.
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
        // What is salvaged is rarely whole.
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

    /// The first number of a block that may be wrong, after a gap.
    pub(super) fn certain(&self) -> usize {
        lock(&self.table).certain()
    }

    /// Returns `true` unless blocks follow the last one that the headers lead to.
    pub(super) fn is_end_certain(&self) -> Result<bool> {
        lock(&self.table).is_end_certain(self.reader())
    }

    /// How many blocks there are; reads the headers that are not known yet.
    pub(super) fn len(&self) -> Result<usize> {
        lock(&self.table).len(self.reader())
    }

    /// The block of this number; reads the headers up to it, or with an index its own.
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
