//! A digest as a value: stored, printed, and verified.

use std::fmt;

use crate::{Algorithm, Endian, Error, ErrorKind, Result};

/// A checksum, in the order in which it is printed, with its algorithm.
///
/// Prints as hexadecimal in lower case. Digests of different algorithms are never equal.
///
/// ```
/// use binio::{Algorithm, Digest, Endian};
///
/// let computed = Algorithm::Adler32.digest(b"abc");
/// assert_eq!(computed.to_string(), "024d0127");
/// // The file keeps it as a little-endian number.
/// let stored = Digest::stored(Algorithm::Adler32, &[0x27, 0x01, 0x4d, 0x02], Endian::Little)?;
/// computed.verify(stored)?;
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    /// The digest, then zeros.
    bytes: [u8; 64],
}

impl Digest {
    /// A digest from bytes of the algorithm's length.
    pub(super) fn of(algorithm: Algorithm, digest: &[u8]) -> Self {
        let mut bytes = [0; 64];
        bytes[..algorithm.len()].copy_from_slice(digest);
        Self { algorithm, bytes }
    }

    /// A digest from its bytes in print order. Fails unless there are [`Algorithm::len`] of them.
    pub fn from_bytes(algorithm: Algorithm, bytes: &[u8]) -> Result<Self> {
        if bytes.len() != algorithm.len() {
            return Err(Error::invalid(format!(
                "{algorithm} digest of {} bytes, expected {}",
                bytes.len(),
                algorithm.len()
            )));
        }
        Ok(Self::of(algorithm, bytes))
    }

    /// A digest as it lies in a file: the 32-bit sums are numbers with a byte order, all others
    /// byte strings that have none.
    pub fn stored(algorithm: Algorithm, bytes: &[u8], endian: Endian) -> Result<Self> {
        let mut digest = Self::from_bytes(algorithm, bytes)?;
        if algorithm.len() == 4 && endian == Endian::Little {
            digest.bytes[..4].reverse();
        }
        Ok(digest)
    }

    /// A digest from hexadecimal digits in either case.
    pub fn parse_hex(algorithm: Algorithm, text: &str) -> Result<Self> {
        let malformed = || {
            Error::invalid(format!(
                "{algorithm} digest {text:?}, expected {} hexadecimal digits",
                2 * algorithm.len()
            ))
        };
        if text.len() != 2 * algorithm.len() {
            return Err(malformed());
        }
        let mut bytes = [0; 64];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            for &digit in digits {
                let value = char::from(digit).to_digit(16).ok_or_else(malformed)?;
                *byte = *byte << 4 | value.to_le_bytes()[0];
            }
        }
        Ok(Self { algorithm, bytes })
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The bytes in print order.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.algorithm.len()]
    }

    /// Compares this computed digest with the stored one; fails with
    /// [`Checksum`](ErrorKind::Checksum) if they differ.
    pub fn verify(&self, stored: Self) -> Result<()> {
        if *self != stored {
            return Err(Error::new(ErrorKind::Checksum { stored, computed: *self }));
        }
        Ok(())
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

#[cfg(all(test, feature = "adler32", feature = "crc32", feature = "md5", feature = "sha1"))]
mod tests {
    use super::*;

    #[test]
    fn miri_small_sums_are_stored_as_numbers_and_the_others_as_they_are() {
        let crc = Digest::stored(Algorithm::Crc32, &[1, 2, 3, 4], Endian::Little).unwrap();
        assert_eq!(crc.to_string(), "04030201");
        let crc = Digest::stored(Algorithm::Crc32, &[1, 2, 3, 4], Endian::Big).unwrap();
        assert_eq!(crc.to_string(), "01020304");
        let bytes: Vec<u8> = (0..16).collect();
        let md5 = Digest::stored(Algorithm::Md5, &bytes, Endian::Little).unwrap();
        assert_eq!(md5.as_bytes(), bytes);
    }

    #[test]
    fn digest_of_another_length_is_refused() {
        let error = Digest::from_bytes(Algorithm::Sha1, &[0; 16]).unwrap_err();
        assert_eq!(error.to_string(), "sha1 digest of 16 bytes, expected 20");
        assert!(Digest::stored(Algorithm::Crc32, &[0; 8], Endian::Little).is_err());
    }

    #[test]
    fn hexadecimal_is_read_in_either_case_and_nothing_else_is() {
        let digest = Digest::parse_hex(Algorithm::Crc32, "00aBcDeF").unwrap();
        assert_eq!(digest.as_bytes(), [0, 0xab, 0xcd, 0xef]);
        for wrong in ["", "00abcde", "00abcdef0", "00abcdeg", "+0abcdef", "00é0000"] {
            let error = Digest::parse_hex(Algorithm::Crc32, wrong).unwrap_err();
            assert!(error.to_string().ends_with("expected 8 hexadecimal digits"), "{error}");
        }
    }

    #[test]
    fn wrong_digest_names_both() {
        let stored = Algorithm::Crc32.digest(b"old");
        let error = Algorithm::Crc32.digest(b"new").verify(stored).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Checksum { .. }));
        assert_eq!(error.to_string(), "crc32 of the data is 6be34445, stored is 3f5dd4e5");
        stored.verify(stored).unwrap();
    }

    #[test]
    fn digests_of_different_algorithms_differ() {
        let zeros = |algorithm| Digest::from_bytes(algorithm, &[0; 4]).unwrap();
        assert_ne!(zeros(Algorithm::Adler32), zeros(Algorithm::Crc32));
    }
}
