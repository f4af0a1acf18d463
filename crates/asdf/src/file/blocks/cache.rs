//! Decoded blocks that may be wanted again.
//!
//! Two arrays often lie in one compressed block, and it should be decoded once. A block that
//! someone still holds is shared; besides, the last few are kept, up to a size.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use bytes::Bytes;

/// Decoded blocks by the offset of the block in the file.
#[derive(Debug)]
pub(super) struct DecodedCache {
    /// Every block that was decoded and may still be in use.
    in_use: HashMap<u64, Weak<Decoded>>,
    /// When `in_use` has grown to this, entries whose data is gone are dropped.
    next_sweep: usize,
    /// The blocks that are kept, the one used last at the back.
    kept: VecDeque<(u64, Arc<Decoded>)>,
    kept_len: u64,
    max_len: u64,
}

/// The data of a block, as an owner of [`Bytes`].
#[derive(Debug)]
pub(super) struct Decoded(Vec<u8>);

/// A share of a [`Decoded`].
struct Share(Arc<Decoded>);

impl AsRef<[u8]> for Share {
    fn as_ref(&self) -> &[u8] {
        &self.0.0
    }
}

impl DecodedCache {
    /// A cache that keeps up to `max_len` bytes.
    pub(super) fn new(max_len: u64) -> Self {
        let kept = VecDeque::new();
        Self { in_use: HashMap::new(), next_sweep: 64, kept, kept_len: 0, max_len }
    }

    /// Whether a block of this size would be kept.
    pub(super) fn keeps(&self, len: u64) -> bool {
        len <= self.max_len
    }

    /// The block at `offset`, if it is in the cache.
    pub(super) fn get(&mut self, offset: u64) -> Option<Bytes> {
        let decoded = self.in_use.get(&offset)?.upgrade()?;
        if let Some(place) = self.kept.iter().position(|(kept, _)| *kept == offset) {
            let used = self.kept.remove(place);
            self.kept.extend(used);
        }
        Some(Bytes::from_owner(Share(decoded)))
    }

    /// Adds the block at `offset`, unless another thread was faster; returns the one in the cache.
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
    fn a_block_in_use_is_shared_even_if_nothing_is_kept() {
        let mut cache = DecodedCache::new(0);
        let first = cache.insert(54, vec![1; 10]);
        let second = cache.get(54).unwrap();
        assert_eq!(first.as_ptr(), second.as_ptr());
        drop((first, second));
        assert_eq!(cache.get(54), None);
    }

    #[test]
    fn the_block_used_last_is_kept_longest() {
        let mut cache = DecodedCache::new(20);
        cache.insert(1, vec![1; 10]);
        cache.insert(2, vec![2; 10]);
        assert!(cache.get(1).is_some(), "now 2 is the one not used for longest");
        cache.insert(3, vec![3; 10]);
        assert!(cache.get(2).is_none());
        assert!(cache.get(1).is_some() && cache.get(3).is_some());
    }

    #[test]
    fn a_block_above_the_size_is_not_kept() {
        let mut cache = DecodedCache::new(9);
        cache.insert(1, vec![1; 10]);
        assert!(cache.get(1).is_none());
    }

    #[test]
    fn two_that_decode_at_once_share_the_first_result() {
        let mut cache = DecodedCache::new(100);
        let first = cache.insert(1, vec![1; 10]);
        assert_eq!(cache.insert(1, vec![1; 10]).as_ptr(), first.as_ptr());
    }
}
