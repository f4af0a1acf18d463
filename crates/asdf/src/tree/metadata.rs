//! Metadata about the file: the software that wrote it (`asdf_library`) and its `history`.
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
//! Before version 1.2.0 of the standard, `history` itself was the list of entries. The software of
//! an extension is called `package` in the schema, but `software` in files; both keys are accepted.

use std::time::SystemTime;

use crate::asdf::Asdf;
use crate::error::Result;
use crate::tree::Node;
use crate::yaml::{Content, DateTime, NodeKind};

/// A piece of software.
///
/// See the schema `core/software` of the ASDF standard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Software {
    /// The name of the software.
    pub name: String,
    /// The version, in any format.
    pub version: String,
    /// The author of the software.
    pub author: Option<String>,
    /// The address of a web page about the software.
    pub homepage: Option<String>,
}

/// The history of a file.
///
/// See the key `history` in the schema `core/asdf` of the ASDF standard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct History {
    /// The extensions that were used to write the file.
    pub extensions: Vec<ExtensionMetadata>,
    /// The recorded actions in the order of the file, usually oldest first.
    pub entries: Vec<HistoryEntry>,
}

/// An extension that was used to write a file.
///
/// See the schema `core/extension_metadata` of the ASDF standard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ExtensionMetadata {
    /// The name of the class that implements the extension.
    pub extension_class: String,
    /// The URI that identifies the extension.
    pub extension_uri: Option<String>,
    /// The package that contains the extension's list of tags.
    pub manifest_software: Option<Software>,
    /// The package that contains the extension class.
    pub software: Option<Software>,
}

/// An action recorded in the history.
///
/// See the schema `core/history_entry` of the ASDF standard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// A description of the action.
    pub description: String,
    /// The time of the action: in ISO 8601 format if the file contains a date and time, otherwise the
    /// original text.
    pub time: Option<String>,
    /// The software that performed the action.
    pub software: Vec<Software>,
}

impl Software {
    /// Creates a software entry with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), author: None, homepage: None }
    }

    /// Returns the name and version of this library.
    pub fn ours() -> Self {
        Self::new("scibin", env!("CARGO_PKG_VERSION"))
    }

    binio::setters! {
        /// Sets the author of the software.
        author: String => Some(author);
        /// Sets the address of a web page about the software.
        homepage: String => Some(homepage);
    }
}

impl HistoryEntry {
    /// Creates an entry with a description.
    pub fn new(description: impl Into<String>) -> Self {
        Self { description: description.into(), time: None, software: Vec::new() }
    }

    /// Sets the time of the action, in UTC. If the time is before 1970 or after 9999, the entry has no time.
    #[must_use]
    pub fn at(self, time: SystemTime) -> Self {
        let time = DateTime::from_system_time(time);
        // Use a space instead of `T`, like the Python reference implementation.
        Self { time: time.map(|time| time.to_string().replacen('T', " ", 1)), ..self }
    }

    binio::setters! {
        /// Sets the time of the action, such as `2026-11-20 23:24:27+00:00`.
        time: String => Some(time);
        /// Sets the software that performed the action.
        software: Vec<Software>;
    }
}

impl ExtensionMetadata {
    /// Creates an extension that is implemented by a class.
    pub fn new(extension_class: impl Into<String>) -> Self {
        let extension_class = extension_class.into();
        Self { extension_class, extension_uri: None, manifest_software: None, software: None }
    }

    binio::setters! {
        /// Sets the URI that identifies the extension.
        extension_uri: String => Some(extension_uri);
        /// Sets the package that contains the extension's list of tags.
        manifest_software: Software => Some(manifest_software);
        /// Sets the package that contains the extension class.
        software: Software => Some(software);
    }
}

impl Asdf {
    /// Returns the library that wrote the file, or `None` if the file does not name it.
    ///
    /// ```
    /// use asdf::{Asdf, Tree, Writer};
    ///
    /// let mut bytes = std::io::Cursor::new(Vec::new());
    /// Writer::new(Tree::default()).write_to(&mut bytes)?;
    /// let library = Asdf::from_bytes(bytes.into_inner())?.library()?;
    /// assert_eq!(library.map(|library| library.name).as_deref(), Some("scibin"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`document`](Self::document). Also fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if the
    /// `name` or the `version` in `asdf_library` is missing, null or a collection.
    pub fn library(&self) -> Result<Option<Software>> {
        self.tree()?.get("asdf_library").map(software).transpose()
    }

    /// Returns the history of the file, or an empty history if the file does not contain one.
    ///
    /// # Errors
    ///
    /// Same as [`document`](Self::document). Also fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if
    /// `history` is a scalar other than null, or if the value of a required key in it is missing, null or a
    /// collection. The required keys are `description` in an entry, `extension_class` in an extension, and `name`
    /// and `version` in software.
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

/// Reads the items of a list. Returns no items if the node is missing or null. Any other node that is not a
/// sequence is read as the only item.
fn list<'a, T>(node: Option<Node<'a>>, item: fn(Node<'a>) -> Result<T>) -> Result<Vec<T>> {
    match node {
        None => Ok(Vec::new()),
        Some(node) if node.is_null() => Ok(Vec::new()),
        Some(node) if node.kind() == NodeKind::Sequence => node.items().map(item).collect(),
        Some(node) => item(node).map(|item| vec![item]),
    }
}

fn required(node: Node<'_>, key: &str) -> Result<String> {
    optional(node, key)
        .ok_or_else(|| node.error(format!("expected a string as the value of `{key}`")))
}

/// Returns the text of an optional scalar. The scalar need not be a string, because a version may look like a
/// number.
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
