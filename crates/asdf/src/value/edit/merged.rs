//! Writing a tree while keeping as much of its old text as possible: only nodes that differ are rewritten.

use std::collections::HashMap;
use std::path::Path;

use super::text::{Emission, TreeText};
use crate::error::{Error, Result};
use crate::value::Tree;
use crate::value::emit::{ASDF_PREFIX, Arrays, NoArrays, emit};
use crate::yaml::edit::check;
use crate::yaml::edit::place::{Surroundings, WrittenChild, children, is_block, line_start, range};
use crate::yaml::edit::splices::Splices;
use crate::yaml::{Document, NodeId, NodeKind, ParseOptions, YamlNode};

/// A comparison of the old text with the tree that the new text must represent.
struct Merge<'a> {
    old: &'a TreeText,
    splices: Splices,
    /// Maps nodes with anchors in the old tree to their counterparts in the new tree.
    shared: HashMap<NodeId, NodeId>,
    /// Pairs of collections whose children have yet to be compared.
    pairs: Vec<(YamlNode<'a>, YamlNode<'a>)>,
}

/// The result of comparing two nodes without their children.
enum Comparison {
    Same,
    /// The nodes are equal if their children are equal.
    Children,
    Different,
}

impl TreeText {
    /// Returns a copy of the text in which all nodes that differ from the given tree are replaced. Comments,
    /// quotes, order and white space of all other nodes are preserved byte for byte.
    ///
    /// Returns `None` if the tree cannot be produced by replacing nodes and adding entries at the beginning of
    /// the root. The caller then has to write the tree without the old text.
    pub(crate) fn merged(&self, tree: &Tree, arrays: &dyn Arrays) -> Result<Option<Self>> {
        let mut text = Vec::new();
        emit(tree, arrays, &mut text)?;
        let options = ParseOptions::default().limits(self.options().limits);
        let Ok(new) = Document::parse(&text, &options, &mut Vec::new()) else { return Ok(None) };
        let mut merge = Merge {
            old: self,
            splices: Splices::default(),
            shared: HashMap::new(),
            pairs: Vec::new(),
        };
        if !merge.root(new.root())? {
            return Ok(None);
        }
        while let Some((old, new)) = merge.pairs.pop() {
            if !merge.children(old, new, 0)? {
                return Ok(None);
            }
        }
        let Some(text) = merge.splices.apply(self.text()) else { return Ok(None) };
        let Ok(merged) = Self::parse_with(text, &options) else { return Ok(None) };
        let is_right = check::is_equal(new.root(), merged.document().root());
        Ok(is_right.then_some(merged))
    }
}

impl TreeText {
    /// Returns the text with the URIs of external files rewritten, or `None` if no URI changes; see
    /// [`Tree::relocate`].
    pub(crate) fn relocated(&self, from: &Path, to: &Path) -> Result<Option<Self>> {
        let mut tree = Tree::from_node(self.document().root())?;
        if !tree.relocate(from, to)? {
            return Ok(None);
        }
        let merged = self.merged(&tree, &NoArrays)?;
        let message =
            "rewriting the URIs of external files would also change another value of the tree";
        merged.map(Some).ok_or_else(|| Error::unwritable(message))
    }
}

impl<'a> Merge<'a> {
    /// Compares the roots, which must be mappings. The new root may have additional entries at the
    /// beginning. Returns `false` if the text cannot be kept.
    fn root(&mut self, new: YamlNode<'a>) -> Result<bool> {
        let old = self.old.document().root();
        let is_mapping = |root: YamlNode<'_>| root.kind() == NodeKind::Mapping;
        let Some(added) = new.len().checked_sub(old.len()) else { return Ok(false) };
        let can_add = added == 0 || (is_block(old.mention()) && !old.is_empty());
        if !(is_mapping(old) && is_mapping(new) && can_add && self.tag(old, new)) {
            return Ok(false);
        }
        if added > 0 && !self.add_first(old, new, added)? {
            return Ok(false);
        }
        self.children(old, new, added)
    }

