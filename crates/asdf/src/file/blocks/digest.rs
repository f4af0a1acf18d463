//! MD5 digests of stored bytes, computed while the bytes are read or decoded.
//!
//! MD5 cannot be computed in parallel, and takes longer per byte than reading or decoding LZ4. Another
//! thread therefore computes the digest, if the thread pool has one:
//!
//! ```text
//! uncompressed   read 1 | read 2 | read 3             compressed   decode all, on the remaining threads
//!                       | hash 1   | hash 2   | hash 3             read and hash all
//! ```
//!
//! Without another thread, uncompressed bytes are hashed in memory after they are read, and compressed
//! bytes whenever the decoder reads them, so that hardly any byte is read from the source twice.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use binio::ReadAt;
use binio::checksum::{Algorithm, Digest, Hasher};
use bytes::Bytes;

use super::join;
use crate::error::Result;

/// Size in bytes of the pieces in which data in memory is copied and hashed.
const PIECE: usize = if cfg!(test) { 5 } else { 1 << 20 };

/// Minimum stored size in bytes of blocks that are decoded and hashed on separate threads. For a
/// smaller block, using another thread would save little time.
const PARALLEL: u64 = if cfg!(test) { 16 } else { 64 << 10 };

/// Computes the MD5 digest of stored bytes, reading them piece by piece.
pub(crate) fn digest_of(stored: &dyn ReadAt) -> Result<Digest> {
    let mut hasher = Algorithm::Md5.hasher();
    for piece in stored.pieces(0..stored.len(), stored.preferred_piece()) {
        hasher.update(&piece?);
    }
    Ok(hasher.finish())
}

/// Fills a buffer from `source`, starting at `offset`, and returns the MD5 digest of its content.
///
/// Reading does not wait for the hasher. If pieces were read and hashed in turn, the pages of a new
/// buffer would be touched only at the speed of MD5, and in the meantime a virtual machine would
/// return free memory to its host. On one core, reading an array of 1 GiB without waiting takes 0.67
/// times the CPU time of reading and hashing in turn (`cargo xtask bench asdf`, row
/// `checked_read_1gib`).
pub(super) fn read_and_digest(
    source: &dyn ReadAt,
    mut offset: u64,
    buffer: &mut [u8],
) -> Result<Digest> {
    let size = if source.is_memory() { PIECE } else { source.preferred_piece() };
    if buffer.len() <= size.max(PIECE) {
        // Another thread would have nothing to hash while the only piece is read.
        source.read_exact_at(buffer, offset)?;
        return Ok(Algorithm::Md5.digest(buffer));
    }
    let parts = buffer.chunks_mut(size.max(1));
    let (sender, pieces) = mpsc::channel::<&[u8]>();
    let read = move || -> binio::Result<()> {
        for piece in parts {
            source.read_exact_at(piece, offset)?;
            offset = offset.saturating_add(piece.len() as u64);
            // The receiver exists until all pieces have been hashed, so sending does not fail.
            let _ = sender.send(piece);
        }
        Ok(())
    };
    let hash = move || {
        let mut hasher = Algorithm::Md5.hasher();
        for piece in pieces {
            hasher.update(piece);
        }
        hasher.finish()
    };
    let (read, digest) = join(read, hash);
    read?;
    Ok(digest)
}

/// Calls `decode` with the stored bytes, and returns its result together with their MD5 digest. `decode` should
/// read the bytes roughly in order.
///
/// Without another thread, decoding and hashing 256 MiB of noisy LZ4 data in one pass takes 0.93
/// times the CPU time of reading the stored bytes twice (`cargo xtask bench asdf`, row
/// `checked_lz4_noisy`).
pub(super) fn decode_and_digest<T: Send>(
    stored: &dyn ReadAt,
    decode: impl FnOnce(&dyn ReadAt) -> T + Send,
) -> (T, Result<Digest>) {
    if has_threads() && stored.len() >= PARALLEL {
        let (digest, decoded) = join(|| digest_of(stored), || decode(stored));
        return (decoded, digest);
    }
    let hashed = HashedSource::new(stored);
    (decode(&hashed), hashed.finish())
}

/// Returns `true` if another thread may be available.
fn has_threads() -> bool {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads() > 1;
    #[cfg(not(feature = "rayon"))]
    return false;
}

/// A source that hashes bytes as they are read, provided that they are read in order.
///
/// Bytes that were hashed before, or that are read too early, are not hashed. The digest is
/// therefore correct for any order of reads, but bytes that were read too early are read again.
struct HashedSource<'a> {
    source: &'a dyn ReadAt,
    hashed: Mutex<Hashed>,
}

/// The unfinished digest of the first `len` bytes of the source.
struct Hashed {
    hasher: Hasher,
    len: u64,
}

/// Maximum length in bytes of a gap that is read again, so that hashing can continue after it. In
/// chunked data, the lengths of the chunks form short gaps, because all lengths are read before any
/// chunk is decoded.
const MAX_GAP: u64 = 64;

impl<'a> HashedSource<'a> {
    fn new(source: &'a dyn ReadAt) -> Self {
        let hashed = Hashed { hasher: Algorithm::Md5.hasher(), len: 0 };
        Self { source, hashed: Mutex::new(hashed) }
    }

    fn lock(&self) -> MutexGuard<'_, Hashed> {
        self.hashed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hashes the bytes that were read at `offset`, except those hashed before. Does nothing if the
    /// gap before `offset` is too long.
    fn hash(&self, bytes: &[u8], offset: u64) -> binio::Result<()> {
        let mut hashed = self.lock();
        if (1..=MAX_GAP).contains(&offset.saturating_sub(hashed.len)) {
            hashed.hash_up_to(offset, self.source)?;
        }
        let before = hashed.len.checked_sub(offset).and_then(|len| usize::try_from(len).ok());
        if let Some(new) = before.and_then(|len| bytes.get(len..)) {
            hashed.hasher.update(new);
            hashed.len += new.len() as u64;
        }
        Ok(())
    }

