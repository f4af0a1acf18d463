//! The nodes of a tree, one after the other, and the texts of their tokens.

use crate::source::Span;
use crate::text::{Lexer, Node, NodeKind};

/// A position in the nodes of a text.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    nodes: &'a [Node],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, nodes: &'a [Node]) -> Self {
        Self { text, nodes, at: 0 }
    }

    /// All nodes.
    pub(super) fn nodes(&self) -> &'a [Node] {
        self.nodes
    }

    /// The number of the node that was taken last.
    pub(super) fn last(&self) -> usize {
        self.at - 1
    }

    /// Goes to a node.
    pub(super) fn go_to(&mut self, node: usize) {
        self.at = node;
    }

    /// A node after the next one; 0 is the next.
    pub(super) fn ahead(&self, nodes: usize) -> Option<Node> {
        self.nodes.get(self.at + nodes).copied()
    }

    pub(super) fn peek(&self) -> Option<NodeKind> {
        self.ahead(0).map(|node| node.kind)
    }

    pub(super) fn next(&mut self) -> Option<Node> {
        let node = *self.nodes.get(self.at)?;
        self.at += 1;
        Some(node)
    }

    /// The next node, if it is of that kind.
    pub(super) fn next_if(&mut self, kind: NodeKind) -> Option<Node> {
        if self.peek() == Some(kind) { self.next() } else { None }
    }

    /// The place where a type with a name is defined after this node.
    pub(super) fn type_defined_later(&self, name: &str) -> Option<Span> {
        let pairs = self.nodes.get(self.at..)?.windows(2);
        let mut types = pairs
            .filter(|pair| (pair[0].kind, pair[1].kind) == (NodeKind::Name, NodeKind::StructOpen));
        types.find(|pair| self.text_at(pair[0].span()) == name).map(|pair| pair[0].span())
    }

    /// Ends the walk: nothing more is looked at.
    pub(super) fn stop(&mut self) {
        self.at = self.nodes.len();
    }

    pub(super) fn text_at(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }
}

/// The number of a node without its sign, and without what stands between the two.
pub(super) fn digits(text: &str) -> &str {
    if !matches!(text.as_bytes().first(), Some(b'+' | b'-')) {
        return text;
    }
    let number = Lexer::new(text).last().map_or(0, |token| token.start as usize);
    &text[number..]
}
