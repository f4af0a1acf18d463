//! Building a tree from a parsed document.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::value::collection::{Form, Mapping, Sequence};
use crate::value::emit::{is_made_up_anchor, wants_brackets};
use crate::value::tree::{Shared, SharedId, Tree};
use crate::value::walk::Visit;
use crate::value::{Tagged, Value, scalar};
use crate::yaml::emit::Place;
use crate::yaml::{
    Document, Mention, NodeId, NodeKind, NodeStyle, Order, ParseOptions, Step, Token, Walk,
    YamlNode,
};

/// Maximum nesting depth of collections. A limit is necessary because values are dropped, cloned and compared
/// recursively.
const MAX_DEPTH: usize = 1000;

impl Tree {
    /// Copies a node and everything below it, with tags, anchors and merge keys. Array nodes are copied as they
    /// are: `source: 0` still refers to block 0 of the file. A [`Writer`](crate::Writer) can copy this block.
    ///
    /// If a key occurs more than once, the last value is used.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if a key is a collection, and with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if collections are nested more than 1,000 levels deep.
    pub fn from_node(node: YamlNode<'_>) -> Result<Self> {
        Self::from_node_with(node, &mut |_| Ok(None))
    }

    /// Like [`Self::from_node`], but replaces a collection with the value that `replace` returns
    /// for it, if any.
    pub(crate) fn from_node_with<'a>(
        node: YamlNode<'a>,
        replace: &mut dyn FnMut(YamlNode<'a>) -> Result<Option<Value>>,
    ) -> Result<Self> {
        Ok(Self::of_node(node, replace)?.0)
    }

    /// Like [`Self::from_node`], but also returns the node that each handle refers to.
    pub(crate) fn from_node_with_anchors(
        node: YamlNode<'_>,
    ) -> Result<(Self, Vec<(SharedId, NodeId)>)> {
        Self::of_node(node, &mut |_| Ok(None))
    }

    fn of_node<'a>(
        node: YamlNode<'a>,
        replace: &mut dyn FnMut(YamlNode<'a>) -> Result<Option<Value>>,
    ) -> Result<(Self, Vec<(SharedId, NodeId)>)> {
        let mut builder = Builder {
            shared: Vec::new(),
            handles: HashMap::new(),
            walk: Walk::new(Order::Depth),
            replace,
        };
        let root = builder.run(node)?;
        let handles = builder.handles.into_iter().map(|(node, handle)| (handle, node)).collect();
        Ok((Self::with_shared(root, builder.shared), handles))
    }

    /// Parses a tree from YAML text, with or without directives. If the handle `!` is not declared, tags that
    /// begin with `!core/` are interpreted as ASDF's core tags.
    ///
    /// ```
    /// use asdf::{Tree, Value};
    ///
    /// let tree = Tree::parse("meta: {gain: 2.5}\nz: !core/complex-1.0.0 (1+2j)\n")?;
    /// assert_eq!(tree.pointer("/meta/gain"), Some(&Value::Float(2.5)));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`Document::parse`] (with the default limits) and [`from_node`](Self::from_node). Also fails
    /// with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if anything but comments follows the document.
    pub fn parse(text: &str) -> Result<Self> {
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        let options = ParseOptions { is_whole_text: true, ..ParseOptions::default() };
        let document = Document::parse(text.as_bytes(), &options, &mut diagnostics)?;
        let mut tree = Self::from_node(document.root())?;
        tree.walk_mut(Visit::All, &mut |value| {
            if let Value::Tagged(tagged) = value {
                if let Some(core) = tagged.tag.strip_prefix("!core/") {
                    tagged.tag = format!("{}{core}", crate::tag::CORE_PREFIX);
                }
            }
            Ok(())
        })?;
        Ok(tree)
    }
}

/// A collection that is being built from its children.
struct Open<'a> {
    node: YamlNode<'a>,
    handle: Option<SharedId>,
    in_flow: bool,
    key: Option<Value>,
    items: Vec<Value>,
    entries: Vec<(Value, Value)>,
    /// The index of the entry for each key.
    keys: HashMap<(NodeKind, String), usize>,
}

impl Open<'_> {
    /// Adds an entry if its key has already been read. Otherwise, adds an item.
    fn push(&mut self, value: Value) {
        match self.key.take() {
            None => self.items.push(value),
            Some(key) => self.entries.push((key, value)),
        }
    }
}

type Children<'a> = Box<dyn Iterator<Item = (Token<'a>, Mention<'a>)> + 'a>;

struct Builder<'a, 'r> {
    shared: Vec<Shared>,
    handles: HashMap<NodeId, SharedId>,
    walk: Walk<'a, NodeId, Children<'a>, Open<'a>>,
    replace: &'r mut dyn FnMut(YamlNode<'a>) -> Result<Option<Value>>,
}

