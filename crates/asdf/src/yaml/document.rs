//! The arena: a list of all nodes of a document, together with the text of the tree.
//!
//! Each node, except for the elements described below, is a 28-byte record. The record of a scalar
//! usually refers to a range of the tree's text. For a block scalar, or if escapes or folded lines
//! change the text, it refers to a range of a separate string. The record of a collection refers to
//! a range in the list of children, in which the keys and values of a mapping alternate. The record
//! of an alias refers to its target. All nodes together therefore need only a handful of
//! allocations. A document may contain cycles, and is dropped without recursion.
//!
//! The items of a flow sequence that contains only plain numbers (see `scan/numbers.rs`)
//! are called *elements* and have no records. Only the offset of each element is stored, in four
//! bytes; everything else is derived from the text on request.

use std::collections::HashMap;
use std::sync::OnceLock;

use binio::Limits;
use bytes::Bytes;
use bytestring::ByteString;
use hashbrown::DefaultHashBuilder;

use super::directives::is_line_break;
use super::mapping::{KeyIndex, Rearranged};
use super::node::YamlNode;
use super::parse::text_of;
use super::position::Lines;
use super::scalar::{NodeKind, NodeStyle, ScalarRules};
use super::scan::{Span, number_end};
use super::{Position, build};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::Place;
use crate::error::Result;

/// Identifies a node in its [`Document`]. An id is stable for the lifetime of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// Options for parsing the text of a tree: its position in the file, limits, and rules for scalars.
///
/// ```
/// use asdf::Limits;
/// use asdf::yaml::{Document, ParseOptions, ScalarRules};
///
/// let options = ParseOptions::default()
///     .scalars(ScalarRules::Core12)
///     .limits(Limits::default().max_items(1000));
/// let document = Document::parse(b"[yes, 1e3]", &options, &mut Vec::new())?;
/// assert_eq!(document.root().pointer("/0")?.as_str(), Some("yes"));
/// assert_eq!(document.root().pointer("/1")?.as_f64(), Some(1000.0));
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ParseOptions {
    /// Offset of the text in the file, in bytes. It is added to all offsets. Default: 0.
    pub offset: u64,
    /// Number of the line in the file at which the text begins, counted from 1. Default: 1.
    pub line: u32,
    /// Limits on the tree. Only `max_depth` and `max_items` apply.
    pub limits: Limits,
    /// Rules that determine the types of plain scalars without a tag.
    pub scalars: ScalarRules,
    /// True if the text after `...` may only contain white space and comments. If false, the text
    /// after `...` is not parsed.
    pub(crate) is_whole_text: bool,
}

impl ParseOptions {
    binio::setters! {
        /// Sets the limits on the depth, the number of nodes and the number of merged entries.
        limits: Limits;
        /// Sets the rules that determine the types of plain scalars without a tag.
        scalars: ScalarRules;
    }

    /// Sets the position of the text in the file: its offset in bytes, and the number of its first
    /// line, counted from 1.
    #[must_use]
    pub fn start(mut self, offset: u64, line: u32) -> Self {
        (self.offset, self.line) = (offset, line);
        self
    }

    /// Converts a position in the text, with line and column counted from 0, to a position in the
    /// file.
    pub(super) fn position(&self, line: usize, column: usize, offset: usize) -> Position {
        Position {
            line: self.line.saturating_add(u32::try_from(line).unwrap_or(u32::MAX)),
            column: u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1),
            offset: self.offset.saturating_add(offset as u64),
        }
    }
}

impl Default for ParseOptions {
    /// Creates options for a YAML source that is not part of a file: offset 0, line 1.
    fn default() -> Self {
        Self {
            offset: 0,
            line: 1,
            limits: Limits::default(),
            scalars: ScalarRules::default(),
            is_whole_text: false,
        }
    }
}

