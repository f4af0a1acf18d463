//! Dividing content into blobs.

use crate::model::HashType;

/// Options that control which files are stored as blobs, the size of the blobs, and their hash function. The defaults
/// are those of Flux.
///
/// ```
/// use flux_archive::HashType;
/// use flux_archive::store::Chunking;
///
/// // Store all files that are not empty as blobs of at most 64 KiB, named by SHA-256.
/// let chunking = Chunking::new().threshold(0).chunk_size(64 << 10).hash(HashType::Sha256);
/// assert_ne!(chunking, Chunking::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunking {
    pub(crate) hash: HashType,
    pub(crate) chunk_size: u64,
    pub(crate) threshold: u64,
}

impl Default for Chunking {
    fn default() -> Self {
        Self { hash: HashType::default(), chunk_size: 1 << 20, threshold: 1 << 10 }
    }
}

impl Chunking {
    /// Returns the default options, which are those of Flux.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the hash function whose digests name the blobs. Default: SHA-1.
        hash: HashType;

        /// Sets the maximum size of a blob in bytes. 0 removes this limit, but stores accept at
        /// most 1 GiB. Default: 1 MiB.
        chunk_size: u64;

        /// Sets the maximum size in bytes of a file whose data is kept in the archive. Default: 1
        /// KiB.
        threshold: u64;
    }

    /// Returns the maximum size of a blob, or `u64::MAX` if there is no limit.
    pub(crate) fn max_len(self) -> u64 {
        if self.chunk_size == 0 { u64::MAX } else { self.chunk_size }
    }
}
