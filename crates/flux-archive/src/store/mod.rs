//! Blob stores: the trait [`BlobStore`] and its implementations.
//!
//! | store | location of blobs | written by |
//! |---|---|---|
//! | [`MemoryStore`] | memory | this crate |
//! | [`DirStore`] | files named by their blobrefs | this crate; Flux's `content-files` |
//! | `SqliteStore` (feature `sqlite`) | the table `objects` of `content.sqlite` | this crate; Flux's `content-sqlite` |
//! | `DumpTar` (feature `dump-tar`) | members of a tar file | `flux dump` |
//! | `RegionStore` (on Unix) | parts of ordinary files | no program: the store is read-only |
//! | [`Layered`] | other stores, searched in turn | - |
//!
//! [`open`] and [`create`] detect the kind of a store.
//!
//! A store need not verify the bytes that it returns. The caller must verify them, as this crate
//! always does, because a store may be damaged or malicious.

mod chunking;
#[cfg(feature = "sqlite")]
mod database_copy;
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

use binio::diagnostic::count;

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

/// The maximum length of a checkpoint in bytes. A real checkpoint has about a hundred bytes.
const MAX_CHECKPOINT: u64 = 64 << 10;

/// A source of blobs, which are looked up by name.
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
    /// Reads a blob, and replaces the content of `out` with it. After a failure, the content of `out` is unspecified.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the store does not have the blob, with [`StoreError::TooBig`] if it
    /// exceeds [`MAX_BLOB_SIZE`], with [`StoreError::Corrupt`] if the stored bytes cannot be the blob, with
    /// [`StoreError::Damaged`] if the store itself is damaged, and with [`StoreError::Io`] if the bytes cannot be read.
    /// A store need not verify the digest.
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError>;

    /// Like [`get`](Self::get), but expects a blob of `size` bytes. A store that can find out the
    /// length of the blob should check the length before reading, so that a small archive cannot
    /// cause a large blob to be read needlessly.
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get). Can also fail with [`StoreError::Length`] if the blob has a
    /// different length.
    fn get_sized(&self, blobref: &BlobRef, size: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let _ = size;
        self.get(blobref, out)
    }

    /// Returns `true` if the store has a blob. The blob may still be damaged.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Io`], [`StoreError::Corrupt`] or [`StoreError::Damaged`] if the
    /// store cannot be read.
    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError>;
}

/// A store that can be written to.
pub trait BlobStoreMut: BlobStore {
    /// Stores a blob, and returns its name. A blob that is already in the store is not duplicated.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::TooBig`] if the blob exceeds [`MAX_BLOB_SIZE`], and with [`StoreError::Io`] or
    /// [`StoreError::Damaged`] if the store cannot be written.
    fn put(&self, hash: HashType, blob: &[u8]) -> Result<BlobRef, StoreError>;

    /// Removes a blob, and returns `true` if it existed.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Io`] or [`StoreError::Damaged`] if the store cannot be written.
    fn remove(&self, blobref: &BlobRef) -> Result<bool, StoreError>;

    /// Returns the names of all blobs, in no particular order.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Io`] or [`StoreError::Damaged`] if the store cannot be read.
    fn list(&self) -> Result<Vec<BlobRef>, StoreError>;
}

/// Reads a blob and verifies its digest.
pub(crate) fn get_verified(
    store: &dyn BlobStore,
    blobref: &BlobRef,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    store.get(blobref, out)?;
    if blobref.matches(out) {
        return Ok(());
    }
    let found = BlobRef::of(blobref.hash(), out);
    Err(StoreError::Corrupt(format!("the stored bytes have the digest {found}")))
}

/// Reads the blob of a region, and verifies its length and digest.
pub(crate) fn fetch(store: &dyn BlobStore, region: &Region, out: &mut Vec<u8>) -> Result<()> {
    let blobref = region.blobref;
    let blob_error =
        |code, message, error| ErrorKind::Blob { code, blobref, message, error }.into();
    let size = region.size;
    let wrong_length = |found: u64, error| {
        let message = format!("expected {}, found {found}", count(size, "byte"));
        blob_error(Code::BlobLength, message, error)
    };
    store.get_sized(&blobref, size, out).map_err(|error| match error {
        StoreError::Length { found } => wrong_length(found, Some(error)),
        StoreError::Corrupt(_) => blob_error(Code::BlobDigest, error.to_string(), Some(error)),
        _ => blob_error(Code::BlobMissing, error.to_string(), Some(error)),
    })?;
    if out.len() as u64 != size {
        return Err(wrong_length(out.len() as u64, None));
    }
    let computed = BlobRef::of(blobref.hash(), out);
    if computed != blobref {
        let message = format!("the stored bytes have the digest {computed}");
        return Err(blob_error(Code::BlobDigest, message, None));
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
    fn a_blob_stored_under_a_wrong_name_fails_verification() {
        let store = MemoryStore::new();
        let blobref = BlobRef::of(HashType::Sha1, b"right");
        store.insert_as(blobref, b"wrong".as_slice());
        let mut blob = Vec::new();
        assert!(store.get(&blobref, &mut blob).is_ok());
        let error = get_verified(&store, &blobref, &mut blob).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    }

    /// A store that returns an error for every blob.
    struct Failing(StoreError);

    impl BlobStore for Failing {
        fn get(&self, _: &BlobRef, _: &mut Vec<u8>) -> Result<(), StoreError> {
            Err(self.0.clone())
        }

        fn contains(&self, _: &BlobRef) -> Result<bool, StoreError> {
            Err(self.0.clone())
        }
    }

    #[test]
    fn a_damaged_store_is_bad_data_but_a_missing_or_unreadable_blob_is_not() {
        let region = Region { offset: 0, size: 1, blobref: BlobRef::of(HashType::Sha1, b"a") };
        for (error, is_bad_data, is_io) in [
            (StoreError::NotFound, false, false),
            (std::io::Error::from(std::io::ErrorKind::PermissionDenied).into(), false, true),
            (StoreError::Damaged("no tables".to_owned()), true, false),
            (StoreError::Corrupt("not lz4".to_owned()), true, false),
        ] {
            let error = fetch(&Failing(error), &region, &mut Vec::new()).unwrap_err();
            let found = (error.is_bad_data(), error.io_error().is_some());
            assert_eq!(found, (is_bad_data, is_io), "{error}");
        }
    }

    #[test]
    fn a_blob_larger_than_1_gib_is_rejected() {
        assert!(StoreError::check_size(MAX_BLOB_SIZE).is_ok());
        let error = StoreError::check_size(MAX_BLOB_SIZE + 1).unwrap_err();
        assert!(matches!(error, StoreError::TooBig { .. }), "{error}");
    }
}
