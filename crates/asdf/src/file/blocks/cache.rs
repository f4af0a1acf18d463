//! A cache of decoded blocks.
//!
//! Several arrays often share one compressed block, which should be decoded only once. Decoded data that is
//! still in use is always shared; in addition, the most recently used blocks are kept, up to a total size.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use bytes::Bytes;

/// Decoded blocks, identified by their offsets in the file.
#[derive(Debug)]
pub(super) struct DecodedCache {
    /// All decoded blocks that may still be in use.
    in_use: HashMap<u64, Weak<Decoded>>,
    /// When `in_use` reaches this length, the entries of blocks that are no longer in use are
    /// removed.
    next_sweep: usize,
    /// The blocks kept in memory, ordered from least to most recently used.
    kept: VecDeque<(u64, Arc<Decoded>)>,
    kept_len: u64,
    max_len: u64,
}

/// The decoded data of a block.
#[derive(Debug)]
pub(super) struct Decoded(Vec<u8>);

/// Shares ownership of decoded data, so that [`Bytes`] can refer to it.
struct Share(Arc<Decoded>);

impl AsRef<[u8]> for Share {
    fn as_ref(&self) -> &[u8] {
        &self.0.0
    }
}

impl DecodedCache {
    /// Creates a cache that keeps up to `max_len` bytes in memory.
    pub(super) fn new(max_len: u64) -> Self {
        let kept = VecDeque::new();
        Self { in_use: HashMap::new(), next_sweep: 64, kept, kept_len: 0, max_len }
    }

    /// Returns `true` if a block with `len` bytes of data fits into the cache.
    pub(super) fn keeps(&self, len: u64) -> bool {
        len <= self.max_len
    }

    /// Returns the data of the block at `offset`, if it is in the cache.
    pub(super) fn get(&mut self, offset: u64) -> Option<Bytes> {
        let decoded = self.in_use.get(&offset)?.upgrade()?;
        if let Some(place) = self.kept.iter().position(|(kept, _)| *kept == offset) {
            let used = self.kept.remove(place);
            self.kept.extend(used);
        }
        Some(Bytes::from_owner(Share(decoded)))
    }

    /// Adds the data of the block at `offset` and returns it. If the block is already in the cache, for
    /// example because another thread has added it, discards `data` and returns the data in the cache.
    pub(super) fn insert(&mut self, offset: u64, data: Vec<u8>) -> Bytes {
        if let Some(bytes) = self.get(offset) {
            return bytes;
        }
        let len = data.len() as u64;
        let decoded = Arc::new(Decoded(data));
        if self.in_use.len() >= self.next_sweep {
            self.in_use.retain(|_, block| block.strong_count() > 0);
            self.next_sweep = 64.max(self.in_use.len().saturating_mul(2));
        }
        self.in_use.insert(offset, Arc::downgrade(&decoded));
        if self.keeps(len) {
            self.kept.push_back((offset, Arc::clone(&decoded)));
            self.kept_len += len;
            while self.kept_len > self.max_len {
                let Some((_, oldest)) = self.kept.pop_front() else { break };
                self.kept_len -= oldest.0.len() as u64;
            }
        }
        Bytes::from_owner(Share(decoded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoded_block_in_use_is_shared_even_if_the_cache_keeps_nothing() {
        let mut cache = DecodedCache::new(0);
        let first = cache.insert(54, vec![1; 10]);
        let second = cache.get(54).unwrap();
        assert_eq!(first.as_ptr(), second.as_ptr());
        drop((first, second));
        assert_eq!(cache.get(54), None);
    }

    #[test]
    fn the_cache_keeps_the_most_recently_used_block_longest() {
        let mut cache = DecodedCache::new(20);
        cache.insert(1, vec![1; 10]);
        cache.insert(2, vec![2; 10]);
        assert!(cache.get(1).is_some(), "now 2 is the least recently used block");
        cache.insert(3, vec![3; 10]);
        assert!(cache.get(2).is_none());
        assert!(cache.get(1).is_some() && cache.get(3).is_some());
    }

    #[test]
    fn a_block_larger_than_the_cache_is_not_kept() {
        let mut cache = DecodedCache::new(9);
        cache.insert(1, vec![1; 10]);
        assert!(cache.get(1).is_none());
    }

    #[test]
    fn inserting_a_block_again_returns_the_data_inserted_first() {
        let mut cache = DecodedCache::new(100);
        let first = cache.insert(1, vec![1; 10]);
        assert_eq!(cache.insert(1, vec![1; 10]).as_ptr(), first.as_ptr());
    }
}
