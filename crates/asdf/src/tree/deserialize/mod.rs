//! Converting nodes to Rust types through `serde::Deserialize` (feature `serde`).
//!
//! | node | deserialized as |
//! |---|---|
//! | null | unit, `None` |
//! | boolean, float, string | the same type; strings are borrowed from the document |
//! | integer | an integer of up to 128 bits, or a string of digits for larger values; a float if the type requires one |
//! | date, date-time | a string: `2001-12-14`, `2001-12-14T21:59:43.100000-05:00` |
//! | `!!binary` | bytes, or a sequence of bytes |
//! | sequence | sequence, tuple |
//! | mapping | map, struct; merge keys are applied |
//! | key | a string in its JSON form (`7`, `true`, `null`), or a number if the type requires one |
//! | `!!set` | sequence of its keys, or map |
//! | `!!omap`, `!!pairs` | sequence of pairs, or map |
//! | `!core/complex` | sequence of the real and imaginary parts, or its text if the type requires a string |
//! | `!core/integer` in a file | the integer |
//! | other tags | the content |
//!
//! Enums are tagged externally, as in JSON: a variant is either a string with its name, or a mapping
//! with one entry, whose key is the name and whose value is the content. Names of variants are used as
//! written, so `on` is a variant, not a boolean. Arrays are deserialized as the mapping or sequence in the tree; use
//! [`Node::ndarray`](super::Node::ndarray) to read their elements.
//!
//! Aliases are followed. Deserializing fails if a node contains itself, if nodes are nested too deeply, or if
//! aliases and merge keys expand to much more than the document contains. The error states the position of the
//! node. Nodes that a type ignores are never visited.

mod access;
mod failure;

use std::borrow::Cow;
use std::cell::Cell;

use serde::de::value::SeqDeserializer;
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

use self::access::{Entries, Items, Variant};
use self::failure::Failure;
use binio::diagnostic::count;

use super::external::Files;
use super::integer;
use crate::complex;
use crate::error::Result;
use crate::yaml::{Content, Integer, NodeId, NodeKind, YamlNode};

const SET: &str = "tag:yaml.org,2002:set";
const OMAP: &str = "tag:yaml.org,2002:omap";
const PAIRS: &str = "tag:yaml.org,2002:pairs";

binio::limits! {
    /// Limits for deserialization.
    pub struct DeserializeLimits {
        /// Maximum nesting depth. Each level uses stack space. Default: 128.
        max_depth: u32 = 128;
        /// Maximum number of nodes that aliases and merge keys may add to the nodes of the document. Default: 1
        /// million.
        max_expanded: u64 = 1_000_000;
        /// Maximum number of bytes of text that aliases and merge keys may add. Default: 32 MiB.
        max_expanded_bytes: u64 = 32 << 20;
    }
}

macro_rules! forward {
    ($($to:ident: $($method:ident)+;)+) => {$($(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
            self.$to(visitor)
        }
    )+)+};
}

impl<'a> YamlNode<'a> {
    /// Converts the node and everything below it to a Rust type. The table in [`crate::tree::deserialize`]
    /// shows which nodes correspond to which types.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Exposure<'a> {
    ///     filter: &'a str,
    ///     seconds: Vec<f64>,
    ///     comment: Option<String>,
    /// }
    ///
    /// let text = b"filter: F110W\nseconds: [120.5, 90]\ncomment: ~\n";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let exposure: Exposure<'_> = document.root().deserialize()?;
    /// assert_eq!((exposure.filter, exposure.seconds), ("F110W", vec![120.5, 90.0]));
    /// assert_eq!(exposure.comment, None);
    ///
    /// let error = document.root().deserialize::<Vec<u8>>().unwrap_err();
    /// let message = error.kind().to_string();
    /// assert_eq!(message, "the root of the tree: invalid type: map, expected a sequence");
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if a node does not fit the type, contains itself,
    /// or exceeds the [limits](DeserializeLimits). The error contains the line and column of the node. It also
    /// contains the JSON Pointer to the node, unless the pointer is longer than 1 KiB.
    pub fn deserialize<T: Deserialize<'a>>(self) -> Result<T> {
        self.deserialize_with(&DeserializeLimits::default())
    }

    /// Like [`Self::deserialize`], but with custom limits.
    ///
    /// # Errors
    ///
    /// Same as [`deserialize`](Self::deserialize).
    pub fn deserialize_with<T: Deserialize<'a>>(self, limits: &DeserializeLimits) -> Result<T> {
        deserialize(self, None, *limits)
    }
}

