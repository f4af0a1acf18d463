//! Building the arena of a document from the events of the parser.
//!
//! A loop over the events maintains a stack of open collections. The children of all open
//! collections are collected in a single list. When a collection ends, its children are moved to
//! the arena together.

use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::Bytes;
use bytestring::ByteString;
use hashbrown::DefaultHashBuilder;

use super::characters;
use super::document::{Class, Document, NumberList, ParseOptions, Record};
use super::mapping::{INDEX_ABOVE, KeyIndex, Rearranged};
use super::parse::{Event, NodePlace, Parser};
use super::position::Lines;
use super::scalar::{self, NodeKind, NodeStyle, ScalarRules};
use super::scan::{self, Fault, Span};
use super::timestamp::{self, Timestamp};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};

/// Maximum length of the text in bytes, so that 32-bit offsets suffice. The offsets of unescaped
/// scalars continue after the end of the text. These scalars can be 1.5 times as long as the text,
/// because a two-byte escape can produce three bytes.
const MAX_TEXT: usize = u32::MAX as usize / 5 * 2;

/// Maximum total length of the distinct tags in bytes.
const MAX_TAGS: u64 = 64 << 20;

/// The tag of constants. A scalar with this tag is resolved as if it had no tag. With any other ASDF
/// tag, a scalar is a string.
pub(crate) const CONSTANT_TAG: &str = "tag:stsci.edu:asdf/core/constant-1.0.0";

/// Prefix of the tags that YAML itself defines.
const YAML_TAG: &str = "tag:yaml.org,2002:";

