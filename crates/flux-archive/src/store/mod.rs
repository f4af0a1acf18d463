//! Stores of blobs: the trait [`BlobStore`] and its implementations.
//!
//! | store | holds blobs in | written by |
//! |---|---|---|
//! | [`MemoryStore`] | memory | this crate |
//! | [`DirStore`] | files named by their blobrefs | this crate; Flux's `content-files` |
//! | `SqliteStore` (feature `sqlite`) | the table `objects` of `content.sqlite` | Flux's `content-sqlite` |
//! | `DumpTar` (feature `dump-tar`) | members of a tar file | `flux dump` |
//! | `RegionStore` (on Unix) | parts of ordinary files | nothing is written |
//! | [`Layered`] | other stores, searched in turn | - |
//!
//! [`open`] and [`create`] detect the kind of a store from its content.
//!
//! A store returns the bytes that it has under a name, and need not check them. The caller must, and this
//! crate always does: a store may be damaged or malicious.

mod chunking;
mod detect;
mod directory;
#[cfg(feature = "dump-tar")]
mod dump;
mod gc;
mod layered;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
pub(crate) mod suite;

use std::sync::Arc;

use crate::diagnostic::Code;
use crate::error::{ErrorKind, Result};
use crate::model::{BlobRef, HashType, Region};

pub use crate::error::{MAX_BLOB_SIZE, StoreError};
pub use chunking::Chunking;
pub use detect::{create, open};
pub use directory::DirStore;
#[cfg(feature = "dump-tar")]
pub use dump::DumpTar;
pub use gc::{GcReport, collect_garbage};
pub use layered::Layered;
pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

/// Bytes of a checkpoint that are read at most; it has about a hundred.
const MAX_CHECKPOINT: u64 = 64 << 10;

/// Blobs that are looked up by name.
///
/// ```
/// use flux_archive::store::{BlobStore, BlobStoreMut, MemoryStore};
/// use flux_archive::HashType;
///
/// let store = MemoryStore::new();
/// let blobref = store.put(HashType::Sha1, b"abc")?;
/// let mut blob = Vec::new();
/// store.get(&blobref, &mut blob)?;
/// assert_eq!(blob, b"abc");
/// # Ok::<(), flux_archive::store::StoreError>(())
/// ```
pub trait BlobStore: Send + Sync {
    /// Replaces the content of `out` by the blob of a name. On failure the content of `out` is unspecified.
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError>;

    /// Gets a blob of `size` bytes. A store that knows the length of a blob before it reads it fails with
    /// [`StoreError::Length`] if it is another: so a few bytes of an archive cannot make it read a large blob
    /// in vain.
    fn get_sized(&self, blobref: &BlobRef, size: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let _ = size;
        self.get(blobref, out)
    }

    /// Whether the store has a blob of a name.
    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError>;
}

/// A store that can be written.
pub trait BlobStoreMut: BlobStore {
    /// Stores a blob, unless the store has it. Returns its name.
    fn put(&self, hash: HashType, blob: &[u8]) -> Result<BlobRef, StoreError>;

    /// Removes a blob. Returns whether it existed.
    fn remove(&self, blobref: &BlobRef) -> Result<bool, StoreError>;

    /// The names of all blobs, in no order.
    fn list(&self) -> Result<Vec<BlobRef>, StoreError>;
}

/// Gets a blob and verifies its digest.
pub(crate) fn get_verified(
    store: &dyn BlobStore,
    blobref: &BlobRef,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    store.get(blobref, out)?;
    if blobref.names(out) {
        return Ok(());
    }
    let found = BlobRef::of(blobref.hash(), out);
    Err(StoreError::Corrupt(format!("its digest is {found}")))
}

/// Gets the blob of a region, and verifies its length and digest.
pub(crate) fn fetch(store: &dyn BlobStore, region: &Region, out: &mut Vec<u8>) -> Result<()> {
    let blobref = region.blobref;
    let blob_error = |code, message| ErrorKind::Blob { code, blobref, message }.into();
    let size = region.size;
    let wrong_length =
        |found: u64| blob_error(Code::BlobLength, format!("expected {size} bytes, found {found}"));
    store.get_sized(&blobref, size, out).map_err(|error| match error {
        StoreError::Length { found } => wrong_length(found),
        StoreError::Corrupt(_) => blob_error(Code::BlobDigest, error.to_string()),
        _ => blob_error(Code::BlobMissing, error.to_string()),
    })?;
    if out.len() as u64 != size {
        return Err(wrong_length(out.len() as u64));
    }
    let computed = BlobRef::of(blobref.hash(), out);
    if computed != blobref {
        let message = format!("its digest is {computed}");
        return Err(blob_error(Code::BlobDigest, message));
    }
    Ok(())
}

macro_rules! forward_store {
    ($($pointer:ty),+) => {$(
        impl<S: BlobStore + ?Sized> BlobStore for $pointer {
            fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
                (**self).get(blobref, out)
            }

            fn get_sized(
                &self,
                blobref: &BlobRef,
                size: u64,
                out: &mut Vec<u8>,
            ) -> Result<(), StoreError> {
                (**self).get_sized(blobref, size, out)
            }

            fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
                (**self).contains(blobref)
            }
        }
    )+};
}

forward_store!(&S, Box<S>, Arc<S>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_under_a_false_name_is_damaged() {
        let store = MemoryStore::new();
        let blobref = BlobRef::of(HashType::Sha1, b"right");
        store.insert_as(blobref, b"wrong".as_slice());
        let mut blob = Vec::new();
        assert!(store.get(&blobref, &mut blob).is_ok());
        let error = get_verified(&store, &blobref, &mut blob).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    }

    #[test]
    fn blob_above_a_gibibyte_is_refused() {
        assert!(StoreError::check_size(MAX_BLOB_SIZE).is_ok());
        let error = StoreError::check_size(MAX_BLOB_SIZE + 1).unwrap_err();
        assert!(matches!(error, StoreError::TooBig { .. }), "{error}");
    }
}
