//! The nodes of a tree, one after the other, and the texts of their tokens.

use std::cell::OnceCell;
use std::ops::Range;

use crate::options::Limits;
use crate::source::Span;
use crate::text::{Lexer, Node, NodeKind, Tree};

/// A position in the nodes of a part of the text.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    nodes: Vec<Node>,
    /// The number of nodes in the parts before.
    before: usize,
    at: usize,
    is_stopped: bool,
    /// All of the text.
    whole: OnceCell<Tree>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            nodes: Vec::new(),
            before: 0,
            at: 0,
            is_stopped: false,
            whole: OnceCell::new(),
        }
    }

    /// The nodes, to be replaced by those of the next part.
    pub(super) fn next_part(&mut self) -> &mut Vec<Node> {
        self.before += self.nodes.len();
        self.at = 0;
        &mut self.nodes
    }

    /// The nodes of this part.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The number of the node that was taken last.
    pub(super) fn last(&self) -> usize {
        self.before + self.at - 1
    }

    /// Goes to a node of this part.
    pub(super) fn go_to(&mut self, node: usize) {
        self.at = node - self.before;
    }

    /// A node after the next one; 0 is the next.
    #[inline]
    pub(super) fn ahead(&self, nodes: usize) -> Option<Node> {
        self.nodes.get(self.at + nodes).copied()
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<NodeKind> {
        self.ahead(0).map(|node| node.kind)
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Node> {
        let node = *self.nodes.get(self.at)?;
        self.at += 1;
        Some(node)
    }

    /// The next node, if it is of that kind.
    #[inline]
    pub(super) fn next_if(&mut self, kind: NodeKind) -> Option<Node> {
        if self.peek() == Some(kind) { self.next() } else { None }
    }

    /// The number of the next node in this part.
    #[inline]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn skip(&mut self, nodes: usize) {
        self.at += nodes;
    }

    /// The text of nodes of this part, if an item with a name or the end of the part follows them.
    #[inline]
    pub(super) fn words(&self, nodes: Range<usize>) -> Option<&'a str> {
        let first = self.nodes.get(nodes.start)?;
        let last = self.nodes.get(nodes.end.checked_sub(1)?)?;
        let is_all = self.nodes.get(nodes.end).is_none_or(|next| next.kind == NodeKind::Name);
        is_all.then(|| self.text_at(first.span().to(last.span())))
    }

    /// Where a type with a name is defined after this node. For an error only: the text is parsed once more.
    pub(super) fn type_defined_later(&self, name: &str, limits: &Limits) -> Option<Span> {
        let tree = self.whole.get_or_init(|| Tree::parse(self.text, limits));
        let pairs = tree.nodes.get(self.before + self.at..)?.windows(2);
        let mut types = pairs
            .filter(|pair| (pair[0].kind, pair[1].kind) == (NodeKind::Name, NodeKind::StructOpen));
        types.find(|pair| self.text_at(pair[0].span()) == name).map(|pair| pair[0].span())
    }

    /// Ends the walk: nothing more is looked at.
    pub(super) fn stop(&mut self) {
        self.at = self.nodes.len();
        self.is_stopped = true;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    #[inline]
    pub(super) fn text_at(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }
}

/// The number of a node without its sign, and without what stands between the two.
#[inline]
pub(super) fn digits(text: &str) -> &str {
    if !matches!(text.as_bytes().first(), Some(b'+' | b'-')) {
        return text;
    }
    let number = Lexer::new(text).last().map_or(0, |token| token.start as usize);
    &text[number..]
}
