//! Checksums: eight algorithms behind one enum, and digests that know which one made them.
//!
//! | algorithm | bytes | for |
//! |---|---|---|
//! | `adler32`, `crc32` | 4 | accidents |
//! | `md5`, `sha1` | 16, 20 | accidents; both can be forged |
//! | `sha224`, `sha256`, `sha384`, `sha512` | 28, 32, 48, 64 | accidents and forgery |

use std::fmt;
use std::io::{self, Read, Write};

use sha2::Digest as _;

use crate::{Endian, Error, ErrorKind, Result};

/// Takes bytes piece by piece and gives their digest.
pub trait Checksum {
    /// Takes more bytes. Where a message is divided makes no difference.
    fn update(&mut self, bytes: &[u8]);

    /// The digest of all bytes taken.
    fn finish(self) -> Digest;
}

/// A checksum algorithm.
///
/// ```
/// use binio::Algorithm;
///
/// let algorithm = Algorithm::from_name("sha1").unwrap();
/// assert_eq!(algorithm.digest(b"abc").to_string(), "a9993e364706816aba3e25717850c26c9cd0d89d");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Algorithm {
    /// Adler-32, RFC 1950.
    Adler32,
    /// CRC-32 of zlib, gzip and PNG (polynomial `0xedb88320`, reflected).
    Crc32,
    /// MD5, RFC 1321.
    Md5,
    /// SHA-1, FIPS 180-4.
    Sha1,
    /// SHA-224, FIPS 180-4.
    Sha224,
    /// SHA-256, FIPS 180-4.
    Sha256,
    /// SHA-384, FIPS 180-4.
    Sha384,
    /// SHA-512, FIPS 180-4.
    Sha512,
}

impl Algorithm {
    /// All algorithms, weakest first.
    pub const ALL: [Self; 8] = [
        Self::Adler32,
        Self::Crc32,
        Self::Md5,
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
    ];

    /// Name in lower case without a hyphen, as formats write it: `sha256`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adler32 => "adler32",
            Self::Crc32 => "crc32",
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    /// The algorithm of a [`name`](Self::name), exactly as written there.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Length of its digests in bytes, 4 to 64.
    #[allow(clippy::len_without_is_empty, reason = "no digest is empty")]
    pub fn len(self) -> usize {
        match self {
            Self::Adler32 | Self::Crc32 => 4,
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// A hasher at the start of a message.
    pub fn hasher(self) -> Hasher {
        Hasher(match self {
            Self::Adler32 => State::Adler32(simd_adler32::Adler32::new()),
            Self::Crc32 => State::Crc32(crc32fast::Hasher::new()),
            Self::Md5 => State::Md5(md5::Md5::new()),
            Self::Sha1 => State::Sha1(sha1::Sha1::new()),
            Self::Sha224 => State::Sha224(sha2::Sha224::new()),
            Self::Sha256 => State::Sha256(sha2::Sha256::new()),
            Self::Sha384 => State::Sha384(sha2::Sha384::new()),
            Self::Sha512 => State::Sha512(sha2::Sha512::new()),
        })
    }

    /// The digest of a message.
    pub fn digest(self, message: &[u8]) -> Digest {
        let mut hasher = self.hasher();
        hasher.update(message);
        hasher.finish()
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The state of any of the algorithms; made by [`Algorithm::hasher`].
#[derive(Clone)]
pub struct Hasher(State);

#[derive(Clone)]
enum State {
    Adler32(simd_adler32::Adler32),
    Crc32(crc32fast::Hasher),
    Md5(md5::Md5),
    Sha1(sha1::Sha1),
    Sha224(sha2::Sha224),
    Sha256(sha2::Sha256),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
}

impl Hasher {
    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            State::Adler32(_) => Algorithm::Adler32,
            State::Crc32(_) => Algorithm::Crc32,
            State::Md5(_) => Algorithm::Md5,
            State::Sha1(_) => Algorithm::Sha1,
            State::Sha224(_) => Algorithm::Sha224,
            State::Sha256(_) => Algorithm::Sha256,
            State::Sha384(_) => Algorithm::Sha384,
            State::Sha512(_) => Algorithm::Sha512,
        }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hasher({})", self.algorithm())
    }
}

impl Checksum for Hasher {
    fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Adler32(state) => state.write(bytes),
            State::Crc32(state) => state.update(bytes),
            State::Md5(state) => state.update(bytes),
            State::Sha1(state) => state.update(bytes),
            State::Sha224(state) => state.update(bytes),
            State::Sha256(state) => state.update(bytes),
            State::Sha384(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
        }
    }

    fn finish(self) -> Digest {
        let algorithm = self.algorithm();
        match self.0 {
            State::Adler32(state) => Digest::of(algorithm, &state.finish().to_be_bytes()),
            State::Crc32(state) => Digest::of(algorithm, &state.finalize().to_be_bytes()),
            State::Md5(state) => Digest::of(algorithm, &state.finalize()),
            State::Sha1(state) => Digest::of(algorithm, &state.finalize()),
            State::Sha224(state) => Digest::of(algorithm, &state.finalize()),
            State::Sha256(state) => Digest::of(algorithm, &state.finalize()),
            State::Sha384(state) => Digest::of(algorithm, &state.finalize()),
            State::Sha512(state) => Digest::of(algorithm, &state.finalize()),
        }
    }
}

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
    fn of(algorithm: Algorithm, digest: &[u8]) -> Self {
        let mut bytes = [0; 64];
        bytes[..algorithm.len()].copy_from_slice(digest);
        Self { algorithm, bytes }
    }

