//! Parsing and verifying digests stored in files.

use crate::checksum::{Algorithm, Digest};
use crate::diagnostic::count;
use crate::{Endian, Error, ErrorKind, Result};

impl Digest {
    /// Creates a digest from its bytes, in the order in which they are printed.
    ///
    /// ```
    /// use binio::checksum::{Algorithm, Digest};
    ///
    /// let stored = Digest::from_bytes(Algorithm::Crc32, &[0x35, 0x24, 0x41, 0xc2])?;
    /// assert_eq!(Algorithm::Crc32.digest(b"abc"), stored);
    /// # Ok::<(), binio::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Invalid`](ErrorKind::Invalid) unless there are exactly [`Algorithm::len`]
    /// bytes.
    pub fn from_bytes(algorithm: Algorithm, bytes: &[u8]) -> Result<Self> {
        if bytes.len() != algorithm.len() {
            return Err(Error::invalid(format!(
                "{algorithm} digest has {}, expected {}",
                count(bytes.len(), "byte"),
                algorithm.len()
            )));
        }
        Ok(Self::of(algorithm, bytes))
    }

    /// Creates a digest from its bytes as stored in a file. A 32-bit checksum is stored as a number
    /// in the given byte order, and any other digest as a byte string.
    ///
    /// # Errors
    ///
    /// Same as [`from_bytes`](Self::from_bytes).
    pub fn stored(algorithm: Algorithm, bytes: &[u8], endian: Endian) -> Result<Self> {
        match *bytes {
            [a, b, c, d] if endian == Endian::Little => Self::from_bytes(algorithm, &[d, c, b, a]),
            _ => Self::from_bytes(algorithm, bytes),
        }
    }

    /// Parses a digest from hexadecimal digits in either case.
    ///
    /// # Errors
    ///
    /// Fails with [`Invalid`](ErrorKind::Invalid) unless the text consists of exactly two
    /// hexadecimal digits per byte of the digest.
    pub fn parse_hex(algorithm: Algorithm, text: &str) -> Result<Self> {
        let malformed = || {
            Error::invalid(format!(
                "invalid {algorithm} digest {text:?}: expected {} hexadecimal digits",
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
        Ok(Self::of(algorithm, &bytes[..algorithm.len()]))
    }

    /// Checks that this digest, which was computed from the data, equals the stored digest.
    ///
    /// ```
    /// use binio::ErrorKind;
    /// use binio::checksum::Algorithm;
    ///
    /// let [old, new] = [&b"old"[..], b"new"].map(|data| Algorithm::Crc32.digest(data));
    /// new.verify(new)?;
    /// assert!(matches!(new.verify(old).unwrap_err().kind(), ErrorKind::Checksum { .. }));
    /// # Ok::<(), binio::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Checksum`](ErrorKind::Checksum) if the digests or their algorithms differ.
    pub fn verify(&self, stored: Self) -> Result<()> {
        if *self != stored {
            return Err(Error::new(ErrorKind::Checksum { stored, computed: *self }));
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "adler32", feature = "crc32", feature = "md5", feature = "sha1"))]
mod tests {
    use super::*;

    #[test]
    fn miri_short_checksums_are_stored_as_numbers_and_longer_ones_as_bytes() {
        let crc = Digest::stored(Algorithm::Crc32, &[1, 2, 3, 4], Endian::Little).unwrap();
        assert_eq!(crc.to_string(), "04030201");
        let crc = Digest::stored(Algorithm::Crc32, &[1, 2, 3, 4], Endian::Big).unwrap();
        assert_eq!(crc.to_string(), "01020304");
        let bytes: Vec<u8> = (0..16).collect();
        let md5 = Digest::stored(Algorithm::Md5, &bytes, Endian::Little).unwrap();
        assert_eq!(md5.as_bytes(), bytes);
    }

    #[test]
    fn a_digest_of_the_wrong_length_is_rejected() {
        let error = Digest::from_bytes(Algorithm::Sha1, &[0; 16]).unwrap_err();
        assert_eq!(error.to_string(), "sha1 digest has 16 bytes, expected 20");
        assert!(Digest::stored(Algorithm::Crc32, &[0; 8], Endian::Little).is_err());
    }

    #[test]
    fn hexadecimal_digits_in_either_case_are_parsed_and_other_text_is_rejected() {
        let digest = Digest::parse_hex(Algorithm::Crc32, "00aBcDeF").unwrap();
        assert_eq!(digest.as_bytes(), [0, 0xab, 0xcd, 0xef]);
        for wrong in ["", "00abcde", "00abcdef0", "00abcdeg", "+0abcdef", "00é0000"] {
            let error = Digest::parse_hex(Algorithm::Crc32, wrong).unwrap_err();
            assert!(error.to_string().ends_with("expected 8 hexadecimal digits"), "{error}");
        }
    }

    #[test]
    fn a_checksum_mismatch_is_reported_with_both_digests() {
        let stored = Algorithm::Crc32.digest(b"old");
        let error = Algorithm::Crc32.digest(b"new").verify(stored).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Checksum { .. }));
        assert_eq!(
            error.to_string(),
            "crc32 of the data is 6be34445, but the stored checksum is 3f5dd4e5"
        );
        stored.verify(stored).unwrap();
    }

    #[test]
    fn digests_of_different_algorithms_differ() {
        let zeros = |algorithm| Digest::from_bytes(algorithm, &[0; 4]).unwrap();
        assert_ne!(zeros(Algorithm::Adler32), zeros(Algorithm::Crc32));
    }
}
