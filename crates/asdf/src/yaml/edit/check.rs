//! Verifying that an edit made the intended change and no other. The old and the new tree are
//! walked in parallel, following aliases, and each old node must correspond to exactly one new
//! node.

use std::collections::HashMap;

use crate::yaml::{NodeId, NodeKind, YamlNode};

/// The expected children of an edited collection.
pub(crate) struct Expectation<'a> {
    /// The collection in the old document.
    pub(crate) container: NodeId,
    /// The children after the edit. They are nodes of the old document or of other documents. For a
    /// mapping, keys and values alternate.
    pub(crate) children: Vec<YamlNode<'a>>,
}

/// Returns the children of a collection, including merge keys and duplicates. Aliases are followed. For a
/// mapping, keys and values alternate.
pub(crate) fn nodes(container: YamlNode<'_>) -> Vec<YamlNode<'_>> {
    match container.kind() {
        NodeKind::Mapping => {
            container.raw_entries().flat_map(|(key, value)| [key, value]).collect()
        }
        _ => container.items().collect(),
    }
}

/// Returns `true` if the new tree equals the old tree, except that one collection has the expected
/// children.
pub(crate) fn is_as_expected(
    old: YamlNode<'_>,
    new: YamlNode<'_>,
    expected: &Expectation<'_>,
) -> bool {
    is_equal_but_for(old, new, Some(expected))
}

/// Returns `true` if two trees have the same nodes in the same order, with the same tags, and share nodes at
/// the same positions. The names of anchors may differ.
pub(crate) fn is_equal(old: YamlNode<'_>, new: YamlNode<'_>) -> bool {
    is_equal_but_for(old, new, None)
}

fn is_equal_but_for(
    old: YamlNode<'_>,
    new: YamlNode<'_>,
    expected: Option<&Expectation<'_>>,
) -> bool {
    // Map shared nodes of the old tree to their counterparts in the new tree, and back.
    let mut forth: HashMap<(usize, NodeId), NodeId> = HashMap::new();
    let mut back: HashMap<NodeId, (usize, NodeId)> = HashMap::new();
    let document = |node: YamlNode<'_>| std::ptr::from_ref(node.document()).addr();
    let mut stack = vec![(old, new)];
    while let Some((want, found)) = stack.pop() {
        // Only a node with an anchor can occur more than once.
        if want.anchor().is_some() || found.anchor().is_some() {
            let key = (document(want), want.id());
            match (forth.get(&key), back.get(&found.id())) {
                (None, None) => {}
                (Some(known), Some(same)) if *known == found.id() && *same == key => continue,
                _ => return false,
            }
            forth.insert(key, found.id());
            back.insert(found.id(), key);
        }
        if want.kind() != found.kind() || !is_same_tag(want, found) || !is_same_text(want, found) {
            return false;
        }
        if want.text().is_some() {
            continue;
        }
        let changed = expected
            .filter(|expected| document(want) == document(old) && want.id() == expected.container);
        if changed.is_none() {
            if let (Some(want), Some(found)) = (want.numbers(), found.numbers()) {
                if want.texts().ne(found.texts()) {
                    return false;
                }
                continue;
            }
        }
        let wanted = changed.map_or_else(|| nodes(want), |expected| expected.children.clone());
        let found = nodes(found);
        if wanted.len() != found.len() {
            return false;
        }
        stack.extend(wanted.into_iter().zip(found).rev());
    }
    true
}

/// Returns `true` if two nodes of the same kind have the same text. Base64 may be split into lines
/// differently, and null may be spelled differently, because an empty null is not allowed inside brackets.
pub(crate) fn is_same_text(want: YamlNode<'_>, found: YamlNode<'_>) -> bool {
    want.text() == found.text()
        || match want.kind() {
            NodeKind::Null => true,
            NodeKind::Binary => {
                want.value().is_ok_and(|value| found.value().is_ok_and(|it| it == value))
            }
            _ => false,
        }
}

/// Returns `true` if two nodes have the same tag. An explicit `!!timestamp` tag on a date-time is
/// ignored, because an edit may have to add this tag inside brackets.
pub(crate) fn is_same_tag(want: YamlNode<'_>, found: YamlNode<'_>) -> bool {
    let tag = |node: YamlNode<'_>| {
        let tag = node.tag().map(str::to_owned);
        tag.filter(|tag| tag != "tag:yaml.org,2002:timestamp" || node.kind() != NodeKind::DateTime)
    };
    want.tag() == found.tag() || tag(want) == tag(found)
}
