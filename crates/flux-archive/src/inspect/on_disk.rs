//! Comparing an archive with files on disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::disk::dir::Dir;
use crate::disk::walk::{Walk, name_of};
use crate::error::{Failure, Result};
use crate::inspect::{Change, Difference, VerifyOptions};
use crate::model::{Archive, Content, Entry, FileType};
use crate::parallel::{Progress, report};
use crate::store::{BlobStore, MemoryStore};

/// The directory with which an archive is compared, and the properties to compare.
#[derive(Clone, Debug)]
pub(crate) struct OnDisk {
    root: Dir,
    pub(crate) permissions: bool,
    pub(crate) times: bool,
}

impl VerifyOptions<'_> {
    /// Sets the directory whose files are compared with the archive. Links below the directory are never followed.
    /// Files that are not in the archive are ignored.
    ///
    /// ```
    /// use flux_archive::inspect::{Change, VerifyOptions};
    /// use flux_archive::{Archive, Profile};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// std::fs::write(folder.path().join("f"), "new")?;
    /// let json = br#"{"f":{"mode":33188,"encoding":"utf-8","data":"old"}}"#;
    /// let archive = Archive::parse(json, Profile::Flux)?;
    /// let options = VerifyOptions::new().directory(folder.path())?.permissions(false);
    /// assert_eq!(archive.verify(&options).differences[0].changes, [Change::Content]);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be opened.
    pub fn directory(mut self, root: impl AsRef<Path>) -> io::Result<Self> {
        let root = Dir::open(root.as_ref())?;
        self.disk = Some(OnDisk { root, permissions: true, times: true });
        Ok(self)
    }

    /// Sets whether permissions are compared with those of the files on disk. The permissions of
    /// links are never compared. Call this after [`directory`](Self::directory). Default: yes.
    #[must_use]
    pub fn permissions(mut self, permissions: bool) -> Self {
        self.disk.iter_mut().for_each(|disk| disk.permissions = permissions);
        self
    }

    /// Sets whether modification times are compared with those of the files on disk. An entry
    /// without a modification time matches any time. Call this after
    /// [`directory`](Self::directory). Default: yes.
    #[must_use]
    pub fn times(mut self, times: bool) -> Self {
        self.disk.iter_mut().for_each(|disk| disk.times = times);
        self
    }
}

impl OnDisk {
    /// Returns the paths at which files differ from the archive, in the order of the archive, and the paths that could
    /// not be compared.
    pub(crate) fn compare(
        &self,
        archive: &Archive<'_>,
        store: Option<&dyn BlobStore>,
        progress: Option<Progress<'_>>,
    ) -> (Vec<Difference>, Vec<Failure>) {
        let (mut differences, mut failures) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(self.root.clone());
        let none = MemoryStore::new();
        let store = store.unwrap_or(&none);
        for entry in archive.entries() {
            let path = entry.path().to_string();
            match self.changes(&mut walk, entry, store, progress) {
                Ok(changes) if changes.is_empty() => {}
                Ok(changes) => differences.push(Difference { path, changes }),
                Err(error) => failures.push(Failure { path, error }),
            }
        }
        (differences, failures)
    }

    fn changes(
        &self,
        walk: &mut Walk,
        entry: &Entry<'_>,
        store: &dyn BlobStore,
        progress: Option<Progress<'_>>,
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
                if !same_content(entry, &dir.open_file(name)?, store, progress)? {
                    changes.push(Change::Content);
                }
            }
        }
        Ok(changes)
    }
}

fn same_content(
    entry: &Entry<'_>,
    file: &File,
    store: &dyn BlobStore,
    progress: Option<Progress<'_>>,
) -> Result<bool> {
    let (mut same, mut theirs) = (true, Vec::new());
    entry.reader(store)?.for_each_piece(0..entry.len(), |offset, ours| {
        theirs.resize(ours.len(), 0);
        same = match file.read_exact_at(&mut theirs, offset) {
            Ok(()) => theirs == ours,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(error.into()),
        };
        report(progress, ours.len() as u64);
        Ok(same)
    })?;
    Ok(same)
}

/// Returns `true` if the file does not exist, or if a component above it is not a directory.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
