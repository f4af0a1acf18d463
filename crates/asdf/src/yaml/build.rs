//! From events to the arena.
//!
//! One loop over the events with a stack of open collections. Children wait in one list until their
//! collection ends and then move to the arena in one piece.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::characters;
use super::directives::Directives;
use super::document::{Class, Document, ParseOptions, Record};
use super::events::{self, Event, EventSource, Fault, Place, Properties};
use super::mapping::{INDEX_ABOVE, KeyIndex, Rearranged};
use super::position::{Lines, Position};
use super::scalar::{self, Kind, ScalarRules, Style};
use super::separators::{self, is_separator};
use super::timestamp::{self, Timestamp};
use crate::{Code, Diagnostic, Error, Result};

/// A longer text might hold more text than 32 bits can count: an escape may grow by half.
const MAX_TEXT: usize = i32::MAX as usize;

/// The most bytes of distinct tags.
const MAX_TAGS: u64 = 64 << 20;

/// YAML's own tags.
const YAML_TAG: &str = "tag:yaml.org,2002:";

pub(super) fn parse(
    text: &[u8],
    options: &ParseOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Document> {
    if text.len() > MAX_TEXT {
        let (limit, requested) = (MAX_TEXT as u64, text.len() as u64);
        return Err(Error::limit("bytes of the tree", limit, requested));
    }
    let checked = match characters::check(text) {
        Ok(checked) => checked,
        Err(bad) => {
            let before = text.get(..bad.offset).map(String::from_utf8_lossy).unwrap_or_default();
            let (line, column) = Lines::new(&before).line_and_column(before.len());
            return Err(error(options, bad.message, Place { line, column }, bad.offset));
        }
    };
    let checked = separators::with_line_feeds(checked);
    let checked = &*checked;
    let lines = Lines::new(checked);
    let directives = Directives::read(checked, |offset, code, message| {
        let (line, column) = lines.line_and_column(offset);
        let position = file_position(options, Place { line, column }, offset);
        diagnostics.push(position.diagnostic(code, message));
    })
    .map_err(|bad| {
        let (line, column) = lines.line_and_column(bad.offset);
        error(options, bad.message, Place { line, column }, bad.offset)
    })?;
    let (line, column) = lines.line_and_column(directives.content);
    let content = checked.get(directives.content..).unwrap_or_default();
    let builder = Builder {
        text: checked,
        lines,
        start: Place { line, column },
        options,
        diagnostics,
        separators: separators::offsets(checked),
        next_separator: 0,
        stack: Vec::new(),
        pending: Vec::new(),
        own: Vec::new(),
        anchored: Vec::new(),
        anchor_names: HashMap::new(),
        tag_numbers: HashMap::new(),
        tags_len: 0,
        reported: Vec::new(),
        document: Document {
            records: Vec::new(),
            text: String::new(),
            children: Vec::new(),
            tags: Vec::new(),
            anchors: Vec::new(),
            rearranged: HashMap::new(),
            indexes: HashMap::new(),
            hasher: std::hash::RandomState::new(),
            base: options.offset,
            scalars: options.scalars,
            root: 0,
            parents: OnceLock::new(),
        },
    };
    events::with_source(content, &directives, |source| builder.run(source))
}

fn file_line(options: &ParseOptions, line: usize) -> u32 {
    options.line.saturating_add(u32::try_from(line).unwrap_or(u32::MAX))
}

fn file_offset(options: &ParseOptions, offset: usize) -> u64 {
    options.offset.saturating_add(offset as u64)
}

fn error(options: &ParseOptions, message: String, place: Place, offset: usize) -> Error {
    file_position(options, place, offset).error(message)
}

fn file_position(options: &ParseOptions, place: Place, offset: usize) -> Position {
    Position {
        line: file_line(options, place.line),
        column: u32::try_from(place.column).unwrap_or(u32::MAX - 1) + 1,
        offset: file_offset(options, offset),
    }
}

/// A collection whose end has not come.
struct Open {
    record: u32,
    is_mapping: bool,
    /// Where its children begin among those that wait.
    children: usize,
}

struct Builder<'a> {
    text: &'a str,
    lines: Lines<'a>,
    /// Where the content begins in the text.
    start: Place,
    options: &'a ParseOptions,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// Offsets of all LS and PS.
    separators: Vec<usize>,
    /// The first of them that is not in a scalar so far.
    next_separator: usize,
    stack: Vec<Open>,
    /// Children of the open collections.
    pending: Vec<u32>,
    /// Entries of the mapping that ends, kept for its memory.
    own: Vec<u32>,
    /// Nodes by the number of their anchor, from 1.
    anchored: Vec<u32>,
    anchor_names: HashMap<String, u32>,
    tag_numbers: HashMap<Box<str>, u32>,
    /// Bytes of all distinct tags.
    tags_len: u64,
    /// Diagnostics about nodes, whose pointers are known at the end.
    reported: Vec<(usize, u32)>,
    document: Document,
}

