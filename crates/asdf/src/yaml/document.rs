//! The arena: all nodes of a document in one list, all their text in one string.
//!
//! A node is a record of 32 bytes. Scalars point into the text, collections into the list of
//! children (a mapping's are key, value, key, value, ..), aliases at their node. So a document is
//! a handful of allocations whatever its size, drops without recursion, and may hold cycles.

use std::collections::HashMap;
use std::sync::OnceLock;

use binio::Limits;

use super::mapping::{KeyIndex, Rearranged};
use super::node::Node;
use super::scalar::{Kind, ScalarRules, Style};
use super::{Position, build};
use crate::{Diagnostic, Result};

/// Number of a node in its [`Document`], stable as long as the document lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// Where the text of a tree comes from and how to read it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ParseOptions {
    /// Offset of the text in the file, for positions.
    pub offset: u64,
    /// Line in the file, from 1, of the first line of the text.
    pub line: u32,
    /// `max_depth` and `max_items` apply.
    pub limits: Limits,
    /// How untagged plain scalars resolve.
    pub scalars: ScalarRules,
}

impl ParseOptions {
    /// Sets where the text is in the file: its offset, and the number of its first line.
    #[must_use]
    pub fn with_start(mut self, offset: u64, line: u32) -> Self {
        (self.offset, self.line) = (offset, line);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how untagged plain scalars resolve.
    #[must_use]
    pub fn with_scalars(mut self, rules: ScalarRules) -> Self {
        self.scalars = rules;
        self
    }
}

impl Default for ParseOptions {
    /// A text of its own: offset 0, line 1.
    fn default() -> Self {
        Self { offset: 0, line: 1, limits: Limits::default(), scalars: ScalarRules::default() }
    }
}

/// A parsed tree.
///
/// ```
/// use asdf::yaml::{Document, ParseOptions};
///
/// let text = b"%YAML 1.1\n---\nmeta: {exposure: 1:30, filter: &f F110W}\nalso: *f\n...\n";
/// let mut diagnostics = Vec::new();
/// let document = Document::parse(text, &ParseOptions::default(), &mut diagnostics)?;
/// let root = document.root();
/// assert_eq!(root.pointer("/meta/exposure")?.as_i64(), Some(90));
/// assert_eq!(root.get("also").and_then(|node| node.as_str()), Some("F110W"));
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Debug)]
pub struct Document {
    pub(super) records: Vec<Record>,
    /// Text of all scalars.
    pub(super) text: String,
    pub(super) children: Vec<u32>,
    /// Distinct tags; a record's tag is an index from 1.
    pub(super) tags: Vec<Box<str>>,
    /// Anchors by node, in the order of nodes.
    pub(super) anchors: Vec<(u32, Box<str>)>,
    /// Mappings with merge keys or duplicate keys.
    pub(super) rearranged: HashMap<u32, Rearranged>,
    /// Key tables of large mappings.
    pub(super) indexes: HashMap<u32, KeyIndex>,
    pub(super) hasher: std::hash::RandomState,
    /// Offset of the text in the file.
    pub(super) base: u64,
    pub(super) scalars: ScalarRules,
    pub(super) root: u32,
    /// The collection that each record is in; made when the first pointer is asked for.
    pub(super) parents: OnceLock<Vec<u32>>,
}

/// What a record is: a [`Kind`], or the mention of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Node(Kind),
    Alias,
}

/// One node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) class: Class,
    pub(super) style: Style,
    /// Whether the type comes from a tag, so that the text need not fit it.
    pub(super) by_tag: bool,
    /// Index into the tags from 1; 0 is none.
    pub(super) tag: u32,
    /// Scalar: start in the text. Collection: start in the children. Alias: the node.
    pub(super) start: u32,
    /// Scalar: bytes. Collection: number of records.
    pub(super) len: u32,
    pub(super) line: u32,
    pub(super) column: u32,
    /// Offset in the text of the tree.
    pub(super) offset: u32,
}