    /// A digest from its bytes in print order. Fails if they are not [`Algorithm::len`] many.
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

    /// Holds this computed digest against the stored one; fails with
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

/// A reader that digests what passes through it.
#[derive(Debug)]
pub struct HashReader<R, C = Hasher> {
    inner: R,
    checksum: C,
}

impl<R: Read, C: Checksum> HashReader<R, C> {
    /// Digests what is read from now on.
    pub fn new(inner: R, checksum: C) -> Self {
        Self { inner, checksum }
    }

    /// The reader, and the digest of all that was read.
    pub fn finish(self) -> (R, Digest) {
        (self.inner, self.checksum.finish())
    }
}

impl<R: Read, C: Checksum> Read for HashReader<R, C> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.checksum.update(&buf[..read]);
        Ok(read)
    }
}

/// A writer that digests what passes through it.
#[derive(Debug)]
pub struct HashWriter<W, C = Hasher> {
    inner: W,
    checksum: C,
}

impl<W: Write, C: Checksum> HashWriter<W, C> {
    /// Digests what is written from now on.
    pub fn new(inner: W, checksum: C) -> Self {
        Self { inner, checksum }
    }

    /// The writer, and the digest of all that it took.
    pub fn finish(self) -> (W, Digest) {
        (self.inner, self.checksum.finish())
    }
}

impl<W: Write, C: Checksum> Write for HashWriter<W, C> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buf)?;
        self.checksum.update(&buf[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The digests of many independent messages, in their order: over threads with the feature
/// `rayon`, one after another without.
///
/// ```
/// use binio::{Algorithm, digest_many};
///
/// let digests = digest_many(Algorithm::Md5, &[b"one", b"two"]);
/// assert_eq!(digests[1], Algorithm::Md5.digest(b"two"));
/// ```
pub fn digest_many(algorithm: Algorithm, messages: &[&[u8]]) -> Vec<Digest> {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        messages.par_iter().map(|message| algorithm.digest(message)).collect()
    }
    #[cfg(not(feature = "rayon"))]
    {
        messages.iter().map(|message| algorithm.digest(message)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_abc_are_those_of_the_standards() {
        let expected = [
            "024d0127",
            "352441c2",
            "900150983cd24fb0d6963f7d28e17f72",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
            "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed\
             8086072ba1e7cc2358baeca134c825a7",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ];
        for (algorithm, expected) in Algorithm::ALL.into_iter().zip(expected) {
            let digest = algorithm.digest(b"abc");
            assert_eq!(digest.to_string(), expected);
            assert_eq!(Digest::parse_hex(algorithm, expected).unwrap(), digest);
        }
    }
}
