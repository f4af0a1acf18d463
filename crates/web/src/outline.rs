//! Trees that are built when a file is opened. They are used for all formats except ASDF, whose
//! trees may be too large.

use std::collections::HashMap;
use std::ops::Range;

use binio::pointer;
use serde_json::{Value, json};

use crate::document::{Result, failure, line};

/// A tree of nodes that can be found by pointer.
pub(crate) struct Outline {
    nodes: Vec<Node>,
    by_pointer: HashMap<String, usize>,
}

/// A node of an [`Outline`].
#[derive(Default)]
pub(crate) struct Node {
    pub(crate) key: String,
    pub(crate) pointer: String,
    /// The kind of the node: `mapping`, `sequence`, `array`, `file`, `link`, or a scalar kind such as `string` or
    /// `number`.
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    /// The description of an array as JSON. `None` for any other node, and for an array that cannot be opened.
    pub(crate) array: Option<Value>,
    pub(crate) children: Vec<usize>,
}

impl Outline {
    /// Creates a tree that consists only of a root.
    pub(crate) fn new() -> Self {
        let root = Node { kind: "mapping", ..Node::default() };
        Self { nodes: vec![root], by_pointer: HashMap::from([(String::new(), 0)]) }
    }

    /// Adds a node unless there already is a node with the same pointer. Returns the index of the
    /// node.
    pub(crate) fn add(&mut self, parent: usize, node: Node) -> usize {
        if let Some(&known) = self.by_pointer.get(&node.pointer) {
            return known;
        }
        let number = self.nodes.len();
        self.by_pointer.insert(node.pointer.clone(), number);
        self.nodes.push(node);
        self.nodes[parent].children.push(number);
        number
    }

    /// Adds a JSON value, and everything in it, as a child of the node with the index `parent`. Recursion is safe,
    /// because the parser limits the nesting.
    pub(crate) fn add_json(&mut self, parent: usize, key: &str, value: &Value) {
        let mut path = self.nodes[parent].pointer.clone();
        pointer::push(&mut path, key);
        let (kind, text) = match value {
            Value::Object(_) => ("mapping", String::new()),
            Value::Array(_) => ("sequence", String::new()),
            Value::String(text) => ("string", text.clone()),
            Value::Null => ("null", "null".to_owned()),
            Value::Bool(value) => ("bool", value.to_string()),
            Value::Number(value) => ("number", value.to_string()),
        };
        let node = Node { key: key.to_owned(), pointer: path, kind, text, ..Node::default() };
        let number = self.add(parent, node);
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(key, value)| self.add_json(number, key, value));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.for_each(|(index, value)| self.add_json(number, &index.to_string(), value));
            }
            _ => {}
        }
    }

    /// Returns the node at a pointer.
    pub(crate) fn get(&self, pointer: &str) -> Result<&Node> {
        let number = self.by_pointer.get(pointer);
        number.map(|&number| &self.nodes[number]).ok_or_else(|| failure("There is no such node."))
    }

    pub(crate) fn children(&self, pointer: &str, range: Range<usize>) -> Result<Vec<Value>> {
        let children = &self.get(pointer)?.children;
        let range = range.start.min(children.len())..range.end.min(children.len());
        Ok(children[range].iter().map(|&child| self.nodes[child].json()).collect())
    }

    pub(crate) fn search(&self, is_wanted: &dyn Fn(&str) -> bool, max: usize) -> Vec<Value> {
        let nodes = self.nodes.iter().skip(1);
        let wanted = nodes.filter(|node| is_wanted(&node.key) || is_wanted(&node.text));
        wanted.take(max).map(Node::json).collect()
    }
}

impl Node {
    pub(crate) fn json(&self) -> Value {
        json!({
            "key": line(&self.key),
            "pointer": self.pointer,
            "kind": self.kind,
            "text": line(&self.text),
            "count": self.children.len(),
            "array": self.array,
        })
    }
}