impl<'a> super::Node<'a> {
    /// Deserializes the node and everything below it; see [`crate::yaml::YamlNode::deserialize`].
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Meta {
    ///     gain: f32,
    ///     count: u128,
    ///     phase: (f64, f64),
    /// }
    ///
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\nmeta:\n  gain: 2.5\n  phase: !core/complex-1.0.0 1-2j\n  \
    ///     count: !core/integer-1.1.0 {words: [0, 0, 1], sign: +}\n...\n"[..])?;
    /// let meta: Meta = file.tree()?.pointer("/meta")?.deserialize()?;
    /// assert_eq!((meta.gain, meta.count, meta.phase), (2.5, 1 << 64, (1.0, -2.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`YamlNode::deserialize`]. Also fails like [`integer`](Self::integer) if a `!core/integer` node
    /// cannot be read.
    pub fn deserialize<T: Deserialize<'a>>(self) -> Result<T> {
        self.deserialize_with(&DeserializeLimits::default())
    }

    /// Like [`Self::deserialize`], but with custom limits.
    ///
    /// # Errors
    ///
    /// Same as [`deserialize`](Self::deserialize).
    pub fn deserialize_with<T: Deserialize<'a>>(self, limits: &DeserializeLimits) -> Result<T> {
        deserialize(self.yaml(), Some(self.files()), *limits)
    }
}

fn deserialize<'a, T: Deserialize<'a>>(
    node: YamlNode<'a>,
    files: Option<Files<'a>>,
    limits: DeserializeLimits,
) -> Result<T> {
    let walk = Walk { files, limits, nodes: Cell::new(0), bytes: Cell::new(0) };
    let root = NodeDeserializer { node, form: Form::Value, path: None, walk: &walk };
    T::deserialize(root).map_err(|failure| failure.into_error(node))
}

/// State shared by all nodes of one call.
struct Walk<'a> {
    /// The file that contains the nodes, or `None` if the document does not come from a file.
    files: Option<Files<'a>>,
    limits: DeserializeLimits,
    /// Number of nodes visited so far.
    nodes: Cell<u64>,
    /// Total length in bytes of the text of the nodes visited so far.
    bytes: Cell<u64>,
}

impl Walk<'_> {
    fn spend(&self, node: YamlNode<'_>, nodes: u64) -> Result<(), Failure> {
        let text = node.text().map_or(0, str::len) as u64;
        self.nodes.set(self.nodes.get().saturating_add(nodes));
        self.bytes.set(self.bytes.get().saturating_add(text));
        let (document, limits) = (node.document(), &self.limits);
        let max_nodes = limits.max_expanded.saturating_add(document.node_count() as u64);
        let max_bytes = limits.max_expanded_bytes.saturating_add(document.text_len());
        let what = if self.nodes.get() > max_nodes {
            count(max_nodes, "node")
        } else if self.bytes.get() > max_bytes {
            count(max_bytes, "byte") + " of text"
        } else {
            return Ok(());
        };
        Err(Failure::at_node(node, format!("aliases and merge keys expand to more than {what}")))
    }

    /// Returns the key and value of a mapping that must have exactly one entry.
    fn only_entry<'a>(&self, node: YamlNode<'a>) -> Result<(YamlNode<'a>, YamlNode<'a>), Failure> {
        let mut entries = node.entries();
        let found = match (entries.len(), node.kind()) {
            (1, _) => match entries.next() {
                Some(entry) => return Ok(entry),
                None => String::new(),
            },
            (len, NodeKind::Mapping) => format!("{len} entries"),
            (_, NodeKind::Sequence) => "a sequence".to_owned(),
            _ => "a scalar".to_owned(),
        };
        self.spend(node, entries.len() as u64)?;
        Err(Failure::at_node(node, format!("expected a mapping with one entry, found {found}")))
    }
}

