//! Finding the differences between two trees, including their arrays.

mod array;
mod library;
mod number;
mod value;

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;

use super::children;
use super::pattern::{Pattern, Progress};
use crate::Node;
use crate::error::Result;
use crate::yaml::{NodeId, NodeKind, Order, Token, Walk};

pub use array::ElementsDifference;
use library::LibraryRecords;
pub(super) use value::{shortened, shown};

/// Maximum number of pairs of nodes to compare. The limit is necessary because aliases and merge
/// keys can multiply the pairs in a small tree.
const MAX_PAIRS: u64 = 1 << 22;

/// Maximum total length in bytes of the strings that a comparison creates: the keys of nodes that may differ,
/// and the pointers to differences. Each pointer may be as long as the tree.
const MAX_BYTES: u64 = 1 << 27;

/// Options for comparing two trees: which nodes are ignored, and which numbers count as equal.
///
/// ```
/// use std::ops::ControlFlow;
/// use asdf::Asdf;
/// use asdf::inspect::{Compare, Pattern};
///
/// let open = |tree: &str| {
///     let head = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
///     Asdf::from_bytes(format!("{head}{tree}\n...\n").into_bytes())
/// };
/// let before = open("{gain: 2.5, list: [1], time: 7}")?;
/// let after = open("{gain: 2.5000001, list: [1, 2], time: 8}")?;
/// let compare = Compare::new().rtol(1e-6).ignore(Pattern::parse("/**/time")?);
/// let mut lines = Vec::new();
/// compare.run(before.tree()?, after.tree()?, &mut |difference| {
///     lines.push(difference.to_string());
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(lines, ["+ /list/1: 2"]);
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compare {
    tolerance: Tolerance,
    ignore: Vec<Pattern>,
    without_library: bool,
    max_pairs: u64,
}

impl Default for Compare {
    fn default() -> Self {
        Self {
            tolerance: Tolerance::default(),
            ignore: Vec::new(),
            without_library: false,
            max_pairs: MAX_PAIRS,
        }
    }
}

/// Numbers are equal if they differ by at most `atol` plus `rtol` times the absolute value of the second
/// number.
#[derive(Clone, Copy, Debug, Default)]
struct Tolerance {
    rtol: f64,
    atol: f64,
}

/// A difference between two trees.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The pointer to the node, relative to the two nodes that [`Compare::run`] compares. If only one
    /// of the trees contains the node, the pointer applies to that tree. If the difference is in a
    /// field of an array of records, the name of the field is appended to the pointer to the array.
    pub pointer: String,
    /// The kind of difference, with details.
    pub kind: DifferenceKind,
}

/// The kind of a difference between two nodes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// Only the second tree contains the node or field. The string is the abbreviated value of the
    /// node, or `a field`.
    Added(String),
    /// Only the first tree contains the node or field. The string is the abbreviated value of the
    /// node, or `a field`.
    Removed(String),
    /// The values or their types differ. Both values are given in abbreviated form.
    Value(String, String),
    /// The tags differ. `None` means that the node has no tag.
    Tag(Option<String>, Option<String>),
    /// The arrays have different types.
    Datatype(String, String),
    /// The arrays have different shapes.
    Shape(Vec<u64>, Vec<u64>),
    /// Some elements of the arrays differ.
    Elements(ElementsDifference),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Show the pointer to the root, which is empty, as two quotes.
        let pointer = if self.pointer.is_empty() { "\"\"" } else { &self.pointer };
        let tag = |tag: &Option<String>| tag.clone().unwrap_or_else(|| "none".to_owned());
        match &self.kind {
            DifferenceKind::Added(value) => write!(f, "+ {pointer}: {value}"),
            DifferenceKind::Removed(value) => write!(f, "- {pointer}: {value}"),
            DifferenceKind::Value(from, to) => write!(f, "~ {pointer}: {from} -> {to}"),
            DifferenceKind::Tag(from, to) => {
                write!(f, "~ {pointer}: tag {} -> {}", tag(from), tag(to))
            }
            DifferenceKind::Datatype(from, to) => write!(f, "~ {pointer}: type {from} -> {to}"),
            DifferenceKind::Shape(from, to) => write!(f, "~ {pointer}: shape {from:?} -> {to:?}"),
            DifferenceKind::Elements(elements) => write!(f, "~ {pointer}: {elements}"),
        }
    }
}

/// A function that receives differences until it returns `Break`.
type Visitor<'t> = dyn FnMut(Difference) -> ControlFlow<()> + 't;

/// The reason why a comparison ended early.
enum Stop {
    /// The function that receives differences has returned `Break`.
    Break,
    Failed(crate::Error),
}

