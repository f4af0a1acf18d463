//! The paths of an archive as a tree.
//!
//! A node is found by its parent and its name, so that the time for a path is proportional to its length,
//! whatever its depth.

use std::collections::HashMap;

use crate::model::{ArchivePath, FileType};

/// The number of the root.
const ROOT: usize = 0;

/// Paths of entries, and the directories above them.
pub(crate) struct Tree<'p> {
    numbers: HashMap<(usize, &'p str), usize>,
    /// By number, the type and place of an entry; `None` for a directory without an entry.
    entries: Vec<Option<(FileType, usize)>>,
}

impl<'p> Tree<'p> {
    pub(crate) fn new() -> Self {
        Self { numbers: HashMap::new(), entries: vec![None] }
    }

    /// Adds an entry with its place in a list. Returns type and place of the entry before that has the same
    /// path. Of such entries the last one is kept, and rather one that is not a directory.
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

    /// The outermost path above a path that is not a directory, and its type.
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
    fn outermost_path_that_is_not_a_directory_blocks() {
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
