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
mod describe;
mod scalars;
mod store;
mod uri;

use std::collections::HashSet;

use crate::asdf::Asdf;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use check::Checker;

pub use describe::{Description, Descriptions};
pub use store::{FolderReport, Schemas};

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
    /// Fails if the tree cannot be parsed, or if checking takes more steps than the limit on items
    /// allows.
    pub fn validate(&self, schemas: &Schemas) -> Result<Vec<Mismatch>> {
        let document = self.document()?;
        let mut checker = Checker::new(schemas, self.options().limits);
        let mut unknown = HashSet::new();
        for node in document.nodes() {
            let Some(tag) = node.tag().filter(|tag| !tag.starts_with("tag:yaml.org,2002:")) else {
                continue;
            };
            let of_tag = schemas.of_tag(tag);
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
