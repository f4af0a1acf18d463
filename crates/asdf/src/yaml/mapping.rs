//! Mappings: duplicate keys, merge keys and lookup by key.
//!
//! ```text
//! base: &base {p: 1, q: 2}
//! x: {<<: *base, q: 3}               x has p: 1 and q: 3; its own keys take precedence
//! y: {<<: [*a, *b]}                  the earlier mapping takes precedence
//! z: {k: 1, k: 2}                    a single entry k: 2, at the position of the first k
//! ```
//!
//! Merged entries are never stored, because a small file could expand to billions of them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::BuildHasher;

use binio::Limits;
use hashbrown::HashTable;

use super::document::{Children, Class, Document};
use super::number;
use super::scalar::{self, NodeKind, NodeStyle, ScalarRules};
use crate::{Error, Result};

/// The keys of a mapping are indexed if it has more than this number of entries.
pub(super) const INDEX_ABOVE: usize = 8;

/// The effective entries of a mapping, which differ from the entries in the text because of merge
/// keys or duplicate keys.
#[derive(Debug, Default)]
pub(super) struct Rearranged {
    /// The mapping's own entries, without merge keys and duplicates: the start and length of a
    /// range in the list of children.
    pub(super) own: (u32, u32),
    /// Values of the merge keys in document order: mappings, or sequences of mappings.
    pub(super) merges: Vec<u32>,
}

/// A table that finds a mapping's own entry by the hash of its key's text. The values are the
/// indices of the entries.
pub(super) type KeyIndex = HashTable<u32>;

/// Returns the name of a key in JSON and in pointers, given its type and its text. Integers, booleans and null
/// have a uniform spelling, and Base64 has no white space. The name of any other key is its text.
pub(crate) fn key_name(kind: NodeKind, text: &str, rules: ScalarRules) -> Cow<'_, str> {
    match kind {
        NodeKind::Null => "null".into(),
        NodeKind::Bool => match scalar::boolean(text, rules) {
            Some(true) => "true".into(),
            Some(false) => "false".into(),
            None => text.into(),
        },
        NodeKind::Int => match number::integer(text, rules) {
            Some(integer) => integer.to_string().into(),
            None => text.into(),
        },
        NodeKind::Binary => text.split_ascii_whitespace().collect(),
        _ => text.into(),
    }
}