/// The collections that contain a node, from the innermost to the outermost.
struct Path<'p> {
    id: NodeId,
    depth: u32,
    parent: Option<&'p Path<'p>>,
}

/// The form in which a node is read.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Value,
    Key,
    /// A mapping with one entry, read as a key and a value.
    Pair,
}

#[derive(Clone, Copy)]
struct NodeDeserializer<'w, 'a> {
    node: YamlNode<'a>,
    form: Form,
    path: Option<&'w Path<'w>>,
    walk: &'w Walk<'a>,
}

impl<'w, 'a> NodeDeserializer<'w, 'a> {
    /// Returns the path for the children of the node. Fails if the node is nested too deeply or
    /// contains itself.
    fn enter(&self) -> Result<Path<'w>, Failure> {
        let id = self.node.id();
        let depth = self.path.map_or(0, |path| path.depth) + 1;
        if depth > self.walk.limits.max_depth {
            let limit = self.walk.limits.max_depth;
            return Err(Failure::at_node(
                self.node,
                format!("the node is nested more than {limit} levels deep"),
            ));
        }
        let mut above = self.path;
        while let Some(path) = above {
            if path.id == id {
                return Err(Failure::at_node(self.node, "the node contains itself".to_owned()));
            }
            above = path.parent;
        }
        Ok(Path { id, depth, parent: self.path })
    }

    fn is_tagged(&self, name: &str) -> bool {
        self.node.core_name() == Some(name)
    }

    /// Adds the position of the node to an error of the visitor.
    fn visit<T>(&self, visited: Result<T, Failure>) -> Result<T, Failure> {
        visited.map_err(|failure| failure.at(self.node))
    }

    fn sequence<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        let path = self.enter()?;
        let place = |node, form| NodeDeserializer { node, form, path: Some(&path), ..self };
        match (self.node.tag(), self.node.kind()) {
            (Some(SET), NodeKind::Mapping) => {
                let keys = self.entries()?.map(|(key, _)| place(key, Form::Key));
                Items::visit(keys, self, visitor)
            }
            (tag, _) => {
                let is_pairs = matches!(tag, Some(OMAP | PAIRS));
                let form = if is_pairs { Form::Pair } else { Form::Value };
                Items::visit(self.node.items().map(|item| place(item, form)), self, visitor)
            }
        }
    }

    fn mapping<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        let path = self.enter()?;
        if self.node.kind() == NodeKind::Mapping {
            return Entries::visit(self.entries()?.map(Ok), &path, self, visitor);
        }
        // If the node is not a mapping, it is a sequence whose items are mappings with one entry.
        let entries = self.node.items().map(|item| self.walk.only_entry(item));
        Entries::visit(entries, &path, self, visitor)
    }

    /// Returns the entries of a mapping. Merged entries are collected in memory, so they count towards
    /// the limit even if they are not visited.
    fn entries(
        &self,
    ) -> Result<impl ExactSizeIterator<Item = (YamlNode<'a>, YamlNode<'a>)> + use<'a>, Failure>
    {
        let entries = self.node.entries();
        let merged = entries.len().saturating_sub(self.node.own_len());
        self.walk.spend(self.node, merged as u64)?;
        Ok(entries)
    }

    fn pair<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        let path = self.enter()?;
        let (key, value) = self.walk.only_entry(self.node)?;
        let parts = [(key, Form::Key), (value, Form::Value)];
        let parts = parts.map(|(node, form)| NodeDeserializer {
            node,
            form,
            path: Some(&path),
            walk: self.walk,
        });
        Items::visit(parts.into_iter(), self, visitor)
    }

    /// Returns the value if the node is an integer, otherwise `None`.
    fn integer(&self) -> Result<Option<Number>, Failure> {
        if self.node.kind() == NodeKind::Int {
            return match self.value()? {
                Content::Int(Integer::Small(value)) => Ok(Some(Number::Small(value))),
                Content::Int(integer) => Ok(Some(Number::of_digits(integer.to_string()))),
                _ => Ok(None),
            };
        }
        let Some(files) = self.walk.files.filter(|_| self.is_tagged("integer")) else {
            return Ok(None);
        };
        let value = integer::read(super::Node::new(files, self.node));
        let value = value.map_err(Failure::Placed)?;
        if let Ok(value) = i128::try_from(&value) {
            return Ok(Some(Number::Small(value)));
        }
        let digits = integer::to_decimal(&value);
        let digits = digits.map_err(|error| Failure::at_node(self.node, error.to_string()))?;
        Ok(Some(Number::of_digits(digits)))
    }

    fn value(&self) -> Result<Content<'a>, Failure> {
        self.node.value().map_err(Failure::Placed)
    }

    fn scalar<V: Visitor<'a>>(&self, visitor: V) -> Result<V::Value, Failure> {
        let visited = match self.value()? {
            Content::Bool(value) => visitor.visit_bool(value),
            Content::Float(value) => visitor.visit_f64(value),
            Content::String(text) => visitor.visit_borrowed_str(text),
            Content::Date(date) => visitor.visit_string(date.to_string()),
            Content::DateTime(time) => visitor.visit_string(time.to_string()),
            Content::Binary(bytes) => visitor.visit_byte_buf(bytes),
            // Integers and collections are handled by the callers.
            Content::Null | Content::Int(_) | Content::Sequence | Content::Mapping => {
                visitor.visit_unit()
            }
        };
        self.visit(visited)
    }

    /// Returns the real and imaginary parts if the node is a complex number, otherwise `None`.
    fn complex(&self) -> Result<Option<[f64; 2]>, Failure> {
        let Some(text) = self.node.text().filter(|_| self.is_tagged("complex")) else {
            return Ok(None);
        };
        let number = complex::parse(text).ok_or_else(|| {
            Failure::at_node(self.node, "expected a complex number such as `(1+2j)`")
        })?;
        Ok(Some([number.re, number.im]))
    }

    fn any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.walk.spend(self.node, 1)?;
        match self.form {
            Form::Pair => return self.pair(visitor),
            // Fail if a key is a collection.
            Form::Key if self.node.text().is_none() => {
                self.node.to_key().map_err(Failure::Placed)?;
            }
            _ => {}
        }
        if let Some(number) = self.integer()? {
            return self.visit(number.visit(visitor));
        }
        if let Some(parts) = self.complex()? {
            return self.visit(visitor.visit_seq(SeqDeserializer::new(parts.into_iter())));
        }
        // Ignore any other tag, even one that YAML defines for another kind of node.
        match self.value()? {
            Content::Sequence => self.sequence(visitor),
            Content::Mapping if self.node.tag() == Some(SET) => self.sequence(visitor),
            Content::Mapping => self.mapping(visitor),
            _ => self.scalar(visitor),
        }
    }

    /// Visits the items of a sequence, or the bytes of binary data as items.
    fn list<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if self.node.kind() != NodeKind::Binary {
            return self.any(visitor);
        }
        self.walk.spend(self.node, 1)?;
        match self.value()? {
            Content::Binary(bytes) => {
                self.visit(visitor.visit_seq(SeqDeserializer::new(bytes.into_iter())))
            }
            _ => self.scalar(visitor),
        }
    }

    /// Visits the entries of a mapping, a set or a sequence of pairs.
    fn map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        let is_map = match self.value()? {
            Content::Mapping => true,
            Content::Sequence => matches!(self.node.tag(), Some(OMAP | PAIRS)),
            _ => false,
        };
        if !is_map {
            return self.any(visitor);
        }
        self.walk.spend(self.node, 1)?;
        self.mapping(visitor)
    }

    fn number<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.integer()? {
            Some(Number::Large(digits)) => {
                let message = format!(
                    "the integer has {} digits and does not fit into 128 bits",
                    digits.len()
                );
                Err(Failure::at_node(self.node, message))
            }
            _ => self.any(visitor),
        }
    }

    fn float<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.integer()? {
            Some(number) => self.visit(visitor.visit_f64(number.to_f64())),
            None => self.any(visitor),
        }
    }

    /// Visits text: either a string, or the text form of a key or a complex number.
    fn text<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        let text = match self.form {
            Form::Key => self.node.to_key().map_err(Failure::Placed)?,
            _ if self.is_tagged("complex") => self.node.text().unwrap_or_default().into(),
            _ => return self.any(visitor),
        };
        self.walk.spend(self.node, 1)?;
        self.visit(match text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        })
    }
}

