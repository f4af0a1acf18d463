//! Names as numbers, and what they name where.
//!
//! Each distinct name is stored once. Names come out of files that may be hostile, so the table is
//! keyed at random: no text makes it slow.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::NameId;

/// Every distinct name, in order of first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<u32>,
    /// Open addressing; upper half a tag, lower half the number + 1; 0 is free.
    table: Vec<u64>,
    hasher: RandomState,
}

impl Names {
    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        if self.ends.len() * 2 >= self.table.len() {
            self.grow();
        }
        let hash = self.hasher.hash_one(name);
        match self.find(name, hash) {
            Ok(id) => id,
            Err(slot) => {
                let id = index(self.ends.len());
                self.text.push_str(name);
                self.ends.push(index(self.text.len()));
                self.table[slot] = entry(hash, id);
                NameId(id)
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<NameId> {
        if self.table.is_empty() {
            return None;
        }
        self.find(name, self.hasher.hash_one(name)).ok()
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
        let mask = self.table.len() - 1;
        let mut slot = slot(hash, mask);
        loop {
            let found = self.table[slot];
            if found == 0 {
                return Err(slot);
            }
            #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
            let id = NameId((found as u32).wrapping_sub(1));
            if found >> 32 == hash >> 32 && self.text(id) == name {
                return Ok(id);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.table);
        self.table = vec![0; (old.len() * 2).max(64)];
        let mask = self.table.len() - 1;
        for id in 0..index(self.ends.len()) {
            let hash = self.hasher.hash_one(self.text(NameId(id)));
            let mut slot = slot(hash, mask);
            while self.table[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.table[slot] = entry(hash, id);
        }
    }
}

/// The same names in the same order.
impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

#[allow(clippy::cast_possible_truncation, reason = "masked")]
fn slot(hash: u64, mask: usize) -> usize {
    hash as usize & mask
}

fn entry(hash: u64, id: u32) -> u64 {
    hash >> 32 << 32 | (u64::from(id) + 1)
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
    more: HashMap<(u32, u32), u32>,
}

const NONE: u32 = u32::MAX;

impl Index {
    pub(crate) fn get(&self, scope: u32, name: NameId) -> Option<u32> {
        let &(first, meaning) = self.first.get(name.0 as usize)?;
        if meaning == NONE {
            None
        } else if first == scope {
            Some(meaning)
        } else if self.more.is_empty() {
            None
        } else {
            self.more.get(&(scope, name.0)).copied()
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
            self.more.insert((scope, name.0), meaning);
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
        assert_eq!(names.ends.len(), 1000);
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
