//! References: a mapping with a key `$ref` refers to another node, in the same file or in an
//! external file.
//!
//! ```text
//! $ref: "other.asdf#/meta/a%2Fb~1c/-1"
//!        `--------' `-- JSON Pointer: ["meta"]["a/b/c"][last]
//!        file, empty for this one; see `external`
//! ```
//!
//! The pointer is first split at each `/`. In each part, percent escapes such as `%2F` are decoded, then `~1`
//! becomes `/`, and finally `~0` becomes `~`. The leading `/` may be missing; an empty pointer refers to the
//! root. Negative numbers count from the end of a sequence.
//!
//! References are only followed by [`Node::resolve`].

use binio::pointer::percent_decode_lenient;

use crate::diagnostic::Code;
use crate::error::{Error, ReferenceError, Result};
use crate::tree::Node;
use crate::yaml::NodeKind;

/// Maximum length of a chain of references.
const MAX_REFERENCES: u32 = 64;

impl<'a> Node<'a> {
    /// Returns the URI in `$ref` if this node is a reference: a mapping in which `$ref` has a
    /// string as its value.
    ///
    /// See the ASDF standard, "The tree in-depth", References.
    pub fn reference(self) -> Option<&'a str> {
        if self.kind() != NodeKind::Mapping {
            return None;
        }
        self.get("$ref")?.as_str()
    }

    /// Follows references until it reaches a node that is not a reference, and returns that node. External
    /// files are opened if the [policy](crate::External) allows it.
    ///
    /// See the ASDF standard, "The tree in-depth", References.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\n\
    ///     a: {gain: 2.5}\nb: {$ref: '#/a'}\n...\n"[..])?;
    /// let node = file.tree()?.pointer("/b")?;
    /// assert_eq!(node.reference(), Some("#/a"));
    /// assert_eq!(node.resolve()?.pointer("/gain")?.as_f64(), Some(2.5));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) of kind
    ///
    /// - [`Cycle`](ReferenceError::Cycle) if the references form a cycle,
    /// - [`TooDeep`](ReferenceError::TooDeep) if a chain contains more than 64 references,
    /// - [`Syntax`](ReferenceError::Syntax) if a URI is invalid,
    /// - [`Forbidden`](ReferenceError::Forbidden) if the policy does not allow opening the file, if it is not
    ///   a regular file, or if its path is relative but the folder of the referring file is unknown,
    /// - [`NotFound`](ReferenceError::NotFound) if the file or the node does not exist,
    /// - [`External`](ReferenceError::External) if the file cannot be opened or its tree is invalid.
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

    /// Returns the node that a URI in this node's file refers to.
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
            node = node.step(&name).ok_or_else(|| {
                fail(ReferenceError::NotFound(format!("there is no node with the key {name:?}")))
            })?;
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
