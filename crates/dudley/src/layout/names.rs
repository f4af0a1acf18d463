//! Interning names, and looking up their meanings by scope.
//!
//! Each distinct name is stored once. The hash tables use random keys, so that a hostile file cannot slow them
//! down with colliding names.

use std::hash::BuildHasher;
use std::num::NonZeroU32;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use super::NameId;

/// All distinct names, in order of first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<u32>,
    /// The id of each name, by the hash of its text. The text itself is stored only in `text`.
    numbers: HashTable<NameId>,
    hasher: DefaultHashBuilder,
}

impl Names {
    /// Creates an empty table with space for `names` names of `bytes` bytes in total.
    pub(crate) fn with_capacity(names: usize, bytes: usize) -> Self {
        let mut found = Self { numbers: HashTable::with_capacity(names), ..Self::default() };
        found.text.reserve(bytes);
        reserve(&mut found.ends, names);
        found
    }

    #[inline]
    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        let Self { text, ends, numbers, hasher } = self;
        let hash = hasher.hash_one(name);
        let is_it = |&id: &NameId| text_of(text, ends, id) == name;
        let rehash = |&id: &NameId| hasher.hash_one(text_of(text, ends, id));
        match numbers.entry(hash, is_it, rehash) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let id = NameId(index(ends.len()));
                free.insert(id);
                text.push_str(name);
                ends.push(index(text.len()));
                id
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<NameId> {
        self.numbers.find(self.hasher.hash_one(name), |&id| self.text(id) == name).copied()
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

/// Two tables are equal if they contain the same names in the same order.
impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

/// Reserves space for `more` elements.
pub(crate) fn reserve<T>(arena: &mut Vec<T>, more: usize) {
    arena.reserve(more);
    binio::memory::prefer_huge_pages(arena);
}

/// Returns `len` default entries. They are written immediately, because memory that is read before it is
/// written causes two page faults, and the second one makes all processors wait.
fn written<T: Clone + Default>(len: usize) -> Vec<T> {
    let mut entries = Vec::new();
    reserve(&mut entries, len);
    entries.resize(len, T::default());
    entries
}

/// Converts an index in an arena to `u32`. Arenas have fewer than 2^32 entries, because a layout text has fewer
/// bytes.
pub(crate) fn index(at: usize) -> u32 {
    u32::try_from(at).expect("a source of less than 4 GiB has fewer than 2^32 entries")
}

/// The meaning of each name in each scope. Most names have a meaning in only one scope, so the first scope is
/// stored in a table indexed by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// The first scope of each name, and one plus the meaning of the name in this scope.
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

    /// Sets the meaning of a name in a scope, replacing any previous one.
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
