//! Interning names, and looking up their meanings by scope.
//!
//! Each distinct name is stored once. The hash tables use random keys, so that a hostile file cannot slow them
//! down with colliding names.

use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::{hint, mem};

use hashbrown::{DefaultHashBuilder, HashMap};

use super::NameId;

/// All distinct names, in order of first use.
///
/// The hash table for a million names does not fit into the CPU caches. A [`hashbrown`] table uses
/// pages of 4 KiB, and adding a name touches two cache lines. This table uses large pages, and
/// adding a name touches only one cache line. It reduces the time for parsing a million short lines
/// by 30 % (`dudley_tasks parse`, in `examples`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<u32>,
    /// A hash table with linear probing. Its length is a power of two, and at least a quarter of it is empty.
    slots: Vec<Slot>,
    hasher: DefaultHashBuilder,
}

/// Minimum number of slots in a table whose slots are prefetched. Smaller tables, of less than 1 MiB,
/// fit into the CPU caches.
const LARGE: usize = 1 << 17;

/// A name and its hash. The text itself is stored only in [`Names::text`].
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    /// The id of the name, or [`NameId::NONE`] if the slot is empty.
    id: NameId,
}

impl Default for Slot {
    fn default() -> Self {
        Self { hash: 0, id: NameId::NONE }
    }
}

impl Names {
    /// Creates an empty table with space for `names` names of `bytes` bytes in total.
    pub(crate) fn with_capacity(names: usize, bytes: usize) -> Self {
        let mut found = Self { slots: written(slots_for(names)), ..Self::default() };
        found.text = reserved_text(bytes);
        reserve(&mut found.ends, names);
        found
    }

    #[inline]
    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        let needed = slots_for(self.ends.len() + 1);
        if self.slots.len() < needed {
            self.grow(needed);
        }
        let hash = self.hash(name);
        let at = self.slot(hash, |known| known.hash == hash && self.text(known.id) == name);
        let known = self.slots[at].id;
        if known != NameId::NONE {
            return known;
        }
        let id = NameId(index(self.ends.len()));
        self.slots[at] = Slot { hash, id };
        self.text.push_str(name);
        self.ends.push(index(self.text.len()));
        id
    }

    pub(crate) fn get(&self, name: &str) -> Option<NameId> {
        if self.slots.is_empty() {
            return None;
        }
        let hash = self.hash(name);
        let at = self.slot(hash, |known| known.hash == hash && self.text(known.id) == name);
        Some(self.slots[at].id).filter(|&id| id != NameId::NONE)
    }

    /// Prefetches the slots of names that will be interned next, unless the table is small. The CPU
    /// loads these slots in parallel, but [`intern`](Self::intern) would wait for each of them.
    /// Prefetching reduces the time for parsing a million short lines by 22 % (`dudley_tasks parse`,
    /// in `examples`).
    pub(crate) fn prefetch<'n>(&self, names: impl Iterator<Item = &'n str>) {
        if self.slots.len() < LARGE {
            return;
        }
        let last = self.slots.len() - 1;
        let slots = names.map(|name| self.slots[self.hash(name) as usize & last].hash);
        // The compiler would omit the loads if the result were not used.
        hint::black_box(slots.fold(0, |sum, hash| sum ^ hash));
    }

    #[inline]
    fn hash(&self, name: &str) -> u32 {
        (self.hasher.hash_one(name) >> 32) as u32
    }

    /// Probes the slots, beginning at the slot selected by `hash`. Returns the index of the first
    /// slot that is empty or for which `is_it` returns `true`. The table must have at least one
    /// slot.
    #[inline]
    fn slot(&self, hash: u32, is_it: impl Fn(Slot) -> bool) -> usize {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        while self.slots[at].id != NameId::NONE && !is_it(self.slots[at]) {
            at = (at + 1) & last;
        }
        at
    }

    /// Moves the names to a new table with `slots` slots.
    #[cold]
    fn grow(&mut self, slots: usize) {
        for slot in mem::replace(&mut self.slots, written(slots)) {
            if slot.id != NameId::NONE {
                let at = self.slot(slot.hash, |_| false);
                self.slots[at] = slot;
            }
        }
    }

    /// Returns the text of a name, which is empty for [`NameId::NONE`].
    pub(crate) fn text(&self, id: NameId) -> &str {
        text_of(&self.text, &self.ends, id)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

fn text_of<'t>(text: &'t str, ends: &[u32], id: NameId) -> &'t str {
    let at = id.index();
    let Some(&end) = ends.get(at) else { return "" };
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &text[start as usize..end as usize]
}

