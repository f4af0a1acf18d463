//! Writing a tree as YAML text in the format of libyaml, which the reference implementation uses: lines of
//! about 80 characters, innermost collections in brackets, other collections on separate lines, and lists not
//! indented below their key.
//!
//! The tree is written without recursion; open collections are kept on a stack.

mod anchor;
pub(crate) mod elements;
mod fragment;
mod node;

use std::collections::HashSet;
use std::io::Write;

use crate::error::Result;
use crate::value::{Array, Form, Mask, Sequence, SharedId, Tree, Value};
use crate::yaml::emit::{
    Place, TextBuilder, WIDTH, default_style, encode_tag, float_text, possible_style,
};
use crate::yaml::{NodeStyle, encode_base64};
use anchor::{Anchor, anchors};
use elements::Elements;

pub(crate) use anchor::is_made_up_anchor;
pub(crate) use elements::{ArrayNode, COMPLEX_TAG, LITERALS};
pub(crate) use fragment::Fragment;

/// The tag of arrays in the newest stable version of the standard.
const NDARRAY_TAG: &str = "tag:stsci.edu:asdf/core/ndarray-1.1.0";
const INDENT: usize = 2;
/// Maximum length in bytes, including the tag, of a key on the same line as its value.
const MAX_SIMPLE_KEY: usize = 128;
/// Number of bytes of text that are collected before they are written.
const BUFFER: usize = 64 << 10;

/// The tag prefix that the handle `!` stands for.
pub(crate) const ASDF_PREFIX: &str = "tag:stsci.edu:asdf/";
/// The tag prefix that the handle `!!` stands for.
pub(crate) const YAML_PREFIX: &str = "tag:yaml.org,2002:";

/// Returns `true` if the elements of an array can be written inline in a form that the reference implementation
/// can read.
pub(crate) fn is_inline(array: &crate::value::Array) -> bool {
    !array.shape().is_empty()
        && elements::Elements::new(array).is_ok_and(|elements| elements.are_literals())
}

/// Fails if the elements of an array cannot be written inline.
pub(crate) fn check_inline(array: &crate::value::Array) -> crate::Result<()> {
    elements::Elements::new(array).map(drop)
}

/// Converts the text of a date, or of a date and time, to a value. Any other text becomes a string.
pub(crate) fn time_value(text: &str) -> crate::value::Value {
    use crate::value::{ScalarText, Value};
    use crate::yaml::{NodeKind, ScalarRules, resolve};

    match resolve(text, ScalarRules::Python).0 {
        NodeKind::Date | NodeKind::DateTime => Value::ScalarText(ScalarText::plain(text)),
        _ => text.into(),
    }
}

/// Converts arrays to nodes, either with their elements or with references to blocks.
pub(crate) trait Arrays {
    /// Returns the node that represents an array. If the array is in a block, the node refers to
    /// the block; otherwise, the node contains the elements.
    fn node(&self, array: &Array) -> Result<ArrayNode>;
}

/// Writes all arrays inline, because there are no blocks.
pub(crate) struct NoArrays;

impl Arrays for NoArrays {
    fn node(&self, array: &Array) -> Result<ArrayNode> {
        ArrayNode::inline(array, NDARRAY_TAG.to_owned())
    }
}

/// Writes the directives, `---`, the tree and `...`.
pub(crate) fn emit(tree: &Tree, arrays: &dyn Arrays, out: &mut dyn Write) -> Result<()> {
    let mut emitter = Emitter::new(tree, arrays, out);
    emitter.text.buffer = format!("%YAML 1.1\n%TAG ! {ASDF_PREFIX}\n---");
    emitter.text.column = 3;
    emitter.all_of(Item::Borrowed(tree.root()), Role::Root)?;
    emitter.text.new_line();
    emitter.text.buffer.push_str("...\n");
    Ok(emitter.out.write_all(emitter.text.buffer.as_bytes())?)
}