impl Builder<'_> {
    fn run(mut self, source: &mut dyn EventSource) -> Result<Document> {
        let mut documents = 0;
        loop {
            let (event, place) = source.next_event().map_err(|fault| self.fault(&fault))?;
            match event {
                Event::StreamEnd => {
                    self.check_separators(self.text.len())?;
                    break;
                }
                Event::DocumentStart => {
                    documents += 1;
                    if documents > 1 {
                        let message = "a second document, expected `...`".to_owned();
                        return Err(self.error_at(message, place));
                    }
                }
                Event::DocumentEnd => {
                    let offset = self.offset(place);
                    self.check_separators(offset)?;
                    if self.text.get(offset..).is_some_and(|rest| rest.starts_with("...")) {
                        // What follows is padding.
                        break;
                    }
                }
                Event::End => self.end(),
                Event::Alias(anchor) => self.alias(anchor, place)?,
                Event::Scalar { text, style, properties } => {
                    self.scalar(&text, style, properties, place, source)?;
                }
                Event::SequenceStart(properties) => {
                    self.collection(Kind::Sequence, properties, place, source)?;
                }
                Event::MappingStart(properties) => {
                    self.collection(Kind::Mapping, properties, place, source)?;
                }
            }
        }
        self.finish_root()?;
        self.document.check_merges(&self.options.limits)?;
        for (at, id) in self.reported {
            self.diagnostics[at].place.pointer = self.document.pointer_of(id);
        }
        Ok(self.document)
    }

    /// An empty document is an empty mapping.
    fn finish_root(&mut self) -> Result<()> {
        let Some(root) = self.document.records.first() else {
            let end = Place { line: usize::MAX, column: 0 };
            self.push(Class::Node(Kind::Mapping), Style::Block, end)?;
            return Ok(());
        };
        let is_scalar = !matches!(root.class, Class::Node(Kind::Sequence | Kind::Mapping));
        let tag = self.document.tag_of(0);
        let is_yaml_tag = tag.is_some_and(|tag| tag.starts_with(YAML_TAG));
        if is_scalar && root.style == Style::Plain && root.len == 0 && !is_yaml_tag {
            if let Some(root) = self.document.records.first_mut() {
                root.class = Class::Node(Kind::Mapping);
                root.style = Style::Block;
                root.start = 0;
            }
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: Style,
        properties: Properties,
        place: Place,
        source: &dyn EventSource,
    ) -> Result<()> {
        let is_key = self
            .stack
            .last()
            .is_some_and(|open| open.is_mapping && (self.pending.len() - open.children) % 2 == 0);
        let resolved_as = if properties.non_specific { Style::Plain } else { style };
        let (kind, by_tag, code) =
            kind_of(text, resolved_as, properties.tag.as_deref(), self.options.scalars);
        let unindented = if self.separators.is_empty() {
            None
        } else {
            self.unindented(text, style, place, is_key)?
        };
        let text = unindented.as_deref().unwrap_or(text);
        let start = index(self.document.text.len());
        self.document.text.push_str(text);
        let id = self.push(Class::Node(kind), style, place)?;
        if let Some(record) = self.document.records.last_mut() {
            record.start = start;
            record.len = index(text.len());
            record.by_tag = by_tag;
        }
        self.properties(id, properties, source)?;
        if let Some(code) = code {
            // As a key it is a merge key, unless the mapping's end shows otherwise.
            if !(is_key && text == "<<") {
                let message = irregularity(code, text);
                self.report(code, id, message);
            }
        }
        Ok(())
    }

    fn collection(
        &mut self,
        kind: Kind,
        properties: Properties,
        place: Place,
        source: &dyn EventSource,
    ) -> Result<()> {
        let limit = self.options.limits.max_depth;
        if self.stack.len() as u64 >= u64::from(limit) {
            let requested = self.stack.len() as u64 + 1;
            return Err(Error::limit("depth of the tree", limit.into(), requested));
        }
        let offset = self.offset(place);
        let bracket = if kind == Kind::Mapping { b'{' } else { b'[' };
        let is_flow = self.text.as_bytes().get(offset) == Some(&bracket);
        let style = if is_flow { Style::Flow } else { Style::Block };
        let record = self.push(Class::Node(kind), style, place)?;
        self.properties(record, properties, source)?;
        let is_mapping = kind == Kind::Mapping;
        self.stack.push(Open { record, is_mapping, children: self.pending.len() });
        Ok(())
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<()> {
        let target = anchor.checked_sub(1).and_then(|at| self.anchored.get(at)).copied();
        let Some(target) = target else {
            return Err(self.error_at("an alias of no anchor".to_owned(), place));
        };
        self.push(Class::Alias, Style::Plain, place)?;
        if let Some(record) = self.document.records.last_mut() {
            record.start = target;
        }
        Ok(())
    }

    /// Adds a record and makes it a child of the open collection.
    fn push(&mut self, class: Class, style: Style, place: Place) -> Result<u32> {
        // Twice as many children as nodes must fit into 32 bits.
        let limit = self.options.limits.max_items.min(1 << 30);
        let count = self.document.records.len();
        if count as u64 >= limit {
            let requested = count as u64 + 1;
            return Err(Error::limit("nodes of the tree", limit, requested));
        }
        let offset = self.offset(place);
        let id = index(count);
        let place = self.in_text(place);
        self.document.records.push(Record {
            class,
            style,
            by_tag: false,
            tag: 0,
            start: 0,
            len: 0,
            line: file_line(self.options, place.line),
            column: index(place.column).saturating_add(1),
            offset: index(offset),
        });
        if let Some(open) = self.stack.last() {
            if self.pending.len() == open.children {
                self.correct_position(open.record, id);
            }
            self.pending.push(id);
        }
        Ok(id)
    }

    /// The parser gives a block mapping the place of its first `:`, and a sequence that is not
    /// indented that of its first item.
    fn correct_position(&mut self, parent: u32, child: u32) {
        let records = &mut self.document.records;
        let Some(&Record { line, mut column, mut offset, .. }) = records.get(child as usize) else {
            return;
        };
        let Some(parent) = records.get_mut(parent as usize) else { return };
        if offset > parent.offset {
            return;
        }
        if parent.class == Class::Node(Kind::Sequence) {
            let before = self.text.get(..offset as usize).unwrap_or_default();
            let dash = before.trim_end_matches([' ', '\t']);
            if dash.ends_with('-') {
                let back = index(before.len() - dash.len() + 1);
                column = column.saturating_sub(back);
                offset = offset.saturating_sub(back);
            }
        }
        parent.style = Style::Block;
        (parent.line, parent.column, parent.offset) = (line, column, offset);
    }

    /// Adds anchor and tag to the last record.
    fn properties(
        &mut self,
        id: u32,
        properties: Properties,
        source: &dyn EventSource,
    ) -> Result<()> {
        if let Some(tag) = properties.tag {
            let number = match self.tag_numbers.get(&*tag) {
                Some(&number) => number,
                None => self.add_tag(tag.into())?,
            };
            if let Some(record) = self.document.records.last_mut() {
                record.tag = number;
            }
        }
        if properties.anchor == 0 {
            return Ok(());
        }
        let name = source.anchor_name(properties.anchor).to_owned();
        if name.contains(is_separator) {
            let message = "a line break of YAML 1.1 in an anchor".to_owned();
            return Err(self.document.node_at(id).error(message));
        }
        self.anchored.resize(properties.anchor, id);
        self.document.anchors.push((id, name.as_str().into()));
        let message = format!("anchor `{name}` once more");
        if let Some(first) = self.anchor_names.insert(name, id) {
            let first = self.document.position(first);
            let message =
                format!("{message}: first at line {}, column {}", first.line, first.column);
            self.report(Code::AnchorRedefined, id, message);
        }
        Ok(())
    }

    /// Adds a tag that was not met before. A short text can spell very long ones.
    fn add_tag(&mut self, tag: Box<str>) -> Result<u32> {
        self.tags_len = self.tags_len.saturating_add(tag.len() as u64);
        if self.tags_len > MAX_TAGS {
            return Err(Error::limit("bytes of distinct tags", MAX_TAGS, self.tags_len));
        }
        self.document.tags.push(tag.clone());
        let number = index(self.document.tags.len());
        self.tag_numbers.insert(tag, number);
        Ok(number)
    }

    /// Moves the children of the innermost collection to the arena.
    fn end(&mut self) {
        let Some(Open { record, is_mapping, children }) = self.stack.pop() else { return };
        let start = self.document.children.len();
        let len = self.pending.len() - children;
        self.document.children.extend_from_slice(self.pending.get(children..).unwrap_or_default());
        self.pending.truncate(children);
        if let Some(record) = self.document.records.get_mut(record as usize) {
            record.start = index(start);
            record.len = index(len);
        }
        if is_mapping {
            self.arrange(record);
        }
    }

    /// Finds merge keys and duplicates in a mapping that is complete, and indexes a large one.
    fn arrange(&mut self, mapping: u32) {
        let mut own = std::mem::take(&mut self.own);
        own.clear();
        let mut merges = Vec::new();
        let pairs = self.document.written_children(mapping).len() / 2;
        let mut index_of_keys = (pairs > INDEX_ABOVE).then(|| KeyIndex::new(pairs));
        for pair in 0..pairs {
            let written = self.document.written_children(mapping);
            let [key, value] = [2 * pair, 2 * pair + 1].map(|at| written.get(at).copied());
            let (Some(key), Some(value)) = (key, value) else { break };
            if self.document.is_merge_key(key) {
                if self.can_merge(value) {
                    merges.push(value);
                    continue;
                }
                let message = "`<<` has no mapping to merge and is a key like others";
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

    /// The entry that has a key already; if none has, the key goes into the index.
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
        let hash = document.hash_of_key(&document.key_text(key)?);
        let same = |pair: usize| own.get(2 * pair).is_some_and(|&own| document.same_key(own, key));
        let found = index_of_keys.find(hash, same);
        if found.is_none() {
            index_of_keys.insert(hash, own.len() / 2);
        }
        found
    }

    /// Whether a value is a mapping or a list of them. A list that is still open is included: it holds
    /// this very mapping.
    fn can_merge(&self, value: u32) -> bool {
        let kind = |id| self.document.kind(self.document.resolve(id));
        let items = self.document.written_children(self.document.resolve(value));
        match kind(value) {
            Kind::Mapping => true,
            Kind::Sequence => items.iter().all(|&item| kind(item) == Kind::Mapping),
            _ => false,
        }
    }

    fn check_key_type(&mut self, key: u32) {
        let message = match self.document.kind(self.document.resolve(key)) {
            Kind::Int | Kind::String | Kind::Bool => return,
            Kind::Sequence | Kind::Mapping => "a collection cannot be a key".to_owned(),
            kind => format!("a key of type {kind:?}, the standard has strings, integers, booleans"),
        };
        self.report(Code::KeyType, key, message);
    }

    fn report_duplicate(&mut self, key: u32, first: u32) {
        let (at, first) = (self.document.position(key), self.document.position(first));
        let name = self.document.key_text(key).unwrap_or_default();
        let name: String = name.chars().take(80).collect();
        let message = format!(
            "key `{name}` at line {}, column {} is also at line {}, column {}: the last value is used",
            at.line, at.column, first.line, first.column
        );
        self.report(Code::DuplicateKey, key, message);
    }

    /// The text of a scalar without the indentation around LS and PS; `None` if it has none.
    fn unindented(
        &mut self,
        text: &str,
        style: Style,
        place: Place,
        is_key: bool,
    ) -> Result<Option<String>> {
        let offset = self.offset(place);
        self.check_separators(offset)?;
        let written = self.text.get(offset..).unwrap_or_default();
        let count = match style {
            Style::DoubleQuoted => double_quoted(written).matches(is_separator).count(),
            _ => text.matches(is_separator).count(),
        };
        if count == 0 {
            return Ok(None);
        }
        self.next_separator += count;
        if is_key {
            return Err(self.error_at("a key of several lines: it has LS or PS".to_owned(), place));
        }
        separators::unindented(text, written, count, style, place.column)
            .map(Some)
            .map_err(|message| self.error_at(message.to_owned(), place))
    }

    /// Fails if an LS or PS before an offset is in no scalar: it ends a line there.
    fn check_separators(&self, before: usize) -> Result<()> {
        let Some(&offset) = self.separators.get(self.next_separator) else { return Ok(()) };
        if offset >= before {
            return Ok(());
        }
        let (line, column) = self.lines.line_and_column(offset);
        let message = "LS or PS ends a line in YAML 1.1, which is read in text only".to_owned();
        Err(error(self.options, message, Place { line, column }, offset))
    }

    fn report(&mut self, code: Code, id: u32, message: String) {
        self.reported.push((self.diagnostics.len(), id));
        self.diagnostics.push(self.document.position(id).diagnostic(code, message));
    }

    /// The parser sees the content only, and has the end of the stream on a line of its own.
    fn in_text(&self, place: Place) -> Place {
        let line = place.line.saturating_add(self.start.line);
        if line >= self.lines.count() {
            let (line, column) = self.lines.line_and_column(self.text.len());
            return Place { line, column };
        }
        let column = if place.line == 0 { self.start.column } else { 0 };
        Place { line, column: place.column.saturating_add(column) }
    }

    fn offset(&mut self, place: Place) -> usize {
        let place = self.in_text(place);
        self.lines.offset(place.line, place.column)
    }

    fn error_at(&mut self, message: String, place: Place) -> Error {
        let offset = self.offset(place);
        error(self.options, message, self.in_text(place), offset)
    }

    fn fault(&mut self, fault: &Fault) -> Error {
        self.error_at(fault.message.clone(), fault.place)
    }
}

/// A count that the limits on text and nodes keep below 2³².
fn index(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A double-quoted scalar from its opening quote to its closing one.
fn double_quoted(text: &str) -> &str {
    let mut escaped = false;
    let end = text.bytes().enumerate().skip(1).find_map(|(at, byte)| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes.then_some(at)
    });
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The kind of a scalar, whether its tag decides it, and what is irregular about it.
fn kind_of(
    text: &str,
    style: Style,
    tag: Option<&str>,
    rules: ScalarRules,
) -> (Kind, bool, Option<Code>) {
    let Some(tag) = tag.filter(|&tag| tag != crate::yaml::tag::CONSTANT) else {
        if style != Style::Plain {
            return (Kind::String, false, None);
        }
        let (kind, code) = scalar::resolve(text, rules);
        return (kind, false, code);
    };
    let kind = match tag.strip_prefix(YAML_TAG) {
        Some("int") => Kind::Int,
        Some("float") => Kind::Float,
        Some("bool") => Kind::Bool,
        Some("null") => Kind::Null,
        Some("binary") => Kind::Binary,
        Some("timestamp") => match timestamp::parse(text) {
            Some(Timestamp::Date(_)) => Kind::Date,
            _ => Kind::DateTime,
        },
        // A scalar is none of these, which shows when its value is asked for.
        Some("seq" | "map" | "set" | "omap" | "pairs") => Kind::String,
        _ => return (Kind::String, false, None),
    };
    (kind, true, None)
}

fn irregularity(code: Code, text: &str) -> String {
    let text: String = text.chars().take(80).collect();
    match code {
        Code::LargeInteger => {
            format!("`{text}` is outside the range of literals, -(2^63-2) to 2^63-1")
        }
        Code::EmptyNumber => format!("`{text}` is a number without digits, kept as a string"),
        Code::ImpossibleDate => format!("`{text}` is not a valid date or time, kept as a string"),
        _ => format!("`{text}` has no special meaning here and is a string"),
    }
}
