//! Anchors, which name nodes that occur in several positions.

use crate::value::walk::Values;
use crate::value::{Tree, Value};

/// Returns `true` if the name of an anchor looks as if a writer had generated it, such as `id001`.
pub(crate) fn is_made_up_anchor(name: &str) -> bool {
    name.strip_prefix("id")
        .is_some_and(|number| number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The state of a shared node's anchor.
#[derive(Clone, Debug)]
pub(super) enum Anchor {
    /// The node needs no anchor.
    None,
    /// The anchor has not been written yet. If it has no name, a name will be generated.
    Planned(Option<String>),
    /// The anchor has been written with this name.
    Written(String),
}

/// Returns the anchor state of each shared node. A node needs an anchor if it occurs more than once. A named
/// anchor is kept even if the node occurs only once.
pub(super) fn anchors(tree: &Tree) -> Vec<Anchor> {
    let mut counts = vec![0_usize; tree.shared().len()];
    if counts.is_empty() {
        return Vec::new();
    }
    let mut values = Values::of(tree.root());
    while let Some(value) = values.next() {
        let Value::Shared(handle) = value.untagged() else { continue };
        let (count, shared) = (counts.get_mut(handle.number()), tree.shared().get(handle.number()));
        if let Some((count, shared)) = count.zip(shared) {
            *count += 1;
            if *count == 1 {
                values.enter(&shared.value);
            }
        }
    }
    let anchors = tree.shared().iter().zip(counts).map(|(shared, count)| match &shared.name {
        None if count < 2 => Anchor::None,
        name => Anchor::Planned(name.clone()),
    });
    anchors.collect()
}
