//! A node of a document and its value.

use std::borrow::Cow;
use std::fmt;

use super::document::{Children, Class, Document, NodeId};
use super::integer::Integer;
use super::scalar::{self, NodeKind, NodeStyle};
use super::timestamp::{self, Date, DateTime, Timestamp};
use super::{Position, binary, number};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, ErrorKind, Result};

/// A node of a [`Document`]. It consists of a reference and an id, so it is cheap to copy.
///
/// Aliases are followed: an alias in the file appears as the node that it refers to. A traversal
/// can therefore reach the same node again, even from inside the node itself; compare
/// [`id`](Self::id)s to detect this.
#[derive(Clone, Copy)]
pub struct YamlNode<'a> {
    document: &'a Document,
    id: u32,
}

/// The value of a node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content<'a> {
    /// A null value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of any size.
    Int(Integer<'a>),
    /// A floating-point number. Decimal numbers are correctly rounded.
    Float(f64),
    /// A string.
    String(&'a str),
    /// A date.
    Date(Date),
    /// A date and time.
    DateTime(DateTime),
    /// Bytes, decoded from Base64.
    Binary(Vec<u8>),
    /// A sequence; see [`YamlNode::items`].
    Sequence,
    /// A mapping; see [`YamlNode::entries`].
    Mapping,
}

/// A flow sequence that contains only plain numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers<'a> {
    pub(crate) list: YamlNode<'a>,
    text: &'a str,
    elements: &'a [u32],
    /// True if any of the numbers is a float.
    pub(crate) has_floats: bool,
}

impl<'a> Numbers<'a> {
    pub(crate) fn len(self) -> usize {
        self.elements.len()
    }

    /// Iterates over the numbers as they are spelled in the source.
    pub(crate) fn texts(self) -> impl Iterator<Item = &'a str> {
        let end = self.list.document.record(self.list.id).end;
        let ends = self.elements.iter().skip(1).copied().chain([end]);
        self.elements.iter().zip(ends).map(move |(&start, end)| {
            // Remove the comma or bracket after the number, and any white space and line breaks.
            let text = self.text.as_bytes().get(start as usize..end as usize).unwrap_or_default();
            let is_number =
                |&byte: &u8| !matches!(byte, b' ' | b',' | b'\n' | b'\r' | b'\t' | b']');
            let len = text.iter().rposition(is_number).map_or(0, |last| last + 1);
            self.text.get(start as usize..start as usize + len).unwrap_or_default()
        })
    }
}

/// An occurrence of a node in the text: either its definition, or an alias.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mention<'a> {
    document: &'a Document,
    record: u32,
}

impl<'a> Mention<'a> {
    pub(super) fn new(document: &'a Document, record: u32) -> Self {
        Self { document, record }
    }

    /// Returns the node, or the target of an alias.
    pub(crate) fn node(self) -> YamlNode<'a> {
        self.document.node_at(self.record)
    }

    pub(super) fn document(self) -> &'a Document {
        self.document
    }

    /// Returns the id of the record. The record may be an alias.
    pub(super) fn record(self) -> u32 {
        self.record
    }

    pub(crate) fn is_alias(self) -> bool {
        self.document.record(self.record).class == Class::Alias
    }
}

impl<'a> YamlNode<'a> {
    /// Creates a node from the id of a record that is not an alias.
    pub(super) fn new(document: &'a Document, id: u32) -> Self {
        Self { document, id }
    }

    /// Returns the id of the node. For an alias, this is the id of the node to which the alias
    /// refers.
    pub fn id(self) -> NodeId {
        NodeId(self.id)
    }