/// A parsed tree.
///
/// The format is YAML 1.1, but ASDF excludes some of its features: see "YAML subset" in the chapter
/// "The tree in-depth" of the ASDF standard.
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
    /// The text of the tree.
    pub(super) written: ByteString,
    /// The text of the scalars that differ from their source, for example because of escapes or
    /// folded lines. In a span, offsets at or beyond the end of `written` refer to this string.
    pub(super) changed: String,
    pub(super) children: Vec<u32>,
    /// The offsets at which the elements of number lists begin in the text.
    pub(super) elements: Vec<u32>,
    /// Lists of numbers, sorted by the index of their first element.
    pub(super) lists: Vec<NumberList>,
    /// Distinct tags. The tag of a record is an index into this list, counted from 1.
    pub(super) tags: Vec<Box<str>>,
    /// The id and the anchor name of each node with an anchor, in document order.
    pub(super) anchors: Vec<(u32, Box<str>)>,
    /// Maps the id of each mapping with merge keys or duplicate keys to its effective entries.
    pub(super) rearranged: HashMap<u32, Rearranged>,
    /// Maps the id of each large mapping to the index of its keys.
    pub(super) indexes: HashMap<u32, KeyIndex>,
    pub(super) hasher: DefaultHashBuilder,
    pub(super) options: ParseOptions,
    pub(super) root: u32,
    /// For each record, the id of the collection that contains it. Computed when any of these ids is
    /// first requested.
    pub(super) parents: OnceLock<Vec<u32>>,
    /// The line index. Computed when the first position is requested.
    pub(super) lines: OnceLock<Lines>,
}

/// The bit that distinguishes the id of an element from the id of a record.
pub(super) const ELEMENT: u32 = 1 << 31;

/// A flow sequence of plain numbers. Its items are elements: they have no records, and only their
/// offsets are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberList {
    /// Index of the first element of the list.
    pub(super) first: u32,
    pub(super) record: u32,
}

/// The children of a collection, including merge keys, duplicates and aliases: either a slice of
/// the list of children, or a range of element ids.
#[derive(Clone, Debug)]
pub(super) enum Children<'a> {
    Records(&'a [u32]),
    Elements(std::ops::Range<u32>),
}

impl Children<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Records(records) => records.len(),
            Self::Elements(elements) => elements.len(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<u32> {
        match self {
            Self::Records(records) => records.get(at).copied(),
            Self::Elements(elements) => elements.clone().nth(at),
        }
    }

    /// Returns the index of the child with the given id, or `None` if there is no such child. Ids
    /// increase in document order, which allows a binary search.
    pub(super) fn place_of(&self, id: u32) -> Option<usize> {
        match self {
            Self::Records(records) => records.binary_search(&id).ok(),
            Self::Elements(elements) => {
                elements.contains(&id).then(|| (id - elements.start) as usize)
            }
        }
    }
}

impl Iterator for Children<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::Records(records) => {
                let (first, rest) = records.split_first()?;
                *records = rest;
                Some(*first)
            }
            Self::Elements(elements) => elements.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }

    fn nth(&mut self, count: usize) -> Option<u32> {
        match self {
            Self::Records(records) => {
                *records = records.get(count..).unwrap_or_default();
                self.next()
            }
            Self::Elements(elements) => elements.nth(count),
        }
    }
}

impl DoubleEndedIterator for Children<'_> {
    fn next_back(&mut self) -> Option<u32> {
        match self {
            Self::Records(records) => {
                let (last, rest) = records.split_last()?;
                *records = rest;
                Some(*last)
            }
            Self::Elements(elements) => elements.next_back(),
        }
    }
}

impl ExactSizeIterator for Children<'_> {}

/// The class of a record: a node of a certain kind, an alias, or a list of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Node(NodeKind),
    Alias,
    /// A sequence whose items are elements. `floats` is true if any item is a float.
    Numbers {
        floats: bool,
    },
}

/// A node of the document, or an alias.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) class: Class,
    pub(super) style: NodeStyle,
    /// True if a tag determines the type of a scalar. The text of such a scalar might not fit the
    /// type.
    pub(super) by_tag: bool,
    /// Index into the tags, counted from 1; 0 for no tag.
    pub(super) tag: u32,
    /// For a scalar, the offset of its text; for a collection, the index of its first child; for a
    /// list of numbers, the index of its first element; for an alias, the id of its target.
    pub(super) data: u32,
    /// For a scalar, the length of its text in bytes; for a collection, the number of its children;
    /// for a list of numbers, the number of its elements.
    pub(super) len: u32,
    /// Offset in the tree's text at which the node begins, including its anchor and tag.
    pub(super) start: u32,
    /// Offset in the tree's text at which the content begins.
    pub(super) content: u32,
    /// Offset in the tree's text at which the content ends.
    pub(super) end: u32,
}

impl Record {
    /// Sets the range to which the record refers: a part of the text for a scalar, or elements for
    /// a list of numbers.
    pub(super) fn of(self, part: Span) -> Self {
        Self { data: part.start, len: part.end - part.start, ..self }
    }
}

