//! References to blobs. A reference consists of the name of the hash function, a hyphen, and the
//! hexadecimal digest.
//!
//! | hash | digest | example |
//! |---|---|---|
//! | `sha1` | 20 bytes | `sha1-d4a09c5dd5a0d2d570066b6f13e465c73c3f9944` |
//! | `sha256` | 32 bytes | `sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad` |

use std::fmt;

use binio::checksum::{Algorithm, Digest};

use crate::diagnostic::Code;

/// A hash function whose digests are the names of blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HashType {
    /// SHA-1, the default of Flux. An attacker can construct two blobs with the same digest.
    #[default]
    Sha1,
    /// SHA-256.
    Sha256,
}

impl HashType {
    /// All hash functions.
    pub const ALL: [Self; 2] = [Self::Sha1, Self::Sha256];

    /// Returns the algorithm that computes the digests.
    pub fn algorithm(self) -> Algorithm {
        match self {
            Self::Sha1 => Algorithm::Sha1,
            Self::Sha256 => Algorithm::Sha256,
        }
    }

    /// Returns the name, `sha1` or `sha256`.
    pub fn name(self) -> &'static str {
        self.algorithm().name()
    }

    /// Returns the hash function with this [`name`](Self::name), which must be in lower case.
    /// Returns `None` for any other name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.name() == name)
    }

    /// Returns the length of a digest in bytes, 20 or 32.
    pub fn digest_len(self) -> usize {
        self.algorithm().len()
    }
}

impl fmt::Display for HashType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of a blob, which consists of a hash function and a digest. It is displayed in lower
/// case, as written by Flux.
///
/// ```
/// use flux_archive::{BlobRef, HashType};
///
/// let blobref = BlobRef::of(HashType::Sha1, b"abc");
/// assert_eq!(blobref.to_string(), "sha1-a9993e364706816aba3e25717850c26c9cd0d89d");
/// assert_eq!(BlobRef::parse(&blobref.to_string()), Ok(blobref));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobRef {
    hash: HashType,
    /// The digest, padded with zeros to the length of the longest digest.
    digest: [u8; 32],
}

/// The reason why a string is not a blobref.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlobRefError {
    /// The name of the hash function is neither `sha1` nor `sha256`.
    #[error("unknown hash: expected sha1 or sha256")]
    UnknownHash,
    /// The string does not consist of the name of a hash function, a hyphen, and the right number
    /// of hexadecimal digits.
    #[error("malformed blobref: expected sha1 or sha256, \"-\" and a digest in hexadecimal")]
    Malformed,
}

impl BlobRefError {
    /// Returns the code of the diagnostic that reports this error.
    pub fn code(self) -> Code {
        match self {
            Self::UnknownHash => Code::UnknownHash,
            Self::Malformed => Code::BlobRef,
        }
    }
}

impl BlobRef {
    /// Computes the name of a blob.
    pub fn of(hash: HashType, blob: &[u8]) -> Self {
        Self::from_computed(hash, &hash.algorithm().digest(blob))
    }

    /// Creates a blobref from a digest, or returns `None` if the digest has the wrong length for
    /// the hash.
    pub fn from_digest(hash: HashType, digest: &[u8]) -> Option<Self> {
        let mut padded = [0; 32];
        padded.get_mut(..digest.len())?.copy_from_slice(digest);
        (digest.len() == hash.digest_len()).then_some(Self { hash, digest: padded })
    }

    pub(crate) fn from_computed(hash: HashType, computed: &Digest) -> Self {
        let mut digest = [0; 32];
        for (to, from) in digest.iter_mut().zip(computed.as_bytes()) {
            *to = *from;
        }
        Self { hash, digest }
    }

    /// Parses a blobref. Its digits may be in upper case.
    ///
    /// # Errors
    ///
    /// Fails with [`BlobRefError::UnknownHash`] for an unknown hash, and with [`BlobRefError::Malformed`] if there is
    /// no `-` or the digest does not have the right number of hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, BlobRefError> {
        let (name, hex) = text.split_once('-').ok_or(BlobRefError::Malformed)?;
        let hash = HashType::from_name(name).ok_or(BlobRefError::UnknownHash)?;
        let digest = Digest::parse_hex(hash.algorithm(), hex);
        Ok(Self::from_computed(hash, &digest.map_err(|_| BlobRefError::Malformed)?))
    }

    /// Returns the hash function.
    pub fn hash(&self) -> HashType {
        self.hash
    }

    /// Returns the digest: 20 bytes for SHA-1, or 32 bytes for SHA-256.
    pub fn digest(&self) -> &[u8] {
        &self.digest[..self.hash.digest_len()]
    }

    /// Returns `true` if the digest of `blob` matches this blobref.
    pub fn matches(&self, blob: &[u8]) -> bool {
        Self::of(self.hash, blob) == *self
    }
}

impl fmt::Display for BlobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-", self.hash)?;
        self.digest().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_blobrefs_are_read_in_either_case_and_written_in_lower_case() {
        let upper = "sha1-A9993E364706816ABA3E25717850C26C9CD0D89D";
        let blobref = BlobRef::parse(upper).unwrap();
        assert_eq!(blobref.to_string(), upper.to_lowercase());
        assert!(blobref.matches(b"abc") && !blobref.matches(b"abd"));
    }

    #[test]
    fn malformed_blobrefs_are_rejected_with_a_reason() {
        for (text, error) in [
            ("", BlobRefError::Malformed),
            ("sha1", BlobRefError::Malformed),
            ("sha1-", BlobRefError::Malformed),
            ("sha1-00", BlobRefError::Malformed),
            ("sha1-+9993e364706816aba3e25717850c26c9cd0d89d", BlobRefError::Malformed),
            ("sha1-é993e364706816aba3e25717850c26c9cd0d89d", BlobRefError::Malformed),
            ("sha256-a9993e364706816aba3e25717850c26c9cd0d89d", BlobRefError::Malformed),
            ("../../x", BlobRefError::Malformed),
            ("md5-00000000000000000000000000000000", BlobRefError::UnknownHash),
            ("SHA1-a9993e364706816aba3e25717850c26c9cd0d89d", BlobRefError::UnknownHash),
        ] {
            assert_eq!(BlobRef::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_digest_must_have_the_length_of_its_hash() {
        assert_eq!(BlobRef::of(HashType::Sha256, b"").digest().len(), 32);
        assert_eq!(BlobRef::of(HashType::Sha1, b"").digest().len(), 20);
        assert!(BlobRef::from_digest(HashType::Sha1, &[0; 32]).is_none());
        assert!(BlobRef::from_digest(HashType::Sha1, &[7; 20]).is_some());
        assert!(BlobRef::from_digest(HashType::Sha256, &[7; 33]).is_none());
    }
}
