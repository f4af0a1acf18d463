//! Walking through a tree without recursion.
//!
//! A [`Walk`] returns the children of each collection that the caller opens, and then the end of
//! the collection. It remembers the collections already opened, so that the walk ends even if
//! aliases form cycles. It also remembers the path to each collection, so that it can compute a
//! pointer to every child.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::Hash;
use std::iter;

use hashbrown::HashSet;

use super::node::YamlNode;
use crate::Result;

/// The token of a JSON Pointer that leads from a collection to a child.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Token<'a> {
    /// Index of an item, counted from 0.
    Index(usize),
    /// The key of an entry.
    Key(YamlNode<'a>),
}

impl<'a> Token<'a> {
    /// Returns the token as it appears in a pointer, but unescaped. Fails if the key is a collection.
    pub(crate) fn to_text(self) -> Result<Cow<'a, str>> {
        match self {
            Self::Index(index) => Ok(index.to_string().into()),
            Self::Key(key) => key.to_key(),
        }
    }
}

impl<'a> YamlNode<'a> {
    /// Iterates over the items of a sequence or the values of a mapping, each with its token. Merge
    /// keys are applied. A scalar has no children.
    pub(crate) fn children(self) -> impl Iterator<Item = (Token<'a>, YamlNode<'a>)> {
        let items = self.items().enumerate().map(|(index, item)| (Token::Index(index), item));
        // Collecting merged entries takes memory, so do it only when the first entry is requested.
        let entries = iter::once(self).flat_map(YamlNode::entries);
        items.chain(entries.map(|(key, value)| (Token::Key(key), value)))
    }
}

/// The order in which a walk visits the nodes of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Breadth-first: continues with the open collection that was opened first, so that nodes near
    /// the root come first.
    Levels,
    /// Depth-first: continues with the collection that was opened last, so that the descendants of a
    /// child come before its next sibling.
    Depth,
}

/// A step in a walk through a tree.
pub(crate) enum Step<'a, N, T> {
    /// A child of an open collection.
    Child(Token<'a>, N),
    /// The end of a collection, with the data that was passed to [`Walk::open`].
    End(T),
}

/// A walk through one tree, or through two trees in parallel.
///
/// `K` identifies a collection, so that each is opened only once; `C` is an iterator over the
/// children of a collection; and `T` is the data that the caller attaches to an open collection.
pub(crate) struct Walk<'a, K, C, T> {
    order: Order,
    seen: HashSet<K>,
    open: VecDeque<Open<C, T>>,
    /// For each opened collection except the root, the last step of the path to the collection. A
    /// step consists of the number of the previous step (counted from 1; 0 for the root) and the
    /// token. A depth-first walk removes the step when the collection ends.
    steps: Vec<(usize, Token<'a>)>,
    /// The step to the child that was returned last; `None` before the first child.
    last: Option<(usize, Token<'a>)>,
}

struct Open<C, T> {
    /// The number of the collection's step in [`Walk::steps`], counted from 1; 0 for the root.
    step: usize,
    children: C,
    data: T,
}

impl<'a, K: Eq + Hash, N, C: Iterator<Item = (Token<'a>, N)>, T> Walk<'a, K, C, T> {
    pub(crate) fn new(order: Order) -> Self {
        let (seen, open) = (HashSet::new(), VecDeque::new());
        Self { order, seen, open, steps: Vec::new(), last: None }
    }

    /// Returns `true` on the first call for a collection, which the caller should then open.
    pub(crate) fn is_new(&mut self, collection: K) -> bool {
        self.seen.insert(collection)
    }

    /// Allows a collection to be opened again. If this is called at the end of every collection, a
    /// depth-first walk can open a shared collection at each of its occurrences, except inside itself.
    pub(crate) fn forget(&mut self, collection: &K) {
        self.seen.remove(collection);
    }

    /// Prepares a walk from another root. [`is_new`](Self::is_new) still returns `false` for the
    /// collections of earlier walks.
    #[cfg(feature = "schema")]
    pub(crate) fn restart(&mut self) {
        self.last = None;
        self.steps.clear();
    }

    /// Opens the child that was returned last, or the root if no child has been returned yet. The walk
    /// will return each of the `children` and, after the last of them, `data`.
    pub(crate) fn open(&mut self, children: C, data: T) {
        self.steps.extend(self.last);
        let step = self.last.map_or(0, |_| self.steps.len());
        self.open.push_back(Open { step, children, data });
    }

    /// Returns the data of the collection that contains the child returned last, provided that no
    /// other collection has been opened since.
    pub(crate) fn data(&self) -> Option<&T> {
        self.next_open().map(|open| &open.data)
    }

    /// Like [`data`](Self::data), but returns a mutable reference. When a depth-first walk has just ended a collection,
    /// returns the data of its parent, or `None` if the collection was the root.
    #[inline]
    pub(crate) fn data_mut(&mut self) -> Option<&mut T> {
        self.next_open_mut().map(|open| &mut open.data)
    }

    /// Returns the number of open collections.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the pointer from the root to the child that was returned last.
    pub(crate) fn pointer(&self) -> Result<String> {
        self.pointer_by(self.last)
    }

    /// Returns the pointer to the first open collection whose data satisfies a condition.
    pub(crate) fn pointer_to(&self, is_it: impl Fn(&T) -> bool) -> Result<Option<String>> {
        let found = self.open.iter().find(|open| is_it(&open.data));
        found.map(|open| self.pointer_by(self.step_before(open.step))).transpose()
    }

    fn pointer_by(&self, mut last: Option<(usize, Token<'a>)>) -> Result<String> {
        let mut tokens = Vec::new();
        while let Some((step, token)) = last {
            tokens.push(token.to_text()?);
            last = self.step_before(step);
        }
        let mut pointer = String::new();
        tokens.iter().rev().for_each(|token| binio::pointer::push(&mut pointer, token));
        Ok(pointer)
    }

    /// Returns the step with the given number, counted from 1, or `None` for 0, the root.
    fn step_before(&self, number: usize) -> Option<(usize, Token<'a>)> {
        self.steps.get(number.checked_sub(1)?).copied()
    }

    /// Returns the next child or the end of a collection, or `None` if no collection is open.
    #[inline]
    pub(crate) fn step(&mut self) -> Option<Step<'a, N, T>> {
        let open = self.next_open_mut()?;
        if let Some((token, child)) = open.children.next() {
            self.last = Some((open.step, token));
            return Some(Step::Child(token, child));
        }
        let ended = match self.order {
            Order::Levels => self.open.pop_front()?,
            Order::Depth => {
                let ended = self.open.pop_back()?;
                // Remove the step to this collection, because no pointer to a later child contains
                // it.
                self.steps.truncate(ended.step.saturating_sub(1));
                ended
            }
        };
        Some(Step::End(ended.data))
    }

    fn next_open(&self) -> Option<&Open<C, T>> {
        match self.order {
            Order::Levels => self.open.front(),
            Order::Depth => self.open.back(),
        }
    }

    #[inline]
    fn next_open_mut(&mut self) -> Option<&mut Open<C, T>> {
        match self.order {
            Order::Levels => self.open.front_mut(),
            Order::Depth => self.open.back_mut(),
        }
    }
}

