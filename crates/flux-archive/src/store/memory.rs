//! Storing blobs in memory.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{BlobStore, BlobStoreMut, StoreError};
use crate::model::{BlobRef, HashType};

type Blobs = HashMap<BlobRef, Box<[u8]>>;

/// A store in memory.
///
/// ```
/// use flux_archive::HashType;
/// use flux_archive::store::{BlobStore, BlobStoreMut, MemoryStore};
///
/// let store = MemoryStore::new();
/// let blobref = store.put(HashType::Sha256, b"abc")?;
/// assert!(store.contains(&blobref)?);
/// assert!(store.remove(&blobref)?);
/// assert!(store.list()?.is_empty());
/// # Ok::<(), flux_archive::store::StoreError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore(RwLock<Blobs>);

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores bytes under a name, even if it is not the name of these bytes.
    #[cfg(test)]
    pub(crate) fn insert_as(&self, blobref: BlobRef, blob: impl Into<Box<[u8]>>) {
        self.write().insert(blobref, blob.into());
    }

    // Ignore poisoning: every call leaves the map valid, even if a thread panics.
    fn read(&self) -> RwLockReadGuard<'_, Blobs> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Blobs> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlobStore for MemoryStore {
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let blobs = self.read();
        let blob = blobs.get(blobref).ok_or(StoreError::NotFound)?;
        out.clear();
        out.extend_from_slice(blob);
        Ok(())
    }

    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        Ok(self.read().contains_key(blobref))
    }
}

impl BlobStoreMut for MemoryStore {
    fn put(&self, hash: HashType, blob: &[u8]) -> Result<BlobRef, StoreError> {
        StoreError::check_size(blob.len() as u64)?;
        let blobref = BlobRef::of(hash, blob);
        self.write().entry(blobref).or_insert_with(|| blob.into());
        Ok(blobref)
    }

    fn remove(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        Ok(self.write().remove(blobref).is_some())
    }

    fn list(&self) -> Result<Vec<BlobRef>, StoreError> {
        Ok(self.read().keys().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite;
    use super::*;

    #[test]
    fn the_memory_store_passes_the_store_suite() {
        suite::check_writing(&MemoryStore::new());
    }
}