    /// Returns the digest of all bytes, reading those that have not been hashed yet.
    fn finish(self) -> Result<Digest> {
        let mut hashed = self.hashed.into_inner().unwrap_or_else(PoisonError::into_inner);
        hashed.hash_up_to(self.source.len(), self.source)?;
        Ok(hashed.hasher.finish())
    }
}

impl Hashed {
    /// Reads and hashes the bytes before `end` that have not been hashed yet.
    fn hash_up_to(&mut self, end: u64, source: &dyn ReadAt) -> binio::Result<()> {
        for piece in source.pieces(self.len..end, source.preferred_piece()) {
            let piece = piece?;
            self.hasher.update(&piece);
            self.len += piece.len() as u64;
        }
        Ok(())
    }
}

impl ReadAt for HashedSource<'_> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> binio::Result<()> {
        self.source.read_exact_at(buffer, offset)?;
        self.hash(buffer, offset)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> binio::Result<Bytes> {
        let bytes = self.source.bytes_at(offset, len)?;
        self.hash(&bytes, offset)?;
        Ok(bytes)
    }

    fn is_memory(&self) -> bool {
        self.source.is_memory()
    }

    fn gap_worth_reading(&self) -> u64 {
        self.source.gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.source.preferred_piece()
    }
}

#[cfg(test)]
mod tests {
    use binio::source::ReadLog;
    use proptest::prelude::*;

    use super::super::tests::{compressed, in_pools};
    use super::*;
    use crate::asdf::Asdf;
    use crate::codec::{Compression, DecodeJob};

    fn md5(bytes: &[u8]) -> Digest {
        Algorithm::Md5.digest(bytes)
    }

    proptest! {
        #[test]
        fn the_digest_covers_all_bytes_for_any_order_of_reads(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            reads in prop::collection::vec((0..400_u64, 0..200_usize), 0..20),
        ) {
            let on_disk = ReadLog::new(bytes.clone());
            let in_memory = Bytes::from(bytes.clone());
            for source in [&on_disk as &dyn ReadAt, &in_memory] {
                let hashed = HashedSource::new(source);
                for &(offset, len) in &reads {
                    let read = hashed.bytes_at(offset, len).ok();
                    prop_assert_eq!(&read, &in_memory.bytes_at(offset, len).ok());
                    let mut buffer = vec![0; len];
                    let filled = hashed.read_exact_at(&mut buffer, offset).is_ok();
                    prop_assert_eq!(read, filled.then(|| buffer.into()));
                }
                prop_assert_eq!(hashed.finish().unwrap(), md5(&bytes));
            }
        }

        /// In tests, blocks of 16 or more bytes are hashed on another thread, if there is one.
        #[test]
        fn hashing_the_stored_bytes_does_not_affect_the_decoded_data(
            data in prop::collection::vec(0..4_u8, 0..3000),
            compression in prop::sample::select(vec![
                Compression::Zlib(6), Compression::Bzip2(1), Compression::Lz4,
            ]),
        ) {
            let file = Asdf::from_bytes(compressed(&data, compression)).unwrap();
            let stored = file.blocks().get(0).unwrap().raw().unwrap();
            let (code, data_size) = (compression.code(), data.len() as u64);
            let job = DecodeJob { code, data_size, salvage: false };
            let on_disk = ReadLog::new(stored.to_vec());
            in_pools(|| {
                for source in [&on_disk as &dyn ReadAt, &stored] {
                    let (decoded, digest) =
                        decode_and_digest(source, |stored| job.decode(stored, &mut Vec::new()));
                    assert_eq!(decoded.unwrap(), data);
                    assert_eq!(digest.unwrap(), md5(&stored));
                }
            });
        }

        #[test]
        fn reading_and_hashing_in_one_pass_returns_the_bytes_and_their_digest(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            range in (0..100_usize, 0..100_usize),
        ) {
            let start = range.0.min(bytes.len());
            let end = range.1.clamp(start, bytes.len());
            let on_disk = ReadLog::new(bytes.clone());
            let in_memory = Bytes::from(bytes.clone());
            for source in [&on_disk as &dyn ReadAt, &in_memory] {
                let mut buffer = vec![0; end - start];
                let digest = read_and_digest(source, start as u64, &mut buffer).unwrap();
                prop_assert_eq!(&buffer, &bytes[start..end]);
                prop_assert_eq!(digest, md5(&buffer));
            }
        }
    }

    #[test]
    fn bytes_read_in_order_are_not_read_again_for_the_digest() {
        let bytes: Vec<u8> = (0..200).collect();
        let source = ReadLog::new(bytes.clone());
        let hashed = HashedSource::new(&source);
        // Read the lengths of two chunks first, and then the chunks.
        for (offset, len) in [(0, 4), (100, 4), (4, 96), (104, 90)] {
            hashed.bytes_at(offset, len).unwrap();
        }
        assert_eq!(hashed.finish().unwrap(), md5(&bytes));
        assert_eq!(source.ranges(), [0..4, 100..104, 4..100, 104..194, 100..104, 194..200]);
    }

    #[test]
    fn a_read_error_while_hashing_is_returned() {
        let source = ReadLog::new(vec![0; 3]);
        assert!(read_and_digest(&source, 1, &mut [0; 3]).is_err());
        assert!(read_and_digest(&source, u64::MAX, &mut [0; 3]).is_err());
    }
}