/// Returns `true` if a collection is written in brackets by default: all children are scalars, but
/// none of them is bytes or a `ScalarText` in a quoted or literal style. `is_scalar` returns `true`
/// if a shared node is a scalar.
pub(crate) fn wants_brackets<'v>(
    children: impl IntoIterator<Item = &'v Value>,
    is_scalar: &dyn Fn(SharedId) -> bool,
) -> bool {
    children.into_iter().all(|child| match child.untagged() {
        Value::Sequence(_) | Value::Mapping(_) | Value::Array(_) | Value::Binary(_) => false,
        Value::ScalarText(written) => written.style() == NodeStyle::Plain,
        Value::Shared(handle) => is_scalar(*handle),
        _ => true,
    })
}

/// A value or the elements of an array, to be written as a node.
pub(super) enum Item<'a> {
    Borrowed(&'a Value),
    Owned(Value),
    Elements(Elements),
}

/// The role of a node in the collection that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Root,
    Item,
    /// A key on the same line as its value.
    Key,
    Value,
}

type Children<'a> = Box<dyn Iterator<Item = (Option<Item<'a>>, Item<'a>)> + 'a>;

/// A collection that is being written.
struct Open<'a> {
    children: Children<'a>,
    /// The closing bracket, if the collection is in brackets.
    close: Option<&'static str>,
    /// The indentation outside the collection.
    outer: Option<usize>,
    is_first: bool,
}

pub(super) struct Emitter<'a, 'w> {
    out: &'w mut dyn Write,
    pub(super) text: TextBuilder,
    pub(super) flow_level: usize,
    tree: &'a Tree,
    arrays: &'a dyn Arrays,
    anchors: Vec<Anchor>,
    /// Anchor names that must not be generated, because they are in use.
    pub(super) taken: HashSet<String>,
    /// Two flags: whether the handle `!` stands for the tags of ASDF, and whether `!!` stands for
    /// those of YAML.
    pub(super) handles: (bool, bool),
    /// The number of generated anchor names.
    made_up: usize,
    stack: Vec<Open<'a>>,
}

impl<'a, 'w> Emitter<'a, 'w> {
    /// Creates an emitter that has not written anything yet.
    pub(super) fn new(tree: &'a Tree, arrays: &'a dyn Arrays, out: &'w mut dyn Write) -> Self {
        Self {
            out,
            text: TextBuilder::default(),
            flow_level: 0,
            tree,
            arrays,
            anchors: anchors(tree),
            taken: HashSet::new(),
            handles: (true, true),
            made_up: 0,
            stack: Vec::new(),
        }
    }

    /// Writes a node and everything in it.
    pub(super) fn all_of(&mut self, item: Item<'a>, role: Role) -> Result<()> {
        self.node(item, role)?;
        while !self.stack.is_empty() {
            self.step()?;
        }
        Ok(())
    }
}

