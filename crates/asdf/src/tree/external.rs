//! External files, which contain the data of an array or the target of a reference.
//!
//! ```yaml
//! data: !core/ndarray-1.1.0 {source: base0000.asdf, ..}   # the first block of that file
//! other: {$ref: "base.asdf#/data"}                        # a node of that file
//! ```
//!
//! External files are identified by URIs. Without a resolver, a URI is percent-decoded to a path, and a relative
//! path is resolved against the folder of the file that contains the URI. A path that does not lead to a regular
//! file is rejected. Since an untrusted file may contain any URI, the policy [`External`] decides which files may
//! be opened. This crate never fetches anything over a network.
//!
//! The file that the user opened keeps a list of all files that are reached from it, directly or indirectly. A
//! file is added to the list when it is first needed. The list has at most
//! [`OpenOptions::max_files`](crate::OpenOptions::max_files) files, and only some of them are open at a time. A
//! file that refers to itself by its path is not opened again.

use std::path::{Component, Path, PathBuf};

use binio::pointer::percent_decode_lenient;

use crate::asdf::{Asdf, FileKey};
use crate::error::{Error, ReferenceError, Result};
use crate::options::External;

/// The file that contains a node (`current`), and the file that the user opened (`root`), whose
/// policy and list of external files apply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files<'a> {
    pub(crate) root: &'a Asdf,
    pub(crate) current: &'a Asdf,
}

/// Opens the external file that a URI in another file refers to, if the policy allows it.
pub(crate) fn open_external<'a>(file: &'a Asdf, uri: &str) -> Result<&'a Asdf> {
    Ok(Files::of(file).open(uri)?.current)
}

impl<'a> Files<'a> {
    /// Creates the pair for a node in the file that the user opened, which is both `root` and `current`.
    pub(crate) fn of(root: &'a Asdf) -> Self {
        Self { root, current: root }
    }

    /// Opens the file that a URI without a fragment refers to. An empty URI refers to the current file.
    pub(crate) fn open(self, uri: &str) -> Result<Self> {
        if uri.is_empty() {
            return Ok(self);
        }
        let fail = |kind| Error::reference(uri, kind);
        let options = self.root.options();
        let policy = &options.external;
        if let External::Resolver(resolver) = policy {
            let open = || options.from_source(resolver(uri)?);
            let current = self.root.other_file(&FileKey::Uri(uri.to_owned()), open);
            let current = current.map_err(|error| fail(ReferenceError::External(error.into())))?;
            return Ok(Self { current, ..self });
        }
        let path = self.find(uri, policy).map_err(fail)?;
        if self.root.path().and_then(|root| root.canonicalize().ok()).as_ref() == Some(&path) {
            return Ok(Self::of(self.root));
        }
        let current = self
            .root
            .other_file(&FileKey::Path(path.clone()), || open_path(self.root, &path))
            .map_err(|error| fail(ReferenceError::External(error.into())))?;
        Ok(Self { current, ..self })
    }

    /// Returns the canonical path that a URI refers to. Fails if the policy does not allow the path, or if it is
    /// not the path of a regular file.
    fn find(self, uri: &str, policy: &External) -> Result<PathBuf, ReferenceError> {
        let forbidden = |why: &str| ReferenceError::Forbidden(why.to_owned());
        let root = match policy {
            External::Deny | External::Resolver(_) => {
                return Err(forbidden("the policy allows no external files"));
            }
            External::Any => None,
            External::Root(root) => Some(root.clone()),
            External::SameDir => Some(folder(self.root)?.to_owned()),
        };
        let relative = path_of(uri)?;
        if root.is_some() {
            check_plain(uri, &relative)?;
        }
        let path =
            if relative.is_absolute() { relative } else { folder(self.current)?.join(relative) };
        let not_found = |error: std::io::Error| {
            ReferenceError::NotFound(format!("external file {}: {error}", path.display()))
        };
        let found = path.canonicalize().map_err(not_found)?;
        if let Some(root) = root {
            let root = root.canonicalize().map_err(not_found)?;
            if !found.starts_with(&root) {
                return Err(forbidden(&format!(
                    "the path leads outside the folder {}",
                    root.display()
                )));
            }
        }
        // Open only regular files: opening a FIFO could block forever, and a device may never end.
        if !found.metadata().map_err(not_found)?.is_file() {
            return Err(forbidden("the path is not a regular file"));
        }
        Ok(found)
    }
}

/// Returns the folder that contains a file.
fn folder(file: &Asdf) -> Result<&Path, ReferenceError> {
    let path = file.path().ok_or_else(|| {
        ReferenceError::Forbidden(
            "the referring file was not opened from a path, so its folder is unknown".into(),
        )
    })?;
    Ok(folder_of(path))
}

/// Returns the parent folder of a path, or `.` for a bare file name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Converts a URI to a path by removing `file:` or `file://localhost` and decoding percent escapes.
fn path_of(uri: &str) -> Result<PathBuf, ReferenceError> {
    let path = uri.strip_prefix("file:").unwrap_or(uri);
    let path = match path.strip_prefix("//") {
        // The URI has the form `file://localhost/path` or `file:///path`.
        Some(rest) if path.len() < uri.len() => rest.strip_prefix("localhost").unwrap_or(rest),
        _ => path,
    };
    let decoded = percent_decode_lenient(path)
        .ok_or_else(|| ReferenceError::Syntax("the percent-encoded bytes are not UTF-8".into()))?;
    if decoded.contains('\0') {
        return Err(ReferenceError::Syntax("the file name contains a NUL character".into()));
    }
    Ok(PathBuf::from(decoded.into_owned()))
}

/// Fails if the URI has a scheme, or if the path is absolute or contains `..`.
fn check_plain(uri: &str, path: &Path) -> Result<(), ReferenceError> {
    let scheme = uri.split_once(':').is_some_and(|(scheme, _)| {
        let letters = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(letters)
    });
    if scheme {
        return Err(ReferenceError::Forbidden(
            "the policy allows only relative paths, but the URI has a scheme".into(),
        ));
    }
    for component in path.components() {
        match component {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir => {
                return Err(ReferenceError::Forbidden("the path contains `..`".into()));
            }
            _ => {
                return Err(ReferenceError::Forbidden(
                    "the policy allows only relative paths, but the path is absolute".into(),
                ));
            }
        }
    }
    Ok(())
}

#[cfg(any(unix, windows))]
fn open_path(root: &Asdf, path: &Path) -> Result<Asdf> {
    root.open_other(path)
}

#[cfg(not(any(unix, windows)))]
fn open_path(_: &Asdf, path: &Path) -> Result<Asdf> {
    let message = "external files cannot be opened on this platform".to_owned();
    Err(Error::reference(path.display().to_string(), ReferenceError::Forbidden(message)))
}