impl Document {
    /// Parses the text of a tree, which may begin with directives and `---`, and may end with
    /// `...`. An empty document has an empty mapping as its root. Irregularities are added to
    /// `diagnostics`.
    ///
    /// ```
    /// use asdf::diagnostic::Code;
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let mut diagnostics = Vec::new();
    /// let document = Document::parse(b"a: 1\na: 2\n", &ParseOptions::default(), &mut diagnostics)?;
    /// assert_eq!(document.root().pointer("/a")?.as_i64(), Some(2));
    /// assert_eq!(diagnostics[0].code, Code::DuplicateKey);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`] if the text is not UTF-8, violates YAML 1.1 or declares a tag
    /// prefix of more than 4,096 bytes, or if a second document begins before `...`. Fails with
    /// [`ErrorKind::Limit`] if the text is longer than about 1.7 GB, if the tree exceeds one of the
    /// [limits](ParseOptions::limits) or has more than 2³⁰ nodes, or if the total length of its
    /// distinct tags exceeds 64 MiB.
    ///
    /// A scalar whose text does not fit its tag is not an error here, but [`YamlNode::value`] fails
    /// for it.
    ///
    /// [`ErrorKind::Yaml`]: crate::ErrorKind::Yaml
    /// [`ErrorKind::Limit`]: crate::ErrorKind::Limit
    pub fn parse(
        text: &[u8],
        options: &ParseOptions,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self> {
        build::check_len(text.len())?;
        Self::parse_shared(&Bytes::copy_from_slice(text), options, diagnostics)
    }

    /// Like [`parse`](Self::parse), but the document shares the memory of the text, which must never change.
    pub(crate) fn parse_shared(
        text: &Bytes,
        options: &ParseOptions,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Self> {
        build::parse(text, options, diagnostics)
    }

    /// Returns the root node.
    pub fn root(&self) -> YamlNode<'_> {
        self.node_at(self.root)
    }

    /// Returns the node with the given id, which must come from this document. For an id from
    /// another document, returns an unrelated node or the root.
    pub fn node(&self, id: NodeId) -> YamlNode<'_> {
        let is_known = match id.0.checked_sub(ELEMENT) {
            Some(element) => (element as usize) < self.elements.len(),
            None => (id.0 as usize) < self.records.len(),
        };
        self.node_at(if is_known { id.0 } else { self.root })
    }

