//! Where a walk through a tree is: its collections, each with the one that it is in.

use binio::pointer::push;

/// A collection of the walk.
pub(super) struct Step {
    /// The place of the collection that it is in, and its key there.
    pub(super) parent: Option<(usize, String)>,
}

/// The pointer of the collection at a place of the walk.
pub(super) fn pointer_to(steps: &[Step], at: usize) -> String {
    let mut keys = Vec::new();
    let mut at = at;
    while let Some((parent, key)) = &steps[at].parent {
        keys.push(key);
        at = *parent;
    }
    let mut pointer = String::new();
    keys.iter().rev().for_each(|key| push(&mut pointer, key));
    pointer
}

/// The pointer of an entry of that collection.
pub(super) fn pointer_to_entry(steps: &[Step], at: usize, key: &str) -> String {
    let mut pointer = pointer_to(steps, at);
    push(&mut pointer, key);
    pointer
}
