//! Writing part of a tree for insertion into existing text: a mapping entry, a list item, or the text after a
//! key or dash.

use std::collections::{HashMap, HashSet};

use super::anchor::Anchor;
use super::{Arrays, Emitter, Item, Role};
use crate::error::Result;
use crate::value::{Tree, Value};

/// A value to write, with its surroundings in the existing text.
pub(crate) struct Fragment<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) arrays: &'a dyn Arrays,
    /// The column of the innermost enclosing collection. Inside brackets, the column at which further
    /// lines begin.
    pub(crate) indent: Option<usize>,
    pub(crate) in_flow: bool,
    /// The column at which the text will begin.
    pub(crate) column: usize,
    /// Whether only indentation and indicators precede the text on its line.
    pub(crate) begins_line: bool,
    /// Two flags: whether the handle `!` stands for the tags of ASDF, and whether `!!` stands for
    /// those of YAML.
    pub(crate) handles: (bool, bool),
    /// The names of all anchors in the text, which new anchors must not use.
    pub(crate) taken: HashSet<String>,
    /// Maps the index of a shared node to the name of its anchor, and to a flag that is `true` if the
    /// text already contains the node.
    pub(crate) known: HashMap<usize, (String, bool)>,
}

impl Fragment<'_> {
    /// Returns everything that follows the colon of a key, including the space or line break after
    /// the colon.
    pub(crate) fn value(&self) -> Result<String> {
        self.emit(false, |emitter, root| emitter.all_of(root, Role::Value))
    }

    /// Returns everything that follows the dash of an item, including the space after the dash. An
    /// item in brackets has neither a dash nor a space.
    pub(crate) fn item(&self) -> Result<String> {
        self.emit(self.in_flow, |emitter, root| emitter.all_of(root, Role::Item))
    }

    /// Returns an item with its dash.
    pub(crate) fn dashed_item(&self) -> Result<String> {
        self.emit(true, |emitter, root| {
            emitter.text.block_indicator("-");
            emitter.all_of(root, Role::Item)
        })
    }

    /// Returns a key with its value.
    pub(crate) fn entry(&self, key: &str) -> Result<String> {
        self.emit(true, |emitter, root| {
            emitter.key(Item::Owned(Value::from(key)))?;
            emitter.all_of(root, Role::Value)
        })
    }

    /// Returns the value as a key on a single line.
    pub(crate) fn key(&self) -> Result<String> {
        self.emit(true, |emitter, root| emitter.all_of(root, Role::Key))
    }

    fn emit<'e>(
        &'e self,
        is_blank: bool,
        body: impl FnOnce(&mut Emitter<'e, '_>, Item<'e>) -> Result<()>,
    ) -> Result<String> {
        let mut out = Vec::new();
        let mut emitter = Emitter::new(self.tree, self.arrays, &mut out);
        emitter.text.indent = self.indent;
        emitter.text.column = self.column;
        emitter.flow_level = self.in_flow.into();
        emitter.text.is_blank = is_blank;
        emitter.text.is_indentation = self.begins_line;
        emitter.handles = self.handles;
        emitter.taken.clone_from(&self.taken);
        for (number, (name, is_written)) in &self.known {
            emitter.taken.remove(name);
            if let Some(anchor) = emitter.anchors.get_mut(*number) {
                let name = name.clone();
                *anchor =
                    if *is_written { Anchor::Written(name) } else { Anchor::Planned(Some(name)) };
            }
        }
        body(&mut emitter, Item::Borrowed(self.tree.root()))?;
        let text = std::mem::take(&mut emitter.text.buffer);
        drop(emitter);
        out.extend_from_slice(text.as_bytes());
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}