impl From<crate::Error> for Stop {
    fn from(error: crate::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<binio::Error> for Stop {
    fn from(error: binio::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Compare {
    /// Creates a comparison that includes all nodes and compares numbers exactly.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the relative tolerance for comparing numbers, as a fraction of the number in the second tree. The
    /// absolute tolerance is added to it. Default: 0.
    #[must_use]
    pub fn rtol(mut self, rtol: f64) -> Self {
        self.tolerance.rtol = rtol;
        self
    }

    /// Sets the absolute tolerance for comparing numbers. The relative tolerance is added to it. Default: 0.
    #[must_use]
    pub fn atol(mut self, atol: f64) -> Self {
        self.tolerance.atol = atol;
        self
    }

    /// Ignores the nodes whose pointer matches a pattern, and everything below them. The pointer is relative to
    /// the two nodes that [`run`](Self::run) compares. It may continue with the name of a field of an array of
    /// records. An ignored field does not count as part of the type of the array either.
    #[must_use]
    pub fn ignore(mut self, pattern: Pattern) -> Self {
        self.ignore.push(pattern);
        self
    }

    /// Ignores the records of the libraries that wrote the files: the key `asdf_library`, and those
    /// extensions in the history whose software is one of the libraries. These records differ
    /// whenever the same content was written by a different program, or by a different version of
    /// the program.
    #[must_use]
    pub fn ignore_library(mut self) -> Self {
        self.without_library = true;
        self
    }

    /// Compares two nodes, which may be in different files, and calls `visit` with each difference until it
    /// returns `Break`.
    ///
    /// The order of keys is ignored. Numbers are compared by value: `1` is equal to `1.0`, and NaN is equal
    /// to itself. Arrays are compared by type, shape, mask and elements, regardless of byte order, strides,
    /// compression and block. Each pair of lists or mappings is compared once, regardless of the number of
    /// aliases.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a tree is too large, for example because of
    /// aliases and merge keys, or if two arrays have more than 2^24 elements and, in both arrays, many elements
    /// share the same bytes. Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if a key is a collection.
    /// Also fails like
    /// [`Node::ndarray`], [`NdArray::read`](crate::NdArray::read) and
    /// [`NdArray::mask`](crate::NdArray::mask) if an array cannot be read.
    pub fn run(&self, before: Node<'_>, after: Node<'_>, visit: &mut Visitor<'_>) -> Result<()> {
        let progress: Vec<Progress> = self.ignore.iter().map(Pattern::start).collect();
        let records = if self.without_library {
            LibraryRecords::of_both(before, after)
        } else {
            Default::default()
        };
        let (records, same_blocks) = (&records, HashMap::new());
        let mut run = Run { compare: self, records, same_blocks, visit, pairs: 0, bytes: 0 };
        match run.nodes(before, after, progress) {
            Ok(()) | Err(Stop::Break) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}

/// A comparison in progress.
struct Run<'r, 't> {
    compare: &'r Compare,
    /// The library records in the first and in the second tree.
    records: &'r [LibraryRecords; 2],
    /// The results of comparing blocks. The key consists of the offset of a block in the first file
    /// and the offset of a block in the second file. The value is `true` if both blocks have the same
    /// stored bytes and a checksum proves that the first block is intact.
    same_blocks: HashMap<(u64, u64), bool>,
    visit: &'r mut Visitor<'t>,
    pairs: u64,
    bytes: u64,
}

/// A pair of nodes that has not been compared yet.
struct Pair<'a, 'b> {
    before: Node<'a>,
    after: Node<'b>,
    progress: Vec<Progress>,
}

/// A traversal of pairs of collections that visits each pair only once.
type PairWalk<'a, 'b> =
    Walk<'a, (NodeId, NodeId), std::vec::IntoIter<(Token<'a>, Pair<'a, 'b>)>, ()>;

impl Run<'_, '_> {
    fn nodes(
        &mut self,
        before: Node<'_>,
        after: Node<'_>,
        progress: Vec<Progress>,
    ) -> Result<(), Stop> {
        if self.is_ignored(&progress) {
            return Ok(());
        }
        let mut walk = Walk::new(Order::Depth);
        let mut next = Some(Pair { before, after, progress });
        while let Some(pair) = next {
            self.count_pair()?;
            let Pair { before, after, progress } = &pair;
            if before.tag() != after.tag() {
                let tags = [before.tag(), after.tag()].map(|tag| tag.map(str::to_owned));
                let [from, to] = tags;
                self.report(walk.pointer()?, DifferenceKind::Tag(from, to))?;
            }
            match (before.kind(), after.kind()) {
                _ if before.is_ndarray() || after.is_ndarray() => {
                    self.arrays(&walk.pointer()?, *before, *after, progress)?;
                }
                (NodeKind::Mapping, NodeKind::Mapping)
                | (NodeKind::Sequence, NodeKind::Sequence) => {
                    if walk.is_new((before.id(), after.id())) {
                        self.collections(&pair, &mut walk)?;
                    }
                }
                _ => {
                    if !value::is_equal(*before, *after, self.compare.tolerance) {
                        let kind = DifferenceKind::Value(shown(*before), shown(*after));
                        self.report(walk.pointer()?, kind)?;
                    }
                }
            }
            next = walk.next().map(|(_, pair)| pair);
        }
        Ok(())
    }

    /// Reports the keys that occur in only one of two collections. The values of common keys are
    /// compared later.
    fn collections<'a, 'b>(
        &mut self,
        pair: &Pair<'a, 'b>,
        walk: &mut PairWalk<'a, 'b>,
    ) -> Result<(), Stop> {
        let mut pairs = Vec::new();
        let pointer_to = |key: &str| {
            let mut pointer = walk.pointer()?;
            binio::pointer::push(&mut pointer, key);
            Ok::<_, Stop>(pointer)
        };
        let [before_records, after_records] = self.records;
        let is_kept =
            |records: &LibraryRecords, container, child| !records.contains(container, child);
        let is_sequence = pair.before.kind() == NodeKind::Sequence;
        // If the collections are sequences, advance through the items of both at the same time.
        let mut others =
            children(pair.after).filter(|(_, child)| is_kept(after_records, pair.after, *child));
        let mut in_both = 0;
        for (token, before) in children(pair.before) {
            if !is_kept(before_records, pair.before, before) {
                continue;
            }
            let key = token.to_text()?;
            self.count_pair()?;
            let after = if is_sequence {
                others.next().map(|(_, item)| item)
            } else {
                pair.after.get(&key).filter(|value| is_kept(after_records, pair.after, *value))
            };
            in_both += usize::from(after.is_some());
            let progress = self.step(&pair.progress, &key);
            if self.is_ignored(&progress) {
                continue;
            }
            let Some(after) = after else {
                self.report(pointer_to(&key)?, DifferenceKind::Removed(shown(before)))?;
                continue;
            };
            let is_equal_scalar = before.tag() == after.tag()
                && before.kind() == after.kind()
                && before.text().is_some_and(|text| after.text() == Some(text));
            if !is_equal_scalar {
                self.count_bytes(&key)?;
                pairs.push((token, Pair { before, after, progress }));
            }
        }
        if in_both != pair.after.len() {
            for (token, after) in others {
                let key = token.to_text()?;
                let before = pair.before.get(&key).filter(|_| !is_sequence);
                let is_new =
                    before.is_none_or(|value| !is_kept(before_records, pair.before, value));
                self.count_pair()?;
                if is_new && !self.is_ignored(&self.step(&pair.progress, &key)) {
                    self.report(pointer_to(&key)?, DifferenceKind::Added(shown(after)))?;
                }
            }
        }
        walk.open(pairs.into_iter(), ());
        Ok(())
    }

    fn count_pair(&mut self) -> Result<(), Stop> {
        self.pairs += 1;
        let limit = self.compare.max_pairs;
        Ok(binio::check_limit("pairs of nodes to compare", limit, self.pairs)?)
    }

    fn count_bytes(&mut self, text: &str) -> Result<(), Stop> {
        self.bytes += text.len() as u64;
        Ok(binio::check_limit("bytes of keys and pointers to compare", MAX_BYTES, self.bytes)?)
    }

    fn report(&mut self, pointer: String, kind: DifferenceKind) -> Result<(), Stop> {
        self.count_bytes(&pointer)?;
        match (self.visit)(Difference { pointer, kind }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::Break),
        }
    }

    fn step(&self, progress: &[Progress], key: &str) -> Vec<Progress> {
        let patterns = self.compare.ignore.iter().zip(progress);
        patterns.map(|(pattern, at)| pattern.step(*at, key)).collect()
    }

    fn is_ignored(&self, progress: &[Progress]) -> bool {
        self.compare.ignore.iter().zip(progress).any(|(pattern, at)| pattern.is_match(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Asdf, ErrorKind};

    #[test]
    fn a_comparison_limits_the_expansion_of_merge_keys() {
        let merged = |last: u32| {
            let keys: Vec<String> = (0..100).map(|n| format!("k{n}: {n}")).collect();
            let uses = "- {<<: *b}\n".repeat(100);
            let tree = format!("b: &b {{{}, z: {last}}}\nuses:\n{uses}", keys.join(", "));
            let head = "#ASDF 1.0.0\n%YAML 1.1\n--- !<tag:stsci.edu:asdf/core/asdf-1.1.0>\n";
            Asdf::from_bytes(format!("{head}{tree}...\n").into_bytes()).unwrap()
        };
        let (before, after) = (merged(1), merged(2));
        let run = |max_pairs| {
            let compare = Compare { max_pairs, ..Compare::new() };
            let mut count = 0;
            let mut visit = |_| {
                count += 1;
                ControlFlow::Continue(())
            };
            compare.run(before.tree()?, after.tree()?, &mut visit).map(|()| count)
        };
        assert_eq!(run(MAX_PAIRS).unwrap(), 101, "`z` in `b` and in each of its uses");
        let error = run(10_000).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    }
}
