//! Names as numbers, and what they name where.
//!
//! Each distinct name is stored once. Names come from files that may be hostile, so the tables are keyed
//! at random: no text makes them slow.

use std::hash::BuildHasher;
use std::num::NonZeroU32;

use hashbrown::{DefaultHashBuilder, HashMap};

use super::NameId;

/// Every distinct name, in order of first use.
///
/// A hash table of our own: it knows the hashes, so it compares few texts and grows without them, and its
/// memory can be on large pages. In a text with a million names that is half of the time of a lookup.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<u32>,
    /// A power of two, at least twice as many as names. A name is in the first free slot from its hash on.
    slots: Vec<Slot>,
    hasher: DefaultHashBuilder,
}

/// So many slots do not fit into the fast memory of a processor.
const LARGE: usize = 1 << 16;

/// The hash of a name, and its number plus one.
type Slot = (u32, Option<NonZeroU32>);

impl Names {
    /// With room for so many names, of so many bytes together.
    pub(crate) fn with_capacity(names: usize, bytes: usize) -> Self {
        let mut found = Self::default();
        found.text.reserve(bytes);
        reserve(&mut found.ends, names);
        found.grow(names);
        found
    }

    #[inline]
    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        if 2 * self.ends.len() >= self.slots.len() {
            self.grow(2 * self.ends.len() + 8);
        }
        let hash = self.hash(name);
        let at = match self.find(hash, name) {
            Ok(known) => return known,
            Err(free) => free,
        };
        let id = NameId(index(self.ends.len()));
        self.slots[at] = (hash, NonZeroU32::new(id.0 + 1));
        self.text.push_str(name);
        self.ends.push(index(self.text.len()));
        id
    }

    pub(crate) fn get(&self, name: &str) -> Option<NameId> {
        if self.slots.is_empty() { None } else { self.find(self.hash(name), name).ok() }
    }

    /// Reads the slots of names that are looked up next. In a large table each look-up waits for its memory;
    /// so they wait together.
    pub(crate) fn expect<'n>(&self, names: impl Iterator<Item = &'n str>) {
        if self.slots.len() < LARGE {
            return;
        }
        let mask = self.slots.len() - 1;
        let read = names.fold(0, |read, name| read ^ self.slots[self.hash(name) as usize & mask].0);
        std::hint::black_box(read);
    }

    #[allow(clippy::cast_possible_truncation, reason = "half of a hash is one too")]
    fn hash(&self, name: &str) -> u32 {
        self.hasher.hash_one(name) as u32
    }

    /// The number of a name, or the slot where it would be. There are free slots.
    #[inline]
    fn find(&self, hash: u32, name: &str) -> Result<NameId, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let (known, id) = self.slots[at];
            let Some(id) = id.map(|id| NameId(id.get() - 1)) else { return Err(at) };
            if known == hash && self.text(id) == name {
                return Ok(id);
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes room for so many names.
    #[cold]
    fn grow(&mut self, names: usize) {
        let len = (2 * names).next_power_of_two();
        let mut slots: Vec<Slot> = written(len);
        for &slot in self.slots.iter().filter(|slot| slot.1.is_some()) {
            let mut at = slot.0 as usize & (len - 1);
            while slots[at].1.is_some() {
                at = (at + 1) & (len - 1);
            }
            slots[at] = slot;
        }
        self.slots = slots;
    }

    /// The text of a name; [`NameId::NONE`] has the empty text.
    pub(crate) fn text(&self, id: NameId) -> &str {
        let at = id.index();
        let Some(&end) = self.ends.get(at) else { return "" };
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..end as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// The same names in the same order.
impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

/// Reserves room for so many more.
pub(crate) fn reserve<T>(arena: &mut Vec<T>, more: usize) {
    arena.reserve(more);
    binio::prefer_huge_pages(arena);
}

/// So many empty entries, which are written here: memory that is read before it is written costs two page
/// faults, of which the second makes all processors wait.
fn written<T: Clone + Default>(len: usize) -> Vec<T> {
    let mut entries = Vec::new();
    reserve(&mut entries, len);
    entries.resize(len, T::default());
    entries
}

/// A position in an arena. Arenas have fewer than 2^32 entries, since a text has fewer bytes than that.
pub(crate) fn index(at: usize) -> u32 {
    u32::try_from(at).expect("a text of less than 4 GiB declares no more")
}

/// What each name means in each scope. Most names have one meaning in all, which is found by the number
/// of the name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// By name: the first scope, and the meaning plus one.
    first: Vec<(u32, Option<NonZeroU32>)>,
    more: HashMap<(u32, NameId), u32>,
}

impl Index {
    /// With room for so many names.
    pub(crate) fn with_capacity(names: usize) -> Self {
        Self { first: written(names), ..Self::default() }
    }

    #[inline]
    pub(crate) fn get(&self, scope: u32, name: NameId) -> Option<u32> {
        match *self.first.get(name.index())? {
            (first, Some(meaning)) if first == scope => Some(meaning.get() - 1),
            (_, Some(_)) => self.more.get(&(scope, name)).copied(),
            (_, None) => None,
        }
    }

    /// Whether the name means anything anywhere.
    pub(crate) fn knows(&self, name: NameId) -> bool {
        self.first.get(name.index()).is_some_and(|first| first.1.is_some())
    }

    /// Sets the meaning, and replaces the one before.
    #[inline]
    pub(crate) fn insert(&mut self, scope: u32, name: NameId, meaning: u32) {
        if self.first.len() <= name.index() {
            self.first.resize(name.index() + 1, <_>::default());
        }
        match &mut self.first[name.index()] {
            (first, Some(_)) if *first != scope => {
                self.more.insert((scope, name), meaning);
            }
            first => *first = (scope, NonZeroU32::new(meaning + 1)),
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