pub(super) fn parse(
    text: &Bytes,
    options: &ParseOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Document> {
    #[cfg(test)]
    PARSED.set(PARSED.get() + text.len());
    check_len(text.len())?;
    let checked = match characters::check(text) {
        Ok(checked) => checked,
        Err(bad) => {
            let before = text.get(..bad.offset).map(String::from_utf8_lossy).unwrap_or_default();
            let (line, column) = Lines::new(&before).line_and_column(&before, before.len());
            let position = options.position(line, column, bad.offset);
            return Err(position.error(bad.message));
        }
    };
    let parser = Parser::new(&checked);
    build(&checked, parser, options, diagnostics)
}

/// Fails if a text of this length in bytes is too long for the offsets.
pub(super) fn check_len(len: usize) -> Result<()> {
    if len > MAX_TEXT {
        return Err(Error::limit("size of the tree in bytes", MAX_TEXT as u64, len as u64));
    }
    Ok(())
}

#[cfg(test)]
thread_local! {
    /// The number of bytes that this thread has parsed.
    pub(crate) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Builds the document from the events that the parser returns.
fn build(
    text: &ByteString,
    parser: Parser<'_>,
    options: &ParseOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Document> {
    let builder = Builder {
        text,
        parser,
        options,
        diagnostics,
        stack: Vec::new(),
        pending: Vec::new(),
        own: Vec::new(),
        anchored: HashMap::new(),
        written_tags: HashMap::new(),
        last_tag: ("", 0),
        tag_numbers: HashMap::new(),
        tags_len: 0,
        nodes: 0,
        reported: Vec::new(),
        document: Document {
            // Reserve memory for one node per eight bytes, because few trees have more nodes than
            // that.
            records: Vec::with_capacity(text.len() / 8),
            written: text.clone(),
            changed: String::new(),
            children: Vec::with_capacity(text.len() / 8),
            elements: Vec::new(),
            lists: Vec::new(),
            tags: Vec::new(),
            anchors: Vec::new(),
            rearranged: HashMap::new(),
            indexes: HashMap::new(),
            hasher: DefaultHashBuilder::default(),
            options: *options,
            root: 0,
            parents: OnceLock::new(),
            lines: OnceLock::new(),
        },
    };
    builder.run()
}

/// A collection whose end has not been reached.
struct Open {
    record: u32,
    is_mapping: bool,
    /// Index in `pending` of the collection's first child.
    children: usize,
}

struct Builder<'a, 't> {
    text: &'t str,
    parser: Parser<'t>,
    options: &'a ParseOptions,
    diagnostics: &'a mut Vec<Diagnostic>,
    stack: Vec<Open>,
    /// Children of all open collections, in document order.
    pending: Vec<u32>,
    /// The entries of the mapping being finished, without merge keys and duplicates. The buffer is
    /// reused for each mapping.
    own: Vec<u32>,
    /// Maps the name of each anchor to the last node with this anchor.
    anchored: HashMap<&'t str, u32>,
    /// Maps each tag, as it is spelled in the source, to its number. Handles and `%` escapes in the
    /// spelling are not resolved. The non-specific tag, `!` or `!<!>`, has the number 0.
    written_tags: HashMap<&'t str, u32>,
    /// The spelling and the number of a tag that was looked up recently. It is often needed again,
    /// because consecutive nodes tend to have the same tag.
    last_tag: (&'t str, u32),
    tag_numbers: HashMap<Box<str>, u32>,
    /// Total length of the distinct tags in bytes.
    tags_len: u64,
    /// Number of records and elements so far.
    nodes: u64,
    /// For each diagnostic about a node, the index of the diagnostic and the id of the node. The
    /// length and the pointer are added to the diagnostic when the document is complete.
    reported: Vec<(usize, u32)>,
    document: Document,
}

impl Builder<'_, '_> {
    fn run(mut self) -> Result<Document> {
        loop {
            let event = self.parser.next_event();
            self.report_directives();
            let event = event.map_err(|fault| self.fault(fault))?;
            match event {
                Event::StreamEnd => break,
                Event::DocumentEnd { is_explicit: true } if !self.options.is_whole_text => break,
                Event::DocumentStart { offset, .. } if !self.document.records.is_empty() => {
                    return Err(self.error_at(
                        "a second document begins here, but a tree must be a single document",
                        offset,
                    ));
                }
                Event::DocumentStart { .. } | Event::DocumentEnd { .. } => {}
                Event::End(end) => self.end(end),
                Event::Alias(name) => self.alias(name)?,
                Event::Scalar { node, style, end, text } => self.scalar(node, style, end, text)?,
                Event::Numbers { node, end, elements, floats } => {
                    self.check_depth()?;
                    self.count(elements.range().len() as u64)?;
                    let (tag, class) = (self.tag(node.tag)?, Class::Numbers { floats });
                    let record = Record { tag, ..record(class, NodeStyle::Flow, node, end) };
                    let id = self.push(record.of(elements), node.anchor)?;
                    self.document.lists.push(NumberList { first: elements.start, record: id });
                }
                Event::SequenceStart { node, style } => {
                    self.collection(NodeKind::Sequence, style, node)?;
                }
                Event::MappingStart { node, style } => {
                    self.collection(NodeKind::Mapping, style, node)?;
                }
            }
        }
        self.finish_root()?;
        let (changed, elements) = self.parser.into_parts();
        (self.document.changed, self.document.elements) = (changed, elements);
        shrink(&mut self.document.records);
        shrink(&mut self.document.children);
        self.document.check_merges(&self.options.limits)?;
        for (at, id) in self.reported {
            self.document.point(id, &mut self.diagnostics[at].place);
        }
        Ok(self.document)
    }

    fn report_directives(&mut self) {
        for (offset, code, message) in self.parser.irregularities.drain(..) {
            let position = self.document.position_at(offset);
            self.diagnostics.push(position.diagnostic(code, message));
        }
    }

    /// Ensures that an empty document has an empty mapping as its root. Adds the mapping if there
    /// is no root. Converts the root to a mapping if it is an empty plain scalar, unless its tag is
    /// one of YAML's own.
    fn finish_root(&mut self) -> Result<()> {
        if self.document.records.is_empty() {
            let end = scan::offset(self.text.len());
            let place = NodePlace { start: end, content: end, ..NodePlace::default() };
            let root = record(Class::Node(NodeKind::Mapping), NodeStyle::Block, place, end);
            self.push(root, Span::default())?;
        }
        let is_yaml_tag = self.document.tag_of(0).is_some_and(|tag| tag.starts_with(YAML_TAG));
        if let Some(root) = self.document.records.first_mut() {
            let is_scalar = matches!(root.class, Class::Node(kind) if !kind.is_collection());
            if is_scalar && root.style == NodeStyle::Plain && root.len == 0 && !is_yaml_tag {
                root.class = Class::Node(NodeKind::Mapping);
                root.style = NodeStyle::Block;
                root.data = 0;
            }
        }
        Ok(())
    }

    fn scalar(&mut self, node: NodePlace, style: NodeStyle, end: u32, text: Span) -> Result<()> {
        let is_key = self
            .stack
            .last()
            .is_some_and(|open| open.is_mapping && (self.pending.len() - open.children) % 2 == 0);
        let tag = self.tag(node.tag)?;
        let full_tag = tag.checked_sub(1).and_then(|tag| self.document.tags.get(tag as usize));
        let is_non_specific = tag == 0 && !node.tag.is_empty();
        let resolved_as = if is_non_specific { NodeStyle::Plain } else { style };
        let scalar = self.parser.text(text);
        let rules = self.options.scalars;
        let (kind, by_tag, code) = kind_of(scalar, resolved_as, full_tag.map(|tag| &**tag), rules);
        // Do not report a `<<` key yet. Whether it is a merge key depends on its value, which is
        // checked when the mapping ends.
        let code = code.filter(|_| !(is_key && scalar == "<<"));
        let irregular = code.map(|code| (code, irregularity(code, scalar)));
        let record = Record { by_tag, tag, ..record(Class::Node(kind), style, node, end) };
        let id = self.push(record.of(text), node.anchor)?;
        if let Some((code, message)) = irregular {
            self.report(code, id, message);
        }
        Ok(())
    }

    fn check_depth(&self) -> Result<()> {
        let limit = u64::from(self.options.limits.max_depth);
        let requested = self.stack.len() as u64 + 1;
        if requested > limit {
            return Err(Error::limit("depth of the tree", limit, requested));
        }
        Ok(())
    }

    fn collection(&mut self, kind: NodeKind, style: NodeStyle, node: NodePlace) -> Result<()> {
        self.check_depth()?;
        let tag = self.tag(node.tag)?;
        let record = Record { tag, ..record(Class::Node(kind), style, node, node.content) };
        let record = self.push(record, node.anchor)?;
        let is_mapping = kind == NodeKind::Mapping;
        self.stack.push(Open { record, is_mapping, children: self.pending.len() });
        Ok(())
    }

    fn alias(&mut self, span: Span) -> Result<()> {
        let name = self.text.get(span.range()).and_then(|text| text.strip_prefix('*'));
        let name = name.unwrap_or_default();
        let Some(&target) = self.anchored.get(name) else {
            let message = format!("no anchor `{name}` is defined before this alias");
            return Err(self.error_at(message, span.start));
        };
        let place = NodePlace { start: span.start, content: span.start, ..NodePlace::default() };
        let alias =
            Record { data: target, ..record(Class::Alias, NodeStyle::Plain, place, span.end) };
        self.push(alias, Span::default()).map(drop)
    }

    /// Adds `nodes` to the number of nodes. Fails if the sum exceeds the limit.
    fn count(&mut self, nodes: u64) -> Result<()> {
        // With at most 2³⁰ nodes, an id has a spare bit to distinguish elements from records. The
        // list of children can be twice as long as the list of nodes, and its length still fits into
        // 32 bits.
        let limit = self.options.limits.max_items.min(1 << 30);
        self.nodes += nodes;
        if self.nodes > limit {
            return Err(Error::limit("nodes in the tree", limit, self.nodes));
        }
        Ok(())
    }

    /// Adds a record as a child of the innermost open collection, and returns its id. `anchor` is
    /// empty if the node has no anchor.
    fn push(&mut self, record: Record, anchor: Span) -> Result<u32> {
        self.count(1)?;
        let id = index(self.document.records.len());
        self.document.records.push(record);
        if !self.stack.is_empty() {
            self.pending.push(id);
        }
        if !anchor.is_empty() {
            self.anchor(id, anchor);
        }
        Ok(id)
    }

    fn anchor(&mut self, id: u32, written: Span) {
        let name = self.text.get(written.range()).and_then(|text| text.strip_prefix('&'));
        let name = name.unwrap_or_default();
        self.document.anchors.push((id, name.into()));
        if let Some(first) = self.anchored.insert(name, id) {
            let first = self.document.position(first);
            let message = format!(
                "anchor `{name}`, defined at line {}, column {}, is redefined",
                first.line, first.column
            );
            self.report(Code::AnchorRedefined, id, message);
        }
    }

    /// Returns the number of the tag at `span` in the source, or 0 if the span is empty or the tag
    /// is non-specific (`!`).
    fn tag(&mut self, span: Span) -> Result<u32> {
        if span.is_empty() {
            return Ok(0);
        }
        let written = self.text.get(span.range()).unwrap_or_default();
        if written == self.last_tag.0 {
            return Ok(self.last_tag.1);
        }
        if let Some(&number) = self.written_tags.get(written) {
            self.last_tag = (written, number);
            return Ok(number);
        }
        let full = self.parser.directives().resolve(written);
        let number = match full.map_err(|message| self.error_at(message, span.start))? {
            None => 0,
            Some(full) => match self.tag_numbers.get(&*full) {
                Some(&number) => number,
                None => self.add_tag(full.into())?,
            },
        };
        self.written_tags.insert(written, number);
        Ok(number)
    }

    /// Adds a new tag, and returns its number. Limits the total length of all tags, because a short
    /// text can produce very long tags.
    fn add_tag(&mut self, tag: Box<str>) -> Result<u32> {
        self.tags_len = self.tags_len.saturating_add(tag.len() as u64);
        if self.tags_len > MAX_TAGS {
            let what = "total length of distinct tags in bytes";
            return Err(Error::limit(what, MAX_TAGS, self.tags_len));
        }
        self.document.tags.push(tag.clone());
        let number = index(self.document.tags.len());
        self.tag_numbers.insert(tag, number);
        Ok(number)
    }

    /// Ends the innermost collection at the offset `end`, and moves its children to the arena.
    fn end(&mut self, end: u32) {
        let Some(Open { record, is_mapping, children }) = self.stack.pop() else { return };
        let start = self.document.children.len();
        let len = self.pending.len() - children;
        self.document.children.extend_from_slice(self.pending.get(children..).unwrap_or_default());
        self.pending.truncate(children);
        if let Some(record) = self.document.records.get_mut(record as usize) {
            (record.data, record.len, record.end) = (index(start), index(len), end);
        }
        if is_mapping {
            // The text of some keys is still in the scanner, where the document cannot read it.
            // Move it to the document while the keys are compared.
            self.parser.swap_parts(&mut self.document.changed, &mut self.document.elements);
            self.arrange(record);
            self.parser.swap_parts(&mut self.document.changed, &mut self.document.elements);
        }
    }

    /// Finds merge keys and duplicate keys in a complete mapping, and indexes the keys of a large
    /// mapping.
    fn arrange(&mut self, mapping: u32) {
        let mut own = std::mem::take(&mut self.own);
        own.clear();
        let mut merges = Vec::new();
        let pairs = self.document.written_children(mapping).len() / 2;
        let mut index_of_keys = (pairs > INDEX_ABOVE).then(|| KeyIndex::with_capacity(pairs));
        for pair in 0..pairs {
            let written = self.document.written_children(mapping);
            let [key, value] = [2 * pair, 2 * pair + 1].map(|at| written.get(at));
            let (Some(key), Some(value)) = (key, value) else { break };
            if self.document.is_merge_key(key) {
                if self.can_merge(value) {
                    merges.push(value);
                    continue;
                }
                let message = "`<<` is treated as an ordinary key, because its value is neither a \
                               mapping nor a list of mappings";
                self.report(Code::SpecialScalar, key, message.to_owned());
            }
            self.check_key_type(key);
            match self.find_duplicate(key, &own, index_of_keys.as_mut()) {
                Some(first) => {
                    self.report_duplicate(key, own.get(2 * first).copied().unwrap_or(key));
                    if let Some(place) = own.get_mut(2 * first + 1) {
                        *place = value;
                    }
                }
                None => own.extend([key, value]),
            }
        }
        if own.len() < 2 * pairs {
            let start = index(self.document.children.len());
            self.document.children.extend_from_slice(&own);
            let own = (start, index(own.len()));
            self.document.rearranged.insert(mapping, Rearranged { own, merges });
        }
        if let Some(index_of_keys) = index_of_keys {
            self.document.indexes.insert(mapping, index_of_keys);
        }
        self.own = own;
    }

    /// Returns the index of an earlier entry with the same key, or `None` if the key is new. Adds a
    /// new key to `index_of_keys`, if there is an index and the key is not a collection.
    fn find_duplicate(
        &self,
        key: u32,
        own: &[u32],
        index_of_keys: Option<&mut KeyIndex>,
    ) -> Option<usize> {
        let document = &self.document;
        let Some(index_of_keys) = index_of_keys else {
            return own.chunks_exact(2).position(|pair| document.same_key(pair[0], key));
        };
        let key_at = |pair: u32| own.get(2 * pair as usize).copied().unwrap_or(key);
        let hash_of = |key| document.key_text(key).map(|text| document.hash_of_key(&text));
        let hash = hash_of(key)?;
        if let Some(&pair) = index_of_keys.find(hash, |&pair| document.same_key(key_at(pair), key))
        {
            return Some(pair as usize);
        }
        let rehash = |&pair: &u32| hash_of(key_at(pair)).unwrap_or_default();
        index_of_keys.insert_unique(hash, index(own.len() / 2), rehash);
        None
    }

    /// Returns `true` if the value of a merge key can be merged. It must be a mapping, or a sequence
    /// whose items are all mappings. A sequence that is still open, because it contains the mapping
    /// being built, is accepted without a look at its items.
    fn can_merge(&self, value: u32) -> bool {
        let kind = |id| self.document.kind(self.document.resolve(id));
        let mut items = self.document.written_children(self.document.resolve(value));
        match kind(value) {
            NodeKind::Mapping => true,
            NodeKind::Sequence => items.all(|item| kind(item) == NodeKind::Mapping),
            _ => false,
        }
    }

    fn check_key_type(&mut self, key: u32) {
        let what = match self.document.kind(self.document.resolve(key)) {
            NodeKind::Int | NodeKind::String | NodeKind::Bool => return,
            NodeKind::Sequence | NodeKind::Mapping => "a collection",
            NodeKind::Null => "null",
            NodeKind::Float => "a float",
            NodeKind::Date => "a date",
            NodeKind::DateTime => "a date-time",
            NodeKind::Binary => "binary data",
        };
        let message = format!(
            "the standard does not allow {what} as a key: expected a string, an integer or a \
             boolean"
        );
        self.report(Code::KeyType, key, message);
    }

    fn report_duplicate(&mut self, key: u32, first: u32) {
        let (at, first) = (self.document.position(key), self.document.position(first));
        let name = self.document.key_text(key).unwrap_or_default();
        let name: String = name.chars().take(80).collect();
        let message = format!(
            "key `{name}` at line {}, column {} repeats the key at line {}, column {}: the last \
             value is used",
            at.line, at.column, first.line, first.column
        );
        self.report(Code::DuplicateKey, key, message);
    }

    fn report(&mut self, code: Code, id: u32, message: String) {
        self.reported.push((self.diagnostics.len(), id));
        self.diagnostics.push(self.document.position(id).diagnostic(code, message));
    }

    fn error_at(&self, message: impl Into<String>, offset: u32) -> Error {
        self.document.position_at(offset as usize).error(message)
    }

    fn fault(&self, fault: Fault) -> Error {
        self.document.position_at(fault.offset).error(fault.message)
    }
}

/// Releases unused capacity if there is enough of it to justify copying the list.
fn shrink<T>(list: &mut Vec<T>) {
    if list.capacity() - list.len() > list.len() / 2 {
        list.shrink_to_fit();
    }
}

/// Creates a record without a tag, text or children.
fn record(class: Class, style: NodeStyle, node: NodePlace, end: u32) -> Record {
    let NodePlace { start, content, .. } = node;
    Record { class, style, by_tag: false, tag: 0, data: 0, len: 0, start, content, end }
}

/// Converts a count to `u32`. The limits on text and nodes keep all counts below 2³².
fn index(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the kind of a scalar, whether its tag determines the kind, and the diagnostic code if
/// the scalar is irregular.
pub(crate) fn kind_of(
    text: &str,
    style: NodeStyle,
    tag: Option<&str>,
    rules: ScalarRules,
) -> (NodeKind, bool, Option<Code>) {
    let Some(tag) = tag.filter(|&tag| tag != CONSTANT_TAG) else {
        if style != NodeStyle::Plain {
            return (NodeKind::String, false, None);
        }
        let (kind, code) = scalar::resolve(text, rules);
        return (kind, false, code);
    };
    let kind = match tag.strip_prefix(YAML_TAG) {
        Some("int") => NodeKind::Int,
        Some("float") => NodeKind::Float,
        Some("bool") => NodeKind::Bool,
        Some("null") => NodeKind::Null,
        Some("binary") => NodeKind::Binary,
        Some("timestamp") => match timestamp::parse(text) {
            Some(Timestamp::Date(_)) => NodeKind::Date,
            _ => NodeKind::DateTime,
        },
        // These tags do not apply to scalars, so requesting the value will fail.
        Some("seq" | "map" | "set" | "omap" | "pairs") => NodeKind::String,
        _ => return (NodeKind::String, false, None),
    };
    (kind, true, None)
}

fn irregularity(code: Code, text: &str) -> String {
    let text: String = text.chars().take(80).collect();
    match code {
        Code::LargeInteger => {
            format!("`{text}` is outside the range of integer literals, -(2^63-2) to 2^63-1")
        }
        Code::EmptyNumber => {
            format!("`{text}` looks like a number but has no digits, so it is read as a string")
        }
        Code::ImpossibleDate => {
            format!("`{text}` looks like a date or time but is invalid, so it is read as a string")
        }
        _ => format!("`{text}` has no special meaning here, so it is read as a string"),
    }
}
