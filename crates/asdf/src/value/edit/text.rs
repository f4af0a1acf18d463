//! Editing the text of a tree. Each edit replaces parts of the text. Before an edit takes effect,
//! the new text is parsed to verify that nothing else in the tree has changed.

use std::collections::HashMap;
use std::ops::Range;

use super::insert;
use super::moved::{MovedNodes, MovedText};
use crate::error::{ErrorKind, Result};
use crate::value::emit::{ASDF_PREFIX, Arrays, Fragment, NoArrays, YAML_PREFIX, emit};
use crate::value::{Mapping, Tree, Value, parents};
use crate::yaml::edit::check::{self, Expectation};
use crate::yaml::edit::place::{Surroundings, WrittenChild, children, column, range};
use crate::yaml::edit::splices::Splices;
use crate::yaml::edit::target::{Place, Target, entries_of, fail};
use crate::yaml::edit::{remove, replace};
use crate::yaml::{Document, NodeKind, ParseOptions, YamlNode};

/// The text of a tree, for editing. Comments, quotes, order and white space are preserved byte for byte, except
/// in the parts that an edit changes.
///
/// If a pointer leads through an alias, the edit changes the shared node and therefore all its
/// uses. If a node is replaced or removed although aliases still refer to it, its text moves to the
/// first of these aliases.
///
/// ```
/// use asdf::value::TreeText;
/// use asdf::Tree;
///
/// let mut text = TreeText::parse("# exposure\ngain: 2.5 # measured\nlist: [1, 2]\n")?;
/// text.set("/gain", &Tree::parse("3.0")?)?;
/// text.set("/list/-", &Tree::parse("3")?)?;
/// text.rename("/list", "counts")?;
/// assert_eq!(text.text(), "# exposure\ngain: 3.0 # measured\ncounts: [1, 2, 3]\n");
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Debug)]
pub struct TreeText {
    text: String,
    document: Document,
    options: ParseOptions,
}

/// A value to be written into the text.
pub(super) struct Emission<'a> {
    pub(super) tree: &'a Tree,
    pub(super) arrays: &'a dyn Arrays,
    /// The anchors of shared nodes; see [`Fragment::known`].
    pub(super) known: HashMap<usize, (String, bool)>,
}

impl<'a> Emission<'a> {
    pub(super) fn new(tree: &'a Tree, arrays: &'a dyn Arrays) -> Self {
        Self { tree, arrays, known: HashMap::new() }
    }
}

impl TreeText {
    /// Parses the text of a tree, with or without directives.
    ///
    /// # Errors
    ///
    /// Same as [`Document::parse`], with the default limits.
    pub fn parse(text: impl Into<String>) -> Result<Self> {
        Self::parse_with(text.into(), &ParseOptions::default())
    }

    pub(crate) fn parse_with(text: String, options: &ParseOptions) -> Result<Self> {
        let options = options.start(0, options.line);
        let document = Document::parse(text.as_bytes(), &options, &mut Vec::new())?;
        Ok(Self { text, document, options })
    }

    /// Parses an edited version of the text with the same limits and scalar rules.
    pub(crate) fn parse_like(&self, text: String) -> Result<Self> {
        Self::parse_with(text, &self.options)
    }

    /// Returns the options with which the text was parsed.
    pub(super) fn options(&self) -> &ParseOptions {
        &self.options
    }