impl<'a> Builder<'a, '_> {
    fn run(&mut self, root: YamlNode<'a>) -> Result<Value> {
        let mut finished = self.begin(root, false, false)?;
        while let Some(step) = self.walk.step() {
            let value = match step {
                Step::Child(token, child) => self.child(token, child.node())?,
                Step::End(open) => Some(self.finish(open)),
            };
            match (value, self.walk.data_mut()) {
                (Some(value), Some(open)) => open.push(value),
                // The stack is empty, so this is the root.
                (Some(value), None) => finished = Some(value),
                (None, _) => {}
            }
        }
        Ok(finished.unwrap_or_default())
    }

    /// Begins to build an item of a sequence, or the value of an entry after building its key.
    fn child(&mut self, token: Token<'a>, node: YamlNode<'a>) -> Result<Option<Value>> {
        let in_flow = self.walk.data().is_some_and(|open| open.in_flow);
        if let Token::Key(key) = token {
            let key = self.key(key, in_flow)?;
            if let Some(open) = self.walk.data_mut() {
                open.key = Some(key);
            }
        }
        self.begin(node, in_flow, false)
    }

    fn key(&mut self, node: YamlNode<'a>, in_flow: bool) -> Result<Value> {
        node.to_key()?;
        let key = self.begin(node, in_flow, true)?;
        // A key is a scalar and therefore already complete.
        Ok(key.unwrap_or_default())
    }

    /// Builds a node. Returns the value if it is complete, which is the case for scalars, replaced collections
    /// and nodes that have already been seen. Pushes any other collection onto the stack and returns `None`.
    fn begin(&mut self, node: YamlNode<'a>, in_flow: bool, is_key: bool) -> Result<Option<Value>> {
        if let Some(handle) = self.handles.get(&node.id()) {
            return Ok(Some(Value::Shared(*handle)));
        }
        let handle = node.anchor().map(|anchor| {
            let handle = SharedId(self.shared.len());
            let name = (!is_made_up_anchor(anchor)).then(|| anchor.to_owned());
            // Use an empty sequence as a placeholder until the node is finished. Aliases inside the node may
            // already refer to it, and only collections contain aliases.
            self.shared.push(Shared { name, value: Sequence::new().into() });
            self.handles.insert(node.id(), handle);
            handle
        });
        let is_tagged = node.tag().is_some_and(|tag| tag != crate::yaml::CONSTANT_TAG);
        if !matches!(node.kind(), NodeKind::Sequence | NodeKind::Mapping) {
            let place = Place { in_flow, is_key, is_tagged };
            let value = tagged(node, scalar::from_node(node, place));
            return Ok(Some(self.kept(handle, value)));
        }
        if let Some(value) = (self.replace)(node)? {
            return Ok(Some(self.kept(handle, value)));
        }
        if self.walk.depth() >= MAX_DEPTH {
            let (limit, requested) = (MAX_DEPTH as u64, MAX_DEPTH as u64 + 1);
            return Err(Error::limit("depth of the tree", limit, requested));
        }
        let children: Children<'a> = if node.kind() == NodeKind::Mapping {
            let entries = node.written_entries();
            Box::new(entries.map(|(key, value)| (Token::Key(key.node()), value)))
        } else {
            let items = node.mentions().enumerate();
            Box::new(items.map(|(index, item)| (Token::Index(index), item)))
        };
        let open = Open {
            node,
            handle,
            in_flow: in_flow || node.style() == NodeStyle::Flow,
            key: None,
            items: Vec::new(),
            entries: Vec::new(),
            keys: HashMap::new(),
        };
        self.walk.open(children, open);
        Ok(None)
    }

    fn finish(&mut self, open: Open<'a>) -> Value {
        let Open { node, handle, items, entries, mut keys, .. } = open;
        let form = if node.style() == NodeStyle::Flow { Form::Flow } else { Form::Block };
        let scalar = |handle: SharedId| {
            self.shared.get(handle.0).is_some_and(|shared| !shared.value.is_collection())
        };
        let value = if node.kind() == NodeKind::Sequence {
            let default = if wants_brackets(&items, &scalar) { Form::Flow } else { Form::Block };
            let form = (form != default && !items.is_empty()).then_some(form);
            Value::Sequence(Sequence { items, form })
        } else {
            let mut distinct: Vec<(Value, Value)> = Vec::with_capacity(entries.len());
            for ((key, value), (node, _)) in entries.into_iter().zip(node.raw_entries()) {
                let is_merge = matches!(&key, Value::ScalarText(written) if written.is_merge_key());
                let name = node.to_key().unwrap_or_default().into_owned();
                let first = *keys.entry((node.kind(), name)).or_insert(distinct.len());
                match distinct.get_mut(first) {
                    Some((_, place)) if !is_merge => *place = value,
                    _ => distinct.push((key, value)),
                }
            }
            let all = distinct.iter().flat_map(|(key, value)| [key, value]);
            let default = if wants_brackets(all, &scalar) { Form::Flow } else { Form::Block };
            let form = (form != default && !distinct.is_empty()).then_some(form);
            Value::Mapping(Mapping { entries: distinct, form })
        };
        self.kept(handle, tagged(node, value))
    }

    /// Stores the value of a shared node and returns the node's handle. Returns the value unchanged if there is
    /// no handle.
    fn kept(&mut self, handle: Option<SharedId>, value: Value) -> Value {
        let Some(handle) = handle else { return value };
        if let Some(shared) = self.shared.get_mut(handle.0) {
            shared.value = value;
        }
        Value::Shared(handle)
    }
}

/// Adds the tag of a node to its value, unless the value is bytes, which always have the same tag.
fn tagged(node: YamlNode<'_>, value: Value) -> Value {
    match (node.tag(), value) {
        (None, value) | (_, value @ Value::Binary(_)) => value,
        (Some(tag), value) => Value::Tagged(Box::new(Tagged { tag: tag.to_owned(), value })),
    }
}
