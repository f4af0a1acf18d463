//! Records of the library that wrote a file: the entry `asdf_library`, and those extensions in the history
//! whose software is that library.

use std::collections::HashSet;

use crate::Node;
use crate::yaml::{NodeId, NodeKind};

/// Nodes that only record which library wrote a file. Each node is stored with the collection that contains it,
/// because an alias may use the same node elsewhere for another purpose.
#[derive(Debug, Default)]
pub(super) struct LibraryRecords(HashSet<(NodeId, NodeId)>);

impl LibraryRecords {
    /// Finds the records in two trees, given their roots. Since each file may contain records of the library
    /// that wrote the other file, the names of both libraries apply to both trees.
    pub(super) fn of_both(before: Node<'_>, after: Node<'_>) -> [Self; 2] {
        let names: Vec<&str> = [before, after]
            .into_iter()
            .filter_map(|root| root.get("asdf_library")?.yaml().get("name")?.text())
            .collect();
        [Self::of(before, &names), Self::of(after, &names)]
    }

    fn of(root: Node<'_>, libraries: &[&str]) -> Self {
        let mut records = Self::default();
        if let Some(library) = root.get("asdf_library") {
            records.add(root, library);
        }
        let Some(history) = root.get("history") else { return records };
        let Some(extensions) = history.get("extensions") else { return records };
        for extension in extensions.items() {
            let software = extension.get("software").or_else(|| extension.get("package"));
            let name = software.and_then(|software| software.yaml().get("name")?.text());
            if name.is_some_and(|name| libraries.contains(&name)) {
                records.add(extensions, extension);
            }
        }
        // A list that contains only records is itself a record, and so is a history that contains
        // nothing but this list.
        if extensions.kind() == NodeKind::Sequence
            && extensions.items().all(|item| records.contains(extensions, item))
        {
            records.add(history, extensions);
            if history.len() == 1 {
                records.add(root, history);
            }
        }
        records
    }

    fn add(&mut self, container: Node<'_>, child: Node<'_>) {
        self.0.insert((container.id(), child.id()));
    }

    /// Returns `true` if `child`, a member of `container`, is a record that a library writes about itself.
    pub(super) fn contains(&self, container: Node<'_>, child: Node<'_>) -> bool {
        !self.0.is_empty() && self.0.contains(&(container.id(), child.id()))
    }
}
