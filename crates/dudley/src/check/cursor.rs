//! Stepping through the nodes of a tree, with access to the text of their tokens.

use crate::source::Span;
use crate::text::{Lexer, Node, NodeKind};

/// A position in the nodes of a tree.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    nodes: &'a [Node],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, nodes: &'a [Node]) -> Self {
        Self { text, nodes, at: 0 }
    }

    /// Returns all nodes of the tree.
    pub(super) fn nodes(&self) -> &'a [Node] {
        self.nodes
    }

    /// Returns the index of the last node returned by `next`.
    pub(super) fn last(&self) -> usize {
        self.at - 1
    }

    /// Continues at the node with this index.
    pub(super) fn go_to(&mut self, node: usize) {
        self.at = node;
    }

    /// Returns a node after the cursor, without moving the cursor. `ahead(0)` is the next node.
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

    /// If the next node is of this kind, advances past it and returns it.
    pub(super) fn next_if(&mut self, kind: NodeKind) -> Option<Node> {
        if self.peek() == Some(kind) { self.next() } else { None }
    }

    /// If a type with this name is defined after the cursor, returns the span of the name in its
    /// definition.
    pub(super) fn type_defined_later(&self, name: &str) -> Option<Span> {
        let pairs = self.nodes.get(self.at..)?.windows(2);
        let mut types = pairs
            .filter(|pair| (pair[0].kind, pair[1].kind) == (NodeKind::Name, NodeKind::StructOpen));
        types.find(|pair| self.text_at(pair[0].span()) == name).map(|pair| pair[0].span())
    }

    /// Skips all remaining nodes, which ends the walk.
    pub(super) fn stop(&mut self) {
        self.at = self.nodes.len();
    }

    pub(super) fn text_at(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }
}

/// Returns the digits of a number, without the sign and any spaces and comments after the sign.
pub(super) fn digits(text: &str) -> &str {
    if !matches!(text.as_bytes().first(), Some(b'+' | b'-')) {
        return text;
    }
    let number = Lexer::new(text).last().map_or(0, |token| token.start as usize);
    &text[number..]
}
