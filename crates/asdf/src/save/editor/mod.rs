//! Editing the tree, arrays and blocks of a file.

mod commit;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub use commit::{EditReport, Method};

use super::block::ArrayData;
use super::edited::sources;
use super::locked::LockedFile;
use super::numbered_tree::NumberedTree;
use super::options::EditOptions;
use super::{STANDARDS, WriteOptions};
use crate::asdf::Asdf;
use crate::error::{Error, Result};
use crate::file::blocks::BlockRef;
use crate::options::{OpenOptions, Strictness};
use crate::tag::Version;
use crate::tree::folder_of;
use crate::value::edit::TreeText;
use crate::value::{Array, ArrayStorage, Tree};
use crate::yaml::{ParseOptions, YamlNode};

/// The initial tree for a file without a tree.
const EMPTY_TREE: &str = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{}\n...\n";

impl EditOptions {
    /// Opens a file for editing and locks it. If an in-place change was interrupted, rolls it back before
    /// reading the file.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::open`]. Also fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if another
    /// process keeps the file locked for longer than [`patience`](Self::patience), and with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the file is read-only, unless
    /// [`read_only`](Self::read_only) is set.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Editor> {
        let place = LockedFile::open(path.as_ref(), self)?;
        let source = Arc::new(place.source()?);
        let file = OpenOptions::new().limits(self.limits).from_source(source)?;
        let mut editor = self.edit(file);
        editor.place = Some(place);
        Ok(editor)
    }

    /// Creates an editor for a file that is already open. The file is neither locked nor changed:
    /// [`Editor::write_to`] and [`Editor::commit_to`] write the result elsewhere. The limits are those with
    /// which the file was opened.
    pub fn edit(&self, file: Asdf) -> Editor {
        let mut editor = Editor::from_file(file);
        editor.options = self.clone();
        editor
    }
}

/// An editor for the tree and the arrays of a file. Edits are made in memory; [`commit`](Self::commit) writes
/// them to disk.
///
/// A file opened by its path is locked for the lifetime of the editor. Dropping the editor without a commit leaves
/// the file unchanged.
///
/// By default, readers see either the old file or the new one, never a mixture: a complete new file replaces
/// the old one or, if all differing bytes are within one page, a single write changes them.
///
/// ```
/// use asdf::save::{EditOptions, Method};
/// use asdf::{Asdf, Tree, Writer};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("a.asdf");
/// Writer::new(Tree::parse("meta: {gain: 2.5}")?).write(&path)?;
/// let mut editor = EditOptions::new().open(&path)?;
/// editor.set("/meta/gain", &Tree::parse("3.5")?)?;
/// let report = editor.commit()?;
/// assert_eq!(report.method, Method::Patched);
/// assert_eq!(Asdf::open(&path)?.tree()?.pointer("/meta/gain")?.as_f64(), Some(3.5));
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Debug)]
pub struct Editor {
    file: Asdf,
    place: Option<LockedFile>,
    options: EditOptions,
    tree: Result<TreeText>,
    before: String,
    /// The data of new blocks that the tree refers to, by block number.
    blocks: BTreeMap<usize, ArrayData>,
    /// Numbers of the blocks whose arrays were replaced or removed.
    released: BTreeSet<usize>,
}