/// Returns the number of slots for `names` names. It is a power of two, and the names fill at most
/// three quarters of the slots.
#[inline]
fn slots_for(names: usize) -> usize {
    if names == 0 { 0 } else { (names + names / 3 + 1).next_power_of_two() }
}

/// Two tables are equal if they contain the same names in the same order.
impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

/// Reserves space for `more` elements, in large pages if there are many.
pub(crate) fn reserve<T>(arena: &mut Vec<T>, more: usize) {
    arena.reserve(more);
    binio::memory::prefer_huge_pages(arena);
}

/// Creates an empty string with space for `bytes` bytes. Requests large pages if that is many bytes.
pub(crate) fn reserved_text(bytes: usize) -> String {
    let mut text = Vec::new();
    reserve(&mut text, bytes);
    String::from_utf8(text).unwrap_or_default()
}

/// Creates `len` default entries. All are written immediately: a page that is read before it is
/// written causes two page faults, and the second page fault makes all processors wait.
fn written<T: Clone + Default>(len: usize) -> Vec<T> {
    let mut entries = Vec::new();
    reserve(&mut entries, len);
    entries.resize(len, T::default());
    entries
}

/// Converts an index in an arena to `u32`. Arenas have fewer than 2^32 entries, because a layout text has fewer
/// than 2^32 bytes.
pub(crate) fn index(at: usize) -> u32 {
    u32::try_from(at).expect("a source of less than 4 GiB has fewer than 2^32 entries")
}

/// Maps a name in a scope to its meaning: the index of an item, a parameter or a type. Most names
/// have a meaning in only one scope, so the first scope of each name is stored in a table indexed by
/// name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// For each name, the first scope in which it has a meaning, and its meaning in that scope. The
    /// meaning is stored as the index plus one, so that it is never 0.
    first: Vec<(u32, Option<NonZeroU32>)>,
    more: HashMap<(u32, NameId), u32>,
}

impl Index {
    /// Creates an empty index with space for `names` names.
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

    /// Returns `true` if the name has a meaning in any scope.
    pub(crate) fn knows(&self, name: NameId) -> bool {
        self.first.get(name.index()).is_some_and(|first| first.1.is_some())
    }

    /// Sets the meaning of a name in a scope, replacing any previous meaning.
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
    fn equal_names_get_the_same_id() {
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
    fn the_name_table_agrees_with_a_map_for_any_capacity() {
        for capacity in [0, 1, 3, 100, 5000, LARGE] {
            let mut names = Names::with_capacity(capacity, 0);
            let mut map = HashMap::new();
            for n in (0..2000_u32).map(|n| n.wrapping_mul(2_654_435_761) % 1500) {
                let name = format!("{n:x}");
                names.prefetch([&*name].into_iter());
                let next = NameId(index(map.len()));
                assert_eq!(names.get(&name), map.get(&name).copied());
                assert_eq!(names.intern(&name), *map.entry(name).or_insert(next));
            }
            assert_eq!(names.len(), map.len());
            assert!(names.slots.len() * 3 >= names.len() * 4, "a quarter of the slots is empty");
            for (name, id) in map {
                assert_eq!((names.get(&name), names.text(id)), (Some(id), &name[..]));
            }
        }
    }

    #[test]
    fn the_name_table_grows_from_zero_capacity() {
        let mut names = Names::with_capacity(0, 0);
        assert_eq!(names.get("other"), None);
        let id = names.intern("");
        assert_eq!(names.get("other"), None);
        assert_eq!(names.get(""), Some(id));
    }

    #[test]
    fn a_name_is_resolved_separately_in_each_scope() {
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
