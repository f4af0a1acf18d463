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
    /// By number; `None` for a directory without an entry.
    types: Vec<Option<FileType>>,
}

impl<'p> Tree<'p> {
    pub(crate) fn new() -> Self {
        Self { numbers: HashMap::new(), types: vec![None] }
    }

    /// Adds an entry. Returns the type of an entry that has the same path. Of a path with several types, one
    /// that is not a directory is kept.
    pub(crate) fn insert(&mut self, path: &'p ArchivePath, kind: FileType) -> Option<FileType> {
        let mut node = ROOT;
        for name in path.components() {
            node = *self.numbers.entry((node, name)).or_insert_with(|| {
                self.types.push(None);
                self.types.len() - 1
            });
        }
        let before = self.types[node];
        if before.is_none_or(|before| before == FileType::Directory) {
            self.types[node] = Some(kind);
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
            if let Some(kind) = self.types[node].filter(|kind| *kind != FileType::Directory) {
                return Some((&text[..end], kind));
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
        assert_eq!(tree.insert(a, FileType::Symlink), None);
        assert_eq!(tree.insert(a, FileType::Directory), Some(FileType::Symlink));
        assert_eq!(tree.insert(ab, FileType::Regular), None);
        assert_eq!(tree.insert(abc, FileType::Regular), None);
        assert_eq!(tree.insert(def, FileType::Regular), None);
        assert_eq!(tree.insert(de, FileType::Directory), None);
        assert_eq!(tree.insert(other, FileType::Regular), None);
        assert_eq!(tree.blocked(abc), Some(("a", FileType::Symlink)));
        assert_eq!(tree.blocked(ab), Some(("a", FileType::Symlink)));
        for free in [a, de, def, other] {
            assert_eq!(tree.blocked(free), None);
        }
    }
}
