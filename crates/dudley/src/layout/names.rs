//! Names as numbers, and what they name where.
//!
//! Each distinct name is stored once. Names come out of files that may be hostile, so the tables are
//! keyed at random: no text makes them slow.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::NameId;

/// A hash of few multiplications under a random key. The standard one took a fifth of the time of
/// checking a layout of a million items.
#[derive(Clone, Debug)]
struct Keyed {
    seed: u64,
    factor: u64,
}

impl Default for Keyed {
    fn default() -> Self {
        let random = RandomState::new();
        Self { seed: random.hash_one(0), factor: random.hash_one(1) | 1 }
    }
}

impl Keyed {
    fn hash(&self, text: &str) -> u64 {
        let mut words = text.as_bytes().chunks_exact(8);
        let mut hash = self.seed ^ text.len() as u64;
        for word in &mut words {
            let word = word.try_into().map_or(0, u64::from_le_bytes);
            hash = self.fold(hash ^ word);
        }
        let rest = words.remainder().iter().fold(0, |rest, &byte| rest << 8 | u64::from(byte));
        self.fold(hash ^ rest)
    }

    /// The halves of a product of 128 bits, over each other.
    #[allow(clippy::cast_possible_truncation, reason = "both halves are taken")]
    fn fold(&self, word: u64) -> u64 {
        let product = u128::from(word) * u128::from(self.factor);
        product as u64 ^ (product >> 64) as u64
    }
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher;

    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher { keyed: self.clone(), hash: self.seed }
    }
}

/// Of numbers.
struct KeyedHasher {
    keyed: Keyed,
    hash: u64,
}

impl Hasher for KeyedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.hash = self.keyed.fold(self.hash ^ word);
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

/// Every distinct name, in order of first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<u32>,
    /// By slot of a table with open addressing: some bits of the hash, or 0 where it is free. Most
    /// names are new, and these bytes, which stay in the cache, are all that is read then.
    tags: Vec<u8>,
    /// By slot: the number.
    ids: Vec<u32>,
    hasher: Keyed,
}

