//! Computing and comparing checksums with eight algorithms.
//!
//! | algorithm | bytes | detects | feature |
//! |---|---|---|---|
//! | `adler32` | 4 | accidental changes | `adler32` |
//! | `crc32` | 4 | accidental changes | `crc32` |
//! | `md5` | 16 | accidental changes, but no longer forgery | `md5` |
//! | `sha1` | 20 | accidental changes, but no longer forgery | `sha1` |
//! | `sha224`, `sha256`, `sha384`, `sha512` | 28, 32, 48, 64 | accidental changes and forgery | `sha2` |

mod stored;

use std::fmt;

pub use crate::digest::{Algorithm, Digest};

/// The state of a hash computation with a specific algorithm.
trait State: Send + Sync {
    fn new() -> Self;
    fn update(&mut self, bytes: &[u8]);
    fn finish(self, algorithm: Algorithm) -> Digest;
}

macro_rules! hashers {
    ($($Name:ident = $feature:tt, $State:ty;)+) => {
        impl Algorithm {
            /// Returns a hasher for a new message.
            pub fn hasher(self) -> Hasher {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Name => Hasher(AnyState::$Name(State::new())),)+
                }
            }
        }

        /// The state of a hash computation with any available algorithm.
        enum AnyState { $(#[cfg(feature = $feature)] $Name($State),)+ }

        impl Hasher {
            /// Returns the algorithm of the hasher.
            pub fn algorithm(&self) -> Algorithm {
                match self.0 { $(#[cfg(feature = $feature)] AnyState::$Name(_) => Algorithm::$Name,)+ }
            }

            /// Adds bytes to the message. The digest does not depend on how the message is split
            /// between calls.
            pub fn update(&mut self, bytes: &[u8]) {
                match self.0 {
                    $(#[cfg(feature = $feature)] AnyState::$Name(ref mut state) => State::update(state, bytes),)+
                }
            }

            /// Returns the digest of all bytes added so far.
            pub fn finish(self) -> Digest {
                match self.0 {
                    $(#[cfg(feature = $feature)]
                    AnyState::$Name(state) => State::finish(state, Algorithm::$Name),)+
                }
            }
        }
    };
}

hashers! {
    Adler32 = "adler32", simd_adler32::Adler32;
    Crc32 = "crc32", crc32fast::Hasher;
    Md5 = "md5", fast_md5::Md5;
    Sha1 = "sha1", sha1::Sha1;
    Sha224 = "sha2", sha2::Sha224;
    Sha256 = "sha2", sha2::Sha256;
    Sha384 = "sha2", sha2::Sha384;
    Sha512 = "sha2", sha2::Sha512;
}

impl Algorithm {
    /// Computes the digest of a message.
    pub fn digest(self, message: &[u8]) -> Digest {
        let mut hasher = self.hasher();
        hasher.update(message);
        hasher.finish()
    }
}

/// Computes the digest of a message piece by piece. Created by [`Algorithm::hasher`].
pub struct Hasher(AnyState);

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hasher({})", self.algorithm())
    }
}

#[cfg(feature = "adler32")]
impl State for simd_adler32::Adler32 {
    fn new() -> Self {
        Self::new()
    }

    fn update(&mut self, bytes: &[u8]) {
        self.write(bytes);
    }

    fn finish(self, algorithm: Algorithm) -> Digest {
        Digest::of(algorithm, &Self::finish(&self).to_be_bytes())
    }
}

#[cfg(feature = "crc32")]
impl State for crc32fast::Hasher {
    fn new() -> Self {
        Self::new()
    }

    fn update(&mut self, bytes: &[u8]) {
        Self::update(self, bytes);
    }

    fn finish(self, algorithm: Algorithm) -> Digest {
        Digest::of(algorithm, &self.finalize().to_be_bytes())
    }
}

#[cfg(feature = "md5")]
impl State for fast_md5::Md5 {
    fn new() -> Self {
        Self::new()
    }

    fn update(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn finish(self, algorithm: Algorithm) -> Digest {
        Digest::of(algorithm, &self.finalize())
    }
}

/// Implements [`State`] for hash functions from the `RustCrypto` crates.
macro_rules! cryptographic {
    ($feature:tt, $package:ident: $($State:ident),+) => {
        $(#[cfg(feature = $feature)]
        impl State for $package::$State {
            fn new() -> Self {
                Self::default()
            }

            fn update(&mut self, bytes: &[u8]) {
                $package::Digest::update(self, bytes);
            }

            fn finish(self, algorithm: Algorithm) -> Digest {
                Digest::of(algorithm, &$package::Digest::finalize(self))
            }
        })+
    };
}

cryptographic!("sha1", sha1: Sha1);
cryptographic!("sha2", sha2: Sha224, Sha256, Sha384, Sha512);

#[cfg(all(
    test,
    feature = "adler32",
    feature = "crc32",
    feature = "md5",
    feature = "sha1",
    feature = "sha2"
))]
mod tests {
    use super::*;

    /// Compares the digests of a message with the expected digests, in the order of
    /// `Algorithm::ALL`.
    fn assert_digests(message: &[u8], expected: [&str; 8]) {
        for (algorithm, expected) in Algorithm::ALL.iter().copied().zip(expected) {
            assert_eq!(algorithm.digest(message).to_string(), expected, "{algorithm}");
        }
    }

    // The messages are from the standards (RFC 1321, FIPS 180-4). Digests that the standards do not
    // list were computed with Python's hashlib and zlib.

    #[test]
    fn digests_of_the_empty_message_are_correct() {
        assert_digests(
            b"",
            [
                "00000001",
                "00000000",
                "d41d8cd98f00b204e9800998ecf8427e",
                "da39a3ee5e6b4b0d3255bfef95601890afd80709",
                "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da\
                 274edebfe76f65fbd51ad2f14898b95b",
                "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
                 47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
            ],
        );
    }

    #[test]
    fn digests_of_the_message_abc_are_correct() {
        assert_digests(
            b"abc",
            [
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
            ],
        );
    }

    #[test]
    fn digests_of_a_message_that_needs_a_padding_block_are_correct() {
        assert_digests(
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            [
                "807416f9",
                "171a3f5f",
                "8215ef0796a20bcaaae116d3876c664a",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
                "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
                "3391fdddfc8dc7393707a65b1b4709397cf8b1d162af05abfe8f450de5f36bc6\
                 b0455a8520bc4e6f5fe95b1fe3c8452b",
                "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335\
                 96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445",
            ],
        );
    }

    #[test]
    fn digests_of_one_million_letters_a_are_correct() {
        assert_digests(
            &vec![b'a'; 1_000_000],
            [
                "15d870f9",
                "dc25bfbc",
                "7707d6ae4e027c70eea2a935c2296f21",
                "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
                "20794655980c91d8bbb4c1ea97618a4bf03f42581948b2ee4ee7ad67",
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
                "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b\
                 07b8b3dc38ecc4ebae97ddd87f3d8985",
                "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb\
                 de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
            ],
        );
    }

    #[test]
    fn names_and_lengths_match_the_algorithms() {
        for &algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
            assert_eq!(algorithm.hasher().algorithm(), algorithm);
            assert_eq!(algorithm.digest(b"").as_bytes().len(), algorithm.len());
        }
        assert_eq!(Algorithm::from_name("SHA256"), None);
        assert_eq!(Algorithm::from_name("sha3"), None);
    }
}
