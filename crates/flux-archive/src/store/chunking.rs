//! How content becomes blobs.

use crate::model::HashType;

/// Which files become blobs, how large the blobs are, and which hash names them. The defaults are those
/// of Flux.
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
    /// The defaults of Flux.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the hash that names blobs. Default: SHA-1.
    #[must_use]
    pub fn hash(mut self, hash: HashType) -> Self {
        self.hash = hash;
        self
    }

    /// Sets the largest size of a blob in bytes; 0 is no limit. Default: 1 MiB.
    #[must_use]
    pub fn chunk_size(mut self, bytes: u64) -> Self {
        self.chunk_size = bytes;
        self
    }

    /// Sets the size in bytes up to which a file stays in the archive. Default: 1 KiB.
    #[must_use]
    pub fn threshold(mut self, bytes: u64) -> Self {
        self.threshold = bytes;
        self
    }

    /// The largest size of a blob, `u64::MAX` without a limit.
    pub(crate) fn max_len(self) -> u64 {
        if self.chunk_size == 0 { u64::MAX } else { self.chunk_size }
    }
}
