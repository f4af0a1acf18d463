//! The tree as JSON.
//!
//! | node | JSON |
//! |---|---|
//! | null, boolean, integer of any size | the same |
//! | float | the shortest number that reads back; `"inf"`, `"-inf"`, `"nan"` |
//! | text | string |
//! | date, date-time | `"2001-12-14"`, `"2001-12-14T21:59:43.100000-05:00"` |
//! | `!!binary` | `{"$binary": "base 64"}` |
//! | `!!set` | list of its keys |
//! | `!!omap` | object |
//! | `!!pairs`, or `!!omap` with items that are not mappings of one entry | list of `[key, value]` |
//! | `!core/ndarray` | `{"$ndarray": {"dtype": "<f8", "shape": [2, 3]}}` |
//! | `!core/complex` | `{"$complex": [re, im]}` |
//! | `!core/integer` | the integer |
//! | text that does not fit its tag | `{"$error": "InvalidScalar"}` |
//! | other tags | the content; with [`Options::tags`] `{"$tag": uri, "$value": content}` |
//!
//! Keys are strings: `7`, `true`, `null`, and the text of floats and dates. Aliases are expanded,
//! merge keys applied. Only the path is kept in memory, and the walk is a loop.

use std::collections::HashMap;
use std::io::{self, Write};

use super::array::{self, ArrayDescription};
use super::external::Files;
use super::integer;
use crate::complex;
use crate::error::{Error, ReferenceError, Result};
use crate::tag;
use crate::yaml::{Content, Mention, NodeId, Order, Step, Token, Walk, YamlNode, encode_base64};

/// How many nodes may come out more than the document has: a few lines of aliases can ask for
/// billions.
const EXPANSION_LIMIT: u64 = 10_000_000;

/// How many bytes may come out more than that: a merge key repeats keys of any length.
const EXPANSION_BYTES: u64 = 32 << 20;

/// How many bytes of an array's type are charged as one node: about one field.
const DTYPE_BYTES_PER_NODE: u64 = 16;

const SET: &str = "tag:yaml.org,2002:set";
const OMAP: &str = "tag:yaml.org,2002:omap";
const PAIRS: &str = "tag:yaml.org,2002:pairs";

/// Choices of the form.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Wrap tagged nodes that have no form of their own as `{"$tag": uri, "$value": ..}`.
    pub tags: bool,
    /// What to write for an alias.
    pub aliases: Aliases,
}

impl Options {
    /// The default options: no tags, aliases expanded.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets whether to wrap tagged nodes.
        tags: bool;
        /// Sets what to write for an alias.
        aliases: Aliases;
    }
}

/// What to write for an alias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aliases {
    /// The node once more; one that holds itself is an error.
    #[default]
    Expand,
    /// `{"$alias": "/pointer"}` to where the node was written.
    Reference,
}

/// Writes a node and what it holds, on one line.
///
/// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) of kind [`Cycle`](ReferenceError::Cycle) where a node holds
/// itself, with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if aliases expand to too much, and with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) at a key
/// that is a collection. What was written by then is not valid JSON.
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
pub fn write(node: YamlNode<'_>, options: &Options, out: &mut dyn Write) -> Result<()> {
    write_node(node, None, *options, out)
}

/// The same, with the arrays and integers of a node that is in a file. Without files these are
/// written as plain content.
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

/// What to write as one item or value.
#[derive(Clone, Copy)]
enum Child<'a> {
    Node(Mention<'a>),
    /// A mapping of one entry, as a list of key and value.
    Pair(Mention<'a>),
}

type Children<'a> = Box<dyn Iterator<Item = (Token<'a>, Child<'a>)> + 'a>;

/// A collection that is being written.
struct Collection {
    id: NodeId,
    /// Whether none of its children is written yet.
    is_empty: bool,
    end: &'static str,
}

struct Writer<'a, 'w> {
    options: Options,
    /// The file of the node, if it has one.
    files: Option<Files<'a>>,
    out: Counted<'w>,
    walk: Walk<'a, NodeId, Children<'a>, Collection>,
    /// Pointers to the anchored nodes written so far, for references to them.
    written: HashMap<NodeId, String>,
    /// Nodes written.
    spent: u64,
    budget: u64,
    max_bytes: u64,
}

/// An output that counts what is written to it.
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
    /// Writes an item, or a key and its value.
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

    /// Writes a scalar, or begins a collection.
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

    /// Writes a node whose tag gives it a form of its own; returns whether it had one.
    fn special(&mut self, node: YamlNode<'a>) -> Result<bool> {
        match (node.core_name(), self.files) {
            (Some("ndarray"), Some(files)) => match array::describe(files.current, node) {
                Ok(ArrayDescription { dtype, shape }) => {
                    // Many arrays may share one long list of fields by an alias.
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
        // Merged entries are held in memory while the mapping is open.
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
        // Merged entries are found anew for each mention.
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

/// The children of a list.
fn items<'a>(
    mentions: impl Iterator<Item = Mention<'a>> + 'a,
    form: fn(Mention<'a>) -> Child<'a>,
) -> Children<'a> {
    Box::new(mentions.enumerate().map(move |(index, item)| (Token::Index(index), form(item))))
}

/// Whether a tag is not part of the node's JSON form yet.
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
