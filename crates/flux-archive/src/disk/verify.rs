//! Comparison of an archive with files on disk.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::disk::dir::Dir;
use crate::disk::walk::{Walk, name_of};
use crate::error::{Failure, Result};
use crate::inspect::Change;
use crate::model::{Archive, Content, Entry, FileType};
use crate::parallel::{Progress, report};
use crate::store::BlobStore;

/// Compares archives with the files below a directory.
///
/// Links are never followed.
///
/// ```
/// use flux_archive::store::MemoryStore;
/// use flux_archive::{Archive, Change, DiskVerifier, Profile};
///
/// # let folder = tempfile::tempdir().unwrap();
/// std::fs::write(folder.path().join("f"), "new")?;
/// let json = br#"{"f":{"mode":33188,"encoding":"utf-8","data":"old"}}"#;
/// let archive = Archive::parse(json, Profile::Flux)?;
/// let verifier = DiskVerifier::new(folder.path())?.permissions(false);
/// let (differences, failures) = verifier.run(&archive, &MemoryStore::new());
/// assert_eq!(differences, [("f".to_owned(), vec![Change::Content])]);
/// assert!(failures.is_empty());
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[derive(Clone)]
pub struct DiskVerifier<'p> {
    root: Dir,
    permissions: bool,
    times: bool,
    progress: Option<Progress<'p>>,
}

impl fmt::Debug for DiskVerifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskVerifier").field("root", &self.root).finish_non_exhaustive()
    }
}

impl<'p> DiskVerifier<'p> {
    /// Compares with the files below a directory.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        let root = Dir::open(root.as_ref())?;
        Ok(Self { root, permissions: true, times: true, progress: None })
    }

    setters! {
        /// Sets whether permissions are compared, except those of links. Default: yes.
        permissions: bool;

        /// Sets whether modification times are compared, if the archive has them. Default: yes.
        times: bool;

        /// Reports progress in bytes of compared files.
        progress: Progress<'p>;
    }

    /// Returns the paths at which the files differ, in the order of the archive, and those that could not be
    /// compared. Of a path that occurs twice each entry is compared. Files that are not in the archive are
    /// ignored.
    pub fn run(
        &self,
        archive: &Archive<'_>,
        store: &dyn BlobStore,
    ) -> (Vec<(String, Vec<Change>)>, Vec<Failure>) {
        let (mut differences, mut failures) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(self.root.clone());
        for entry in archive.entries() {
            let path = || entry.path().as_str().to_owned();
            match self.compare(&mut walk, entry, store) {
                Ok(changes) if changes.is_empty() => {}
                Ok(changes) => differences.push((path(), changes)),
                Err(error) => failures.push(Failure { path: path(), error }),
            }
        }
        (differences, failures)
    }

    fn compare(
        &self,
        walk: &mut Walk,
        entry: &Entry<'_>,
        store: &dyn BlobStore,
    ) -> Result<Vec<Change>> {
        let name = name_of(entry.path());
        let found = walk.parent(entry.path()).and_then(|dir| Ok((dir.stat(name)?, dir)));
        let (found, dir) = match found {
            Ok(found) => found,
            Err(error) if is_absence(&error) => return Ok(vec![Change::Removed]),
            Err(error) => return Err(error.into()),
        };
        let Some(kind) = found.file_type() else { return Ok(vec![Change::OtherType]) };
        if kind != entry.file_type() {
            return Ok(vec![Change::Type(entry.file_type(), kind)]);
        }
        let mut changes = Vec::new();
        let (before, now) = (entry.mode().permissions(), found.permissions());
        if self.permissions && kind != FileType::Symlink && before != now {
            changes.push(Change::Permissions(before, now));
        }
        if self.times && entry.mtime().is_some_and(|mtime| mtime != found.mtime()) {
            changes.push(Change::Mtime(entry.mtime(), Some(found.mtime())));
        }
        match entry.content() {
            Content::Directory => {}
            Content::Symlink(target) => {
                let now = String::from_utf8_lossy(&dir.read_link(name)?).into_owned();
                if **target != now {
                    changes.push(Change::Target(target.clone().into_owned(), now));
                }
            }
            _ if entry.len() != found.size() => {
                changes.push(Change::Size(entry.len(), found.size()));
            }
            _ => {
                if !self.same_content(entry, &dir.open_file(name)?, store)? {
                    changes.push(Change::Content);
                }
            }
        }
        Ok(changes)
    }

    fn same_content(&self, entry: &Entry<'_>, file: &File, store: &dyn BlobStore) -> Result<bool> {
        let (mut same, mut theirs) = (true, Vec::new());
        entry.reader(store)?.for_each_piece(0..entry.len(), |offset, ours| {
            theirs.resize(ours.len(), 0);
            same = match file.read_exact_at(&mut theirs, offset) {
                Ok(()) => theirs == ours,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
                Err(error) => return Err(error.into()),
            };
            report(self.progress, ours.len() as u64);
            Ok(same)
        })?;
        Ok(same)
    }
}

/// Whether the file does not exist, or a directory above it is something else.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
