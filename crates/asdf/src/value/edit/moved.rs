//! Moving anchored nodes: if a node is removed while aliases still refer to it, its text moves to
//! the first of these aliases.
//!
//! ```text
//! a: &x {p: 1}          a: 5
//! b: *x           →     b: &x {p: 1}
//! c: *x                 c: *x
//! ```

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::text::{Emission, TreeText};
use crate::value::Tree;
use crate::value::emit::NoArrays;
use crate::yaml::edit::place::{WrittenChild, column, range};
use crate::yaml::edit::splices::Splices;
use crate::yaml::{Mention, NodeId, NodeKind, NodeStyle, YamlNode};

/// The form in which a node is written at its new position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MovedText {
    /// The original text with comments, if possible.
    AsWritten,
    /// New text without comments.
    Rewritten,
}

/// Nodes whose text is removed although aliases still refer to them.
pub(super) struct MovedNodes<'a> {
    tree: &'a TreeText,
    removed: &'a [Range<usize>],
    /// Nodes that already have a new position.
    placed: HashSet<NodeId>,
    way: MovedText,
}

impl<'a> MovedNodes<'a> {
    /// Adds the replacements that keep all aliases valid. Returns the number of nodes that move, or `None` if a
    /// node cannot be written at its new position.
    pub(super) fn splices(
        tree: &'a TreeText,
        removed: &'a [Range<usize>],
        way: MovedText,
        splices: &mut Splices,
    ) -> Option<usize> {
        let mut moved = Self { tree, removed, placed: HashSet::new(), way };
        let mut count = 0;
        for alias in tree.document().aliases() {
            let target = alias.node();
            if moved.is_removed(&range(alias.span()))
                || !moved.is_removed(&range(target.span()))
                || moved.placed.contains(&target.id())
            {
                continue;
            }
            splices.extend(moved.at(alias, target)?);
            let span = range(target.span());
            for node in tree.document().nodes() {
                if node.anchor().is_some() && contains(&span, &range(node.span())) {
                    moved.placed.insert(node.id());
                }
            }
            count += 1;
        }
        Some(count)
    }

    fn is_removed(&self, span: &Range<usize>) -> bool {
        self.removed.iter().any(|removed| contains(removed, span))
    }

    /// Replaces an alias with the node that it refers to.
    fn at(&mut self, alias: Mention<'a>, target: YamlNode<'a>) -> Option<Splices> {
        let text = self.tree.text();
        let as_written = match self.way {
            MovedText::AsWritten => self.as_written(target),
            MovedText::Rewritten => None,
        };
        let Some(slot) = WrittenChild::of(text, alias) else {
            // The alias is a key, so the node must fit on one line.
            let node = as_written.filter(|node| !node.contains(['\n', '\r']))?;
            return Some(Splices::one(range(alias.span()), node));
        };
        let node = match as_written {
            Some(node) if !node.contains(['\n', '\r']) => format!(" {node}"),
            Some(node) if !slot.around.in_flow => {
                format!(" {}", shifted(&node, self.shift(target, &slot)?))
            }
            _ => self.anew(target, &slot)?,
        };
        Some(self.tree.replace(&slot, &node))
    }

    /// Returns the original text of a node, or `None` if the text would have a different meaning at another
    /// position.
    fn as_written(&self, target: YamlNode<'_>) -> Option<String> {
        let span = range(target.span());
        let document = self.tree.document();
        let is_placed_inside = document.nodes().any(|node| {
            node.anchor().is_some()
                && contains(&span, &range(node.span()))
                && self.placed.contains(&node.id())
        });
        let is_dangling = document.aliases().any(|alias| {
            let definition = range(alias.node().span());
            contains(&span, &range(alias.span()))
                && !contains(&span, &definition)
                && self.is_removed(&definition)
                && !self.placed.contains(&alias.node().id())
        });
        let text = self.tree.text().get(span)?;
        (!is_placed_inside && !is_dangling).then(|| text.trim_end_matches(['\n', '\r']).to_owned())
    }

    /// Returns the number of columns by which to shift the lines of a node when it moves.
    fn shift(&self, target: YamlNode<'_>, slot: &WrittenChild<'_>) -> Option<isize> {
        let text = self.tree.text();
        let from = WrittenChild::of(text, target.mention())?;
        if from.around.in_flow {
            return Some(0);
        }
        let (before, after) = (from.around.indent?, slot.around.indent?);
        // A list that begins in the same column as its key must be indented if it becomes an item of another
        // list.
        let stays = target.style() == NodeStyle::Block
            && column(text, range(target.content_span()).start) == before
            && slot.container.kind() == NodeKind::Sequence;
        let after = if stays { after + 2 } else { after };
        Some(isize::try_from(after).ok()? - isize::try_from(before).ok()?)
    }

    /// Returns new text for a node. Nested nodes that are defined elsewhere become aliases; all others move
    /// along with the node.
    fn anew(&mut self, target: YamlNode<'_>, slot: &WrittenChild<'_>) -> Option<String> {
        let (tree, anchors) = Tree::from_node_with_anchors(target).ok()?;
        let known: HashMap<usize, (String, bool)> = anchors
            .iter()
            .filter_map(|(handle, node)| {
                let node = self.tree.document().node(*node);
                let is_elsewhere =
                    !self.is_removed(&range(node.span())) || self.placed.contains(&node.id());
                Some((handle.number(), (node.anchor()?.to_owned(), is_elsewhere)))
            })
            .collect();
        self.placed.extend(anchors.into_iter().map(|(_, node)| node));
        let emission = Emission { tree: &tree, arrays: &NoArrays, known };
        self.tree.emitted_in(slot, &emission).ok()
    }
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Shifts all lines of the text except the first line by the given number of columns.
fn shifted(text: &str, by: isize) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_blank = line.trim_end_matches(['\n', '\r']).is_empty();
        if number == 0 || is_blank {
            out.push_str(line);
        } else if by >= 0 {
            out.push_str(&" ".repeat(by.unsigned_abs()));
            out.push_str(line);
        } else {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            out.push_str(line.get(blanks.min(by.unsigned_abs())..).unwrap_or_default());
        }
    }
    out
}