    /// Returns the current text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the current tree. Its offsets refer to the text.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Sets the value at a JSON Pointer. Missing collections along the path are created: lists for
    /// `-` and `0`, mappings for other keys; [`check_parent`](Self::check_parent) detects missing
    /// collections in advance. A final `-` appends to a list. New keys are strings. Setting a key
    /// that is inherited through a merge key overrides its value.
    ///
    /// ```
    /// use asdf::Tree;
    /// use asdf::value::TreeText;
    ///
    /// let mut text = TreeText::parse("a: 1  # first\nb: [x]\n")?;
    /// text.set("/a", &Tree::new(2))?;
    /// text.set("/b/-", &Tree::new("y"))?;
    /// text.set("/c/d", &Tree::new(true))?;
    /// assert_eq!(text.text(), "a: 2  # first\nb: [x, y]\nc: {d: true}\n");
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`Tree::set`] and [`Tree::write_yaml`]. Also fails with [`ErrorKind::Unwritable`] if the pointer
    /// is empty, or if the text cannot be edited without also changing another value, and with
    /// [`ErrorKind::Limit`] if the edited tree exceeds the limits.
    pub fn set(&mut self, pointer: &str, value: &Tree) -> Result<()> {
        *self = self.with(pointer, value)?;
        Ok(())
    }

    /// Checks that [`set`](Self::set) would not create collections along the path, because a missing collection
    /// suggests a mistake in the pointer. If the pointer refers to an item of a list, however, the list itself
    /// may be missing.
    ///
    /// ```
    /// let text = asdf::value::TreeText::parse("meta: {gain: 2.5}")?;
    /// let error = text.check_parent("/mata/gain").unwrap_err();
    /// assert_eq!(error.to_string(), "\"/mata\": at the root: no key `mata`, did you mean `meta`?");
    /// text.check_parent("/meta/filters/-")?;
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`YamlNode::pointer`]. The error names the nearest existing node.
    pub fn check_parent(&self, pointer: &str) -> Result<()> {
        let root = self.document.root();
        let needed = parents::needed(pointer, |parent| root.pointer(parent).is_ok());
        root.pointer(needed).map(drop)
    }

    /// Like [`set`](Self::set), but returns the edited text.
    pub(crate) fn with(&self, pointer: &str, value: &Tree) -> Result<Self> {
        self.with_value(pointer, value, &NoArrays)
    }

    pub(crate) fn with_value(
        &self,
        pointer: &str,
        value: &Tree,
        arrays: &dyn Arrays,
    ) -> Result<Self> {
        let target = Target::find(self.document.root(), pointer)?;
        let container = target.container;
        let mut value = value.clone();
        if let Place::NewKey(key, missing) = &target.place {
            let inner = std::mem::take(value.root_mut());
            let inner = parents::wrapped(pointer, missing, inner)?;
            // Each item of an ordered mapping is a mapping with one entry.
            let is_item = container.kind() == NodeKind::Sequence;
            *value.root_mut() =
                if is_item { Mapping::from_iter([(key.as_str(), inner)]).into() } else { inner };
        }
        let wanted = self.standalone(&value, arrays)?;
        let want = only(&wanted);
        let emission = Emission::new(&value, arrays);
        let mut nodes = check::nodes(container);
        match &target.place {
            Place::Entries(_) | Place::Item(_) => {
                let (index, at) = match &target.place {
                    Place::Entries(all) => {
                        let last = all.last().copied().unwrap_or_default();
                        (last, 2 * last + 1)
                    }
                    Place::Item(index) => (*index, *index),
                    _ => (0, 0),
                };
                let slot = self.slot(pointer, container, index)?;
                let splices = self.replace(&slot, &self.emitted_in(&slot, &emission)?);
                if let Some(node) = nodes.get_mut(at) {
                    *node = want;
                }
                let removed = [slot.span.clone()];
                self.edited(pointer, container, nodes, &removed, &splices)
            }
            Place::NewKey(key, _) if container.kind() == NodeKind::Mapping => {
                let key_document = self.standalone(&Tree::new(key.as_str()), &NoArrays)?;
                nodes.extend([only(&key_document), want]);
                let splices = insert::entry(self, container, key, &emission)?;
                let splices = splices.ok_or_else(|| impossible(pointer))?;
                self.edited(pointer, container, nodes, &[], &splices)
            }
            Place::NewItem | Place::NewKey(..) => {
                nodes.push(want);
                let splices = insert::item(self, container, &emission)?;
                let splices = splices.ok_or_else(|| impossible(pointer))?;
                self.edited(pointer, container, nodes, &[], &splices)
            }
        }
    }

    /// Removes an entry or item, together with the comments directly above it and at the end of its line.
    ///
    /// ```
    /// let mut text = asdf::value::TreeText::parse("a: 1\n# about b\nb: 2  # two\nc: 3\n")?;
    /// text.remove("/b")?;
    /// assert_eq!(text.text(), "a: 1\nc: 3\n");
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`YamlNode::pointer`]. Also fails with [`ErrorKind::Unwritable`] if the pointer is empty, if the
    /// key is inherited through a merge key, or if the text cannot be edited without also changing another
    /// value, and with [`ErrorKind::Limit`] if the edited tree exceeds the limits.
    pub fn remove(&mut self, pointer: &str) -> Result<()> {
        let target = Target::find_existing(self.document.root(), pointer)?;
        let container = target.member_of.map_or(target.container, |(mapping, _)| mapping);
        let (indexes, width) = match target.place {
            // An item of an ordered mapping contains only this entry, so remove the item.
            Place::Entries(all) => target.member_of.map_or((all, 2), |(_, item)| (vec![item], 1)),
            Place::Item(index) => (vec![index], 1),
            _ => return Err(impossible(pointer)),
        };
        let nodes: Vec<YamlNode<'_>> = check::nodes(container)
            .chunks(width)
            .enumerate()
            .filter(|(index, _)| !indexes.contains(index))
            .flat_map(|(_, nodes)| nodes.iter().copied())
            .collect();
        let mut removed = Vec::new();
        for &index in &indexes {
            let slot = self.slot(pointer, container, index)?;
            let start = slot.key.map_or(slot.span.start, |key| range(key.span()).start);
            removed.push(start..slot.span.end);
        }
        let splices = if nodes.is_empty() {
            remove::all(&self.text, container)
        } else {
            remove::some(&self.text, container, &indexes)
        };
        let splices = splices.ok_or_else(|| impossible(pointer))?;
        *self = self.edited(pointer, container, nodes, &removed, &splices)?;
        Ok(())
    }

    /// Renames the key of a mapping entry. The new key is a string. The value, position and comments are
    /// preserved.
    ///
    /// ```
    /// let mut text = asdf::value::TreeText::parse("gian: 2.5  # measured\n")?;
    /// text.rename("/gian", "gain")?;
    /// assert_eq!(text.text(), "gain: 2.5  # measured\n");
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`remove`](Self::remove). Also fails with [`ErrorKind::Unwritable`] if the pointer leads to an
    /// item of a list, if the old key occurs more than once, or if the new key already exists.
    pub fn rename(&mut self, pointer: &str, key: &str) -> Result<()> {
        let target = Target::find_existing(self.document.root(), pointer)?;
        let container = target.container;
        let Place::Entries(indexes) = target.place else {
            return Err(fail(pointer, "a list item cannot be renamed, because it has no key"));
        };
        let [index] = indexes[..] else {
            return Err(fail(
                pointer,
                "the key occurs more than once: remove the duplicates before renaming it",
            ));
        };
        let others = entries_of(container, key);
        let is_other_member = target.member_of.is_some_and(|(mapping, item)| {
            mapping.items().enumerate().any(|(at, other)| at != item && other.get(key).is_some())
        });
        if is_other_member || others.iter().any(|other| *other != index) {
            return Err(fail(
                pointer,
                format!(
                    "the new key `{key}` already exists: remove it first, or choose another name"
                ),
            ));
        }
        let slot = self.slot(pointer, container, index)?;
        let Some(old) = slot.key else { return Err(impossible(pointer)) };
        let tree = Tree::new(key);
        let new = self.fragment(&Emission::new(&tree, &NoArrays), &slot.around, 0).key()?;
        let span = range(old.span());
        let document = self.standalone(&tree, &NoArrays)?;
        let mut nodes = check::nodes(container);
        if let Some(node) = nodes.get_mut(2 * index) {
            *node = only(&document);
        }
        let splices = Splices::one(span.clone(), new);
        *self = self.edited(pointer, container, nodes, &[span], &splices)?;
        Ok(())
    }

    fn slot<'s>(
        &'s self,
        pointer: &str,
        container: YamlNode<'s>,
        index: usize,
    ) -> Result<WrittenChild<'s>> {
        WrittenChild::new(&self.text, container, index).ok_or_else(|| impossible(pointer))
    }

    /// Applies replacements and returns the new text. Fails unless the only change to the tree is
    /// that `container` has the given children.
    fn edited(
        &self,
        pointer: &str,
        container: YamlNode<'_>,
        children: Vec<YamlNode<'_>>,
        removed: &[Range<usize>],
        splices: &Splices,
    ) -> Result<Self> {
        let expected = Expectation { container: container.id(), children };
        for way in [MovedText::AsWritten, MovedText::Rewritten] {
            let mut splices = splices.clone();
            let moved = MovedNodes::splices(self, removed, way, &mut splices);
            let text = moved.and_then(|_| splices.apply(&self.text));
            let edited = match text.map(|text| self.parse_like(text)) {
                Some(Err(error)) if matches!(error.kind(), ErrorKind::Limit { .. }) => {
                    return Err(error);
                }
                edited => edited.and_then(Result::ok),
            };
            if let Some(edited) = edited {
                let (old, new) = (self.document.root(), edited.document.root());
                if check::is_as_expected(old, new, &expected) {
                    return Ok(edited);
                }
            }
            if moved == Some(0) {
                break;
            }
        }
        Err(impossible(pointer))
    }

    /// Returns the text of a value as it would be written in place of a child, including the space or line
    /// break after the key or dash.
    pub(super) fn emitted_in(
        &self,
        slot: &WrittenChild<'_>,
        emission: &Emission<'_>,
    ) -> Result<String> {
        let mut fragment = self.fragment(emission, &slot.around, column(&self.text, slot.after));
        let is_item = slot.key.is_none();
        fragment.begins_line = is_item || slot.is_explicit;
        let text = if is_item { fragment.item() } else { fragment.value() }?;
        let text = self.with_line_breaks(text);
        Ok(if slot.key.is_some() && !slot.has_colon { format!(":{text}") } else { text })
    }

    pub(super) fn fragment<'a>(
        &self,
        emission: &Emission<'a>,
        around: &Surroundings,
        column: usize,
    ) -> Fragment<'a> {
        // Indent lines inside brackets more than the surrounding lines.
        let indent = match around.indent {
            None if around.in_flow => Some(2),
            Some(indent) if around.in_flow => Some(indent + 2),
            indent => indent,
        };
        Fragment {
            tree: emission.tree,
            arrays: emission.arrays,
            indent,
            in_flow: around.in_flow,
            column,
            begins_line: false,
            handles: self.handles(),
            taken: self.document.anchor_names().map(str::to_owned).collect(),
            known: emission.known.clone(),
        }
    }

    /// Replaces a value with new text, which includes the space or line break after the key or dash.
    pub(super) fn replace(&self, slot: &WrittenChild<'_>, new: &str) -> Splices {
        replace::value(&self.text, slot, new)
    }

    /// Converts the line breaks in a string to the kind used in the text of the tree.
    pub(super) fn with_line_breaks(&self, text: String) -> String {
        let first = self.text.find('\n').unwrap_or_default();
        let has_returns = first > 0 && self.text.as_bytes().get(first - 1) == Some(&b'\r');
        if has_returns { text.replace('\n', "\r\n") } else { text }
    }

    /// Returns two flags: whether the handle `!` stands for the tags of ASDF, and whether `!!`
    /// stands for those of YAML.
    pub(super) fn handles(&self) -> (bool, bool) {
        let (mut asdf, mut yaml) = (false, true);
        let directives = self.text.lines().take_while(|line| !line.starts_with("---"));
        for line in directives {
            let mut words = line.split_ascii_whitespace();
            if words.next() == Some("%TAG") {
                match (words.next(), words.next()) {
                    (Some("!"), prefix) => asdf = prefix == Some(ASDF_PREFIX),
                    (Some("!!"), prefix) => yaml = prefix == Some(YAML_PREFIX),
                    _ => {}
                }
            }
        }
        (asdf, yaml)
    }

    /// Returns a document whose root is a list that contains only the given value, for comparison with the
    /// edited text.
    ///
    /// Parses with the limits of the edited text, but with the default scalar rules, because `emit`
    /// writes for these rules. With other rules, the comparison could miss that a scalar in the
    /// edited text has another type.
    fn standalone(&self, tree: &Tree, arrays: &dyn Arrays) -> Result<Document> {
        let mut text = Vec::new();
        let mut listed = tree.clone();
        let root = std::mem::take(listed.root_mut());
        *listed.root_mut() = Value::from(vec![root]);
        emit(&listed, arrays, &mut text)?;
        let options = ParseOptions::default().limits(self.options.limits);
        Document::parse(&text, &options, &mut Vec::new())
    }

    /// Returns `true` if the text of a collection contains children.
    pub(super) fn has_children(container: YamlNode<'_>) -> bool {
        !children(container).is_empty()
    }
}

/// Returns the only item of the list at the root.
fn only(document: &Document) -> YamlNode<'_> {
    document.root().at(0).unwrap_or_else(|| document.root())
}

fn impossible(pointer: &str) -> crate::Error {
    fail(pointer, "the text cannot be changed here without also changing another value")
}