impl Editor {
    /// Opens a file with the default options and locks it.
    ///
    /// # Errors
    ///
    /// Same as [`EditOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        EditOptions::new().open(path)
    }

    /// Creates an editor for a file without locking or changing it. The result can be written elsewhere.
    pub fn from_file(file: Asdf) -> Self {
        let options = ParseOptions::default()
            .start(0, file.layout().tree_line)
            .limits(file.options().limits)
            .scalars(file.options().scalars);
        let before = String::from_utf8_lossy(file.tree_text());
        let is_text = matches!(before, Cow::Borrowed(_));
        let before = before.into_owned();
        let has_tree = file.layout().tree.is_some();
        let text = if has_tree { before.clone() } else { EMPTY_TREE.to_owned() };
        let tree = match TreeText::parse_with(text, &options) {
            Ok(tree) if is_text && file.options().strictness != Strictness::Strict => Ok(tree),
            // Prefer the error from the file, because it contains the position in the file.
            tree => file.document().map(drop).and(tree),
        };
        Self {
            file,
            place: None,
            options: EditOptions::new(),
            tree,
            before,
            blocks: BTreeMap::new(),
            released: BTreeSet::new(),
        }
    }

    /// Returns the file as it was opened.
    pub fn file(&self) -> &Asdf {
        &self.file
    }

    /// Returns the tree with all edits so far.
    ///
    /// # Errors
    ///
    /// Same as [`Asdf::document`], unless the tree has been replaced with [`set_text`](Self::set_text).
    pub fn tree(&self) -> Result<&TreeText> {
        self.tree.as_ref().map_err(Clone::clone)
    }

    /// Returns `true` if an interrupted in-place change was rolled back when the file was opened.
    pub fn rolled_back(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.rolled_back)
    }

    /// Sets the value at a JSON Pointer; see [`TreeText::set`]. Arrays in the value are also written.
    ///
    /// ```
    /// use asdf::save::Editor;
    /// use asdf::{Asdf, Tree, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.asdf");
    /// Writer::new(Tree::parse("filters: [F110W]")?).write(&path)?;
    /// let mut editor = Editor::open(&path)?;
    /// editor.set("/filters/-", &Tree::new("F160W"))?;
    /// editor.commit()?;
    /// assert_eq!(Asdf::open(&path)?.tree()?.pointer("/filters/1")?.as_str(), Some("F160W"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`tree`](Self::tree), [`TreeText::set`] and [`Blocks::len`](crate::block::Blocks::len). Also
    /// fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if a value cannot be represented in
    /// the file's version of the standard, or if a block would have to be appended after a streamed one. Fails
    /// with [`ErrorKind::Block`](crate::ErrorKind::Block) if the value refers to a block that does not exist or
    /// whose number is uncertain, or if a block would have to be appended after one with an invalid header.
    pub fn set(&mut self, pointer: &str, value: &Tree) -> Result<()> {
        let released = self.blocks_at(pointer)?;
        self.put(self.with_part(pointer, value, None)?, released)
    }

    /// Sets an array at a JSON Pointer. If there is already an array at the pointer and nothing else uses its
    /// block, the new array usually replaces the data of that block. If the file is changed in place, the block
    /// is never replaced.
    ///
    /// ```
    /// use asdf::save::Editor;
    /// use asdf::value::Array;
    /// use asdf::{Asdf, Tree, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.asdf");
    /// Writer::new(Tree::parse("gain: 2.5")?).write(&path)?;
    /// let mut editor = Editor::open(&path)?;
    /// editor.set_array("/image", Array::from_slice(&[1_u8, 2, 3], &[3])?)?;
    /// editor.commit()?;
    /// assert_eq!(Asdf::open(&path)?.tree()?.pointer("/image")?.ndarray()?.read::<u8>()?, [1, 2, 3]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`set`](Self::set). Also fails with [`ErrorKind::Block`](crate::ErrorKind::Block) if the block of
    /// an existing array at the pointer has an invalid header.
    pub fn set_array(&mut self, pointer: &str, array: Array) -> Result<()> {
        let released = self.blocks_at(pointer)?;
        let reused = match released.iter().next() {
            Some(&number) if !self.options.in_place && self.is_only_use(pointer, number)? => {
                Some(number)
            }
            _ => None,
        };
        self.put(self.with_part(pointer, &Tree::new(array), reused)?, released)
    }

    /// Sets an array at a JSON Pointer and stores its elements in the tree.
    ///
    /// # Errors
    ///
    /// Same as [`set`](Self::set).
    pub fn set_inline(&mut self, pointer: &str, array: Array) -> Result<()> {
        self.set(pointer, &Tree::new(array.storage(ArrayStorage::Inline)))
    }

    /// Removes an entry or item; see [`TreeText::remove`]. If the removed arrays leave blocks unused, the data
    /// of these blocks is removed as well, unless [`in_place`](EditOptions::in_place) is set.
    ///
    /// # Errors
    ///
    /// Same as [`tree`](Self::tree), [`TreeText::remove`] and [`Blocks::len`](crate::block::Blocks::len).
    pub fn remove(&mut self, pointer: &str) -> Result<()> {
        let released = self.blocks_at(pointer)?;
        self.tree_mut()?.remove(pointer)?;
        self.release(released)
    }

    /// Rewrites the relative URIs of external files so that the result can be written to the folder `to`; see
    /// [`Tree::relocate`]. Does nothing unless the editor was created from a file with a [path](Asdf::path).
    ///
    /// # Errors
    ///
    /// Same as [`tree`](Self::tree) and [`Tree::from_node`]. Also fails with
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if one of the folders does not exist, and with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the text cannot be changed without also
    /// changing another value.
    pub fn relocate(&mut self, to: impl AsRef<Path>) -> Result<()> {
        let Some(path) = self.file.path() else { return Ok(()) };
        if let Some(tree) = self.tree()?.relocated(folder_of(path), to.as_ref())? {
            self.tree = Ok(tree);
        }
        Ok(())
    }

    /// Changes the key of an entry; see [`TreeText::rename`].
    ///
    /// # Errors
    ///
    /// Same as [`tree`](Self::tree) and [`TreeText::rename`].
    pub fn rename(&mut self, pointer: &str, key: &str) -> Result<()> {
        self.tree_mut()?.rename(pointer, key)
    }

    /// Replaces the entire text of the tree, for example after manual editing. Blocks of the file to which the
    /// new text does not refer are kept.
    ///
    /// # Errors
    ///
    /// Same as [`Blocks::len`](crate::block::Blocks::len). Also fails with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the text does not begin with `%YAML` or has
    /// anything but white space after `...`. Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if it is not
    /// valid YAML, does not have a mapping as its root, or refers to a block that exists neither in
    /// [`Self::file`] nor for an array that was set before, or to a block whose number is uncertain. Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the text
    /// exceeds the limits.
    pub fn set_text(&mut self, text: &str) -> Result<()> {
        let mut text = text.to_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let fail = |message: &str| Err(Error::unwritable(message));
        if !text.starts_with("%YAML") {
            return fail(
                "the tree does not begin with a %YAML directive, expected `%YAML 1.1` in line 1",
            );
        }
        let end = crate::layout::tree_end::search(text.as_bytes(), 0, true);
        match end {
            crate::layout::tree_end::TreeEnd::Found { len, .. } => {
                if !text.get(len..).unwrap_or_default().trim().is_empty() {
                    return fail(
                        "the tree ends at the line `...`, but more text follows that line",
                    );
                }
                text.truncate(len);
                if !text.ends_with('\n') {
                    text.push('\n');
                }
            }
            _ => text.push_str("...\n"),
        }
        let options = ParseOptions::default()
            .start(0, 1)
            .limits(self.file.options().limits)
            .scalars(self.file.options().scalars);
        let tree = TreeText::parse_with(text, &options)?;
        let root = tree.document().root();
        if root.kind() != crate::yaml::NodeKind::Mapping {
            return Err(root.error("expected a mapping at the root"));
        }
        let is_new = |block| matches!(block, BlockRef::Index(at) if self.blocks.contains_key(&at));
        for (node, block) in sources(root).filter(|&(_, block)| !is_new(block)) {
            if let Err(error) = self.file.blocks().by_source(block) {
                return Err(node.error(format!("`source: {block}`: {error}")));
            }
        }
        self.tree = Ok(tree);
        self.forget_unused_data()
    }

    fn tree_mut(&mut self) -> Result<&mut TreeText> {
        self.tree.as_mut().map_err(|error| error.clone())
    }

    /// Returns the tree with a new value at `pointer`, and the blocks for the arrays in the value, with their
    /// numbers.
    fn with_part(
        &self,
        pointer: &str,
        part: &Tree,
        reused: Option<usize>,
    ) -> Result<(TreeText, Vec<(usize, ArrayData)>)> {
        let next = self.next_number()?;
        let numbered =
            NumberedTree::of_part(part, &self.file, &self.write_options(), reused, next)?;
        let edited = self.tree()?.with_value(pointer, numbered.tree(), &numbered)?;
        let blocks = numbered.into_arrays();
        let count = self.file.blocks().len()?;
        if blocks.iter().any(|(number, _)| *number >= count) {
            self.check_added(count)?;
        }
        Ok((edited, blocks))
    }

    fn put(
        &mut self,
        (tree, blocks): (TreeText, Vec<(usize, ArrayData)>),
        released: BTreeSet<usize>,
    ) -> Result<()> {
        self.tree = Ok(tree);
        self.blocks.extend(blocks);
        self.release(released)
    }

    /// Records blocks that may no longer be used. The tree is searched for other uses only if some
    /// of the blocks contain new data, so that adding many arrays stays fast.
    fn release(&mut self, released: BTreeSet<usize>) -> Result<()> {
        let have_data = released.iter().any(|number| self.blocks.contains_key(number));
        self.released.extend(released);
        if have_data { self.forget_unused_data() } else { Ok(()) }
    }

    /// Discards the data of new blocks that no array uses any more.
    fn forget_unused_data(&mut self) -> Result<()> {
        let used = self.used(self.tree()?.document().root())?;
        self.blocks.retain(|number, _| used.contains(number));
        Ok(())
    }

    /// Fails if the last block is streamed, because no block can follow it.
    fn check_added(&self, count: usize) -> Result<()> {
        let Some(last) = count.checked_sub(1) else { return Ok(()) };
        if self.file.blocks().get(last)?.header()?.is_streamed() {
            let message = "the last block is streamed, so no block can follow it: copy the file \
                with `Writer`, which turns the streamed block into an ordinary one";
            return Err(Error::unwritable(message));
        }
        Ok(())
    }

    /// Rewrites sources that count from the end, because they would refer to other blocks after the
    /// number of blocks changes. Returns `None` if no source counts from the end.
    fn with_positive_sources(&self, tree: &TreeText) -> Result<Option<TreeText>> {
        let root = tree.document().root();
        let negative = sources(root).filter(|(_, block)| matches!(block, BlockRef::FromEnd(_)));
        let mut changed: Option<TreeText> = None;
        for (node, block) in negative {
            let block = self.file.blocks().by_source(block)?.index();
            let pointer = node.to_pointer().unwrap_or_default() + "/source";
            let current = changed.as_ref().unwrap_or(tree);
            changed = Some(current.with(&pointer, &Tree::new(block as u64))?);
        }
        Ok(changed)
    }

    /// Returns the number for the next new block.
    fn next_number(&self) -> Result<usize> {
        let count = self.file.blocks().len()?;
        Ok(self.blocks.keys().next_back().map_or(count, |last| count.max(last + 1)))
    }

    /// Returns the numbers of the blocks that the arrays at or below a pointer use.
    fn blocks_at(&self, pointer: &str) -> Result<BTreeSet<usize>> {
        let root = self.tree()?.document().root();
        let Ok(place) = root.pointer(pointer) else { return Ok(BTreeSet::new()) };
        let span = place.span();
        let inside = sources(root)
            .filter(|(node, _)| span.start <= node.span().start && node.span().end <= span.end);
        self.numbers(inside)
    }

    /// Returns the numbers of the blocks that the arrays of a tree use.
    fn used(&self, root: YamlNode<'_>) -> Result<BTreeSet<usize>> {
        self.numbers(sources(root))
    }

    fn numbers<'n>(
        &self,
        sources: impl Iterator<Item = (YamlNode<'n>, BlockRef)>,
    ) -> Result<BTreeSet<usize>> {
        let count = self.file.blocks().len()?;
        Ok(sources.filter_map(|(_, block)| block.resolve(count)).collect())
    }

    /// Returns `true` if a new array at `pointer` may replace the data of the block: only the old array at
    /// `pointer` uses it, and the block is neither new nor streamed.
    fn is_only_use(&self, pointer: &str, number: usize) -> Result<bool> {
        let root = self.tree()?.document().root();
        let place = root.pointer(pointer)?;
        let is_array = place.block_ref() == Some(BlockRef::Index(number));
        let mut uses = 0;
        for (_, source) in sources(root) {
            uses += usize::from(
                self.file.blocks().by_source(source).is_ok_and(|it| it.index() == number),
            );
        }
        // An alias of the array would still need the data.
        let is_shared = !place.alias_spans().is_empty();
        let is_new = self.blocks.contains_key(&number);
        let is_streamed = number < self.file.blocks().len()?
            && self.file.blocks().get(number)?.header()?.is_streamed();
        Ok(is_array && uses == 1 && !is_shared && !is_new && !is_streamed)
    }

    fn write_options(&self) -> WriteOptions {
        WriteOptions::new().standard(standard(&self.file))
    }
}

