//! Checking trees against schemas: those of the standard, and those of missions.
//!
//! A schema is a YAML text in JSON Schema draft 4 with what ASDF adds: `tag`, `ndim`, `max_ndim`,
//! `datatype`, `exact_datatype`. Manifests say which schemas a tag has.
//!
//! ```yaml
//! id: asdf://example.org/manifests/m-1.0.0         # a manifest
//! tags:
//! - tag_uri: asdf://example.org/tags/observation-1.0.0
//!   schema_uri: asdf://example.org/schemas/observation-1.0.0
//! ---
//! id: asdf://example.org/schemas/observation-1.0.0  # a schema
//! title: An observation
//! type: object
//! properties:
//!   exposure: {title: Exposure time, type: number, unit: s, minimum: 0}
//!   image: {tag: "tag:stsci.edu:asdf/core/ndarray-1.*", ndim: 2, datatype: float32}
//! required: [exposure]
//! ```
//!
//! Every node with a tag is checked against the schemas of that tag, as the reference does it. What
//! the reference takes for valid is valid here too: `format` is a remark, but for the times that
//! `type: string` with `format: date-time` allows; keys next to a `$ref` of a schema are ignored. A node
//! `{$ref: URI}` is not checked, because its content is elsewhere; the root, and a node with keys next to
//! `$ref`, are checked as any other. Nothing is ever fetched.
//!
//! ```
//! use asdf::Asdf;
//! use asdf::inspect::schema::Schemas;
//!
//! let mut schemas = Schemas::new();
//! schemas.add("tags: [{tag_uri: 'asdf://x.org/tags/a-1.0.0', schema_uri: 'asdf://x.org/a'}]")?;
//! schemas.add("{id: 'asdf://x.org/a', properties: {gain: {type: number}}, required: [name]}")?;
//! let file = Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\n\
//!     a: !<asdf://x.org/tags/a-1.0.0>\n  gain: high\n...\n"[..])?;
//! let found = file.validate(&schemas)?;
//! assert_eq!(found[0].diagnostic.message, "the key `name` is missing");
//! assert_eq!(found[1].diagnostic.place.pointer.as_deref(), Some("/a/gain"));
//! assert_eq!(found[1].diagnostic.message, "expected a number, found the string \"high\"");
//! assert_eq!(found[1].schema, "asdf://x.org/a#/properties/gain/type");
//! # Ok::<(), asdf::Error>(())
//! ```

mod array;
mod check;
mod constants;
mod defaults;
mod describe;
mod scalars;
mod store;
mod uri;

use std::collections::HashSet;

use crate::asdf::Asdf;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::yaml::Document;
use check::Checker;
use defaults::Defaults;
use store::FileTags;

pub use describe::{Description, Descriptions};
pub use store::{FolderReport, Schemas};

/// How many steps a check may take, beside some for each node of the tree: alternatives, of which a schema may
/// have thousands, multiply.
const MAX_STEPS: u64 = 1 << 24;
const STEPS_PER_NODE: u64 = 64;

fn max_steps(document: &Document) -> u64 {
    MAX_STEPS + STEPS_PER_NODE * document.node_count() as u64
}

/// Where a tree does not match a schema.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mismatch {
    /// What is wrong, with the pointer and the line of the node.
    pub diagnostic: Diagnostic,
    /// The keyword of the schema that says so: the URI of the schema, `#`, and a JSON Pointer.
    pub schema: String,
}

impl Asdf {
    /// Checks the nodes of the tree that have tags against the schemas of these, in the order of the
    /// text. Nodes of which no tag has a schema are not looked at, but for a remark about each tag:
    /// [`Code::NoSchema`].
    ///
    /// Keys with a default count as present in files up to standard 1.5.0, since the reference fills them in.
    /// Of several manifests with a tag, the newest whose extension the history of the file names applies.
    ///
    /// Fails if the tree cannot be parsed, or with [`Limit`](crate::ErrorKind::Limit) if alternatives make
    /// checking take too many steps.
    pub fn validate(&self, schemas: &Schemas) -> Result<Vec<Mismatch>> {
        let document = self.document()?;
        let tags = FileTags::of(schemas, document.root());
        let max_steps = max_steps(document);
        let defaults = Defaults::find(schemas, self, &tags, max_steps)?;
        let checker = Checker::new(schemas, self.options().limits, max_steps);
        let mut checker = checker.with_defaults(defaults);
        let mut unknown = HashSet::new();
        for node in document.nodes() {
            let Some(tag) = node.tag().filter(|tag| !tag.starts_with("tag:yaml.org,2002:")) else {
                continue;
            };
            let of_tag = tags.schemas_of(tag);
            if of_tag.is_empty() && unknown.insert(tag) {
                let diagnostic =
                    node.diagnostic(Code::NoSchema, format!("no schema for the tag {tag}"));
                checker.found.push(Mismatch { diagnostic, schema: String::new() });
            }
            for uri in of_tag {
                checker.check_by_uri(node, uri)?;
            }
        }
        let mut found = checker.found;
        found.sort_by_key(|found| found.diagnostic.place.offset);
        Ok(found)
    }
}
