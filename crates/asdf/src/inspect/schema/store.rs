//! A collection of schemas and manifests, which can be found by URI and by tag.

use std::collections::{HashMap, HashSet};
#[cfg(any(unix, windows))]
use std::path::{Path, PathBuf};

use super::uri;
#[cfg(any(unix, windows))]
use crate::error::Error;
use crate::error::Result;
use crate::tag::Version;
use crate::yaml::{Document, NodeKind, ParseOptions, YamlNode};

/// Maximum length of a schema in bytes.
#[cfg(any(unix, windows))]
const MAX_TEXT: u64 = 16 << 20;
/// Maximum number of files and folders to examine when reading a folder of schemas.
#[cfg(any(unix, windows))]
const MAX_FILES: usize = 200_000;

/// Schemas, and the manifests that assign schemas to tags.
#[derive(Debug, Default)]
pub struct Schemas {
    documents: Vec<Document>,
    /// Maps the `id` of each document to its index in `documents`.
    by_uri: HashMap<String, usize>,
    /// The schemas for each tag, with one entry for each manifest that contains the tag.
    by_tag: HashMap<String, Vec<TagSchemas>>,
}

/// The schemas that a manifest assigns to a tag.
#[derive(Debug)]
struct TagSchemas {
    /// URI of the extension to which the manifest belongs.
    extension: Option<String>,
    /// The version at the end of the extension's URI. If there is no extension, the version at the end of the
    /// manifest's `id`.
    version: Option<Version>,
    uris: Vec<String>,
}

/// A lookup of the schemas for the tags in a file. The extensions that the file lists determine
/// which manifests are used.
#[derive(Debug)]
pub(super) struct FileTags<'s> {
    schemas: &'s Schemas,
    /// The URIs of the extensions that the file lists.
    extensions: HashSet<String>,
}

impl<'s> FileTags<'s> {
    /// Creates the lookup for a file, given the root of its tree.
    pub(super) fn of(schemas: &'s Schemas, root: YamlNode<'_>) -> Self {
        let list = root.get("history").and_then(|history| history.get("extensions"));
        let uris = list.into_iter().flat_map(YamlNode::items);
        let uris = uris.filter_map(|extension| extension.get("extension_uri")?.as_str());
        Self { schemas, extensions: uris.map(str::to_owned).collect() }
    }

    /// Returns the URIs of the schemas for a tag. If several manifests contain the tag, the newest manifest
    /// whose extension is listed in the file is used. If none is listed, the newest of all is used. For a tag
    /// without a manifest, the URI is derived from the tag, as was usual before manifests existed.
    pub(super) fn schemas_of(&self, tag: &str) -> Vec<&'s str> {
        if let Some(manifests) = self.schemas.by_tag.get(tag) {
            let is_named = |manifest: &TagSchemas| {
                manifest.extension.as_ref().is_some_and(|uri| self.extensions.contains(uri))
            };
            // If several manifests are equally new, use the one that was read first.
            let newest = manifests.iter().rev().max_by_key(|it| (is_named(it), it.version));
            let uris = newest.into_iter().flat_map(|manifest| &manifest.uris);
            return uris.map(String::as_str).collect();
        }
        let Some((domain, path)) = tag.strip_prefix("tag:").and_then(|tag| tag.split_once(':'))
        else {
            return Vec::new();
        };
        let uri = format!("http://{domain}/schemas/{path}");
        let known = self.schemas.by_uri.get_key_value(&uri);
        known.map(|(uri, _)| uri.as_str()).into_iter().collect()
    }
}

/// A summary of reading a folder of schemas.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[cfg(any(unix, windows))]
pub struct FolderReport {
    /// Number of schemas and manifests that have been read.
    pub read: usize,
    /// YAML files and subfolders that could not be read, each with its error.
    pub failed: Vec<(PathBuf, Error)>,
}

impl Schemas {
    /// Creates an empty collection of schemas.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if no document in the collection has an `id`. Manifests without an `id` do not count.
    pub fn is_empty(&self) -> bool {
        self.by_uri.is_empty()
    }

    /// Reads a schema or a manifest. Returns `false` and ignores the text if it has neither `id` nor `tags`.
    ///
    /// If several documents have the same `id`, the one that was added first is used. If several manifests
    /// contain the same tag, [`Asdf::validate`](crate::Asdf::validate) and [`describe`](Self::describe) use the
    /// newest manifest whose extension is listed in the history of the file. If none is listed, they use the
    /// newest of all.
    ///
    /// # Errors
    ///
    /// Same as [`Document::parse`], with the default limits.
    pub fn add(&mut self, text: &str) -> Result<bool> {
        self.add_bytes(text.as_bytes())
    }

    fn add_bytes(&mut self, text: &[u8]) -> Result<bool> {
        let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
        let root = document.root();
        let id =
            root.get("id").and_then(YamlNode::as_str).map(|id| id.trim_end_matches('#').to_owned());
        let tags = root.get("tags").filter(|tags| tags.kind() == NodeKind::Sequence);
        if id.is_none() && tags.is_none() {
            return Ok(false);
        }
        let extension = root.get("extension_uri").and_then(YamlNode::as_str);
        let version = extension.or(id.as_deref()).and_then(version_of);
        for entry in tags.into_iter().flat_map(YamlNode::items) {
            let Some(tag) = entry.get("tag_uri").and_then(YamlNode::as_str) else { continue };
            let uris = entry.get("schema_uri");
            let one = uris.and_then(YamlNode::as_str).into_iter();
            let many = uris.into_iter().flat_map(YamlNode::items).filter_map(YamlNode::as_str);
            let uris: Vec<String> = one.chain(many).map(str::to_owned).collect();
            let extension = extension.map(str::to_owned);
            let manifest = TagSchemas { extension, version, uris };
            self.by_tag.entry(tag.to_owned()).or_default().push(manifest);
        }
        if let Some(id) = id {
            self.by_uri.entry(id).or_insert(self.documents.len());
        }
        self.documents.push(document);
        Ok(true)
    }

