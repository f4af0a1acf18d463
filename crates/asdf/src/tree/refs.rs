//! References: a mapping with a key `$ref` stands for another node, of this file or another.
//!
//! ```text
//! $ref: "other.asdf#/meta/a%2Fb~1c/-1"
//!        `--------' `-- JSON Pointer: ["meta"]["a/b/c"][last]
//!        file, empty for this one; see `external`
//! ```
//!
//! The pointer is cut at each `/` first; then `%2F` is decoded in each part, then `~1` to `/`, then
//! `~0` to `~`. The `/` at its start may be missing; the empty pointer is the root. Negative
//! numbers count from the end of a sequence.
//!
//! References are followed only where [`Node::resolve`] asks for it.

use binio::pointer::percent_decode_lenient;

use crate::diagnostic::Code;
use crate::error::{Error, ReferenceError, Result};
use crate::tree::Node;
use crate::yaml::NodeKind;

/// How many references may lead one to the next.
const MAX_REFERENCES: u32 = 64;

impl<'a> Node<'a> {
    /// The text of `$ref`, if this node is a reference: a mapping that has it as a string.
    pub fn reference(self) -> Option<&'a str> {
        if self.kind() != NodeKind::Mapping {
            return None;
        }
        self.get("$ref")?.as_str()
    }

    /// The node that this one stands for: itself, unless it is a reference. If that leads to a
    /// reference, that one is followed, too. Other files are opened as the policy allows.
    pub fn resolve(self) -> Result<Self> {
        let mut node = self;
        let mut path: Vec<(Node<'a>, &str)> = Vec::new();
        while let Some(uri) = node.reference() {
            let fail = |kind| Err(Error::reference(uri, kind));
            if path.iter().any(|(passed, _)| passed.is_same(node)) {
                let uris = path.iter().map(|(_, uri)| (*uri).to_owned());
                return fail(ReferenceError::Cycle(uris.chain([uri.to_owned()]).collect()));
            }
            if path.len() >= usize::try_from(MAX_REFERENCES).unwrap_or(usize::MAX) {
                return fail(ReferenceError::TooDeep(MAX_REFERENCES));
            }
            if node.len() > 1 {
                let message = "keys next to `$ref` are ignored";
                node.file().reports().add(node.diagnostic(Code::ReferenceSiblings, message));
            }
            path.push((node, uri));
            node = node.follow(uri)?;
        }
        Ok(node)
    }

    fn is_same(self, other: Self) -> bool {
        std::ptr::eq(self.file(), other.file()) && self.id() == other.id()
    }

    /// The node that a URI names, seen from this node's file.
    fn follow(self, uri: &str) -> Result<Self> {
        let fail = |kind| Error::reference(uri, kind);
        let (file, pointer) = uri.split_once('#').unwrap_or((uri, ""));
        let files = self.files().open(file)?;
        let document = files.current.document();
        let root = document.map_err(|error| fail(ReferenceError::External(error.into())))?.root();
        let mut node = Self::new(files, root);
        if pointer.is_empty() {
            return Ok(node);
        }
        for token in pointer.strip_prefix('/').unwrap_or(pointer).split('/') {
            let name = percent_decode_lenient(token).ok_or_else(|| {
                let message = format!("the percent-encoded bytes of {token:?} are not UTF-8");
                fail(ReferenceError::Syntax(message))
            })?;
            let name = name.replace("~1", "/").replace("~0", "~");
            node = node
                .step(&name)
                .ok_or_else(|| fail(ReferenceError::NotFound(format!("no node named {name:?}"))))?;
        }
        Ok(node)
    }

    fn step(self, name: &str) -> Option<Self> {
        if self.kind() != NodeKind::Sequence {
            return self.get(name);
        }
        let index: i64 = name.parse().ok()?;
        let place = usize::try_from(index.unsigned_abs()).ok()?;
        self.at(if index < 0 { self.len().checked_sub(place)? } else { place })
    }
}
