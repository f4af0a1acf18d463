//! A list that only grows, so that its elements can be borrowed for as long as the list.

use std::sync::OnceLock;

/// The number of buckets; each has twice as many elements as the one before it.
const BUCKETS: usize = usize::BITS as usize;

/// Elements that are added at the end and are never removed.
pub(crate) struct AppendOnly<T> {
    buckets: [OnceLock<Box<[OnceLock<T>]>>; BUCKETS],
}

impl<T> Default for AppendOnly<T> {
    fn default() -> Self {
        Self { buckets: [const { OnceLock::new() }; BUCKETS] }
    }
}

impl<T> AppendOnly<T> {
    /// Returns the element at an index.
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (bucket, at) = position(index)?;
        self.buckets[bucket].get()?.get(at)?.get()
    }

    /// Sets the element at an index that has none yet. Otherwise the old one is kept.
    pub(crate) fn set(&self, index: usize, value: T) -> Option<&T> {
        let (bucket, at) = position(index)?;
        let slots = self.buckets[bucket]
            .get_or_init(|| (0..1_usize << bucket).map(|_| OnceLock::new()).collect());
        Some(slots.get(at)?.get_or_init(|| value))
    }

    /// Returns the elements in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..).map_while(|index| self.get(index))
    }
}

/// The bucket of an index, and the index in it.
fn position(index: usize) -> Option<(usize, usize)> {
    let number = index.checked_add(1)?;
    let bucket = number.ilog2();
    Some((bucket as usize, number - (1 << bucket)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_addresses_while_others_are_added() {
        let list = AppendOnly::default();
        let first = list.set(0, 0).unwrap();
        for index in 1..100 {
            assert_eq!(list.set(index, index), Some(&index));
        }
        assert!(std::ptr::eq(first, list.get(0).unwrap()));
        assert!(list.iter().copied().eq(0..100));
        assert_eq!(list.set(7, 0), Some(&7));
        assert_eq!(list.get(100), None);
    }
}
