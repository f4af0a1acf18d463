//! Keys that have a default value in a schema.
//!
//! Before it checks a tree, the reference implementation fills in the missing keys that have a
//! default. These keys therefore never count as missing. This does not apply to files that declare a
//! version of the standard later than 1.5.0. The reference implementation finds the defaults through
//! `properties`, `items`, `allOf` and `$ref`, but not through alternatives.

use std::collections::{HashMap, HashSet};

use super::store::{FileTags, Place, Schemas};
use crate::asdf::Asdf;
use crate::error::Result;
use crate::tag::Version;
use crate::yaml::{NodeId, NodeKind, YamlNode};

/// The last version of the standard for which defaults are filled in.
const LAST_STANDARD: Version = Version::new(1, 5, 0);

/// Maximum number of consecutive references that are followed to find a default.
const MAX_REFERENCES: usize = 16;

/// For each node, the missing keys that have a default and are therefore filled in.
#[derive(Debug, Default)]
pub(super) struct Defaults<'s> {
    keys: HashMap<NodeId, HashSet<&'s str>>,
    seen: HashSet<(NodeId, usize, NodeId)>,
    steps: u64,
}

impl<'s> Defaults<'s> {
    /// Finds the keys that have a default and are missing in the nodes of a file. If the file declares
    /// a version of the standard later than 1.5.0, finds no keys. Fails if the search takes more than
    /// `max_steps` steps.
    pub(super) fn find(
        schemas: &'s Schemas,
        file: &Asdf,
        tags: &FileTags<'s>,
        max_steps: u64,
    ) -> Result<Self> {
        let mut defaults = Self::default();
        if file.layout().standard_version.is_some_and(|standard| standard > LAST_STANDARD) {
            return Ok(defaults);
        }
        for node in file.document()?.nodes() {
            let Some(tag) = node.tag() else { continue };
            for schema in tags.schemas_of(tag).iter().filter_map(|uri| schemas.find(uri)) {
                defaults.fill(schemas, node, schema, max_steps)?;
            }
        }
        Ok(defaults)
    }

    /// Returns `true` if the key is missing in the node and has a default that is filled in.
    pub(super) fn has(&self, node: YamlNode<'_>, key: &str) -> bool {
        self.keys.get(&node.id()).is_some_and(|keys| keys.contains(key))
    }

    fn fill(
        &mut self,
        schemas: &'s Schemas,
        node: YamlNode<'_>,
        schema: Place<'s>,
        max_steps: u64,
    ) -> Result<()> {
        let mut left = vec![(node, schema)];
        while let Some((node, schema)) = left.pop() {
            self.steps += 1;
            binio::check_limit("steps for filling in schema defaults", max_steps, self.steps)?;
            let pair = (node.id(), schema.number, schema.node.id());
            // Only remember a pair that can occur more than once through an alias to the node or a
            // reference to the schema.
            let is_shared = schema.is_target || node.anchor().is_some();
            let is_mapping = schema.node.kind() == NodeKind::Mapping;
            if !is_mapping || (is_shared && !self.seen.insert(pair)) {
                continue;
            }
            if schema.node.get("$ref").is_some() {
                left.extend(schemas.target(schema).map(|target| (node, target)));
                continue;
            }
            let parts = schema.node.get("allOf").into_iter().flat_map(YamlNode::items);
            left.extend(parts.map(|part| (node, schema.at(part))));
            for (name, below) in
                schema.node.get("properties").into_iter().flat_map(YamlNode::entries)
            {
                let Some(name) = name.text() else { continue };
                match node.member(name) {
                    Some(child) => left.push((child, schema.at(below))),
                    None if has_default(schemas, schema.at(below)) => {
                        self.keys.entry(node.id()).or_default().insert(name);
                    }
                    None => {}
                }
            }
            let Some(items) = schema.node.get("items") else { continue };
            for (at, item) in node.items().enumerate() {
                let below =
                    if items.kind() == NodeKind::Sequence { items.at(at) } else { Some(items) };
                let Some(below) = below else { break };
                left.push((item, schema.at(below)));
            }
        }
        Ok(())
    }
}

/// Returns `true` if a schema, or the schema that it refers to, has a default.
fn has_default(schemas: &Schemas, schema: Place<'_>) -> bool {
    let mut next = Some(schema);
    for _ in 0..MAX_REFERENCES {
        let Some(schema) = next else { return false };
        if schema.node.get("$ref").is_none() {
            return schema.node.get("default").is_some();
        }
        next = schemas.target(schema);
    }
    false
}
