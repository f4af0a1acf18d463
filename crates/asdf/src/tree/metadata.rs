//! Who wrote a file, with what, and what was done to it: `asdf_library` and `history`.
//!
//! ```yaml
//! asdf_library: !core/software-1.0.0 {name: asdf, version: 4.1.0, author: .., homepage: ..}
//! history:
//!   extensions:                  # what wrote the tags of this file
//!   - !core/extension_metadata-1.0.0
//!     extension_class: asdf.extension._manifest.ManifestExtension
//!     extension_uri: asdf://asdf-format.org/core/extensions/core-1.6.0
//!     manifest_software: !core/software-1.0.0 {name: asdf_standard, version: 1.1.1}
//!     software: !core/software-1.0.0 {name: asdf, version: 4.1.0}
//!   entries:                     # what people did
//!   - !core/history_entry-1.0.0
//!     description: Flat-fielded
//!     time: 2026-11-20 23:24:27+00:00
//!     software: !core/software-1.0.0 {name: pipeline, version: 1.0.0}
//! ```
//!
//! Before standard 1.2.0 `history` was the list of entries itself. The schema calls the software
//! of an extension `package`, the writers `software`: both are read.

use std::time::SystemTime;

use crate::asdf::Asdf;
use crate::error::Result;
use crate::tree::Node;
use crate::yaml::{Content, DateTime, NodeKind};

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Software {
    /// Its name.
    pub name: String,
    /// Its version, in its own manner.
    pub version: String,
    /// Who made it.
    pub author: Option<String>,
    /// Where it is described.
    pub homepage: Option<String>,
}

/// The history of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct History {
    /// The extensions that wrote the file.
    pub extensions: Vec<ExtensionMetadata>,
    /// What was done, the oldest first.
    pub entries: Vec<HistoryEntry>,
}

/// An extension of the software that wrote a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ExtensionMetadata {
    /// The class that implements it.
    pub extension_class: String,
    /// What names the extension.
    pub extension_uri: Option<String>,
    /// The package that has its list of tags.
    pub manifest_software: Option<Software>,
    /// The package that has the class.
    pub software: Option<Software>,
}

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// In words.
    pub description: String,
    /// When: in ISO 8601 if the file has a date and time there, else its text.
    pub time: Option<String>,
    /// With what.
    pub software: Vec<Software>,
}

impl Software {
    /// A program of a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), author: None, homepage: None }
    }

    /// This library.
    pub fn ours() -> Self {
        Self::new("scibin", env!("CARGO_PKG_VERSION"))
    }

    binio::setters! {
        /// Sets who made it.
        author: String => Some(author);
        /// Sets where it is described.
        homepage: String => Some(homepage);
    }
}

impl HistoryEntry {
    /// Something that was done, in words.
    pub fn new(description: impl Into<String>) -> Self {
        Self { description: description.into(), time: None, software: Vec::new() }
    }

    /// Sets when it was done, in UTC. Leaves the time out before 1970 and after 9999.
    #[must_use]
    pub fn at(self, time: SystemTime) -> Self {
        let time = DateTime::from_system_time(time);
        // With a blank, as the Python reference writes it.
        Self { time: time.map(|time| time.to_string().replacen('T', " ", 1)), ..self }
    }

    binio::setters! {
        /// Sets when it was done, such as `2026-11-20 23:24:27+00:00`.
        time: String => Some(time);
        /// Sets with what it was done.
        software: Vec<Software>;
    }
}

impl ExtensionMetadata {
    /// An extension that a class implements.
    pub fn new(extension_class: impl Into<String>) -> Self {
        let extension_class = extension_class.into();
        Self { extension_class, extension_uri: None, manifest_software: None, software: None }
    }

    binio::setters! {
        /// Sets what names the extension.
        extension_uri: String => Some(extension_uri);
        /// Sets the package that has its list of tags.
        manifest_software: Software => Some(manifest_software);
        /// Sets the package that has the class.
        software: Software => Some(software);
    }
}

impl Asdf {
    /// The library that wrote the file, if the file names it.
    pub fn library(&self) -> Result<Option<Software>> {
        self.tree()?.get("asdf_library").map(software).transpose()
    }

    /// The history of the file, empty if it has none.
    pub fn history(&self) -> Result<History> {
        let Some(history) = self.tree()?.get("history") else { return Ok(History::default()) };
        match history.kind() {
            NodeKind::Null => Ok(History::default()),
            NodeKind::Sequence => {
                Ok(History { entries: list(Some(history), entry)?, extensions: Vec::new() })
            }
            NodeKind::Mapping => Ok(History {
                extensions: list(history.get("extensions"), extension)?,
                entries: list(history.get("entries"), entry)?,
            }),
            _ => Err(history.error("expected a mapping with `extensions` and `entries`")),
        }
    }
}

/// The items of a list that may be missing; a single item may stand for a list of one.
fn list<'a, T>(node: Option<Node<'a>>, item: fn(Node<'a>) -> Result<T>) -> Result<Vec<T>> {
    match node {
        None => Ok(Vec::new()),
        Some(node) if node.is_null() => Ok(Vec::new()),
        Some(node) if node.kind() == NodeKind::Sequence => node.items().map(item).collect(),
        Some(node) => item(node).map(|item| vec![item]),
    }
}

fn required(node: Node<'_>, key: &str) -> Result<String> {
    optional(node, key).ok_or_else(|| node.error(format!("expected a text as `{key}`")))
}

/// The text of a scalar: a version may look like a number.
fn optional(node: Node<'_>, key: &str) -> Option<String> {
    let value = node.get(key).filter(|value| !value.is_null())?;
    value.text().map(str::to_owned)
}

fn software(node: Node<'_>) -> Result<Software> {
    Ok(Software {
        name: required(node, "name")?,
        version: required(node, "version")?,
        author: optional(node, "author"),
        homepage: optional(node, "homepage"),
    })
}

fn extension(node: Node<'_>) -> Result<ExtensionMetadata> {
    let package = node.get("software").or_else(|| node.get("package"));
    Ok(ExtensionMetadata {
        extension_class: required(node, "extension_class")?,
        extension_uri: optional(node, "extension_uri"),
        manifest_software: node.get("manifest_software").map(software).transpose()?,
        software: package.map(software).transpose()?,
    })
}

fn entry(node: Node<'_>) -> Result<HistoryEntry> {
    let time = match node.get("time").map(|time| time.value()) {
        Some(Ok(Content::DateTime(time))) => Some(time.to_string()),
        _ => optional(node, "time"),
    };
    Ok(HistoryEntry {
        description: required(node, "description")?,
        time,
        software: list(node.get("software"), software)?,
    })
}