impl Names {
    /// With room for so many names, of so many bytes together.
    pub(crate) fn with_capacity(names: usize, bytes: usize) -> Self {
        let mut these = Self { text: text_with_room(bytes), ..Self::default() };
        reserve_large(&mut these.ends, names);
        these.reserve(names);
        these
    }

    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        if slots(self.ends.len()) >= self.tags.len() {
            self.reserve(self.ends.len() + 32);
        }
        let hash = self.hasher.hash(name);
        match self.find(name, hash) {
            Ok(id) => id,
            Err(slot) => {
                let id = index(self.ends.len());
                self.text.push_str(name);
                self.ends.push(index(self.text.len()));
                (self.tags[slot], self.ids[slot]) = (tag(hash), id);
                NameId(id)
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<NameId> {
        if self.tags.is_empty() {
            return None;
        }
        self.find(name, self.hasher.hash(name)).ok()
    }

    /// The text of a name; of no name, the empty text.
    pub(crate) fn text(&self, id: NameId) -> &str {
        let at = id.0 as usize;
        let Some(&end) = self.ends.get(at) else { return "" };
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..end as usize]
    }

    /// The number, or the free slot where it belongs. The table is never full.
    fn find(&self, name: &str, hash: u64) -> Result<NameId, usize> {
        let mask = self.tags.len() - 1;
        let mut slot = slot_of(hash, mask);
        loop {
            let found = self.tags[slot];
            if found == 0 {
                return Err(slot);
            }
            if found == tag(hash) {
                let id = NameId(self.ids[slot]);
                if self.text(id) == name {
                    return Ok(id);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Looks at the slots of names, so that they are in the cache when the names come. With nothing
    /// between them, the looks wait together.
    pub(crate) fn touch<'n>(&self, names: impl Iterator<Item = &'n str>) {
        let mut slots = [0; 64];
        for (slot, name) in slots.iter_mut().zip(names) {
            *slot = slot_of(self.hasher.hash(name), self.tags.len() - 1);
        }
        let seen = |seen, &slot: &usize| seen ^ u32::from(self.tags[slot]) ^ self.ids[slot];
        std::hint::black_box(slots.iter().fold(0, seen));
    }

    /// Whether the table is too large for a fast cache.
    pub(crate) fn is_large(&self) -> bool {
        self.tags.len() > 1 << 16
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Makes the table large enough for so many more names.
    fn reserve(&mut self, names: usize) {
        let slots = slots(self.ends.len() + names);
        if slots > self.tags.len() {
            self.resize(slots.next_power_of_two().max(64));
        }
    }

    fn resize(&mut self, slots: usize) {
        self.tags = vec![0; slots];
        self.ids = Vec::new();
        reserve(&mut self.ids, slots);
        self.ids.resize(slots, 0);
        let mask = slots - 1;
        for id in 0..index(self.ends.len()) {
            let hash = self.hasher.hash(self.text(NameId(id)));
            let mut slot = slot_of(hash, mask);
            while self.tags[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            (self.tags[slot], self.ids[slot]) = (tag(hash), id);
        }
    }
}

/// The same names in the same order.
impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

/// How many slots a table of so many names needs: three in five are in use at most.
fn slots(names: usize) -> usize {
    names * 5 / 3
}

#[allow(clippy::cast_possible_truncation, reason = "masked")]
fn slot_of(hash: u64, mask: usize) -> usize {
    hash as usize & mask
}

fn tag(hash: u64) -> u8 {
    hash.to_be_bytes()[0] | 1
}

/// Room for so many more.
pub(crate) fn reserve<T>(arena: &mut Vec<T>, more: usize) {
    arena.reserve(more);
    binio::prefer_huge_pages(arena);
}

/// The same for many. Few may as well come in steps: that costs less than page faults.
fn reserve_large<T>(arena: &mut Vec<T>, more: usize) {
    if more > 1 << 18 {
        reserve(arena, more);
    }
}

/// An empty text with room for so many bytes.
pub(crate) fn text_with_room(bytes: usize) -> String {
    let mut text = Vec::new();
    reserve_large(&mut text, bytes);
    String::from_utf8(text).unwrap_or_default()
}

/// A position in an arena. Arenas have less than 2^32 entries, since a text has less bytes than that.
pub(crate) fn index(at: usize) -> u32 {
    u32::try_from(at).expect("a text of less than 4 GiB gives no more")
}

/// What each name means in each scope. Most names mean one thing in all: these cost no hashing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// By name: the first scope and meaning, or [`NONE`].
    first: Vec<(u32, u32)>,
    more: HashMap<u64, u32, Keyed>,
}

const NONE: u32 = u32::MAX;

fn key(scope: u32, name: NameId) -> u64 {
    u64::from(scope) << 32 | u64::from(name.0)
}

impl Index {
    /// With room for so many names.
    pub(crate) fn with_capacity(names: usize) -> Self {
        let mut these = Self::default();
        reserve_large(&mut these.first, names);
        these
    }

    pub(crate) fn get(&self, scope: u32, name: NameId) -> Option<u32> {
        let &(first, meaning) = self.first.get(name.0 as usize)?;
        if meaning == NONE {
            None
        } else if first == scope {
            Some(meaning)
        } else if self.more.is_empty() {
            None
        } else {
            self.more.get(&key(scope, name)).copied()
        }
    }

    /// Whether the name means anything anywhere.
    pub(crate) fn knows(&self, name: NameId) -> bool {
        self.first.get(name.0 as usize).is_some_and(|first| first.1 != NONE)
    }

    /// Sets the meaning, in place of one that is there.
    pub(crate) fn insert(&mut self, scope: u32, name: NameId, meaning: u32) {
        let at = name.0 as usize;
        if self.first.len() <= at {
            self.first.resize(at + 1, (NONE, NONE));
        }
        let first = &mut self.first[at];
        if first.1 == NONE || first.0 == scope {
            *first = (scope, meaning);
        } else {
            self.more.insert(key(scope, name), meaning);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_however_often_it_comes() {
        let mut names = Names::default();
        let ids: Vec<NameId> = (0..1000).map(|n| names.intern(&format!("var_{n:06}"))).collect();
        assert_eq!(names.len(), 1000);
        for (n, &id) in ids.iter().enumerate() {
            let name = format!("var_{n:06}");
            assert_eq!(names.intern(&name), id);
            assert_eq!(names.get(&name), Some(id));
            assert_eq!(names.text(id), name);
        }
        assert_eq!(names.get("other"), None);
        let empty = names.intern("");
        assert_eq!(names.text(empty), "");
    }

    #[test]
    fn a_name_means_something_of_its_own_in_each_scope() {
        let mut index = Index::default();
        index.insert(0, NameId(3), 10);
        index.insert(1, NameId(3), 11);
        index.insert(1, NameId(3), 12);
        assert_eq!(index.get(0, NameId(3)), Some(10));
        assert_eq!(index.get(1, NameId(3)), Some(12));
        assert_eq!(index.get(2, NameId(3)), None);
        assert_eq!(index.get(0, NameId(2)), None);
        assert!(index.knows(NameId(3)) && !index.knows(NameId(2)));
    }
}
