//! Removing the blobs that are no longer in use.

use std::collections::HashSet;

use crate::error::StoreError;
use crate::model::BlobRef;
use crate::store::BlobStoreMut;

/// The result of a garbage collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcReport {
    /// The number of blobs that were kept because the caller named them.
    pub kept: u64,
    /// The blobs that were removed because the caller did not name them, sorted. After a dry run, these are the blobs
    /// that would be removed.
    pub removed: Vec<BlobRef>,
    /// The blobs that the caller named, but that are not in the store, sorted.
    pub missing: Vec<BlobRef>,
}

/// Removes the blobs of a store that are not in `named`, or only reports them if `dry_run` is set.
///
/// `named` must contain every blob that is still in use. The content store of a Flux instance also contains the keys of
/// the instance as blobs, so the blobs of its archives are not enough. Blobs that are stored during the call may be
/// removed.
///
/// ```
/// use flux_archive::HashType;
/// use flux_archive::store::{BlobStoreMut, MemoryStore, collect_garbage};
///
/// let store = MemoryStore::new();
/// let [kept, gone] = [b"kept", b"gone"].map(|blob| store.put(HashType::Sha1, blob).unwrap());
/// let report = collect_garbage(&store, [kept], false)?;
/// assert_eq!((report.kept, report.removed), (1, vec![gone]));
/// assert_eq!(store.list()?, [kept]);
/// # Ok::<(), flux_archive::store::StoreError>(())
/// ```
///
/// # Errors
///
/// Fails if the store cannot be listed, or if a blob cannot be removed.
pub fn collect_garbage(
    store: &dyn BlobStoreMut,
    named: impl IntoIterator<Item = BlobRef>,
    dry_run: bool,
) -> Result<GcReport, StoreError> {
    let mut report = GcReport::default();
    let named: HashSet<BlobRef> = named.into_iter().collect();
    let mut missing = named.clone();
    for blobref in store.list()? {
        if named.contains(&blobref) {
            missing.remove(&blobref);
            report.kept += 1;
        } else if dry_run || store.remove(&blobref)? {
            report.removed.push(blobref);
        }
    }
    report.missing = missing.into_iter().collect();
    report.missing.sort_unstable();
    report.removed.sort_unstable();
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HashType;
    use crate::store::{BlobStore, MemoryStore};

    #[test]
    fn a_dry_run_of_garbage_collection_reports_blobs_without_removing_them() {
        let store = MemoryStore::new();
        let [kept, gone] =
            [b"kept", b"gone"].map(|blob| store.put(HashType::Sha256, blob).unwrap());
        let missing = BlobRef::of(HashType::Sha1, b"missing");
        for dry_run in [true, false] {
            let report = collect_garbage(&store, [kept, missing, kept], dry_run).unwrap();
            assert_eq!((report.kept, report.removed), (1, vec![gone]));
            assert_eq!(report.missing, [missing]);
            assert_eq!(store.contains(&gone).unwrap(), dry_run);
        }
    }
}