impl Document {
    /// Parses the bytes of a tree: directives, `---`, content, `...`, of which only content is
    /// required.
    ///
    /// An empty document has an empty mapping as its root. Fails with [`ErrorKind::Yaml`] at the first
    /// thing that is not YAML 1.1, or [`ErrorKind::Limit`]; irregularities go to `diagnostics`. A tag
    /// that does not fit its text fails later, when the [`value`](Node::value) is asked for.
    ///
    /// [`ErrorKind::Yaml`]: crate::ErrorKind::Yaml
    /// [`ErrorKind::Limit`]: crate::ErrorKind::Limit
    pub fn parse(
        text: &[u8],
        options: &ParseOptions,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self> {
        build::parse(text, options, diagnostics)
    }

    /// The root node.
    pub fn root(&self) -> Node<'_> {
        self.node_at(self.root)
    }

    /// The node of a number that this document returned. For a number of another document it is
    /// some node or the root.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        let known = (id.0 as usize) < self.records.len();
        self.node_at(if known { id.0 } else { self.root })
    }

    /// All nodes, keys among them, in the order of the text; each once, however often aliases
    /// mention it.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        let nodes = (0u32..).zip(&self.records);
        let nodes = nodes.filter(|(_, record)| matches!(record.class, Class::Node(_)));
        nodes.map(|(id, _)| self.node_at(id))
    }

    /// A measure of the length of the text.
    pub(crate) fn text_len(&self) -> u64 {
        (self.text.len() + self.records.len()) as u64
    }

    /// How many nodes there are, aliases included.
    pub fn node_count(&self) -> usize {
        self.records.len()
    }

    /// The distinct tags, each with the first node that carries it, in the order of the file.
    pub fn tags(&self) -> Vec<(&str, Node<'_>)> {
        let mut first: Vec<Option<u32>> = vec![None; self.tags.len()];
        for (id, record) in (0u32..).zip(&self.records) {
            let slot = (record.tag as usize).checked_sub(1).and_then(|tag| first.get_mut(tag));
            if let Some(slot @ None) = slot {
                *slot = Some(id);
            }
        }
        let tags = self.tags.iter().zip(first);
        tags.filter_map(|(tag, id)| Some((&**tag, Node::new(self, id?)))).collect()
    }

    /// The node of a record, the aliased one for an alias.
    pub(super) fn node_at(&self, id: u32) -> Node<'_> {
        Node::new(self, self.resolve(id))
    }

    /// Follows an alias. An alias never points at another one.
    pub(super) fn resolve(&self, id: u32) -> u32 {
        let record = self.record(id);
        if record.class == Class::Alias { record.start } else { id }
    }

    /// All numbers come from the builder, which pushed the records before.
    pub(super) fn record(&self, id: u32) -> &Record {
        &self.records[id as usize]
    }

    pub(super) fn kind(&self, id: u32) -> Kind {
        match self.record(id).class {
            Class::Node(kind) => kind,
            // `resolve` was not called: show what the alias is to a reader, a mention by name.
            Class::Alias => Kind::String,
        }
    }

    /// Text of a scalar; empty for others.
    pub(super) fn scalar_text(&self, id: u32) -> &str {
        let record = self.record(id);
        match record.class {
            Class::Node(Kind::Sequence | Kind::Mapping) | Class::Alias => "",
            Class::Node(_) => {
                let start = record.start as usize;
                self.text.get(start..start + record.len as usize).unwrap_or_default()
            }
        }
    }

    /// Records of a collection as written; empty for others.
    pub(super) fn written_children(&self, id: u32) -> &[u32] {
        let record = self.record(id);
        match record.class {
            Class::Node(Kind::Sequence | Kind::Mapping) => {
                let start = record.start as usize;
                self.children.get(start..start + record.len as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }

    pub(super) fn position(&self, id: u32) -> Position {
        let record = self.record(id);
        Position {
            line: record.line,
            column: record.column,
            offset: self.base.saturating_add(record.offset.into()),
        }
    }

    pub(super) fn tag_of(&self, id: u32) -> Option<&str> {
        let tag = (self.record(id).tag as usize).checked_sub(1)?;
        self.tags.get(tag).map(|tag| &**tag)
    }

    pub(super) fn anchor_of(&self, id: u32) -> Option<&str> {
        let at = self.anchors.binary_search_by_key(&id, |(node, _)| *node).ok()?;
        self.anchors.get(at).map(|(_, name)| &**name)
    }
}