    /// Compares the children of two collections and replaces those that differ. The first `skipped`
    /// entries of the new collection have no counterpart. Returns `false` if the text cannot be
    /// kept.
    fn children(&mut self, old: YamlNode<'a>, new: YamlNode<'a>, skipped: usize) -> Result<bool> {
        let is_mapping = old.kind() == NodeKind::Mapping;
        let width = if is_mapping { 2 } else { 1 };
        let (mentions, new) = (children(old), check::nodes(new));
        let Some(new) = new.get(skipped * width..) else { return Ok(false) };
        if mentions.len() != new.len() {
            return Ok(false);
        }
        for (index, (mention, new)) in mentions.into_iter().zip(new).enumerate() {
            let is_key = is_mapping && index % 2 == 0;
            let (node, new) = (mention.node(), *new);
            if let Some(known) = self.shared.get(&node.id()) {
                if *known != new.id() {
                    return Ok(false);
                }
                continue;
            }
            if mention.is_alias() {
                return Ok(false);
            }
            if node.anchor().is_some() {
                self.shared.insert(node.id(), new.id());
            }
            match self.compare(node, new) {
                Comparison::Same => {}
                Comparison::Different | Comparison::Children if is_key => return Ok(false),
                Comparison::Children => self.pairs.push((node, new)),
                Comparison::Different => {
                    if !self.replace(old, index / width, new)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn compare(&mut self, old: YamlNode<'a>, new: YamlNode<'a>) -> Comparison {
        if old.kind() != new.kind() {
            return Comparison::Different;
        }
        if old.text().is_some() {
            let is_same = check::is_same_tag(old, new) && check::is_same_text(old, new);
            return if is_same { Comparison::Same } else { Comparison::Different };
        }
        if old.len() != new.len() || (old.tag().is_some() != new.tag().is_some()) {
            return Comparison::Different;
        }
        let has_same_keys = old.keys().zip(new.keys()).all(|(old, new)| {
            old.text().is_some() && old.text() == new.text() && old.kind() == new.kind()
        });
        let has_same_numbers = match (old.numbers(), new.numbers()) {
            (Some(old), Some(new)) => Some(old.texts().eq(new.texts())),
            _ => None,
        };
        if !has_same_keys || has_same_numbers == Some(false) || !self.tag(old, new) {
            return Comparison::Different;
        }
        if has_same_numbers.is_some() { Comparison::Same } else { Comparison::Children }
    }

    /// Replaces the tag of a collection if it has changed. Returns `false` if a tag would have to
    /// be added or removed.
    fn tag(&mut self, old: YamlNode<'a>, new: YamlNode<'a>) -> bool {
        if old.tag() == new.tag() {
            return true;
        }
        let Some((span, tag)) = old.tag_span().zip(new.tag()) else { return false };
        let text = match tag.strip_prefix(ASDF_PREFIX).filter(|_| self.old.handles().0) {
            Some(name) => format!("!{name}"),
            None => format!("!<{tag}>"),
        };
        self.splices.add(range(span), text);
        true
    }

    /// Replaces a child of a collection. Returns `false` if the child cannot be replaced in the
    /// text.
    fn replace(
        &mut self,
        container: YamlNode<'a>,
        index: usize,
        new: YamlNode<'_>,
    ) -> Result<bool> {
        let Some(slot) = WrittenChild::new(self.old.text(), container, index) else {
            return Ok(false);
        };
        let tree = Tree::from_node(new)?;
        let text = self.old.emitted_in(&slot, &Emission::new(&tree, &NoArrays))?;
        self.splices.extend(self.old.replace(&slot, &text));
        Ok(true)
    }

    /// Inserts the first `count` entries of the new root at the beginning of the old root, before any comments
    /// of its first entry.
    fn add_first(&mut self, old: YamlNode<'a>, new: YamlNode<'a>, count: usize) -> Result<bool> {
        let Some(first) = old.keys().next() else { return Ok(false) };
        let (text, comments) = (self.old.text(), first.comments().before);
        let start = comments.first().map_or(first.span(), |comment| comment.span.clone());
        let start = range(start).start;
        let at = line_start(text, start);
        let indent: &str = text.get(at..start).unwrap_or_default();
        if !indent.bytes().all(|byte| byte == b' ') {
            return Ok(false);
        }
        let around = Surroundings::of(text, old);
        let mut added = String::new();
        for (key, value) in new.entries().take(count) {
            let tree = Tree::from_node(value)?;
            let emission = Emission::new(&tree, &NoArrays);
            let mut fragment = self.old.fragment(&emission, &around, indent.len());
            fragment.begins_line = true;
            added.push_str(&fragment.entry(&key.to_key()?)?);
            added.push('\n');
            added.push_str(indent);
        }
        self.splices.add(start..start, self.old.with_line_breaks(added));
        Ok(true)
    }
}
