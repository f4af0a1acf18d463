//! The paths of an archive as a tree.
//!
//! A node is looked up by its parent and its name, so finding a path takes time proportional to the
//! length of the path, even in a deep tree.

use std::collections::HashMap;

use crate::model::{ArchivePath, FileType};

/// The index of the root.
const ROOT: usize = 0;

/// A tree of entry paths, including the directories above them.
pub(crate) struct Tree<'p> {
    numbers: HashMap<(usize, &'p str), usize>,
    /// The type and position of the entry at each node, or `None` for a directory without an entry.
    entries: Vec<Option<(FileType, usize)>>,
    /// Whether there are paths below each node.
    inner: Vec<bool>,
    /// Whether there are paths below a file or link.
    any_blocked: bool,
    /// The directory of the path that was inserted last, and its node. Consecutive paths are usually
    /// in the same directory.
    last: (&'p str, usize),
}

impl<'p> Tree<'p> {
    pub(crate) fn new() -> Self {
        let (entries, inner) = (vec![None], vec![false]);
        Self { numbers: HashMap::new(), entries, inner, any_blocked: false, last: ("", ROOT) }
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
        let (directory, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        if directory != self.last.0 {
            let mut node = ROOT;
            for name in directory.split('/').filter(|name| !name.is_empty()) {
                node = self.child(node, name);
            }
            self.last = (directory, node);
        }
        let node = self.child(self.last.1, name);
        let before = self.entries[node];
        if kind != FileType::Directory || !before.is_some_and(is_file) {
            self.entries[node] = Some((kind, at));
            self.any_blocked |= kind != FileType::Directory && self.inner[node];
        }
        before
    }

    /// Returns the child of a node with the given name. Adds the child if necessary.
    fn child(&mut self, node: usize, name: &'p str) -> usize {
        self.inner[node] = true;
        self.any_blocked |= self.entries[node].is_some_and(is_file);
        *self.numbers.entry((node, name)).or_insert_with(|| {
            self.entries.push(None);
            self.inner.push(false);
            self.entries.len() - 1
        })
    }

    /// Returns the path and type of the outermost file or link above a path, or `None` if there are
    /// only directories above it.
    pub(crate) fn blocked(&self, path: &'p ArchivePath) -> Option<(&'p str, FileType)> {
        if !self.any_blocked {
            return None;
        }
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

fn is_file((kind, _): (FileType, usize)) -> bool {
    kind != FileType::Directory
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_outermost_file_above_a_path_is_the_same_as_in_a_search_of_all_entries(
            entries in proptest::collection::vec(("[ab](/[ab]){0,3}", any::<bool>()), 0..12),
        ) {
            let kind = |file| if file { FileType::Regular } else { FileType::Directory };
            let entries: Vec<_> = entries
                .iter()
                .map(|(path, file)| (ArchivePath::parse(path).unwrap(), kind(*file)))
                .collect();
            let mut tree = Tree::new();
            for (at, (path, kind)) in entries.iter().enumerate() {
                let before = tree.insert(path, *kind, at);
                let mut earlier = entries[..at].iter().filter(|(other, _)| other == path);
                prop_assert_eq!(before.is_some(), earlier.next().is_some());
            }
            for (path, _) in &entries {
                let is_file = |above: &&str| {
                    entries
                        .iter()
                        .any(|(path, kind)| path.as_str() == *above && *kind == FileType::Regular)
                };
                let expected = path.ancestors().filter(is_file).last();
                prop_assert_eq!(tree.blocked(path).map(|(above, _)| above), expected);
            }
        }
    }

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
