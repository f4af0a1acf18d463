//! Opening the directories of an archive one after another, by file descriptor.

use std::io;

use super::dir::Dir;
use crate::model::ArchivePath;

/// The maximum depth at which a [`Walk`] keeps every directory on a path open. If the path is deeper, the walk also
/// keeps the last directory of the path open, but not the directories in between.
const KEPT_LEVELS: usize = 32;

/// Opens directories below a root one after another. Keeps the directories on a recent path open,
/// down to a depth of [`KEPT_LEVELS`], and the last directory below this depth. Thus, opening a
/// nearby directory is fast.
#[derive(Debug)]
pub(crate) struct Walk {
    root: Dir,
    /// The names and descriptors of the directories on a recently opened path, outermost first,
    /// without the root. Only the outermost [`KEPT_LEVELS`] directories are kept.
    kept: Vec<(Box<str>, Dir)>,
    /// The path and descriptor of the last directory deeper than [`KEPT_LEVELS`].
    deep: Option<(Box<str>, Dir)>,
}

impl Walk {
    /// Creates a walk below a root directory.
    pub(crate) fn new(root: Dir) -> Self {
        Self { root, kept: Vec::new(), deep: None }
    }

    /// Opens the directory that contains the entry at a path.
    pub(crate) fn parent(&mut self, path: &ArchivePath) -> io::Result<Dir> {
        self.directory(path.ancestors().next(), &mut |_, _, _| Ok(()))
    }

    /// Opens a directory below the root, or the root for `None`. Directories on the path that were kept open are used
    /// again. Before any other directory is opened, `before` is called with its parent, name and path, and may create
    /// the directory.
    pub(crate) fn directory(
        &mut self,
        path: Option<&str>,
        before: &mut dyn FnMut(&Dir, &str, &str) -> io::Result<()>,
    ) -> io::Result<Dir> {
        let Some(path) = path else { return Ok(self.root.clone()) };
        if let Some((_, dir)) = self.deep.as_ref().filter(|(deep, _)| **deep == *path) {
            return Ok(dir.clone());
        }
        let mut end = 0;
        let mut current = self.root.clone();
        let mut matching = true;
        for (level, name) in path.split('/').enumerate() {
            end += name.len() + usize::from(level > 0);
            if matching {
                match self.kept.get(level) {
                    Some((kept, dir)) if **kept == *name => {
                        current = dir.clone();
                        continue;
                    }
                    _ => self.kept.truncate(level),
                }
                matching = false;
            }
            before(&current, name, &path[..end])?;
            current = current.enter(name)?;
            if level < KEPT_LEVELS {
                self.kept.push((name.into(), current.clone()));
            }
        }
        if path.split('/').nth(KEPT_LEVELS).is_some() {
            self.deep = Some((path.into(), current.clone()));
        }
        Ok(current)
    }
}

/// Returns the last component of a path.
pub(crate) fn name_of(path: &ArchivePath) -> &str {
    path.as_str().rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::dir::stat;
    use super::*;

    fn path(text: &str) -> ArchivePath {
        ArchivePath::parse(text).unwrap()
    }

    #[test]
    fn a_walk_opens_directories_at_any_depth_in_any_order() {
        let folder = tempfile::tempdir().unwrap();
        let deep = vec!["d"; 60].join("/");
        fs::create_dir_all(folder.path().join(&deep)).unwrap();
        fs::create_dir_all(folder.path().join("e/f")).unwrap();
        let mut walk = Walk::new(Dir::open(folder.path()).unwrap());
        let all: Vec<_> = (0..60).map(|n| format!("{}f", "d/".repeat(n))).collect();
        for file in all.iter().chain(all.iter().rev()).map(String::as_str).chain(["e/f/x", "d/x"]) {
            let parent = walk.parent(&path(file)).unwrap();
            let found = stat(&parent).unwrap();
            let expected = folder.path().join(file).parent().map(Dir::open).unwrap().unwrap();
            assert_eq!(found.0.st_ino, stat(&expected).unwrap().0.st_ino, "{file}");
        }
    }

    #[test]
    fn a_walk_does_not_follow_links() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("real/sub")).unwrap();
        symlink("real", folder.path().join("link")).unwrap();
        symlink("/", folder.path().join("real/root")).unwrap();
        let mut walk = Walk::new(Dir::open(folder.path()).unwrap());
        for through in ["link/f", "link/sub/f", "real/root/f", "real/root/tmp/f"] {
            assert!(walk.parent(&path(through)).is_err(), "{through}");
        }
        assert!(walk.parent(&path("real/sub/f")).is_ok());
    }

    #[test]
    fn a_walk_does_not_follow_a_link_that_replaced_a_directory() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let mut walk = Walk::new(Dir::open(folder.path()).unwrap());
        let held = walk.parent(&path("a/b/f")).unwrap();
        fs::rename(folder.path().join("a/b"), folder.path().join("moved")).unwrap();
        symlink("../elsewhere", folder.path().join("a/b")).unwrap();
        // The directory that is already open can still be used, but opening its path again fails.
        held.make_dir("made", 0o700).unwrap();
        assert!(folder.path().join("moved/made").is_dir());
        assert!(Walk::new(Dir::open(folder.path()).unwrap()).parent(&path("a/b/f")).is_err());
    }
}
