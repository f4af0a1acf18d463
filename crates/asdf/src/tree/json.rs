//! Converting the tree to JSON.
//!
//! | node | JSON |
//! |---|---|
//! | null, boolean, integer of any size | null, boolean, number |
//! | float | the shortest number that reads back as the same value; `"inf"`, `"-inf"`, `"nan"` |
//! | string | string |
//! | date, date-time | `"2001-12-14"`, `"2001-12-14T21:59:43.100000-05:00"` |
//! | `!!binary` | `{"$binary": "Base64"}` |
//! | `!!set` | list of its keys |
//! | `!!omap`, if each item is a mapping with one entry | object |
//! | `!!pairs`, any other `!!omap` | list of `[key, value]` |
//! | `!core/ndarray` in a file | `{"$ndarray": {"dtype": "<f8", "shape": [2, 3]}}` |
//! | `!core/complex` | `{"$complex": [re, im]}` |
//! | `!core/integer` in a file | the integer |
//! | a node that cannot be converted | `{"$error": code}`, such as `{"$error": "InvalidScalar"}` |
//! | other tags | the content; with [`Options::tags`] `{"$tag": uri, "$value": content}` |
//!
//! Keys become strings: `7`, `true`, `null`, and the text of floats and dates. Merge keys are applied. Aliases are
//! expanded by default; see [`Aliases`]. The traversal is not recursive and does not keep the JSON text in memory.

use std::collections::HashMap;
use std::io::{self, Write};

use super::array::{self, ArrayDescription};
use super::external::Files;
use super::integer;
use crate::complex;
use crate::error::{Error, ReferenceError, Result};
use crate::tag;
use crate::yaml::{Content, Mention, NodeId, Order, Step, Token, Walk, YamlNode, encode_base64};

/// Number of nodes that may be written in addition to the nodes of the document. The limit is
/// necessary because a few lines of aliases can expand to billions of nodes.
const EXPANSION_LIMIT: u64 = 10_000_000;

/// Number of bytes that may be written in addition to 32 times the size of the document. The limit is necessary
/// because a merge key can repeat keys of any length.
const EXPANSION_BYTES: u64 = 32 << 20;

/// Number of bytes in the JSON text of a datatype that count as one node. The JSON text of a field
/// has about this length.
const DTYPE_BYTES_PER_NODE: u64 = 16;

const SET: &str = "tag:yaml.org,2002:set";
const OMAP: &str = "tag:yaml.org,2002:omap";
const PAIRS: &str = "tag:yaml.org,2002:pairs";

/// Options for the JSON form.
///
/// ```
/// use asdf::tree::json::{Aliases, Options};
///
/// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\na: &x !t [1]\nb: *x\n...\n"[..])?;
/// let mut json = Vec::new();
/// let options = Options::new().tags(true).aliases(Aliases::Reference);
/// file.tree()?.write_json(&mut json, &options)?;
/// assert_eq!(json, br#"{"a":{"$tag":"!t","$value":[1]},"b":{"$alias":"/a"}}"#);
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Whether to write tagged nodes as `{"$tag": uri, "$value": ..}`. Nodes with a special JSON form are not
    /// affected.
    pub tags: bool,
    /// The representation of aliases.
    pub aliases: Aliases,
}

impl Options {
    /// Creates options with the default values: tags are omitted, and aliases are expanded.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets whether to write tagged nodes as `{"$tag": uri, "$value": ..}`. Nodes with a special JSON form are
        /// not affected.
        tags: bool;
        /// Sets how to represent aliases.
        aliases: Aliases;
    }
}

/// The representation of aliases in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aliases {
    /// Repeat the node. A node that contains itself is an error.
    #[default]
    Expand,
    /// Write a reference to the position where the node was written first: `{"$alias": "/pointer"}`.
    Reference,
}

