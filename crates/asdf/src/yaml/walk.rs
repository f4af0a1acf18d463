//! Walking through a tree without recursion.
//!
//! A [`Walk`] returns the children of the collections that its user opens, one by one, and the end of each
//! collection. It remembers which collections were opened, so that circles of aliases end, and how it came
//! to each, so that every child has a pointer.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::Hash;
use std::iter;

use hashbrown::HashSet;

use super::node::YamlNode;
use crate::Result;

/// The step from a collection to a child.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Token<'a> {
    /// The number of an item, from 0.
    Index(usize),
    /// The key of an entry.
    Key(YamlNode<'a>),
}

impl<'a> Token<'a> {
    /// Returns the token as it is in a pointer, but not escaped. Fails for a key that is a collection.
    pub(crate) fn to_text(self) -> Result<Cow<'a, str>> {
        match self {
            Self::Index(index) => Ok(index.to_string().into()),
            Self::Key(key) => key.to_key(),
        }
    }
}

impl<'a> YamlNode<'a> {
    /// Returns the items of a sequence or the values of a mapping, merge keys applied, each with
    /// its token; none for a scalar.
    pub(crate) fn children(self) -> impl Iterator<Item = (Token<'a>, YamlNode<'a>)> {
        let items = self.items().enumerate().map(|(index, item)| (Token::Index(index), item));
        // Merged entries take memory, so they are not collected before the first is asked for.
        let entries = iter::once(self).flat_map(YamlNode::entries);
        items.chain(entries.map(|(key, value)| (Token::Key(key), value)))
    }
}

/// Which collection is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The one that was opened first: nodes of few levels come first.
    Levels,
    /// The one that was opened last: a child is followed by what is inside it.
    Depth,
}

/// A step of a walk.
pub(crate) enum Step<'a, N, T> {
    /// A child of an open collection.
    Child(Token<'a>, N),
    /// The end of a collection, with its data.
    End(T),
}

/// A walk through a tree, or through two trees in step.
///
/// `K` identifies what may be opened only once, `C` are the children of a collection, and `T` is
/// what the user keeps for an open collection.
pub(crate) struct Walk<'a, K, C, T> {
    order: Order,
    seen: HashSet<K>,
    open: VecDeque<Open<C, T>>,
    /// How the walk came to each collection: the step of the collection around it, and the token.
    steps: Vec<(usize, Token<'a>)>,
    /// The same for the child that was returned last; `None` before the first.
    last: Option<(usize, Token<'a>)>,
}

struct Open<C, T> {
    /// The number of its step from 1; 0 for the root.
    step: usize,
    children: C,
    data: T,
}

impl<'a, K: Eq + Hash, N, C: Iterator<Item = (Token<'a>, N)>, T> Walk<'a, K, C, T> {
    pub(crate) fn new(order: Order) -> Self {
        let (seen, open) = (HashSet::new(), VecDeque::new());
        Self { order, seen, open, steps: Vec::new(), last: None }
    }

    /// Returns `true` the first time that it is called for a collection, which is then to be opened.
    pub(crate) fn is_new(&mut self, collection: K) -> bool {
        self.seen.insert(collection)
    }

    /// Lets a collection be opened again. If this is called at the end of every collection, the walk stops only
    /// at circles.
    pub(crate) fn forget(&mut self, collection: &K) {
        self.seen.remove(collection);
    }

    /// Goes on at another root.
    #[cfg(feature = "schema")]
    pub(crate) fn restart(&mut self) {
        self.last = None;
        self.steps.clear();
    }

    /// Opens the child that was returned last, or else the root, so that its children are returned.
    pub(crate) fn open(&mut self, children: C, data: T) {
        self.steps.extend(self.last);
        let step = self.last.map_or(0, |_| self.steps.len());
        self.open.push_back(Open { step, children, data });
    }

    /// Returns the data of the collection that the last child is in, until another is opened.
    pub(crate) fn data(&self) -> Option<&T> {
        self.next_open().map(|open| &open.data)
    }

    /// Like [`data`](Self::data). After the end of a collection, returns the data of its parent.
    #[inline]
    pub(crate) fn data_mut(&mut self) -> Option<&mut T> {
        self.next_open_mut().map(|open| &mut open.data)
    }

    /// Returns the number of collections that are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the pointer from the root to the child that was returned last.
    pub(crate) fn pointer(&self) -> Result<String> {
        self.pointer_by(self.last)
    }

    /// Returns the pointer to the first open collection whose data meets a condition.
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

    /// Returns the step to a collection, by its number from 1; `None` for the root.
    fn step_before(&self, number: usize) -> Option<(usize, Token<'a>)> {
        self.steps.get(number.checked_sub(1)?).copied()
    }

    /// Returns the next child, or the end of a collection.
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
                // No child will be returned whose pointer has this step.
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

    /// The pointers of a walk that opens each collection once.
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
    fn a_walk_by_levels_returns_few_levels_first() {
        let expected = "/a /7 /e~1f /a/b /a/d /7/0 /7/1 /a/b/0 /a/b/1 /7/0/0 /a/b/1/c";
        assert_eq!(pointers(TREE, Order::Levels).join(" "), expected);
    }

    #[test]
    fn a_walk_in_depth_returns_what_is_inside_next() {
        let expected = "/a /a/b /a/b/0 /a/b/1 /a/b/1/c /a/d /7 /7/0 /7/0/0 /7/1 /e~1f";
        assert_eq!(pointers(TREE, Order::Depth).join(" "), expected);
    }

    #[test]
    fn each_collection_ends_after_what_is_inside_it_and_can_then_be_opened_again() {
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
    fn shared_collections_are_opened_once_and_circles_end() {
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
    fn a_deep_tree_needs_no_stack() {
        let text = "[".repeat(900) + &"]".repeat(900);
        for order in [Order::Levels, Order::Depth] {
            assert_eq!(pointers(&text, order).len(), 899);
        }
    }
}
