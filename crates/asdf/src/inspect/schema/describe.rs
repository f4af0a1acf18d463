//! Descriptions of nodes from schemas: titles and units.

use std::collections::{HashMap, HashSet, VecDeque};

use super::check::Checker;
use super::store::{FileTags, Place, Schemas};
use crate::asdf::Asdf;
use crate::error::Result;
use crate::yaml::{NodeId, NodeKind, Order, Token, Walk, YamlNode};

/// Maximum number of nodes that are described.
const MAX_DESCRIBED: usize = 100_000;
/// Maximum number of schemas that are considered for one node.
const MAX_SCHEMAS: usize = 64;

/// The description of a node according to its schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// The title, on a single line.
    pub title: Option<String>,
    /// The unit, such as `deg`.
    pub unit: Option<String>,
}

/// The descriptions of the nodes in a tree.
#[derive(Clone, Debug, Default)]
pub struct Descriptions(HashMap<NodeId, Description>);

impl Descriptions {
    /// Returns `true` if there are no descriptions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the description of a node, if there is one.
    pub fn get(&self, node: NodeId) -> Option<&Description> {
        self.0.get(&node)
    }
}

impl Schemas {
    /// Finds descriptions of the nodes in a tree. They come from the schemas for the tag of a node
    /// and from the schemas of the nodes that contain it. If both kinds of schemas describe the
    /// node, the schema of a containing node usually takes precedence. If the schemas of a quantity
    /// do not state a unit, the unit comes from the quantity itself. At most 100,000 nodes are
    /// described.
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
    ///
    /// # Errors
    ///
    /// Same as [`Asdf::document`].
    pub fn describe(&self, file: &Asdf) -> Result<Descriptions> {
        let document = file.document()?;
        let mut walk = Walk::new(Order::Levels);
        let mut descriptions = HashMap::new();
        let mut visited = 0;
        let tags = FileTags::of(self, document.root());
        let mut checker = Checker::new(self, file.options().limits, super::max_steps(document));
        let tagged = document.nodes().filter(|node| node.tag().is_some());
        for root in std::iter::once(document.root()).chain(tagged) {
            walk.restart();
            let mut next = Some((root, Vec::new()));
            while let Some((node, mut places)) = next {
                let of_tag = node.tag().map(|tag| tags.schemas_of(tag)).unwrap_or_default();
                places.extend(of_tag.into_iter().filter_map(|uri| self.find(uri)));
                if !places.is_empty() && visited < MAX_DESCRIBED && walk.is_new(node.id()) {
                    visited += 1;
                    let places = self.expanded(node, places, &mut checker);
                    let description = describe(node, &places);
                    if description != Description::default() {
                        descriptions.insert(node.id(), description);
                    }
                    let count = match node.kind() {
                        // Do not describe the nodes inside an array.
                        _ if node.is_ndarray() => 0,
                        NodeKind::Mapping => usize::MAX,
                        _ => MAX_DESCRIBED,
                    };
                    walk.open(node.children().take(count), places);
                }
                next = walk.next().map(|(token, child)| {
                    let around = walk.data().map_or(&[][..], Vec::as_slice);
                    (child, around.iter().filter_map(|place| below(place, token)).collect())
                });
            }
        }
        Ok(Descriptions(descriptions))
    }

    /// Returns the given schemas of a node, and the schemas that they refer to or combine. Alternatives are
    /// only included if the node matches them.
    fn expanded<'s>(
        &'s self,
        node: YamlNode<'_>,
        places: Vec<Place<'s>>,
        checker: &mut Checker<'s>,
    ) -> Vec<Place<'s>> {
        let mut all: Vec<Place<'s>> = Vec::new();
        let mut seen = HashSet::new();
        let mut left: VecDeque<Place<'s>> = places.into();
        while let Some(place) = left.pop_front() {
            if all.len() >= MAX_SCHEMAS || !seen.insert((place.number, place.node.id())) {
                continue;
            }
            all.push(place);
            left.extend(self.target(place));
            let parts = |key: &str| {
                place.node.get(key).into_iter().flat_map(YamlNode::items).map(|part| place.at(part))
            };
            left.extend(parts("allOf"));
            let choices = parts("anyOf").chain(parts("oneOf")).take(MAX_SCHEMAS);
            // If the check exceeds a limit, treat the node as not matching.
            left.extend(choices.filter(|choice| checker.is_match(node, *choice).unwrap_or(false)));
        }
        all
    }
}

/// Returns the description of a node according to its schemas.
fn describe(node: YamlNode<'_>, places: &[Place<'_>]) -> Description {
    let first = |key: &str| places.iter().find_map(|place| line(place.node.get(key)?));
    let own_unit = || {
        let is_quantity = node.tag().is_some_and(|tag| tag.contains("/quantity-"));
        line(node.get("unit").filter(|_| is_quantity)?)
    };
    let unit = first("unit").or_else(|| first("units")).or_else(own_unit);
    Description { title: first("title"), unit }
}

/// Returns the schema of a child, given the schema of the collection that contains it.
fn below<'s>(place: &Place<'s>, token: Token<'_>) -> Option<Place<'s>> {
    let schema = match token {
        Token::Key(key) => place.node.get("properties")?.get(&key.to_key().ok()?)?,
        Token::Index(number) => {
            let items = place.node.get("items")?;
            if items.kind() == NodeKind::Sequence { items.at(number)? } else { items }
        }
    };
    Some(place.at(schema))
}

/// Returns the text of a scalar on a single line. Returns `None` if the text is empty, or if the node is a
/// collection.
fn line(node: YamlNode<'_>) -> Option<String> {
    let text = node.text()?.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
