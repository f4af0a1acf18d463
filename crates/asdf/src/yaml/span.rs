//! Finding the ranges of a node and its key, anchor, tag and comments in the text.
//!
//! ```text
//! # about the key                 comment before
//! key: &a !t "text"   # why       comment after
//! ^^^  ^^ ^^ ^^^^^^
//! key  |  |  content
//!      |  tag
//!      anchor                     the span of the node is from here to the end of the content
//! ```
//!
//! At most three offsets per node are stored; everything else is found by searching the text. All
//! spans are byte ranges in the file. They nest in the same way as the nodes, and are in document order.

use std::ops::Range;

use super::directives::is_line_break;
use super::document::{Class, Document};
use super::node::{Mention, YamlNode};
use super::scalar::{NodeKind, NodeStyle};

/// A comment in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeComment<'a> {
    /// The text from `#` to the end of the line.
    pub text: &'a str,
    /// The byte range of the comment in the file.
    pub span: Range<u64>,
}

/// The comments that belong to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comments<'a> {
    /// The comments on the lines directly above the key, dash or value.
    pub before: Vec<NodeComment<'a>>,
    /// The comment at the end of the line on which the node ends. For a block scalar, this is the comment after
    /// its header; for a block collection, the comment on the line of its key.
    pub after: Option<NodeComment<'a>>,
}

impl<'a> YamlNode<'a> {
    /// Returns the byte range of the node in the file, from its anchor or tag, if it has one, to
    /// the end of its content. Line breaks, comments and indicators (`- `, `: `, `,`) around it are
    /// not included.
    ///
    /// Quotes and brackets are included. A block collection begins at its first key, `?` or dash,
    /// and ends with its last node. A block scalar begins at `|` or `>`, and ends with its last
    /// line of text or, with `+`, before its last line break. If a node has no text, its content is
    /// empty and follows the indicator, anchor or tag that requires a value.
    pub fn span(self) -> Range<u64> {
        self.mention().span()
    }

    /// Like [`span`](Self::span), but without the anchor and the tag.
    pub fn content_span(self) -> Range<u64> {
        let record = self.document().record(self.id().0);
        self.document().in_file(record.content as usize, record.end as usize)
    }

    /// Returns the byte range of the key whose value is this node. If the node has aliases, returns
    /// the range of the key at its definition. Returns `None` for items, keys and the root.
    pub fn key_span(self) -> Option<Range<u64>> {
        self.mention().key_span()
    }

    /// Returns the byte range of the anchor in the file, including the `&`. Returns `None` if the
    /// node has no anchor.
    pub fn anchor_span(self) -> Option<Range<u64>> {
        self.document().property_span(self.id().0, '&')
    }

    /// Returns the byte range of the tag in the file, including the `!`. Returns `None` if the node
    /// has no tag.
    pub fn tag_span(self) -> Option<Range<u64>> {
        self.document().property_span(self.id().0, '!')
    }

    /// Returns the byte ranges of the node's aliases in the file, including the `*`, in document order. Scans
    /// all nodes of the document.
    pub fn alias_spans(self) -> Vec<Range<u64>> {
        let document = self.document();
        let records = document.records.iter();
        let aliases =
            records.filter(|record| record.class == Class::Alias && record.data == self.id().0);
        aliases.map(|record| document.in_file(record.start as usize, record.end as usize)).collect()
    }

    /// Returns the comments that belong to the node. If the node has aliases, these are the
    /// comments at its definition.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"a: 1\n\n# in seconds\nexposure: 5.0 # measured\n";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let comments = document.root().pointer("/exposure")?.comments();
    /// assert_eq!(comments.before[0].text, "# in seconds");
    /// assert_eq!(comments.after.map(|comment| comment.text), Some("# measured"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn comments(self) -> Comments<'a> {
        self.mention().comments()
    }
}

impl<'a> Mention<'a> {
    /// Like [`YamlNode::span`], but returns the range of `*name` for an alias.
    pub(crate) fn span(self) -> Range<u64> {
        let record = self.document().record(self.record());
        self.document().in_file(record.start as usize, record.end as usize)
    }

    /// Like [`YamlNode::key_span`], but returns the key of an alias instead of the key of its target.
    pub(crate) fn key_span(self) -> Option<Range<u64>> {
        let (document, id) = (self.document(), self.record());
        let (parent, place) = document.place_in_parent(id)?;
        let is_value = document.kind(parent) == NodeKind::Mapping && place % 2 == 1;
        let key = document.written_children(parent).get(place.checked_sub(1)?)?;
        let key = document.record(key);
        is_value.then(|| document.in_file(key.start as usize, key.end as usize))
    }

    /// Returns the collection that contains the node, and the index of the node among the children
    /// of the collection (items, or alternating keys and values). Returns `None` for the root.
    pub(crate) fn parent(self) -> Option<(YamlNode<'a>, usize)> {
        let (parent, place) = self.document().place_in_parent(self.record())?;
        Some((YamlNode::new(self.document(), parent), place))
    }

    /// Like [`YamlNode::comments`], but returns the comments of an alias instead of the comments of its
    /// target.
    pub(crate) fn comments(self) -> Comments<'a> {
        let (document, id) = (self.document(), self.record());
        Comments { before: document.comments_before(id), after: document.comment_after(id) }
    }
}