impl<'a, K: Eq + Hash, N, C: Iterator<Item = (Token<'a>, N)>, T> Iterator for Walk<'a, K, C, T> {
    type Item = (Token<'a>, N);

    fn next(&mut self) -> Option<(Token<'a>, N)> {
        loop {
            if let Step::Child(token, child) = self.step()? {
                return Some((token, child));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Document, ParseOptions};

    /// Returns the pointers that a walk visits if it opens each collection once.
    fn pointers(text: &str, order: Order) -> Vec<String> {
        let document =
            Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new()).unwrap();
        let root = document.root();
        let mut walk = Walk::new(order);
        assert!(walk.is_new(root.id()));
        walk.open(root.children(), String::new());
        let mut pointers = Vec::new();
        while let Some((token, node)) = walk.next() {
            let pointer = walk.pointer().unwrap();
            let mut joined = walk.data().unwrap().clone();
            binio::pointer::push(&mut joined, &token.to_text().unwrap());
            assert_eq!(joined, pointer);
            if !node.is_empty() && walk.is_new(node.id()) {
                walk.open(node.children(), joined);
                assert_eq!(walk.pointer().unwrap(), pointer);
            }
            pointers.push(pointer);
        }
        pointers
    }

    const TREE: &str = "{a: {b: [1, {c: 2}], d: 3}, 7: [[4], 5], 'e/f': 6}";

    #[test]
    fn a_breadth_first_walk_returns_shallow_nodes_first() {
        let expected = "/a /7 /e~1f /a/b /a/d /7/0 /7/1 /a/b/0 /a/b/1 /7/0/0 /a/b/1/c";
        assert_eq!(pointers(TREE, Order::Levels).join(" "), expected);
    }

    #[test]
    fn a_depth_first_walk_returns_descendants_before_the_next_sibling() {
        let expected = "/a /a/b /a/b/0 /a/b/1 /a/b/1/c /a/d /7 /7/0 /7/0/0 /7/1 /e~1f";
        assert_eq!(pointers(TREE, Order::Depth).join(" "), expected);
    }

    #[test]
    fn a_collection_ends_after_its_descendants_and_can_then_be_opened_again() {
        let text = b"a: &a [1]\nb: {c: *a}\nd: &d [*d]\n";
        let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new()).unwrap();
        let root = document.root();
        let mut walk = Walk::new(Order::Depth);
        assert!(walk.is_new(root.id()));
        walk.open(root.children(), root.id());
        let mut log = Vec::new();
        while let Some(step) = walk.step() {
            match step {
                Step::Child(_, node) => {
                    let id = node.id();
                    log.push(walk.pointer().unwrap());
                    if node.is_empty() {
                        continue;
                    }
                    if walk.is_new(id) {
                        walk.open(node.children(), id);
                    } else {
                        let outer = walk.pointer_to(|open| *open == id).unwrap();
                        log.push(format!("is {}", outer.unwrap()));
                    }
                }
                Step::End(id) => {
                    walk.forget(&id);
                    log.push(format!("end {}", walk.depth()));
                }
            }
        }
        let expected = "/a|/a/0|end 1|/b|/b/c|/b/c/0|end 2|end 1|/d|/d/0|is /d|end 1|end 0";
        assert_eq!(log.join("|"), expected);
    }

    #[test]
    fn a_walk_opens_shared_collections_once_and_terminates_despite_cycles() {
        let text = "a: &a {x: 1, self: *a}\nb: *a\nc: {<<: *a, y: 2}\n";
        let expected = "/a /a/x /a/self /b /c /c/x /c/self /c/y";
        assert_eq!(pointers(text, Order::Depth).join(" "), expected);
        assert_eq!(pointers("&r [*r, [*r]]", Order::Levels).join(" "), "/0 /1 /1/0");
    }

    #[test]
    fn scalars_and_empty_collections_have_no_children() {
        for text in ["1", "[]", "{}"] {
            assert!(pointers(text, Order::Depth).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_deep_tree_is_walked_without_recursion() {
        let text = "[".repeat(900) + &"]".repeat(900);
        for order in [Order::Levels, Order::Depth] {
            assert_eq!(pointers(&text, order).len(), 899);
        }
    }
}