/// Returns the version of the standard that determines the tags of new nodes in a file.
fn standard(file: &Asdf) -> Version {
    let declared = file.layout().standard_version.filter(|version| STANDARDS.contains(version));
    declared.or_else(|| STANDARDS.last().copied()).unwrap_or(Version::new(1, 6, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::save::writer::Writer;
    use crate::yaml::PARSED;

    #[test]
    fn setting_a_value_parses_the_tree_only_twice_even_if_spaces_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.asdf");
        let lines = (0..2000).map(|n| format!("k{n}: {n}\n")).collect::<Vec<_>>().concat();
        let mut tree = Tree::parse(&lines).unwrap();
        tree.set("/x", Array::from_slice(&[1_i32, 2], &[2]).unwrap()).unwrap();
        Writer::new(tree).write(&path).unwrap();
        for (value, method) in
            [(9, Method::Patched), (1000, Method::Patched), (123_456, Method::NewFile)]
        {
            PARSED.set(0);
            let mut editor = Editor::open(&path).unwrap();
            editor.set("/k1000", &Tree::new(value)).unwrap();
            assert_eq!(editor.commit().unwrap().method, method, "{value}");
            // Allow for parsing the new value as well.
            let twice = 2 * lines.len();
            assert!((twice..twice + 1000).contains(&PARSED.get()), "{value}: {}", PARSED.get());
        }
    }
}
