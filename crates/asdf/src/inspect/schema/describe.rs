//! What schemas say about the nodes of a tree: titles and units.

use std::collections::{HashMap, HashSet, VecDeque};

use super::store::{Place, Schemas};
use super::uri;
use crate::asdf::Asdf;
use crate::error::Result;
use crate::yaml::{Kind, Node, NodeId, tag};

/// How many nodes are described, and how many schemas of one node are looked at.
const MAX_DESCRIBED: usize = 100_000;
const MAX_SCHEMAS: usize = 64;

/// What a schema says about a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// Its title, in one line.
    pub title: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
}

/// What schemas say about the nodes of a tree.
#[derive(Clone, Debug, Default)]
pub struct Descriptions(HashMap<NodeId, Description>);

impl Descriptions {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is said about a node, if anything is.
    pub fn get(&self, node: NodeId) -> Option<&Description> {
        self.0.get(&node)
    }
}

impl Schemas {
    /// Finds what the schemas say about the nodes of a tree: the schemas of a node's tag, and those of
    /// the nodes above it. What is said of the place, as a property of the node above, goes before what
    /// is said of the tag. The first hundred thousand nodes are described.
    ///
    /// ```
    /// use asdf::Asdf;
    /// use asdf::inspect::schema::Schemas;
    ///
    /// let mut schemas = Schemas::new();
    /// schemas.add("tags: [{tag_uri: '!camera', schema_uri: 'asdf://x.org/camera'}]")?;
    /// schemas.add("{id: 'asdf://x.org/camera', properties: {gain: {title: Gain, unit: electron}}}")?;
    /// let file = Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n--- !camera\ngain: 2.5\n...\n"[..])?;
    /// let gain = file.tree()?.pointer("/gain")?;
    /// let descriptions = schemas.describe(&file)?;
    /// let gain = descriptions.get(gain.id()).ok_or("no description")?;
    /// assert_eq!((gain.title.as_deref(), gain.unit.as_deref()), (Some("Gain"), Some("electron")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn describe(&self, file: &Asdf) -> Result<Descriptions> {
        let document = file.document()?;
        let mut walk = Walk {
            schemas: self,
            described: HashMap::new(),
            visited: HashSet::new(),
            left: VecDeque::new(),
        };
        walk.visit(document.root(), Vec::new());
        for node in document.nodes() {
            walk.run();
            if node.tag().is_some() && !walk.visited.contains(&node.id()) {
                walk.visit(node, Vec::new());
            }
        }
        walk.run();
        Ok(Descriptions(walk.described))
    }
}

struct Walk<'s, 'n> {
    schemas: &'s Schemas,
    described: HashMap<NodeId, Description>,
    visited: HashSet<NodeId>,
    left: VecDeque<(Node<'n>, Vec<Place<'s>>)>,
}

impl<'s, 'n> Walk<'s, 'n> {
    /// Adds a node with the schemas of its place.
    fn visit(&mut self, node: Node<'n>, mut places: Vec<Place<'s>>) {
        let of_tag = node.tag().map(|tag| self.schemas.of_tag(tag)).unwrap_or_default();
        places.extend(of_tag.into_iter().filter_map(|uri| self.schemas.find(uri)));
        if !places.is_empty() {
            self.left.push_back((node, places));
        }
    }

    fn run(&mut self) {
        while let Some((node, places)) = self.left.pop_front() {
            if self.visited.len() >= MAX_DESCRIBED || self.visited.contains(&node.id()) {
                continue;
            }
            let places = self.expanded(places);
            let first = |key: &str| places.iter().find_map(|place| line(place.node.get(key)?));
            let own_unit = || {
                let is_quantity = node.tag().is_some_and(|tag| tag.contains("/quantity-"));
                line(node.get("unit").filter(|_| is_quantity)?)
            };
            let unit = first("unit").or_else(|| first("units")).or_else(own_unit);
            let description = Description { title: first("title"), unit };
            self.visited.insert(node.id());
            if description != Description::default() {
                self.described.insert(node.id(), description);
            }
            // Of an array there is nothing more to say.
            if node.tag().and_then(tag::core_name) != Some("ndarray") {
                self.children(node, &places);
            }
        }
    }

    fn children(&mut self, node: Node<'n>, places: &[Place<'s>]) {
        if node.kind() == Kind::Mapping {
            for (key, child) in node.entries() {
                let Ok(name) = key.to_key() else { continue };
                let below = |place: &Place<'s>| {
                    let below = place.node.get("properties")?.get(&name);
                    below.map(|below| place.at(below))
                };
                self.visit(child, places.iter().filter_map(below).collect());
            }
        } else {
            for (number, child) in node.items().enumerate().take(MAX_DESCRIBED) {
                let below = |place: &Place<'s>| {
                    let items = place.node.get("items")?;
                    let is_list = items.kind() == Kind::Sequence;
                    Some(place.at(if is_list { items.at(number)? } else { items }))
                };
                self.visit(child, places.iter().filter_map(below).collect());
            }
        }
    }

    /// The schemas, and those that they refer to or combine.
    fn expanded(&self, places: Vec<Place<'s>>) -> Vec<Place<'s>> {
        let mut all: Vec<Place<'s>> = Vec::new();
        let mut seen = HashSet::new();
        let mut left: VecDeque<Place<'s>> = places.into();
        while let Some(place) = left.pop_front() {
            if all.len() >= MAX_SCHEMAS || !seen.insert((place.number, place.node.id())) {
                continue;
            }
            all.push(place);
            let reference = place.node.get("$ref").and_then(Node::as_str);
            let target = reference.and_then(|uri| self.schemas.find(&uri::join(place.uri, uri)));
            left.extend(target);
            for key in ["allOf", "anyOf", "oneOf"] {
                let choices = place.node.get(key).into_iter().flat_map(Node::items);
                left.extend(choices.map(|choice| place.at(choice)));
            }
        }
        all
    }
}

/// A text in one line.
fn line(node: Node<'_>) -> Option<String> {
    let text = node.text()?.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