impl Document {
    /// Iterates over all aliases in document order.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = Mention<'_>> {
        let records = (0u32..).zip(&self.records);
        let aliases = records.filter(|(_, record)| record.class == Class::Alias);
        aliases.map(|(id, _)| Mention::new(self, id))
    }

    /// Iterates over the names of all anchors.
    pub(crate) fn anchor_names(&self) -> impl Iterator<Item = &str> {
        self.anchors.iter().map(|(_, name)| &**name)
    }

    /// Converts a range of the text to a range of the file.
    fn in_file(&self, start: usize, end: usize) -> Range<u64> {
        let base = self.options.offset;
        base.saturating_add(start as u64)..base.saturating_add(end as u64)
    }

    /// Returns the collection that contains a record, and the index of the record among the
    /// children of the collection. Returns `None` for the root.
    fn place_in_parent(&self, id: u32) -> Option<(u32, usize)> {
        if id == self.root {
            return None;
        }
        let parent = self.parent_of(id)?;
        Some((parent, self.written_children(parent).place_of(id)?))
    }

    /// Returns the byte range of a node's anchor in the file if `indicator` is `&`, or of the node's
    /// tag if `indicator` is `!`.
    fn property_span(&self, id: u32, indicator: char) -> Option<Range<u64>> {
        let record = self.record(id);
        let (mut at, end) = (record.start as usize, record.content as usize);
        loop {
            let rest = self.written.get(at..end)?;
            let skipped = rest.trim_start_matches(|c| matches!(c, ' ' | '\t') || is_line_break(c));
            at = end - skipped.len();
            let ends: fn(char) -> bool = if skipped.starts_with('#') {
                is_line_break
            } else {
                |c| matches!(c, ' ' | '\t') || is_line_break(c)
            };
            let len = skipped.find(ends).unwrap_or(skipped.len());
            if skipped.starts_with(indicator) {
                return Some(self.in_file(at, at + len));
            }
            if len == 0 {
                return None;
            }
            at += len;
        }
    }

    fn comment(&self, start: usize, end: usize) -> Option<NodeComment<'_>> {
        let text = self.written.get(start..end)?;
        Some(NodeComment { text, span: self.in_file(start, end) })
    }

    /// Returns the offset at which the gap before a node begins: the end of the previous node, the
    /// offset after the bracket that opens the collection, or the start of the text.
    fn gap_start(&self, id: u32) -> usize {
        let mut id = id;
        loop {
            let Some((parent, place)) = self.place_in_parent(id) else { return 0 };
            let children = self.written_children(parent);
            if let Some(before) = place.checked_sub(1).and_then(|before| children.get(before)) {
                return self.record(before).end as usize;
            }
            let parent_record = self.record(parent);
            if parent_record.style == NodeStyle::Flow {
                return parent_record.content as usize + 1;
            }
            id = parent;
        }
    }

    /// Returns the comments on the lines directly above a node; see [`Comments::before`].
    fn comments_before(&self, id: u32) -> Vec<NodeComment<'_>> {
        // The comments above an entry belong to both its key and its value.
        let first = match self.place_in_parent(id) {
            Some((parent, place)) if self.kind(parent) == NodeKind::Mapping => {
                self.written_children(parent).get(place - place % 2).unwrap_or(id)
            }
            _ => id,
        };
        let mut comments = Vec::new();
        let mut at = self.gap_start(first);
        let end = self.record(first).start as usize;
        // A comment on the same line as the previous node belongs to that node.
        let mut is_own_line = at == 0;
        while let Some(rest) = self.written.get(at..end) {
            let Some(len) = rest.find(is_line_break) else { break };
            let line = &rest[..len];
            let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
            if is_own_line && line[blanks..].starts_with('#') {
                comments.extend(self.comment(at + blanks, at + len));
            } else {
                comments.clear();
            }
            is_own_line = true;
            at += len
                + if rest[len..].starts_with("\r\n") {
                    2
                } else {
                    rest[len..].chars().next().map_or(1, char::len_utf8)
                };
        }
        comments
    }

    /// Returns the comment that is on the same line as a node; see [`Comments::after`].
    fn comment_after(&self, id: u32) -> Option<NodeComment<'_>> {
        let record = self.record(id);
        let (start, end) = (record.start as usize, record.end as usize);
        let is_block = match record.class {
            Class::Node(kind) if kind.is_collection() => record.style == NodeStyle::Block,
            _ => false,
        };
        let at = match record.style {
            // The comment of a block scalar follows its header.
            NodeStyle::Literal | NodeStyle::Folded => record.content as usize,
            _ if is_block => {
                let place = self.place_in_parent(id);
                let key = place.filter(|(parent, _)| self.kind(*parent) == NodeKind::Mapping);
                let key = key.and_then(|(parent, place)| {
                    self.written_children(parent).get(place.checked_sub(1)?)
                })?;
                self.record(key).end as usize
            }
            _ => end,
        };
        let rest = self.written.get(at..)?;
        let line = rest.get(..rest.find(is_line_break).unwrap_or(rest.len()))?;
        let hash = line.find('#')?;
        let is_alone = |c: char| match record.style {
            NodeStyle::Literal | NodeStyle::Folded => {
                matches!(c, '|' | '>' | '+' | '-' | ' ' | '\t') || c.is_ascii_digit()
            }
            _ if is_block => true,
            _ => matches!(c, ' ' | '\t' | ',' | ':'),
        };
        let inside = if is_block { start >= at + hash } else { true };
        let is_comment = line.get(..hash)?.chars().all(is_alone) && inside;
        is_comment.then(|| self.comment(at + hash, at + line.len())).flatten()
    }
}
