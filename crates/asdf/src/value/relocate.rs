//! Updating the URIs of external files in a tree that is written to another folder.

use std::fmt::Write as _;
use std::io;
use std::path::{Component, Path, PathBuf};

use binio::pointer::percent_decode_lenient;

use crate::error::Result;
use crate::value::walk::Visit;
use crate::value::{Tree, Value};

impl Tree {
    /// Rewrites the relative URIs of external files in arrays, in `$ref` and in `fileuri` (used by
    /// `core/externalarray`), so that a tree read from the folder `from` can be written to the
    /// folder `to`. Absolute paths and URIs with a scheme are kept. Returns `true` if a URI was
    /// rewritten.
    ///
    /// # Errors
    ///
    /// Fails if one of the folders does not exist or cannot be accessed.
    ///
    /// ```
    /// use asdf::Tree;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// # std::fs::create_dir(folder.join("copies"))?;
    /// let mut tree = Tree::parse("reference: {$ref: 'flat field.asdf#/data'}")?;
    /// assert!(tree.relocate(folder, folder.join("copies"))?);
    /// let uri = tree.pointer("/reference/$ref").and_then(|uri| uri.as_str());
    /// assert_eq!(uri, Some("../flat%20field.asdf#/data"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn relocate(&mut self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<bool> {
        let (from, to) = (from.as_ref().canonicalize()?, to.as_ref().canonicalize()?);
        if from == to {
            return Ok(false);
        }
        let mut has_changed = false;
        let walked: Result<()> = self.walk_mut(Visit::WithoutElements, &mut |value| {
            if let Some(uri) = external_uri(value) {
                let moved = uri.as_str().and_then(|uri| relocated(uri, &from, &to));
                if let Some(moved) = moved {
                    *uri = moved.into();
                    has_changed = true;
                }
            }
            Ok(())
        });
        walked.map_err(io::Error::other)?;
        Ok(has_changed)
    }
}

/// Returns the URI of an external file, if the value refers to one.
fn external_uri(value: &mut Value) -> Option<&mut Value> {
    let is_array = value.is_ndarray();
    let mapping = value.as_mapping_mut()?;
    let keys = [("source", is_array), ("$ref", true), ("fileuri", true)];
    let key = keys.into_iter().find(|(key, counts)| {
        *counts && mapping.get(key).is_some_and(|value| value.as_str().is_some())
    })?;
    mapping.get_mut(key.0)
}

/// Converts a URI relative to the folder `from` to a URI relative to the folder `to`; both folders are
/// absolute. Returns `None` if the URI is not relative, has only a fragment, or cannot be decoded.
fn relocated(uri: &str, from: &Path, to: &Path) -> Option<String> {
    let (path, fragment) = uri.find('#').map_or((uri, ""), |at| uri.split_at(at));
    let has_scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    if path.is_empty() || has_scheme || path.starts_with('/') {
        return None;
    }
    let path = percent_decode_lenient(path)?;
    let path = pathdiff::diff_paths(without_dots(&from.join(&*path)), to)?;
    let parts = path.components().map(|part| to_uri(&part.as_os_str().to_string_lossy()));
    Some(parts.collect::<Vec<_>>().join("/") + fragment)
}

/// Removes `.` and `..` from a path without following symbolic links, as is usual for URIs.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            component => plain.push(component),
        }
    }
    plain
}

/// Converts a file name to a relative URI.
pub(crate) fn to_uri(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relocated_uri_leads_to_the_same_file_from_the_new_folder() {
        let moved = |uri| relocated(uri, Path::new("/data/night 1"), Path::new("/data/copies/a"));
        for (uri, expected) in [
            ("flat.asdf", Some("../../night%201/flat.asdf")),
            ("./sub/f%20g.asdf#/data/0", Some("../../night%201/sub/f%20g.asdf#/data/0")),
            ("../copies/a/here.asdf", Some("here.asdf")),
            ("#/data", None),
            ("", None),
            ("/absolute.asdf", None),
            ("file:///absolute.asdf", None),
            ("http://example.com/f.asdf", None),
        ] {
            assert_eq!(moved(uri).as_deref(), expected, "{uri}");
        }
    }
}
