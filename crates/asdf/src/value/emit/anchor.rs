//! Anchors: the names of nodes that stand at several places.

use crate::value::walk::Values;
use crate::value::{Tree, Value};

/// Whether a writer made the name up: `id001`.
pub(crate) fn is_made_up_anchor(name: &str) -> bool {
    name.strip_prefix("id")
        .is_some_and(|number| number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The anchor of a shared node.
#[derive(Clone, Debug)]
pub(super) enum Anchor {
    /// None: the node occurs once.
    None,
    /// Not written yet; with a name, if it has one of its own.
    Planned(Option<String>),
    /// Written by this name.
    Written(String),
}

/// Which shared nodes stand at more than one place, or have a name.
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