impl Document {
    /// Returns the name of a key in JSON and in pointers; see [`key_name`]. Returns `None` for a collection,
    /// which has no name.
    pub(super) fn key_text(&self, key: u32) -> Option<Cow<'_, str>> {
        let key = self.resolve(key);
        let kind = self.kind(key);
        let is_scalar = !kind.is_collection();
        is_scalar.then(|| key_name(kind, self.scalar_text(key), self.options.scalars))
    }

    pub(super) fn hash_of_key(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }

    /// Returns `true` if two keys are scalars with the same type and the same name; see
    /// [`key_text`](Self::key_text).
    pub(super) fn same_key(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.resolve(a), self.resolve(b));
        let (record_a, record_b) = (self.record(a), self.record(b));
        let string = Class::Node(NodeKind::String);
        if record_a.class == string && record_b.class == string && record_a.len != record_b.len {
            return false;
        }
        let kind = self.kind(a);
        if kind != self.kind(b) {
            return false;
        }
        if kind == NodeKind::String {
            return self.scalar_text(a) == self.scalar_text(b);
        }
        self.key_text(a).is_some_and(|text| self.key_text(b) == Some(text))
    }

    /// Returns `true` if a key is a merge key: `<<` without quotes and without a tag, or `<<` with
    /// the tag `!!merge`. YAML 1.2 has no merge keys.
    pub(super) fn is_merge_key(&self, key: u32) -> bool {
        let record = self.record(key);
        let is_short = record.len as usize == "<<".len();
        if !is_short || self.scalar_text(key) != "<<" || self.options.scalars == ScalarRules::Core12
        {
            return false;
        }
        match self.tag_of(key) {
            None => {
                record.style == NodeStyle::Plain && record.class == Class::Node(NodeKind::String)
            }
            Some(tag) => tag == "tag:yaml.org,2002:merge",
        }
    }

    /// Returns a mapping's own entries as alternating keys and values, without merge keys and with
    /// each key only once.
    pub(super) fn own_entries(&self, mapping: u32) -> &[u32] {
        match self.rearranged.get(&mapping) {
            Some(Rearranged { own: (start, len), .. }) => self.children_at(*start, *len),
            None => match (self.kind(mapping), self.written_children(mapping)) {
                (NodeKind::Mapping, Children::Records(records)) => records,
                _ => &[],
            },
        }
    }

    pub(super) fn has_merges(&self, mapping: u32) -> bool {
        self.rearranged.get(&mapping).is_some_and(|rearranged| !rearranged.merges.is_empty())
    }

    /// Iterates over a mapping and all mappings merged into it, in order of precedence. Each
    /// mapping is visited only once, so the iteration ends even if mappings merge each other.
    fn merge_order(&self, mapping: u32) -> MergeOrder<'_> {
        MergeOrder { document: self, seen: HashSet::new(), stack: vec![mapping], steps: 1 }
    }

    /// Fails if applying every merge key in the document once would exceed `limits.max_items`.
    /// Merged entries are not stored, so each request for them repeats the merge. For example,
    /// merging a chain of ten thousand mappings, each of which merges the previous one, produces
    /// tens of millions of entries.
    pub(super) fn check_merges(&self, limits: &Limits) -> Result<()> {
        let limit = limits.max_items;
        let mut spent = 0;
        let merging = self.rearranged.iter().filter(|(_, it)| !it.merges.is_empty());
        for (&mapping, _) in merging {
            let mut order = self.merge_order(mapping);
            while let Some(merged) = order.next() {
                spent += self.own_entries(merged).len() as u64 / 2;
                let requested = spent.saturating_add(order.steps);
                if requested > limit {
                    return Err(Error::limit("merged entries", limit, requested));
                }
            }
            spent += order.steps;
        }
        Ok(())
    }

    /// Looks up a key in a mapping and in the mappings merged into it. Returns the id of the value.
    pub(super) fn find(&self, mapping: u32, key: &str) -> Option<u32> {
        if !self.has_merges(mapping) {
            return self.find_own(mapping, key);
        }
        self.merge_order(mapping).find_map(|mapping| self.find_own(mapping, key))
    }

    fn find_own(&self, mapping: u32, key: &str) -> Option<u32> {
        let entries = self.own_entries(mapping);
        let is_key = |candidate: u32| {
            let candidate = self.resolve(candidate);
            let record = self.record(candidate);
            if record.class == Class::Node(NodeKind::String) {
                return record.len as usize == key.len() && self.scalar_text(candidate) == key;
            }
            self.key_text(candidate).is_some_and(|text| text == key)
        };
        let is_large = entries.len() / 2 > INDEX_ABOVE;
        let index = if is_large { self.indexes.get(&mapping) } else { None };
        if let Some(index) = index {
            // Keys of different types may have the same text. Use the first of these keys.
            let same = index.iter_hash(self.hash_of_key(key)).map(|&pair| 2 * pair as usize);
            let same = same.filter(|&at| entries.get(at).is_some_and(|&key| is_key(key)));
            return entries.get(same.min()? + 1).copied();
        }
        let mut pairs = entries.chunks_exact(2);
        pairs.find_map(|pair| is_key(pair[0]).then_some(pair[1]))
    }

    /// Returns all entries of a mapping, including merged entries, as alternating keys and values.
    pub(super) fn all_entries(&self, mapping: u32) -> Cow<'_, [u32]> {
        if !self.has_merges(mapping) {
            return self.own_entries(mapping).into();
        }
        let mut seen = HashSet::new();
        let mut groups = Vec::new();
        for mapping in self.merge_order(mapping) {
            let mut group = Vec::new();
            for pair in self.own_entries(mapping).chunks_exact(2) {
                let is_new = self.key_text(pair[0]).is_none_or(|text| {
                    let kind = self.kind(self.resolve(pair[0]));
                    seen.insert((kind, text))
                });
                if is_new {
                    group.extend_from_slice(pair);
                }
            }
            groups.push(group);
        }
        // Merged entries come first, as in the reference implementation.
        groups.reverse();
        groups.concat().into()
    }
}

/// The iterator that [`Document::merge_order`] returns.
struct MergeOrder<'a> {
    document: &'a Document,
    seen: HashSet<u32>,
    /// The mappings and sequences of mappings that remain to be visited. The last one is visited
    /// next.
    stack: Vec<u32>,
    /// Number of nodes pushed onto the stack so far.
    steps: u64,
}

impl MergeOrder<'_> {
    fn push(&mut self, nodes: impl Iterator<Item = u32>) {
        let before = self.stack.len();
        self.stack.extend(nodes);
        self.steps += (self.stack.len() - before) as u64;
    }
}

impl Iterator for MergeOrder<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let document = self.document;
        while let Some(id) = self.stack.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            match document.kind(id) {
                NodeKind::Mapping => {
                    // The last of several merge keys takes precedence, so push it last.
                    let merges = document.rearranged.get(&id).map_or(&[][..], |it| &it.merges);
                    self.push(merges.iter().map(|&merge| document.resolve(merge)));
                    return Some(id);
                }
                // The first mapping in a sequence takes precedence. A sequence inside a sequence is
                // not merged.
                NodeKind::Sequence => {
                    let Children::Records(items) = document.written_children(id) else { continue };
                    let items = items.iter().rev().map(|&item| document.resolve(item));
                    self.push(items.filter(|&item| document.kind(item) == NodeKind::Mapping));
                }
                _ => {}
            }
        }
        None
    }
}