/// Writes a node and everything below it as JSON on a single line.
///
/// ```
/// use asdf::tree::json::{self, Options};
/// use asdf::yaml::{Document, ParseOptions};
///
/// let text = b"a: &x [1:30, 1e3, .inf]\n7: *x\n";
/// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
/// let mut json = Vec::new();
/// json::write(document.root(), &Options::default(), &mut json)?;
/// assert_eq!(json, br#"{"a":[90,"1e3","inf"],"7":[90,"1e3","inf"]}"#);
/// # Ok::<(), asdf::Error>(())
/// ```
///
/// # Errors
///
/// Fails with
///
/// - [`ErrorKind::Reference`](crate::ErrorKind::Reference) of kind [`Cycle`](ReferenceError::Cycle) if a node
///   contains itself and aliases are expanded,
/// - [`ErrorKind::Limit`](crate::ErrorKind::Limit) if aliases and merge keys expand too much,
/// - [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if a key is a collection,
/// - [`ErrorKind::Io`](crate::ErrorKind::Io) if writing to `out` fails.
///
/// After an error, the output is incomplete and not valid JSON. A node that cannot be converted is not an error,
/// but is written as `{"$error": ..}`.
pub fn write(node: YamlNode<'_>, options: &Options, out: &mut dyn Write) -> Result<()> {
    write_node(node, None, *options, out)
}

/// Like [`write`], but also converts `!core/ndarray` and `!core/integer` nodes if `files` is given.
/// Otherwise, these nodes are written as ordinary content.
pub(super) fn write_node<'a>(
    node: YamlNode<'a>,
    files: Option<Files<'a>>,
    options: Options,
    out: &mut dyn Write,
) -> Result<()> {
    let mut writer = Writer {
        options,
        files,
        out: Counted { out, written: 0 },
        walk: Walk::new(Order::Depth),
        written: HashMap::new(),
        spent: 0,
        budget: EXPANSION_LIMIT.saturating_add(node.document().node_count() as u64),
        max_bytes: EXPANSION_BYTES.saturating_add(node.document().text_len().saturating_mul(32)),
    };
    writer.value(node.mention())?;
    while let Some(step) = writer.walk.step() {
        match step {
            Step::Child(token, child) => writer.child(token, child)?,
            Step::End(collection) => writer.close(&collection)?,
        }
    }
    Ok(())
}

