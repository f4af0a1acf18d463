//! The block files of an exploded file: finding those in use, and removing obsolete ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, mem};

use binio::write::AtomicFile;

use crate::asdf::Asdf;
use crate::error::Result;
use crate::ndarray::source::Source;
use crate::value::relocate::to_uri;

/// Returns the URIs of the external files that the arrays of an existing file refer to, or an empty set if the
/// file cannot be read.
pub(super) fn sources(path: &Path) -> BTreeSet<String> {
    let Ok(file) = Asdf::open(path) else { return BTreeSet::new() };
    let Ok(document) = file.document() else { return BTreeSet::new() };
    let uri = |source| match source {
        Source::File(uri) => Some(uri.to_owned()),
        _ => None,
    };
    let sources = document.nodes().filter_map(|node| node.get("source").and_then(Source::parse));
    sources.filter_map(uri).collect()
}

/// Returns the block files that become obsolete when a new tree replaces the existing one. Obsolete
/// files are named like exploded block files, and the existing tree refers to them, but the new
/// tree does not.
pub(super) fn only_old(path: &Path, new: &BTreeSet<String>) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = |uri: &String| {
        // Digits are never escaped in a URI, so the number can be read directly.
        let number = uri.strip_prefix(&to_uri(&stem))?.strip_suffix(".asdf")?;
        let is_number = number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| path.with_file_name(format!("{stem}{number}.asdf")))
    };
    sources(path).difference(new).filter_map(name).filter(|file| !is_special(file)).collect()
}

/// Removes files. Errors are ignored, because a file that remains is harmless.
pub(super) fn remove(files: &[PathBuf]) {
    for file in files {
        let _ = fs::remove_file(file);
    }
}

/// Returns `true` if the path exists but is not a regular file, for example a symbolic link.
pub(super) fn is_special(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

/// New block files, which are put into place before the tree that refers to them. They are removed on drop,
/// unless [`Self::keep`] is called.
#[derive(Default)]
pub(super) struct NewFiles(Vec<PathBuf>);

impl NewFiles {
    pub(super) fn commit(&mut self, files: Vec<AtomicFile>) -> Result<()> {
        // Do not register a file that replaces an existing one, because removing the new file would
        // not restore the old one.
        let new = files.iter().map(AtomicFile::target);
        self.0.extend(new.filter(|path| fs::symlink_metadata(path).is_err()).map(Path::to_owned));
        Ok(AtomicFile::commit_all(files)?)
    }

    /// Keeps the files. Call this before the tree that refers to them is put into place.
    pub(super) fn keep(mut self) {
        mem::take(&mut self.0);
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        remove(&self.0);
    }
}