    /// Returns the document that contains the node.
    pub fn document(self) -> &'a Document {
        self.document
    }

    /// Returns the position at which the content of the node begins, after any anchor and tag. A quoted scalar
    /// begins at its quote, a block scalar at the first nonblank character of its text, and a block mapping at
    /// its first key or `?`.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"a: 1\nb: !!int 2";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let position = document.root().pointer("/b")?.position();
    /// assert_eq!((position.line, position.column, position.offset), (2, 10, 14));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn position(self) -> Position {
        self.document.position(self.id)
    }

    /// Returns the full tag, such as `tag:stsci.edu:asdf/core/ndarray-1.1.0`, or `!foo` for a local tag.
    /// Returns `None` if the node has no tag, or only the tag `!`.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"%TAG ! tag:stsci.edu:asdf/\n--- {a: !core/complex-1.0.0 1j, b: !!str 1, c: 1}";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let root = document.root();
    /// assert_eq!(root.pointer("/a")?.tag(), Some("tag:stsci.edu:asdf/core/complex-1.0.0"));
    /// assert_eq!(root.pointer("/b")?.tag(), Some("tag:yaml.org,2002:str"));
    /// assert_eq!(root.pointer("/c")?.tag(), None);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn tag(self) -> Option<&'a str> {
        self.document.tag_of(self.id)
    }

    /// Returns the name of the node's anchor, or `None` if it has no anchor.
    pub fn anchor(self) -> Option<&'a str> {
        self.document.anchor_of(self.id)
    }

    /// Returns the type of the node. If a scalar has a tag such as `!!int`, the tag determines the
    /// type, even if the text does not fit; in that case, [`value`](Self::value) fails. A scalar
    /// with a tag that YAML does not define is a string, unless the tag is `!core/constant-1.0.0`,
    /// which does not affect the type.
    ///
    /// ```
    /// use asdf::yaml::{Document, NodeKind, ParseOptions};
    ///
    /// let text = b"[1e3, 1.0e+3, yes, 'yes', 2026-11-25]";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let kinds: Vec<NodeKind> = document.root().items().map(|item| item.kind()).collect();
    /// assert_eq!(kinds[..3], [NodeKind::String, NodeKind::Float, NodeKind::Bool]);
    /// assert_eq!(kinds[3..], [NodeKind::String, NodeKind::Date]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn kind(self) -> NodeKind {
        self.document.kind(self.id)
    }

    /// Returns the notation of the node in the text.
    pub fn style(self) -> NodeStyle {
        self.document.record(self.id).style
    }

    /// Returns the text of a scalar. Quotes, escapes and folding are resolved, but the spelling of numbers,
    /// such as `0x1f`, is kept. Returns `None` for a collection.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"[0x1f, 'it''s', [1]]";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let root = document.root();
    /// let texts: Vec<Option<&str>> = root.items().map(|item| item.text()).collect();
    /// assert_eq!(texts, [Some("0x1f"), Some("it's"), None]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn text(self) -> Option<&'a str> {
        match self.kind() {
            NodeKind::Sequence | NodeKind::Mapping => None,
            _ => Some(self.document.scalar_text(self.id)),
        }
    }

    /// Returns the value of the node.
    ///
    /// ```
    /// use asdf::yaml::{Content, Document, ParseOptions};
    ///
    /// let text = b"[2.5, !!int x]";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let root = document.root();
    /// assert_eq!(root.at(0).map(|item| item.value()).transpose()?, Some(Content::Float(2.5)));
    /// assert!(root.at(1).is_some_and(|item| item.value().is_err()));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if the text or the type of collection does not
    /// fit the tag. Also fails for an integer that is not written in base ten and has more than 4,300 decimal
    /// digits.
    pub fn value(self) -> Result<Content<'a>> {
        let text = self.document.scalar_text(self.id);
        let rules = self.document.options.scalars;
        let by_tag = self.document.record(self.id).by_tag;
        let value = match self.kind() {
            NodeKind::Sequence | NodeKind::Mapping => return self.collection_value(),
            NodeKind::String => (!by_tag).then_some(Content::String(text)),
            NodeKind::Null => scalar::is_null(text).then_some(Content::Null),
            NodeKind::Bool => scalar::boolean(text, rules)
                .or_else(|| scalar::lenient_boolean(text).filter(|_| by_tag))
                .map(Content::Bool),
            NodeKind::Int => number::integer(text, rules).map(Content::Int),
            NodeKind::Float => number::float(text, rules)
                .or_else(|| number::lenient_float(text).filter(|_| by_tag))
                .map(Content::Float),
            NodeKind::Date | NodeKind::DateTime => match timestamp::parse(text) {
                Some(Timestamp::Date(date)) => Some(Content::Date(date)),
                Some(Timestamp::DateTime(time)) => Some(Content::DateTime(time)),
                _ => None,
            },
            NodeKind::Binary => binary::decode(text).map(Content::Binary),
        };
        value.ok_or_else(|| self.misfit())
    }

    /// Returns the text of a string, or `None` for any other node.
    pub fn as_str(self) -> Option<&'a str> {
        match self.value_of(NodeKind::String)? {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a boolean, or `None` for any other node.
    pub fn as_bool(self) -> Option<bool> {
        match self.value_of(NodeKind::Bool)? {
            Content::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of an integer in the range of `i64`, or `None` for any other node.
    pub fn as_i64(self) -> Option<i64> {
        self.as_i128().and_then(|value| value.try_into().ok())
    }

    /// Returns the value of an integer in the range of `u64`, or `None` for any other node.
    pub fn as_u64(self) -> Option<u64> {
        self.as_i128().and_then(|value| value.try_into().ok())
    }

    /// Returns the value of an integer in the range of `i128`, or `None` for any other node.
    pub fn as_i128(self) -> Option<i128> {
        match self.value_of(NodeKind::Int)? {
            Content::Int(value) => value.as_i128(),
            _ => None,
        }
    }

    /// Returns the value of a float, or the float nearest to an integer. Returns `None` for any other node,
    /// including a string such as `1e3`; see [`coerce_f64`](Self::coerce_f64).
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"[2.5, 2, 1e3]";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let root = document.root();
    /// let numbers: Vec<Option<f64>> = root.items().map(|item| item.as_f64()).collect();
    /// assert_eq!(numbers, [Some(2.5), Some(2.0), None]);
    /// assert_eq!(root.at(2).and_then(|item| item.coerce_f64()), Some(1000.0));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn as_f64(self) -> Option<f64> {
        if !matches!(self.kind(), NodeKind::Float | NodeKind::Int) {
            return None;
        }
        match self.value().ok()? {
            Content::Float(value) => Some(value),
            Content::Int(value) => Some(value.to_f64()),
            _ => None,
        }
    }

    /// Like [`as_f64`](Self::as_f64), but also converts strings that look like numbers: `1e3`, `-.5`, `inf`.
    pub fn coerce_f64(self) -> Option<f64> {
        self.as_f64().or_else(|| number::lenient_float(self.as_str()?))
    }

    /// Returns `true` if the [`kind`](Self::kind) of the node is null.
    pub fn is_null(self) -> bool {
        self.kind() == NodeKind::Null
    }

    /// Returns the number of items in a sequence or of entries in a mapping, and 0 for a scalar. If a mapping has
    /// merge keys, each call collects the merged entries.
    pub fn len(self) -> usize {
        match self.kind() {
            NodeKind::Sequence => self.document.written_children(self.id).len(),
            _ => self.entry_mentions().len(),
        }
    }

    /// Returns `true` for a collection without items or entries, and for any scalar.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a key in a mapping or in the mappings merged into it. Returns `None` if there is
    /// no such key. Keys that are not strings are identified by their [JSON form](Self::to_key), such as `7`,
    /// `true` or `null`. The notation of integers, booleans and nulls does not matter: `get("16")` finds the key
    /// `0x10`, and `get("true")` finds `yes`.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"base: &b {p: 1, q: 2}\nx: {<<: *b, q: 3, 7: seven}";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let x = document.root().pointer("/x")?;
    /// assert_eq!(x.get("p").and_then(|p| p.as_i64()), Some(1));
    /// assert_eq!(x.get("q").and_then(|q| q.as_i64()), Some(3));
    /// assert_eq!(x.get("7").and_then(|seven| seven.as_str()), Some("seven"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn get(self, key: &str) -> Option<YamlNode<'a>> {
        let value = self.document.find(self.id, key)?;
        Some(self.document.node_at(value))
    }

    /// Returns the item of a sequence at an index, counted from 0, or `None` if there is no such item.
    pub fn at(self, index: usize) -> Option<YamlNode<'a>> {
        if self.kind() != NodeKind::Sequence {
            return None;
        }
        let item = self.document.written_children(self.id).get(index)?;
        Some(self.document.node_at(item))
    }

    /// Returns the numbers of a flow sequence that contains only plain numbers, without creating
    /// nodes for them. Returns `None` for any other node.
    pub(crate) fn numbers(self) -> Option<Numbers<'a>> {
        let record = self.document.record(self.id);
        let Class::Numbers { floats: has_floats } = record.class else { return None };
        let range = record.data as usize..(record.data + record.len) as usize;
        let elements = self.document.elements.get(range)?;
        Some(Numbers { list: self, text: &self.document.written, elements, has_floats })
    }

    /// Iterates over the items of a sequence. Other nodes have no items.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"[1, 2, x]";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let numbers: Vec<_> = document.root().items().filter_map(|item| item.as_i64()).collect();
    /// assert_eq!(numbers, [1, 2]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn items(
        self,
    ) -> impl ExactSizeIterator<Item = YamlNode<'a>> + DoubleEndedIterator + Clone {
        self.mentions().map(Mention::node)
    }

    /// Iterates over the keys and values of a mapping. Other nodes have no entries.
    ///
    /// Merge keys are applied: merged entries come first, but the mapping's own entries take precedence. A key
    /// that occurs more than once appears at its first position, with its last value.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// let text = b"base: &b {p: 1}\nx: {q: 2, <<: *b}";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let x = document.root().pointer("/x")?;
    /// let keys: Vec<_> = x.entries().filter_map(|(key, _)| key.text()).collect();
    /// assert_eq!(keys, ["p", "q"]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn entries(
        self,
    ) -> impl ExactSizeIterator<Item = (YamlNode<'a>, YamlNode<'a>)> + DoubleEndedIterator + Clone
    {
        self.entry_mentions().map(|(key, value)| (key.node(), value.node()))
    }

    /// Iterates over the keys of a mapping, in the order of its [`entries`](Self::entries). Other nodes have no
    /// keys.
    ///
    /// ```
    /// # use asdf::yaml::{Document, ParseOptions};
    /// let text = b"b: 1\na: 2\n7: 3\n";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let keys: Vec<_> = document.root().keys().filter_map(|key| key.text()).collect();
    /// assert_eq!(keys, ["b", "a", "7"]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn keys(self) -> impl ExactSizeIterator<Item = YamlNode<'a>> + DoubleEndedIterator + Clone {
        self.entry_mentions().map(|(key, _)| key.node())
    }

    /// Returns the number of a mapping's own entries, without merged entries, merge keys and duplicates.
    #[cfg(feature = "serde")]
    pub(crate) fn own_len(self) -> usize {
        self.document.own_entries(self.id).len() / 2
    }

    /// Iterates over all keys and values of a mapping, including merge keys and duplicates. Aliases are
    /// followed.
    pub fn raw_entries(
        self,
    ) -> impl ExactSizeIterator<Item = (YamlNode<'a>, YamlNode<'a>)> + DoubleEndedIterator + Clone
    {
        self.written_entries().map(|(key, value)| (key.node(), value.node()))
    }

    /// Like [`raw_entries`](Self::raw_entries), but does not follow aliases.
    pub(crate) fn written_entries(
        self,
    ) -> impl ExactSizeIterator<Item = (Mention<'a>, Mention<'a>)> + DoubleEndedIterator + Clone
    {
        let entries = match (self.kind(), self.document.written_children(self.id)) {
            (NodeKind::Mapping, Children::Records(records)) => records,
            _ => &[],
        };
        self.mention_pairs(entries.into())
    }

    /// Groups alternating keys and values, given as record ids, into pairs.
    fn mention_pairs(
        self,
        entries: Cow<'a, [u32]>,
    ) -> impl ExactSizeIterator<Item = (Mention<'a>, Mention<'a>)> + DoubleEndedIterator + Clone
    {
        let document = self.document;
        (0..entries.len() / 2).map(move |pair| {
            let [key, value] =
                [2 * pair, 2 * pair + 1].map(|at| Mention::new(document, entries[at]));
            (key, value)
        })
    }

    /// Returns the occurrence that defines the node. It is never an alias.
    pub(crate) fn mention(self) -> Mention<'a> {
        Mention::new(self.document, self.id)
    }

    /// Like [`items`](Self::items), but does not follow aliases.
    pub(crate) fn mentions(
        self,
    ) -> impl ExactSizeIterator<Item = Mention<'a>> + DoubleEndedIterator + Clone {
        let records = match self.kind() {
            NodeKind::Sequence => self.document.written_children(self.id),
            _ => Children::Records(&[]),
        };
        records.map(move |record| Mention::new(self.document, record))
    }

    /// Like [`entries`](Self::entries), but does not follow aliases.
    pub(crate) fn entry_mentions(
        self,
    ) -> impl ExactSizeIterator<Item = (Mention<'a>, Mention<'a>)> + DoubleEndedIterator + Clone
    {
        self.mention_pairs(self.document.all_entries(self.id))
    }

    /// Returns the node as a JSON object key. Pointers contain the same string, but escaped. Integers, booleans
    /// and null have a uniform spelling, such as `7`, `true` and `null`. Bytes are returned as Base64 without
    /// white space, and other scalars as their text.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) for a collection, which has no JSON form.
    pub fn to_key(self) -> Result<Cow<'a, str>> {
        self.document
            .key_text(self.id)
            .ok_or_else(|| self.error(format!("a {} cannot be a key", name_of(self.kind()))))
    }

    /// Returns the JSON Pointer to the definition of the node. A key has the same pointer as its value. Returns
    /// `None` if the path to the node contains a key that is a collection, or if the pointer is longer than
    /// 1 KiB (before escaping), because a key can be a megabyte long.
    pub fn to_pointer(self) -> Option<String> {
        self.document.pointer_of(self.id)
    }

    /// Creates an error about the node, with the pointer, line, column and offset of the node.
    pub fn error(self, message: impl Into<String>) -> Error {
        let Position { line, column, offset } = self.position();
        let (message, pointer) = (message.into(), self.to_pointer());
        Error::new(ErrorKind::Yaml { message, pointer, line, column }).at(offset)
    }

    /// Creates a diagnostic about the node.
    pub(crate) fn diagnostic(self, code: Code, message: impl Into<String>) -> Diagnostic {
        let mut diagnostic = self.position().diagnostic(code, message);
        self.document.point(self.id, &mut diagnostic.place);
        diagnostic
    }

    /// Returns the value if the node is of the given kind and its text fits that kind.
    fn value_of(self, kind: NodeKind) -> Option<Content<'a>> {
        if self.kind() != kind {
            return None;
        }
        self.value().ok()
    }

    /// Returns the value of a collection. Fails if its tag is a YAML tag for another kind of node.
    fn collection_value(self) -> Result<Content<'a>> {
        let is_sequence = self.kind() == NodeKind::Sequence;
        let own = self.tag().and_then(|tag| tag.strip_prefix("tag:yaml.org,2002:"));
        let fits = match own {
            Some("seq" | "pairs") => is_sequence,
            Some("map" | "set") => !is_sequence,
            Some("str" | "int" | "float" | "bool" | "null" | "binary" | "timestamp") => false,
            // `!!omap` is accepted on sequences and mappings, because Python asdf 6.0 also tags
            // each entry of an ordered mapping with it.
            _ => true,
        };
        match (fits, is_sequence) {
            (false, _) => Err(self.misfit()),
            (true, true) => Ok(Content::Sequence),
            (true, false) => Ok(Content::Mapping),
        }
    }

    fn misfit(self) -> Error {
        let what = match self.text() {
            // Do not print a million digits in a message.
            Some(text) if text.chars().count() > 40 => {
                format!("`{}..`", text.chars().take(40).collect::<String>())
            }
            Some(text) => format!("`{text}`"),
            None => format!("a {}", name_of(self.kind())),
        };
        self.error(match self.tag() {
            Some(tag) => format!("{what} does not fit the tag `{tag}`"),
            None => format!(
                "{what} is too large: an integer in a base other than ten may have at most 4300 \
                 decimal digits"
            ),
        })
    }
}

/// Prints only the node, because its document may be large.
impl fmt::Debug for YamlNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("YamlNode");
        shown.field("id", &self.id).field("kind", &self.kind());
        if let Some(tag) = self.tag() {
            shown.field("tag", &tag);
        }
        match self.text() {
            Some(text) => shown.field("text", &text),
            None => shown.field("len", &self.document.written_children(self.id).len()),
        };
        shown.finish_non_exhaustive()
    }
}

fn name_of(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Sequence => "sequence",
        NodeKind::Mapping => "mapping",
        _ => "scalar",
    }
}
