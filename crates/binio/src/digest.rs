//! Checksum algorithms and digests. The module [`checksum`](crate::checksum) computes the digests.

use std::fmt;

macro_rules! algorithms {
    ($($(#[doc = $doc:literal])+ $Name:ident = $name:literal, $len:literal, $feature:tt;)+) => {
        /// A checksum algorithm. The features of this crate determine which algorithms are
        /// available.
        ///
        /// ```
        /// use binio::checksum::Algorithm;
        ///
        /// let algorithm = Algorithm::from_name("sha1").unwrap();
        /// assert_eq!(algorithm.digest(b"abc").to_string(), "a9993e364706816aba3e25717850c26c9cd0d89d");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Algorithm { $(#[cfg(feature = $feature)] $(#[doc = $doc])+ $Name,)+ }

        impl Algorithm {
            /// All available algorithms, from the weakest to the strongest.
            pub const ALL: &'static [Self] = &[$(#[cfg(feature = $feature)] Self::$Name,)+];

            /// Returns the name in lower case and without a hyphen, as used in file formats: for
            /// example, `sha256`.
            pub fn name(self) -> &'static str {
                match self { $(#[cfg(feature = $feature)] Self::$Name => $name,)+ }
            }

            /// Returns the length of digests in bytes, from 4 to 64.
            #[allow(clippy::len_without_is_empty, reason = "a digest is never empty")]
            pub fn len(self) -> usize {
                match self { $(#[cfg(feature = $feature)] Self::$Name => $len,)+ }
            }
        }
    };
}

algorithms! {
    /// Adler-32, RFC 1950.
    Adler32 = "adler32", 4, "adler32";
    /// CRC-32 as in zlib, gzip and PNG (polynomial `0xedb88320`, reflected).
    Crc32 = "crc32", 4, "crc32";
    /// MD5, RFC 1321.
    Md5 = "md5", 16, "md5";
    /// SHA-1, FIPS 180-4.
    Sha1 = "sha1", 20, "sha1";
    /// SHA-224, FIPS 180-4.
    Sha224 = "sha224", 28, "sha2";
    /// SHA-256, FIPS 180-4.
    Sha256 = "sha256", 32, "sha2";
    /// SHA-384, FIPS 180-4.
    Sha384 = "sha384", 48, "sha2";
    /// SHA-512, FIPS 180-4.
    Sha512 = "sha512", 64, "sha2";
}

impl Algorithm {
    /// Returns the algorithm with exactly this [`name`](Self::name), or `None` if no available
    /// algorithm has it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.name() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A checksum and its algorithm.
///
/// A digest is displayed as lower-case hexadecimal digits. Digests of different algorithms are
/// never equal.
///
/// ```
/// use binio::checksum::{Algorithm, Digest};
/// use binio::Endian;
///
/// let computed = Algorithm::Adler32.digest(b"abc");
/// assert_eq!(computed.to_string(), "024d0127");
/// // In the file, the checksum is a little-endian number.
/// let stored = Digest::stored(Algorithm::Adler32, &[0x27, 0x01, 0x4d, 0x02], Endian::Little)?;
/// computed.verify(stored)?;
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    /// The bytes of the digest in the order in which they are printed, followed by zeros.
    bytes: [u8; 64],
}

impl Digest {
    /// Creates a digest from its bytes, in the order in which they are printed. Panics unless there
    /// are exactly `algorithm.len()` bytes.
    pub(crate) fn of(algorithm: Algorithm, digest: &[u8]) -> Self {
        let mut bytes = [0; 64];
        bytes[..algorithm.len()].copy_from_slice(digest);
        Self { algorithm, bytes }
    }

    /// Returns the algorithm of the digest.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the bytes of the digest, in the order in which they are printed.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.algorithm.len()]
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({} {self})", self.algorithm)
    }
}
