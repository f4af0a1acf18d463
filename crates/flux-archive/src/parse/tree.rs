//! The paths of an archive as a tree.
//!
//! A node is looked up by its parent and its name, so finding a path takes time proportional to the
//! length of the path, even in a deep tree.

use std::collections::HashMap;

use crate::model::{ArchivePath, FileType};

/// The index of the root.
const ROOT: usize = 0;

/// A tree of the paths of entries, including the directories above them.
pub(crate) struct Tree<'p> {
    numbers: HashMap<(usize, &'p str), usize>,
    /// The type and position of the entry at each node, or `None` for a directory without an entry.
    entries: Vec<Option<(FileType, usize)>>,
}

impl<'p> Tree<'p> {
    pub(crate) fn new() -> Self {
        Self { numbers: HashMap::new(), entries: vec![None] }
    }

    /// Adds an entry, which has position `at` in the caller's list. Returns the type and position
    /// of an earlier entry with the same path. A later entry replaces an earlier one, but a
    /// directory does not replace a file or link.
    pub(crate) fn insert(
        &mut self,
        path: &'p ArchivePath,
        kind: FileType,
        at: usize,
    ) -> Option<(FileType, usize)> {
        let mut node = ROOT;
        for name in path.components() {
            node = *self.numbers.entry((node, name)).or_insert_with(|| {
                self.entries.push(None);
                self.entries.len() - 1
            });
        }
        let before = self.entries[node];
        let is_file = |(before, _)| before != FileType::Directory;
        if kind != FileType::Directory || !before.is_some_and(is_file) {
            self.entries[node] = Some((kind, at));
        }
        before
    }

    /// Returns the path and type of the outermost file or link above a path, or `None` if there are
    /// only directories above it.
    pub(crate) fn blocked(&self, path: &'p ArchivePath) -> Option<(&'p str, FileType)> {
        let text = path.as_str();
        let (mut node, mut end) = (ROOT, 0);
        for name in path.components() {
            node = *self.numbers.get(&(node, name))?;
            end += name.len();
            if end == text.len() {
                return None;
            }
            match self.entries[node] {
                None | Some((FileType::Directory, _)) => {}
                Some((kind, _)) => return Some((&text[..end], kind)),
            }
            end += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_blocked_by_the_outermost_file_or_link_above_it() {
        let paths = ["a", "a/b", "a/b/c", "d/e", "d/e/f", "ab/c"]
            .map(|path| ArchivePath::parse(path).unwrap());
        let [a, ab, abc, de, def, other] = &paths;
        let mut tree = Tree::new();
        assert_eq!(tree.insert(a, FileType::Symlink, 0), None);
        assert_eq!(tree.insert(a, FileType::Directory, 1), Some((FileType::Symlink, 0)));
        assert_eq!(tree.insert(ab, FileType::Regular, 2), None);
        assert_eq!(tree.insert(abc, FileType::Regular, 3), None);
        assert_eq!(tree.insert(def, FileType::Regular, 4), None);
        assert_eq!(tree.insert(de, FileType::Directory, 5), None);
        assert_eq!(tree.insert(other, FileType::Regular, 6), None);
        assert_eq!(tree.blocked(abc), Some(("a", FileType::Symlink)));
        assert_eq!(tree.blocked(ab), Some(("a", FileType::Symlink)));
        for free in [a, de, def, other] {
            assert_eq!(tree.blocked(free), None);
        }
    }
}
