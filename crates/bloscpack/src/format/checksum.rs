//! The nine checksums of the format and their numbers.
//!
//! | id | name | bytes | stored as |
//! |---|---|---|---|
//! | 0 | `None` | 0 | |
//! | 1 | `adler32` | 4 | number, little-endian |
//! | 2 | `crc32` | 4 | number, little-endian |
//! | 3 to 8 | `md5` `sha1` `sha224` `sha256` `sha384` `sha512` | 16 to 64 | bytes, in the order in which they are printed |
//!
//! The digest of a chunk covers the whole Blosc buffer, including its header, and follows the
//! buffer. The digest of the metadata covers the stored payload and follows the padding.

use binio::checksum::{Algorithm, Digest};
use binio::{Endian, Error};

/// A checksum: an algorithm, or none.
///
/// ```
/// use bloscpack::Checksum;
///
/// let stored = Checksum::Adler32.compute(&[0x23, 0x42, 0xbe, 0xef]);
/// assert_eq!(stored, [0x13, 0x02, 0xc1, 0x03]);
/// assert!(Checksum::Adler32.verify(&[0x23, 0x42, 0xbe, 0xef], &stored).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
#[non_exhaustive]
pub enum Checksum {
    None,
    #[default]
    Adler32,
    Crc32,
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Checksum {
    /// All checksums, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Adler32,
        Self::Crc32,
        Self::Md5,
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
    ];

    /// Returns the number that represents the checksum in a file.
    pub fn id(self) -> u8 {
        self as u8
    }

    /// Returns the checksum that this number represents in a file, or `None` if the number is
    /// undefined.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// Returns the algorithm, or `None` for [`Checksum::None`].
    pub fn algorithm(self) -> Option<Algorithm> {
        match self {
            Self::None => None,
            Self::Adler32 => Some(Algorithm::Adler32),
            Self::Crc32 => Some(Algorithm::Crc32),
            Self::Md5 => Some(Algorithm::Md5),
            Self::Sha1 => Some(Algorithm::Sha1),
            Self::Sha224 => Some(Algorithm::Sha224),
            Self::Sha256 => Some(Algorithm::Sha256),
            Self::Sha384 => Some(Algorithm::Sha384),
            Self::Sha512 => Some(Algorithm::Sha512),
        }
    }

    /// Returns the name that the format uses: `None`, `adler32` and so on.
    pub fn name(self) -> &'static str {
        self.algorithm().map_or("None", Algorithm::name)
    }

    /// Returns the checksum with this name, in upper or lower case, or `None` if the name is
    /// unknown.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|checksum| checksum.name().eq_ignore_ascii_case(name))
    }

    /// Returns the length of a stored digest in bytes.
    #[allow(clippy::len_without_is_empty, reason = "the length of a digest, not of a container")]
    pub fn len(self) -> usize {
        self.algorithm().map_or(0, Algorithm::len)
    }

    /// Returns the digest of `data` as stored in a file. It is empty for [`Checksum::None`].
    pub fn compute(self, data: &[u8]) -> Vec<u8> {
        let Some(algorithm) = self.algorithm() else { return Vec::new() };
        let mut stored = algorithm.digest(data).as_bytes().to_vec();
        if stored.len() == 4 {
            stored.reverse();
        }
        stored
    }

    /// Compares the digest of `data` with a stored digest. [`Checksum::None`] accepts any stored
    /// digest.
    ///
    /// # Errors
    ///
    /// Fails with [`binio::ErrorKind::Checksum`] if the digests differ, and with
    /// [`binio::ErrorKind::Invalid`] if `stored` is not [`len`](Self::len) bytes long.
    pub fn verify(self, data: &[u8], stored: &[u8]) -> Result<(), Error> {
        let Some(algorithm) = self.algorithm() else { return Ok(()) };
        let stored = Digest::stored(algorithm, stored, Endian::Little)?;
        algorithm.digest(data).verify(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_found_by_id_and_by_name() {
        for (id, name) in
            ["None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"]
                .into_iter()
                .enumerate()
        {
            let checksum = Checksum::from_id(u8::try_from(id).unwrap()).unwrap();
            assert_eq!(checksum.name(), name);
            assert_eq!(usize::from(checksum.id()), id);
            assert_eq!(Checksum::from_name(name), Some(checksum));
        }
        assert_eq!(Checksum::from_id(9), None);
    }

    #[test]
    fn four_byte_checksums_are_stored_little_endian() {
        // Test vectors from the documentation of the original program.
        let data = [0x23, 0x42, 0xbe, 0xef];
        assert_eq!(Checksum::Adler32.compute(&data), [0x13, 0x02, 0xc1, 0x03]);
        assert_eq!(Checksum::Crc32.compute(&data), [0xbd, 0xfa, 0x2e, 0xaa]);
    }

    #[test]
    fn every_checksum_except_none_rejects_the_digest_of_other_data() {
        for checksum in Checksum::ALL {
            let stored = checksum.compute(b"data");
            assert_eq!(stored.len(), checksum.len());
            assert!(checksum.verify(b"data", &stored).is_ok());
            assert_eq!(checksum.verify(b"date", &stored).is_ok(), checksum == Checksum::None);
        }
    }
}
