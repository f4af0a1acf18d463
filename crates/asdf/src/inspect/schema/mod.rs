//! Checking trees against schemas, such as those of the standard or of a space mission.
//!
//! A schema is a YAML document in JSON Schema draft 4 with the extensions of ASDF: `tag`, `ndim`, `max_ndim`,
//! `datatype`, `exact_datatype`. Manifests specify the schemas for each tag.
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
//! As in the reference implementation, every node with a tag is checked against the schemas for that tag,
//! unless the tag is one of YAML's own. Keywords are also interpreted as leniently as in that implementation.
//! `format` has no effect, except that `type: string` with `format: date-time` allows times. Keys next to `$ref`
//! in a schema are ignored. Nothing is ever fetched over a network.
//!
//! A node `{$ref: URI}` is not checked, because its content is elsewhere. This does not apply to the root or to
//! nodes with other keys next to `$ref`.
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

/// Maximum number of steps for checking an empty tree. The limit is necessary because nested alternatives
/// multiply, and a schema may have thousands of them.
const MAX_STEPS: u64 = 1 << 24;
/// Number of steps by which each node of the tree raises the limit.
const STEPS_PER_NODE: u64 = 64;

fn max_steps(document: &Document) -> u64 {
    MAX_STEPS + STEPS_PER_NODE * document.node_count() as u64
}

/// A node that does not match a schema, or that cannot be checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mismatch {
    /// A description of the problem, with the pointer and the line of the node.
    pub diagnostic: Diagnostic,
    /// The keyword that does not match: the URI of the schema, followed by `#` and a JSON Pointer to
    /// the keyword. If the schema for the tag was not found, contains only the URI of this schema.
    /// Empty if the tag has no schema.
    pub schema: String,
}

impl Asdf {
    /// Checks all nodes with tags against the schemas for these tags, and returns the mismatches in document
    /// order. A tag without a schema is reported once, with [`Code::NoSchema`].
    ///
    /// If the file declares no version of the standard, or version 1.5.0 or earlier, a key that has a
    /// default value in the schema never counts as missing, because the reference implementation
    /// fills it in.
    ///
    /// If several manifests contain a tag, the newest manifest whose extension is listed in the
    /// history of the file is used. If none is listed, the newest of all is used.
    ///
    /// # Errors
    ///
    /// Same as [`document`](Self::document). Also fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit)
    ///
    /// - if checking takes too many steps, for example because of nested alternatives,
    /// - if schemas, including those reached through references, are nested more than 200 levels deep,
    /// - if there are more than [`Limits::max_items`](crate::Limits::max_items) mismatches.
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