    /// Iterates over all nodes in document order, including keys. Each node is visited once,
    /// regardless of the number of aliases.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"a: &x [1]\nb: *x";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let lists = document.nodes().filter(|node| node.items().len() > 0).count();
    /// assert_eq!(lists, 1); // the alias is the same node
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn nodes(&self) -> impl Iterator<Item = YamlNode<'_>> {
        let nodes = (0u32..).zip(&self.records);
        let nodes = nodes.filter(|(_, record)| record.class != Class::Alias);
        nodes.flat_map(|(id, record)| {
            let elements = match record.class {
                Class::Numbers { .. } => self.written_children(id),
                _ => Children::Records(&[]),
            };
            std::iter::once(id).chain(elements).map(|id| YamlNode::new(self, id))
        })
    }

    /// Returns the size of the document: the length of its text in bytes, including unescaped
    /// scalars, plus the number of nodes. The limits on alias expansion grow with this size.
    pub(crate) fn text_len(&self) -> u64 {
        (self.written.len() + self.changed.len() + self.node_count()) as u64
    }

    /// Returns the number of nodes, including aliases.
    pub fn node_count(&self) -> usize {
        self.records.len() + self.elements.len()
    }

    /// Returns the distinct tags in document order, each with the first node that has it.
    pub fn tags(&self) -> Vec<(&str, YamlNode<'_>)> {
        let mut first: Vec<Option<u32>> = vec![None; self.tags.len()];
        for (id, record) in (0u32..).zip(&self.records) {
            let slot = (record.tag as usize).checked_sub(1).and_then(|tag| first.get_mut(tag));
            if let Some(slot @ None) = slot {
                *slot = Some(id);
            }
        }
        let tags = self.tags.iter().zip(first);
        tags.filter_map(|(tag, id)| Some((&**tag, YamlNode::new(self, id?)))).collect()
    }

    /// Returns the node that a record represents. If the record is an alias, returns its target.
    pub(super) fn node_at(&self, id: u32) -> YamlNode<'_> {
        YamlNode::new(self, self.resolve(id))
    }

    /// Returns the id of the node to which an alias refers, or the id itself for any other record.
    /// An alias never refers to another alias.
    pub(super) fn resolve(&self, id: u32) -> u32 {
        let record = self.record(id);
        if record.class == Class::Alias { record.data } else { id }
    }

    /// Returns the record of a node. All ids come from the builder, so the record exists.
    pub(super) fn record(&self, id: u32) -> Record {
        match id.checked_sub(ELEMENT) {
            Some(element) => self.element(element as usize),
            None => self.records[id as usize],
        }
    }

    /// Creates the record for an element of a number list. Records of elements are not stored.
    fn element(&self, element: usize) -> Record {
        let start = self.elements.get(element).copied().unwrap_or(0);
        let number = number_end(self.written.as_bytes(), start as usize);
        let (end, is_float) = number.unwrap_or((start as usize, false));
        let span = Span::new(start as usize, end);
        Record {
            class: Class::Node(if is_float { NodeKind::Float } else { NodeKind::Int }),
            style: NodeStyle::Plain,
            by_tag: false,
            tag: 0,
            data: start,
            len: span.end - start,
            start,
            content: start,
            end: span.end,
        }
    }

    pub(super) fn kind(&self, id: u32) -> NodeKind {
        match self.record(id).class {
            Class::Node(kind) => kind,
            Class::Numbers { .. } => NodeKind::Sequence,
            // An alias counts as a string if the caller has not resolved it.
            Class::Alias => NodeKind::String,
        }
    }

    /// Returns the text of a scalar, or an empty string for any other node.
    pub(super) fn scalar_text(&self, id: u32) -> &str {
        let record = self.record(id);
        match record.class {
            Class::Node(kind) if !kind.is_collection() => {
                let span = Span { start: record.data, end: record.data + record.len };
                text_of(&self.written, &self.changed, span)
            }
            _ => "",
        }
    }

    /// Returns the children of a collection, including merge keys, duplicates and aliases. Returns no
    /// children for any other node.
    pub(super) fn written_children(&self, id: u32) -> Children<'_> {
        let record = self.record(id);
        match record.class {
            Class::Node(kind) if kind.is_collection() => {
                Children::Records(self.children_at(record.data, record.len))
            }
            Class::Numbers { .. } => {
                let first = ELEMENT + record.data;
                Children::Elements(first..first + record.len)
            }
            _ => Children::Records(&[]),
        }
    }

    /// Returns `len` entries of the list of children, beginning at the index `start`.
    pub(super) fn children_at(&self, start: u32, len: u32) -> &[u32] {
        let start = start as usize;
        self.children.get(start..start + len as usize).unwrap_or_default()
    }

    /// Returns the position at which the content of a node begins; see [`YamlNode::position`].
    pub(super) fn position(&self, id: u32) -> Position {
        let record = self.record(id);
        let is_block_scalar = matches!(record.style, NodeStyle::Literal | NodeStyle::Folded);
        self.position_at(if is_block_scalar {
            self.block_text_start(record)
        } else {
            record.content as usize
        })
    }

    /// Adds the length and the pointer of a node to `place`, which already contains the node's
    /// position.
    pub(super) fn point(&self, id: u32, place: &mut Place) {
        let end = self.options.offset.saturating_add(self.record(id).end.into());
        place.len = place.offset.map(|offset| end.saturating_sub(offset));
        place.pointer = self.pointer_of(id);
    }

    /// Converts an offset in the text to a position in the file.
    pub(super) fn position_at(&self, offset: usize) -> Position {
        let lines = self.lines.get_or_init(|| Lines::new(&self.written));
        let (line, column) = lines.line_and_column(&self.written, offset);
        self.options.position(line, column, offset)
    }

    /// Returns the offset of the first character in the text of a block scalar, ignoring spaces and
    /// line breaks. If the text has no other characters, returns the offset of the scalar itself.
    fn block_text_start(&self, record: Record) -> usize {
        let (start, end) = (record.content as usize, record.end as usize);
        let written = self.written.get(start..end).unwrap_or_default();
        let after_header = written.find(is_line_break).and_then(|at| written.get(at..));
        let text =
            after_header.map(|rest| rest.trim_start_matches(|c| c == ' ' || is_line_break(c)));
        text.filter(|text| !text.is_empty()).map_or(start, |text| end - text.len())
    }

    pub(super) fn tag_of(&self, id: u32) -> Option<&str> {
        let tag = (self.record(id).tag as usize).checked_sub(1)?;
        self.tags.get(tag).map(|tag| &**tag)
    }

    pub(super) fn anchor_of(&self, id: u32) -> Option<&str> {
        // Elements have no anchors, and their ids are greater than all record ids, so the search finds
        // nothing.
        let at = self.anchors.binary_search_by_key(&id, |(node, _)| *node).ok()?;
        self.anchors.get(at).map(|(_, name)| &**name)
    }
}