impl<'a> Emitter<'a, '_> {
    /// Writes the next child of the innermost open collection, or closes the collection if there are no more
    /// children.
    fn step(&mut self) -> Result<()> {
        if self.text.buffer.len() >= BUFFER {
            self.out.write_all(self.text.buffer.as_bytes())?;
            self.text.buffer.clear();
        }
        let Some(open) = self.stack.last_mut() else { return Ok(()) };
        let is_first = std::mem::take(&mut open.is_first);
        let in_flow = open.close.is_some();
        let Some((key, value)) = open.children.next() else {
            let (close, outer) = (open.close, open.outer);
            self.stack.pop();
            self.text.indent = outer;
            if let Some(bracket) = close {
                self.flow_level -= 1;
                self.text.indicator(bracket, false);
            }
            return Ok(());
        };
        if in_flow && !is_first {
            self.text.indicator(",", false);
        }
        if !in_flow || self.text.column > WIDTH {
            self.text.new_line();
        }
        if let Some(key) = key {
            self.key(key)?;
            return self.node(value, Role::Value);
        }
        if !in_flow {
            self.text.block_indicator("-");
        }
        self.node(value, Role::Item)
    }

    /// Writes a key and its colon.
    pub(super) fn key(&mut self, key: Item<'a>) -> Result<()> {
        let (is_simple, is_alias) = self.simple_key(&key);
        if is_simple {
            self.node(key, Role::Key)?;
            // Put a space after an alias, because the colon could otherwise be part of the alias
            // name.
            self.text.indicator(":", is_alias);
        } else if self.flow_level > 0 {
            self.text.indicator("?", true);
            self.node(key, Role::Item)?;
            if self.text.column > WIDTH {
                self.text.new_line();
            }
            self.text.indicator(":", true);
        } else {
            self.text.block_indicator("?");
            self.node(key, Role::Item)?;
            self.text.new_line();
            self.text.block_indicator(":");
        }
        Ok(())
    }

    /// Returns two flags for a key: whether it can be on the same line as its value, and whether it
    /// is written as an alias.
    fn simple_key(&self, key: &Item<'_>) -> (bool, bool) {
        let value = match key {
            Item::Borrowed(value) => value,
            Item::Owned(value) => value,
            Item::Elements(_) => return (false, false),
        };
        let mut len = value.tag().map_or(0, str::len);
        let value = match value.untagged() {
            Value::Shared(handle) => {
                if let Some(Anchor::Written(_)) = self.anchors.get(handle.number()) {
                    return (true, true);
                }
                len += 8;
                self.tree.resolve(value)
            }
            value => value,
        };
        let text = match value.untagged() {
            Value::String(text) => text,
            Value::ScalarText(written) => written.text(),
            Value::Sequence(_) | Value::Mapping(_) | Value::Array(_) | Value::Binary(_) => {
                return (false, false);
            }
            _ => "",
        };
        (!text.contains('\n') && len + text.len() <= MAX_SIMPLE_KEY, false)
    }

    /// Writes a scalar, an alias, or the beginning of a collection.
    fn node(&mut self, item: Item<'a>, role: Role) -> Result<()> {
        match item {
            Item::Borrowed(value) => self.value(value, role),
            Item::Owned(value) => self.owned(value, role),
            Item::Elements(elements) => self.elements(elements, role),
        }
    }

    fn value(&mut self, value: &'a Value, role: Role) -> Result<()> {
        let mut value = value;
        for _ in 0..=self.anchors.len() {
            let Value::Shared(handle) = value else { break };
            match self.anchors.get(handle.number()).cloned() {
                Some(Anchor::Written(name)) => {
                    self.text.blank();
                    self.text.put("*");
                    self.text.put(&name);
                    return Ok(());
                }
                Some(Anchor::Planned(name)) => self.anchor(*handle, name),
                _ => {}
            }
            value = self.tree.shared().get(handle.number()).map_or(&Value::Null, |s| &s.value);
        }
        let (tag, value) = match value {
            Value::Tagged(tagged) => (Some(&*tagged.tag), &tagged.value),
            value => (None, value),
        };
        if let Some(tag) = tag {
            self.tag(tag);
        }
        match value {
            Value::Sequence(Sequence { items, form }) => {
                let in_flow = self.in_flow(*form, items.iter());
                let children = items.iter().map(|item| (None, Item::Borrowed(item)));
                self.open(Box::new(children), in_flow, false, role, items.is_empty());
            }
            Value::Mapping(mapping) => {
                let all = mapping.iter().flat_map(|(key, value)| [key, value]);
                let in_flow = self.in_flow(mapping.form, all);
                let children = mapping
                    .iter()
                    .map(|(key, value)| (Some(Item::Borrowed(key)), Item::Borrowed(value)));
                self.open(Box::new(children), in_flow, true, role, mapping.is_empty());
            }
            Value::Array(array) => self.array(array, tag.is_some(), role)?,
            scalar => self.scalar(scalar, tag, role),
        }
        Ok(())
    }

    /// Writes a value created during emission, such as the datatype or the mask of an array.
    fn owned(&mut self, value: Value, role: Role) -> Result<()> {
        let (tag, value) = match value {
            Value::Tagged(tagged) => (Some(tagged.tag), tagged.value),
            value => (None, value),
        };
        if let Some(tag) = &tag {
            self.tag(tag);
        }
        match value {
            Value::Sequence(Sequence { items, form }) => {
                let in_flow = self.in_flow(form, items.iter());
                let is_empty = items.is_empty();
                let children = items.into_iter().map(|item| (None, Item::Owned(item)));
                self.open(Box::new(children), in_flow, false, role, is_empty);
            }
            Value::Mapping(mapping) => {
                let all = mapping.iter().flat_map(|(key, value)| [key, value]);
                let in_flow = self.in_flow(mapping.form, all);
                let is_empty = mapping.is_empty();
                let children = mapping.entries.into_iter();
                let children =
                    children.map(|(key, value)| (Some(Item::Owned(key)), Item::Owned(value)));
                self.open(Box::new(children), in_flow, true, role, is_empty);
            }
            Value::Array(array) => self.array(&array, tag.is_some(), role)?,
            scalar => self.scalar(&scalar, tag.as_deref(), role),
        }
        Ok(())
    }

    /// Writes an array as a mapping.
    fn array(&mut self, array: &Array, has_tag: bool, role: Role) -> Result<()> {
        let ArrayNode { tag, mut entries, elements } = self.arrays.node(array)?;
        if !has_tag {
            self.tag(&tag);
        }
        let mask = match &array.mask {
            None => None,
            Some(Mask::Value(value)) => Some(value.clone()),
            Some(Mask::Array(mask)) => Some(Value::Array(mask.clone())),
        };
        let mut children: Vec<(Option<Item<'a>>, Item<'a>)> = Vec::with_capacity(entries.len() + 2);
        let entry = |(key, value): (&'static str, Value)| {
            (Some(Item::Owned(key.into())), Item::Owned(value))
        };
        match elements {
            Some(elements) => {
                children.push((Some(Item::Owned("data".into())), Item::Elements(elements)));
            }
            None => children.extend(entries.drain(..1.min(entries.len())).map(entry)),
        }
        children.extend(mask.map(|mask| entry(("mask", mask))));
        children.extend(entries.into_iter().map(entry));
        let in_flow = self.flow_level > 0;
        self.open(Box::new(children.into_iter()), in_flow, true, role, false);
        Ok(())
    }

    /// Writes the elements of an array as a list along their first remaining axis.
    fn elements(&mut self, elements: Elements, role: Role) -> Result<()> {
        if let Some(value) = elements.scalar() {
            return self.owned(value, role);
        }
        let in_flow = self.flow_level > 0 || elements.is_row();
        let is_empty = elements.is_empty();
        let children = elements.children().map(|child| (None, Item::Elements(child)));
        self.open(Box::new(children), in_flow, false, role, is_empty);
        Ok(())
    }

    fn in_flow<'v>(
        &self,
        form: Option<Form>,
        children: impl IntoIterator<Item = &'v Value>,
    ) -> bool {
        let is_scalar = |handle: SharedId| {
            let shared = self.tree.shared().get(handle.number());
            shared.is_none_or(|shared| !self.tree.resolve(&shared.value).is_collection())
        };
        self.flow_level > 0
            || match form {
                Some(form) => form == Form::Flow,
                None => wants_brackets(children, &is_scalar),
            }
    }

    fn open(
        &mut self,
        children: Children<'a>,
        in_flow: bool,
        is_mapping: bool,
        role: Role,
        is_empty: bool,
    ) {
        let in_flow = in_flow || is_empty;
        let close = in_flow.then(|| {
            let (open, close) = if is_mapping { ("{", "}") } else { ("[", "]") };
            self.text.indicator(open, true);
            self.text.is_blank = true;
            self.flow_level += 1;
            close
        });
        let outer = self.text.indent;
        // A list on separate lines is not indented below its key.
        let stays = !in_flow && !is_mapping && role == Role::Value && !self.text.is_indentation;
        self.text.indent = Some(match outer {
            None if in_flow => INDENT,
            None => 0,
            Some(indent) if stays => indent,
            Some(indent) => indent + INDENT,
        });
        self.stack.push(Open { children, close, outer, is_first: true });
    }

    fn anchor(&mut self, handle: SharedId, name: Option<String>) {
        let is_taken = |name: &str| {
            let is_used = |anchor: &Anchor| matches!(anchor, Anchor::Written(used) if used == name);
            self.taken.contains(name) || self.anchors.iter().any(is_used)
        };
        let name = if let Some(mut name) = name {
            while is_taken(&name) {
                name.push('_');
            }
            name
        } else {
            loop {
                self.made_up += 1;
                let name = format!("id{:03}", self.made_up);
                if !is_taken(&name) {
                    break name;
                }
            }
        };
        self.text.blank();
        self.text.put("&");
        self.text.put(&name);
        if let Some(anchor) = self.anchors.get_mut(handle.number()) {
            *anchor = Anchor::Written(name);
        }
    }

    fn tag(&mut self, tag: &str) {
        let short = |prefix| tag.strip_prefix(prefix).filter(|suffix: &&str| !suffix.is_empty());
        self.text.blank();
        let (asdf, yaml) = self.handles;
        let text = match (short(ASDF_PREFIX), short(YAML_PREFIX)) {
            (Some(suffix), _) if asdf => format!("!{}", encode_tag(suffix, "")),
            (_, Some(suffix)) if yaml => format!("!!{}", encode_tag(suffix, "")),
            _ => format!("!<{}>", encode_tag(tag, "!,[]")),
        };
        self.text.put(&text);
    }

    fn scalar(&mut self, value: &Value, tag: Option<&str>, role: Role) {
        let outer = self.text.indent;
        self.text.indent = Some(outer.map_or(INDENT, |indent| indent + INDENT));
        let in_flow = self.flow_level > 0;
        let is_tagged = tag.is_some_and(|tag| tag != crate::yaml::CONSTANT_TAG);
        let place = Place { in_flow, is_key: role == Role::Key, is_tagged };
        match value {
            Value::String(text) => {
                let style = default_style(text, place);
                self.text.scalar(text, style, place);
            }
            // Write an empty plain scalar as `null`, which has the same meaning.
            Value::ScalarText(written)
                if written.text().is_empty()
                    && written.style() == NodeStyle::Plain
                    && !is_tagged =>
            {
                self.text.scalar("null", NodeStyle::Plain, place);
            }
            Value::ScalarText(written) => {
                if written.is_non_specific() {
                    self.text.blank();
                    self.text.put("!");
                }
                self.text.scalar(
                    written.text(),
                    possible_style(written.text(), written.style(), place),
                    place,
                );
            }
            Value::Binary(bytes) => self.binary(bytes, place, is_tagged),
            // Quote a time inside brackets, because not all readers accept colons in plain scalars
            // there.
            Value::DateTime(_) if in_flow && !is_tagged => {
                self.text.blank();
                self.text.put("!!timestamp");
                self.text.scalar(
                    &plain_text(value).unwrap_or_default(),
                    NodeStyle::SingleQuoted,
                    place,
                );
            }
            _ => self.text.scalar(&plain_text(value).unwrap_or_default(), NodeStyle::Plain, place),
        }
        self.text.indent = outer;
    }

    fn binary(&mut self, bytes: &[u8], place: Place, is_tagged: bool) {
        let text = base64_text(bytes);
        if !is_tagged {
            self.text.blank();
            self.text.put("!!binary");
        }
        if place.in_flow || place.is_key || text.is_empty() {
            let style = if text.is_empty() { NodeStyle::SingleQuoted } else { NodeStyle::Plain };
            return self.text.scalar(&text, style, place);
        }
        let mut lines = String::with_capacity(text.len() + text.len() / 76 + 1);
        let mut rest = &*text;
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(76));
            lines.push_str(line);
            lines.push('\n');
            rest = after;
        }
        self.text.scalar(&lines, NodeStyle::Literal, place);
    }
}

/// Returns bytes as Base64 without line breaks.
pub(crate) fn base64_text(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = encode_base64(bytes, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the text of a value that is usually written as a plain scalar, such as a number, or `None` for any
/// other value, such as a string.
pub(crate) fn plain_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => float_text(*value),
        Value::Date(date) => date.to_string(),
        Value::DateTime(time) => time.to_string().replacen('T', " ", 1),
        _ => return None,
    })
}
