//! The block files of an exploded file: which of them are in use, and which are left over.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, mem};

use binio::write::AtomicFile;

use crate::asdf::Asdf;
use crate::error::Result;
use crate::ndarray::source::Source;
use crate::value::relocate::to_uri;

/// Returns the URIs of the files that the arrays of an existing file name. A file that cannot be read names
/// none.
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

/// Returns the block files that are no longer needed once a new tree replaces an existing one: the existing
/// tree names them, exploding it created their names, and the new tree does not name them.
pub(super) fn only_old(path: &Path, new: &BTreeSet<String>) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = |uri: &String| {
        // The number has no characters that a URI encodes.
        let number = uri.strip_prefix(&to_uri(&stem))?.strip_suffix(".asdf")?;
        let is_number = number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| path.with_file_name(format!("{stem}{number}.asdf")))
    };
    sources(path).difference(new).filter_map(name).filter(|file| !is_special(file)).collect()
}

/// Removes files. What cannot be removed is left over, and does no harm.
pub(super) fn remove(files: &[PathBuf]) {
    for file in files {
        let _ = fs::remove_file(file);
    }
}

/// Returns `true` for an existing name that is not a regular file, such as a symbolic link.
pub(super) fn is_special(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

/// Block files that have their names before the tree has its own. Dropped, they are removed.
#[derive(Default)]
pub(super) struct NewFiles(Vec<PathBuf>);

impl NewFiles {
    pub(super) fn commit(&mut self, files: Vec<AtomicFile>) -> Result<()> {
        // A file that is replaced was there before, so something of that name stays.
        let new = files.iter().map(AtomicFile::target);
        self.0.extend(new.filter(|path| fs::symlink_metadata(path).is_err()).map(Path::to_owned));
        Ok(AtomicFile::commit_all(files)?)
    }

    /// Keeps the files: the tree that names them is in place.
    pub(super) fn keep(mut self) {
        mem::take(&mut self.0);
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        remove(&self.0);
    }
}