    /// Reads all schemas and manifests in a folder and its subfolders, in the order of their paths.
    /// Only considers files whose names end with `.yaml` or `.yml`. The folder can be an installed
    /// Python package that contains schemas.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the folder cannot be opened, or if an error occurs
    /// while listing it or a subfolder. Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the folder
    /// and its subfolders contain more than 200,000 files and folders. The report lists the subfolders that
    /// cannot be opened, and the YAML files that are unreadable, invalid or larger than 16 MiB.
    #[cfg(any(unix, windows))]
    pub fn add_folder(&mut self, folder: impl AsRef<Path>) -> Result<FolderReport> {
        let mut report = FolderReport::default();
        let mut left = vec![folder.as_ref().to_owned()];
        let (mut looked_at, mut files) = (0, Vec::new());
        while let Some(folder) = left.pop() {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if looked_at == 0 => return Err(error.into()),
                Err(error) => {
                    report.failed.push((folder, error.into()));
                    continue;
                }
            };
            for entry in entries {
                looked_at += 1;
                if looked_at > MAX_FILES {
                    return Err(Error::limit(
                        "files and folders to search for schemas",
                        MAX_FILES as u64,
                        looked_at as u64,
                    ));
                }
                let entry = entry?;
                let path = entry.path();
                // Do not follow links to folders, because they could lead to an endless loop.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    left.push(path);
                } else if is_yaml(&path) && path.is_file() {
                    files.push(path);
                }
            }
        }
        files.sort();
        for path in files {
            match read(&path).and_then(|text| self.add_bytes(&text)) {
                Ok(is_schema) => report.read += usize::from(is_schema),
                Err(error) => report.failed.push((path, error)),
            }
        }
        Ok(report)
    }

    /// Returns the schema with this URI. If the URI has a fragment, returns the node to which the fragment leads.
    pub(super) fn find(&self, uri: &str) -> Option<Place<'_>> {
        let (uri, fragment) = uri::split(uri);
        let number = *self.by_uri.get(uri)?;
        let document = self.documents.get(number)?;
        let node = node_at(document.root(), &fragment)?;
        let (uri, _) = self.by_uri.get_key_value(uri)?;
        Some(Place { number, uri, node, is_target: true })
    }

    /// Returns the schema that the `$ref` of a schema refers to.
    pub(super) fn target<'s>(&'s self, schema: Place<'s>) -> Option<Place<'s>> {
        let reference = schema.node.get("$ref").and_then(YamlNode::as_str)?;
        self.find(&uri::join(schema.uri, reference))
    }
}

/// A node in a schema document.
#[derive(Clone, Copy)]
pub(super) struct Place<'s> {
    /// The index of the document in [`Schemas`].
    pub(super) number: usize,
    /// The URI of the document, against which relative references are resolved.
    pub(super) uri: &'s str,
    pub(super) node: YamlNode<'s>,
    /// Whether the node was reached through a URI. Such a node may be reached more than once, unlike
    /// a node that was reached from the enclosing schema.
    pub(super) is_target: bool,
}

impl<'s> Place<'s> {
    pub(super) fn at(self, node: YamlNode<'s>) -> Self {
        Self { node, is_target: false, ..self }
    }

    /// Returns the URI of a keyword in this node.
    pub(super) fn path(self, keyword: &str) -> String {
        let pointer = self.node.to_pointer().unwrap_or_default();
        let slash = if keyword.is_empty() { "" } else { "/" };
        format!("{}#{pointer}{slash}{keyword}", self.uri)
    }
}

/// Returns the node to which the fragment of a URI leads. As in the reference implementation, a `~` that is not
/// part of an escape stands for itself, because the schemas of the Roman telescope refer to keys such as
/// `psf_~band~_flux` without escapes.
fn node_at<'s>(root: YamlNode<'s>, fragment: &str) -> Option<YamlNode<'s>> {
    if fragment.is_empty() {
        return Some(root);
    }
    let unescaped = |token: &str| token.replace("~1", "/").replace("~0", "~");
    let mut tokens = fragment.strip_prefix('/')?.split('/');
    tokens.try_fold(root, |node, token| node.step(&unescaped(token)).ok())
}

/// Returns the version at the end of a URI, such as `1.6.0` or `1.6`.
fn version_of(uri: &str) -> Option<Version> {
    let (_, version) = uri.rsplit_once('-')?;
    version.parse().or_else(|_| format!("{version}.0").parse()).ok()
}

#[cfg(any(unix, windows))]
fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

#[cfg(any(unix, windows))]
fn read(path: &Path) -> Result<Vec<u8>> {
    let len = std::fs::metadata(path)?.len();
    binio::check_limit("bytes of a schema", MAX_TEXT, len)?;
    Ok(std::fs::read(path)?)
}