/// A child of a collection.
#[derive(Clone, Copy)]
enum Child<'a> {
    Node(Mention<'a>),
    /// A mapping with one entry, to be written as a list of its key and value.
    Pair(Mention<'a>),
}

type Children<'a> = Box<dyn Iterator<Item = (Token<'a>, Child<'a>)> + 'a>;

/// A collection that is being written.
struct Collection {
    id: NodeId,
    /// True until the first child is written.
    is_empty: bool,
    end: &'static str,
}

struct Writer<'a, 'w> {
    options: Options,
    /// The file that contains the node, or `None` if the document does not come from a file.
    files: Option<Files<'a>>,
    out: Counted<'w>,
    walk: Walk<'a, NodeId, Children<'a>, Collection>,
    /// Pointers to the anchored nodes written so far, for use in references.
    written: HashMap<NodeId, String>,
    /// Number of nodes written. The entries of mappings and long datatypes also count as nodes.
    spent: u64,
    budget: u64,
    max_bytes: u64,
}

/// An output that counts the bytes written to it.
struct Counted<'w> {
    out: &'w mut dyn Write,
    written: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written = self.written.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<'a> Writer<'a, '_> {
    /// Writes an item of a list, or a key and its value.
    fn child(&mut self, token: Token<'a>, child: Child<'a>) -> Result<()> {
        if let Some(collection) = self.walk.data_mut() {
            if !std::mem::replace(&mut collection.is_empty, false) {
                self.text(",")?;
            }
        }
        if let Token::Key(key) = token {
            self.string(&key.to_key()?)?;
            self.text(":")?;
        }
        match child {
            Child::Node(mention) => self.value(mention),
            Child::Pair(mention) => self.pair(mention),
        }
    }

    /// Writes a scalar or an alias, or begins a collection.
    fn value(&mut self, mention: Mention<'a>) -> Result<()> {
        let node = mention.node();
        self.spend(1)?;
        if self.options.aliases == Aliases::Reference {
            match self.written.get(&node.id()) {
                Some(pointer) if mention.is_alias() => {
                    let pointer = pointer.clone();
                    self.text("{\"$alias\":")?;
                    self.string(&pointer)?;
                    return self.text("}");
                }
                None if node.anchor().is_some() => {
                    let pointer = self.walk.pointer()?;
                    self.written.insert(node.id(), pointer);
                }
                _ => {}
            }
        }
        if self.special(node)? {
            return Ok(());
        }
        let wrapped = node.tag().filter(|tag| self.options.tags && is_wrapped(tag));
        if let Some(tag) = wrapped {
            self.text("{\"$tag\":")?;
            self.string(tag)?;
            self.text(",\"$value\":")?;
        }
        match node.value() {
            Err(_) => self.error("InvalidScalar")?,
            Ok(Content::Sequence) => return self.begin_sequence(node, wrapped.is_some()),
            Ok(Content::Mapping) => return self.begin_mapping(node, wrapped.is_some()),
            Ok(value) => self.scalar(&value)?,
        }
        if wrapped.is_some() { self.text("}") } else { Ok(()) }
    }

    /// Writes a node whose tag has a special JSON form. Returns `false` for any other node.
    fn special(&mut self, node: YamlNode<'a>) -> Result<bool> {
        match (node.core_name(), self.files) {
            (Some("ndarray"), Some(files)) => match array::describe(files, node) {
                Ok(ArrayDescription { dtype, shape }) => {
                    // Count long lists of fields towards the limit, because aliases let many arrays
                    // share the same list.
                    self.spend(dtype.len() as u64 / DTYPE_BYTES_PER_NODE)?;
                    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                    self.text("{\"$ndarray\":{\"dtype\":")?;
                    self.text(&dtype)?;
                    self.text(&format!(",\"shape\":[{}]}}}}", shape.join(",")))?;
                }
                Err(error) => self.error(&array::error_code(&error))?,
            },
            (Some("integer"), Some(files)) => {
                let value = integer::read(super::Node::new(files, node));
                match value.and_then(|value| integer::to_decimal(&value)) {
                    Ok(digits) => self.text(&digits)?,
                    Err(error) => self.error(&array::error_code(&error))?,
                }
            }
            (Some("complex"), _) => match node.text().map(complex::parse) {
                Some(Some(number)) => {
                    self.text("{\"$complex\":[")?;
                    self.float(number.re)?;
                    self.text(",")?;
                    self.float(number.im)?;
                    self.text("]}")?;
                }
                Some(None) => self.error("InvalidScalar")?,
                None => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn scalar(&mut self, value: &Content<'_>) -> Result<()> {
        match value {
            Content::Bool(value) => self.text(if *value { "true" } else { "false" }),
            Content::Int(value) => write!(self.out, "{value}").map_err(io_error),
            Content::Float(value) => self.float(*value),
            Content::String(text) => self.string(text),
            Content::Date(date) => self.string(&date.to_string()),
            Content::DateTime(time) => self.string(&time.to_string()),
            Content::Binary(bytes) => {
                self.text("{\"$binary\":\"")?;
                encode_base64(bytes, &mut self.out).map_err(io_error)?;
                self.text("\"}")
            }
            Content::Null | Content::Sequence | Content::Mapping => self.text("null"),
        }
    }

    fn begin_sequence(&mut self, node: YamlNode<'a>, wrapped: bool) -> Result<()> {
        if node.is_ordered_mapping() {
            let entries = node.mentions().filter_map(|item| item.node().entry_mentions().next());
            let members = entries.map(|(key, value)| (Token::Key(key.node()), Child::Node(value)));
            return self.begin(node, "{", Box::new(members), if wrapped { "}}" } else { "}" });
        }
        let is_pairs = matches!(node.tag(), Some(OMAP | PAIRS));
        let form = if is_pairs { Child::Pair } else { Child::Node };
        self.begin(node, "[", items(node.mentions(), form), if wrapped { "]}" } else { "]" })
    }

    fn begin_mapping(&mut self, node: YamlNode<'a>, wrapped: bool) -> Result<()> {
        let entries = node.entry_mentions();
        // Merged entries count towards the limit, because they are kept in memory while the mapping is open.
        self.spend(entries.len() as u64)?;
        if node.tag() == Some(SET) {
            let keys = entries.map(|(key, _)| key);
            return self.begin(node, "[", items(keys, Child::Node), "]");
        }
        let entries = entries.map(|(key, value)| (Token::Key(key.node()), Child::Node(value)));
        self.begin(node, "{", Box::new(entries), if wrapped { "}}" } else { "}" })
    }

    /// Writes an item of `!!omap` or `!!pairs`.
    fn pair(&mut self, mention: Mention<'a>) -> Result<()> {
        let node = mention.node();
        self.spend(1)?;
        let mut entries = node.entry_mentions();
        // Merged entries count towards the limit each time, because they are collected again whenever the node
        // is written.
        self.spend(entries.len() as u64)?;
        match (entries.next(), entries.next()) {
            (Some((key, value)), None) => {
                self.begin(node, "[", items([key, value].into_iter(), Child::Node), "]")
            }
            _ => self.error("InvalidPair"),
        }
    }

    fn begin(
        &mut self,
        node: YamlNode<'a>,
        start: &str,
        children: Children<'a>,
        end: &'static str,
    ) -> Result<()> {
        let id = node.id();
        if !self.walk.is_new(id) {
            let outer = self.walk.pointer_to(|collection| collection.id == id)?;
            let here = self.walk.pointer()?;
            let kind = ReferenceError::Cycle(vec![outer.unwrap_or_default(), here.clone()]);
            return Err(Error::reference(here, kind));
        }
        self.walk.open(children, Collection { id, is_empty: true, end });
        self.text(start)
    }

    fn close(&mut self, collection: &Collection) -> Result<()> {
        self.walk.forget(&collection.id);
        self.text(collection.end)
    }

    fn spend(&mut self, nodes: u64) -> Result<()> {
        self.spent = self.spent.saturating_add(nodes);
        if self.spent > self.budget {
            let (limit, requested) = (self.budget, self.spent);
            return Err(Error::limit("nodes of expanded aliases", limit, requested));
        }
        if self.out.written > self.max_bytes {
            let what = "bytes of expanded aliases and merge keys";
            return Err(Error::limit(what, self.max_bytes, self.out.written));
        }
        Ok(())
    }

    fn error(&mut self, code: &str) -> Result<()> {
        self.text("{\"$error\":")?;
        self.string(code)?;
        self.text("}")
    }

    fn float(&mut self, value: f64) -> Result<()> {
        match value {
            _ if value.is_nan() => self.text("\"nan\""),
            f64::INFINITY => self.text("\"inf\""),
            f64::NEG_INFINITY => self.text("\"-inf\""),
            _ => serde_json::to_writer(&mut self.out, &value).map_err(|e| io_error(e.into())),
        }
    }

    fn string(&mut self, text: &str) -> Result<()> {
        serde_json::to_writer(&mut self.out, text).map_err(|error| io_error(error.into()))
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.out.write_all(text.as_bytes()).map_err(io_error)
    }
}

/// Returns the items of a list as children to write.
fn items<'a>(
    mentions: impl Iterator<Item = Mention<'a>> + 'a,
    form: fn(Mention<'a>) -> Child<'a>,
) -> Children<'a> {
    Box::new(mentions.enumerate().map(move |(index, item)| (Token::Index(index), form(item))))
}

/// Returns `true` if nodes with this tag have to be wrapped, because their JSON form does not reflect the tag.
fn is_wrapped(tag: &str) -> bool {
    const CONSTRUCTED: [&str; 13] = [
        "str",
        "int",
        "float",
        "bool",
        "null",
        "binary",
        "timestamp",
        "set",
        "omap",
        "pairs",
        "seq",
        "map",
        "merge",
    ];
    let is_constructed =
        tag.strip_prefix("tag:yaml.org,2002:").is_some_and(|name| CONSTRUCTED.contains(&name));
    !is_constructed && tag::core_name(tag) != Some("constant")
}

fn io_error(error: io::Error) -> Error {
    error.into()
}