/// An integer of any size.
enum Number {
    Small(i128),
    Unsigned(u128),
    /// Decimal digits, with a minus sign if the integer is negative.
    Large(String),
}

impl Number {
    fn of_digits(digits: String) -> Self {
        match (digits.parse(), digits.parse()) {
            (Ok(value), _) => Self::Small(value),
            (_, Ok(value)) => Self::Unsigned(value),
            _ => Self::Large(digits),
        }
    }

    fn visit<'a, V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self {
            Self::Small(value) => match (u64::try_from(value), i64::try_from(value)) {
                (Ok(value), _) => visitor.visit_u64(value),
                (_, Ok(value)) => visitor.visit_i64(value),
                _ => visitor.visit_i128(value),
            },
            Self::Unsigned(value) => visitor.visit_u128(value),
            Self::Large(digits) => visitor.visit_string(digits),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "rounding to the nearest float is intended")]
    fn to_f64(&self) -> f64 {
        match self {
            Self::Small(value) => *value as f64,
            Self::Unsigned(value) => *value as f64,
            Self::Large(digits) => digits.parse().unwrap_or(f64::NAN),
        }
    }
}

impl<'a> Deserializer<'a> for NodeDeserializer<'_, 'a> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.any(visitor)
    }

    forward! {
        number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
            deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128;
        float: deserialize_f32 deserialize_f64;
        text: deserialize_char deserialize_str deserialize_string deserialize_identifier;
        any: deserialize_bool deserialize_bytes deserialize_byte_buf deserialize_unit;
        list: deserialize_seq;
        map: deserialize_map;
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.value()?, Content::Null) {
            return self.visit(visitor.visit_none());
        }
        self.visit(visitor.visit_some(self))
    }

    fn deserialize_unit_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.visit(visitor.visit_newtype_struct(self))
    }

    fn deserialize_tuple<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Failure> {
        self.list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.list(visitor)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.map(visitor)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.walk.spend(self.node, 1)?;
        if let Some(name) = self.node.text() {
            return self.visit(visitor.visit_enum(Variant { name, node: self, content: None }));
        }
        if self.node.kind() == NodeKind::Sequence {
            let error = de::Error::invalid_type(Unexpected::Seq, &"a variant of an enum");
            return self.visit(Err(error));
        }
        let path = self.enter()?;
        let (key, value) = self.walk.only_entry(self.node)?;
        let place = |node, form| NodeDeserializer { node, form, path: Some(&path), ..self };
        let name = key.text().unwrap_or_default();
        let (node, content) = (place(key, Form::Key), Some(place(value, Form::Value)));
        self.visit(visitor.visit_enum(Variant { name, node, content }))
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }
}
