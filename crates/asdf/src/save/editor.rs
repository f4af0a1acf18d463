//! A locked file whose tree, arrays and blocks are changed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;

use binio::write::{AtomicFile, Discard, Storage};

use super::block::ArrayData;
use super::edited::{EditedFile, PAGE, sources};
use super::in_place::InPlace;
use super::locked::LockedFile;
use super::numbered_tree::NumberedTree;
use super::options::EditOptions;
use super::output::{Replacement, Stream};
use super::plan::{FilePlan, Written};
use super::{STANDARDS, WriteOptions};
use crate::asdf::Asdf;
use crate::error::{Error, Result};
use crate::file::blocks::BlockRef;
use crate::options::{OpenOptions, Strictness};
use crate::tag::Version;
use crate::value::edit::TreeText;
use crate::value::{Array, Storage as ArrayStorage, Tree};
use crate::yaml::{ParseOptions, YamlNode};

/// The tree of a file that has none.
const EMPTY_TREE: &str = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{}\n...\n";

impl EditOptions {
    /// Opens and locks a file to change it. A change in place that was interrupted is undone first.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Editor> {
        let place = LockedFile::open(path.as_ref(), self)?;
        let source = Arc::new(place.source()?);
        let file = OpenOptions::new().limits(self.limits).from_source(source)?;
        let mut editor = self.edit(file);
        editor.place = Some(place);
        Ok(editor)
    }

    /// Edits a file that is already open, which is neither locked nor changed:
    /// [`Editor::write_to`] and [`Editor::commit_to`] write the result elsewhere. The limits are
    /// those with which the file was opened.
    pub fn edit(&self, file: Asdf) -> Editor {
        let mut editor = Editor::from_file(file);
        editor.options = self.clone();
        editor
    }
}

/// How a change reached the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Nothing was to be changed.
    Unchanged,
    /// One write within one page of the file.
    Patched,
    /// The file itself was changed under a journal.
    InPlace,
    /// A new file took its place, or was written under another name.
    NewFile,
}

/// What a change did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditReport {
    /// How it reached the file.
    pub method: Method,
    /// Length of the file in bytes.
    pub len: u64,
    /// How many blocks it has.
    pub blocks: usize,
    /// Blocks that no array uses any more and that keep their room.
    pub unused: Vec<usize>,
    /// Whether a change in place that had been interrupted was undone before.
    pub rolled_back: bool,
}

/// Changes a file: first its tree and arrays in memory, then, with [`commit`](Self::commit), the file.
///
/// The file is locked as long as this value lives, and it is read by position. Dropped without a
/// commit, it leaves the file as it is.
///
/// By default the change appears at once for all readers: the new file takes the place of the old one
/// when it is complete, or, where all bytes that differ lie in one page, one write changes them.
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
    blocks: BTreeMap<usize, ArrayData>,
    /// Blocks of arrays that were replaced or removed.
    released: BTreeSet<usize>,
}

impl Editor {
    /// Opens and locks a file with the default options.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        EditOptions::new().open(path)
    }

    /// Takes a file that stays as it is: the result can be written to another one.
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
            // The error of the file itself has its place in the file.
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

    /// The file as it is.
    pub fn file(&self) -> &Asdf {
        &self.file
    }

    /// The tree as it will be. Fails if that of the file is broken: see [`Self::set_text`].
    pub fn tree(&self) -> Result<&TreeText> {
        self.tree.as_ref().map_err(Clone::clone)
    }

    /// Whether a change in place that had been interrupted was undone when the file was opened.
    pub fn rolled_back(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.rolled_back)
    }

    /// Sets the value at a JSON Pointer, with its arrays; see [`TreeText::set`].
    pub fn set(&mut self, pointer: &str, value: &Tree) -> Result<()> {
        let released = self.blocks_at(pointer)?;
        self.put(self.with_part(pointer, value, None)?, released);
        Ok(())
    }

    /// Puts an array at a JSON Pointer. The block of an array that it replaces is replaced, if no other
    /// array uses it.
    ///
    /// Fails if a block is needed and the last block is streamed.
    pub fn set_array(&mut self, pointer: &str, array: Array) -> Result<()> {
        let released = self.blocks_at(pointer)?;
        let reused = match released.iter().next() {
            Some(&number) if !self.options.in_place && self.is_only_use(pointer, number)? => {
                Some(number)
            }
            _ => None,
        };
        self.put(self.with_part(pointer, &Tree::new(array), reused)?, released);
        Ok(())
    }

    /// Puts an array at a JSON Pointer, with its elements in the tree.
    pub fn set_inline(&mut self, pointer: &str, array: Array) -> Result<()> {
        self.set(pointer, &Tree::new(array.storage(ArrayStorage::Inline)))
    }

    /// Removes an entry or item; see [`TreeText::remove`]. A block that no array uses after that is
    /// left out of a new file.
    pub fn remove(&mut self, pointer: &str) -> Result<()> {
        let released = self.blocks_at(pointer)?;
        self.tree_mut()?.remove(pointer)?;
        self.released.extend(released);
        Ok(())
    }

    /// Rewrites the relative URIs of external files, for a result that is written to the folder `to`; see
    /// [`Tree::relocate`].
    ///
    /// # Errors
    ///
    /// Fails if one of the folders does not exist, or if the text cannot be changed.
    pub fn relocate(&mut self, to: impl AsRef<Path>) -> Result<()> {
        let Some(path) = self.file.path() else { return Ok(()) };
        let from = folder_of(path);
        if let Some(tree) = self.tree()?.relocated(from, to.as_ref())? {
            self.tree = Ok(tree);
        }
        Ok(())
    }

    /// Gives an entry another key; see [`TreeText::rename`].
    pub fn rename(&mut self, pointer: &str, key: &str) -> Result<()> {
        self.tree_mut()?.rename(pointer, key)
    }

    /// Replaces the whole text of the tree, for a person who edited it. Fails with the place of the
    /// mistake if it is not a tree that the file can have: the text begins with `%YAML`, nothing but
    /// blanks follows `...`, the root is a mapping, and arrays name blocks that exist.
    pub fn set_text(&mut self, text: &str) -> Result<()> {
        let mut text = text.to_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let fail = |message: &str| Err(Error::unwritable(message));
        if !text.starts_with("%YAML") {
            return fail("line 1: expected `%YAML 1.1`, which begins the tree");
        }
        let end = crate::layout::tree_end::search(text.as_bytes(), 0, true);
        match end {
            crate::layout::tree_end::TreeEnd::Found { len, .. } => {
                if !text.get(len..).unwrap_or_default().trim().is_empty() {
                    return fail("text follows the line `...`, which ends the tree");
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
        for (node, number) in sources(root) {
            if let Err(error) = self.file.blocks().by_source(number) {
                return Err(node.error(format!("`source: {number}`: {error}")));
            }
        }
        self.tree = Ok(tree);
        Ok(())
    }

    /// Changes the file. When this returns, the change is on the disk.
    ///
    /// Fails if another program has changed or replaced the file since it was opened. On failure the file
    /// is as it was, with one exception: if only the last step fails, which writes the directory to the
    /// disk, the new file is in place but may not survive a crash.
    pub fn commit(self) -> Result<EditReport> {
        let edited = self.edited()?;
        let change = self.change(&edited)?;
        let Some(place) = &self.place else {
            return Err(Error::unwritable("the file was not opened to be changed"));
        };
        place.check_unchanged(&self.file)?;
        let written = match &change {
            Planned::Unchanged => None,
            Planned::Patched(offset, bytes) => {
                patch(&mut place.storage()?, *offset, bytes)?;
                None
            }
            Planned::InPlace(change) => Some(change.apply(&mut place.storage()?)?),
            Planned::NewFile(plan) => {
                let mut out = AtomicFile::create(place.path())?;
                let sink = Replacement { out: &mut out, existing: &place.handle };
                let written = plan.write(sink)?;
                out.commit()?;
                Some(written)
            }
        };
        self.report(&edited, change.method(), written)
    }

    /// What [`Self::commit`] would do.
    pub fn plan(&self) -> Result<EditReport> {
        let edited = self.edited()?;
        let change = self.change(&edited)?;
        let written = match &change {
            Planned::Unchanged | Planned::Patched(..) => None,
            Planned::InPlace(_) | Planned::NewFile(_) => {
                Some(edited.plan()?.write(Discard::default())?)
            }
        };
        self.report(&edited, change.method(), written)
    }

    /// Writes the file with the changes to an output that can seek and that is empty.
    pub fn write_to(&self, out: impl Write + Seek) -> Result<EditReport> {
        let edited = self.edited()?;
        let sink = Stream { out, existing: Some(&**self.file.source()) };
        let Written { len, blocks } = edited.plan()?.write(sink)?;
        Ok(EditReport {
            method: Method::NewFile,
            len,
            blocks: blocks.len(),
            unused: Vec::new(),
            rolled_back: self.rolled_back(),
        })
    }

    /// Changes the file that a storage holds instead of the one that was opened: for files that do not
    /// live in the file system, and to see what an interrupted change leaves.
    ///
    /// The storage must hold the bytes of [`Self::file`]. Returns how the change reached them. Fails if
    /// the change needs a new file, which [`Self::write_to`] writes; with
    /// [`EditOptions::in_place`] it never does.
    ///
    /// ```
    /// use asdf::save::{EditOptions, Method};
    /// use asdf::{Asdf, Tree, Writer};
    /// use binio::write::MemoryStorage;
    ///
    /// let mut bytes = std::io::Cursor::new(Vec::new());
    /// Writer::new(Tree::parse("gain: 2.5")?).write_to(&mut bytes)?;
    /// let mut storage = MemoryStorage::new(&bytes.into_inner());
    /// let file = Asdf::from_bytes(storage.file_bytes().to_vec())?;
    /// let mut editor = EditOptions::new().in_place(true).edit(file);
    /// editor.set("/gain", &Tree::parse("3.5")?)?;
    /// assert_eq!(editor.commit_to(&mut storage)?, Method::Patched);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn commit_to(&self, storage: &mut dyn Storage) -> Result<Method> {
        let edited = self.edited()?;
        let change = self.change(&edited)?;
        match &change {
            Planned::Unchanged => {}
            Planned::Patched(offset, bytes) => patch(storage, *offset, bytes)?,
            Planned::InPlace(change) => drop(change.apply(storage)?),
            Planned::NewFile(_) => {
                return Err(Error::unwritable(
                    "expected a change in place, but it needs a new file",
                ));
            }
        }
        Ok(change.method())
    }

    fn edited(&self) -> Result<EditedFile<'_>> {
        let tree = self.tree()?;
        let in_place = self.options.in_place;
        let mut dropped = BTreeSet::new();
        if !in_place {
            let used = self.used(tree.document().root())?;
            let unused =
                |number: &&usize| !used.contains(*number) && !self.blocks.contains_key(*number);
            dropped = self.released.iter().filter(unused).copied().collect();
        }
        let (file, before, blocks) = (&self.file, &*self.before, &self.blocks);
        let mut edited =
            EditedFile { file, edited: tree, resolved: None, before, blocks, dropped, in_place };
        let count = self.file.blocks().len()?;
        if edited.block_count(count) != count {
            edited.resolved = self.with_positive_sources(tree)?;
        }
        Ok(edited)
    }

    /// Chooses the smallest change that leads to the edited file.
    fn change<'e>(&self, edited: &'e EditedFile<'e>) -> Result<Planned<'e>> {
        if !edited.has_changed() {
            return Ok(Planned::Unchanged);
        }
        let can_write = self.place.as_ref().is_none_or(|place| place.can_write);
        if can_write && !edited.changes_blocks() && self.file.layout().tree.is_some() {
            if let Some((offset, bytes)) = edited.in_one_page(&edited.space()?)? {
                debug_assert!(bytes.len() as u64 <= PAGE);
                return Ok(Planned::Patched(offset, bytes));
            }
        }
        let plan = edited.plan()?;
        if self.options.in_place && can_write {
            return Ok(Planned::InPlace(Box::new(InPlace::new(plan, &**self.file.source())?)));
        }
        Ok(Planned::NewFile(plan))
    }

    /// The report on a change. If no new file was written, its length and number of blocks are those of the
    /// old one.
    fn report(
        &self,
        edited: &EditedFile<'_>,
        method: Method,
        written: Option<Written>,
    ) -> Result<EditReport> {
        let (len, blocks) = match written {
            Some(Written { len, blocks }) => (len, blocks.len()),
            None => (self.file.layout().file_len, self.file.blocks().len()?),
        };
        let mut unused = Vec::new();
        if self.options.in_place {
            let used = self.used(edited.text().document().root())?;
            unused =
                self.released.iter().filter(|number| !used.contains(*number)).copied().collect();
        }
        Ok(EditReport { method, len, blocks, unused, rolled_back: self.rolled_back() })
    }

    fn tree_mut(&mut self) -> Result<&mut TreeText> {
        self.tree.as_mut().map_err(|error| error.clone())
    }

    /// The tree with a part and its arrays, and the blocks of these.
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
    ) {
        self.tree = Ok(tree);
        self.blocks.extend(blocks);
        self.released.extend(released);
    }

    /// Fails if no block can follow the last one.
    fn check_added(&self, count: usize) -> Result<()> {
        let Some(last) = count.checked_sub(1) else { return Ok(()) };
        if self.file.blocks().get(last)?.header()?.is_streamed() {
            let message = "the last block is streamed, so no block can follow it; a copy of the file \
                written by `Writer` has an ordinary block instead";
            return Err(Error::unwritable(message));
        }
        Ok(())
    }

    /// Rewrites sources that count from the end, so that they name the same blocks when the file gets more
    /// or fewer blocks. Returns `None` if there are no such sources.
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

    /// The number that a new block gets.
    fn next_number(&self) -> Result<usize> {
        let count = self.file.blocks().len()?;
        Ok(self.blocks.keys().next_back().map_or(count, |last| count.max(last + 1)))
    }

    /// The blocks of the arrays at a place and below it.
    fn blocks_at(&self, pointer: &str) -> Result<BTreeSet<usize>> {
        let root = self.tree()?.document().root();
        let Ok(place) = root.pointer(pointer) else { return Ok(BTreeSet::new()) };
        let span = place.span();
        let inside = sources(root)
            .filter(|(node, _)| span.start <= node.span().start && node.span().end <= span.end);
        self.numbers(inside)
    }

    /// The blocks that arrays of a tree use.
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

    /// Whether the array at a place is the only one in a block.
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
        // An alias elsewhere keeps the array.
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

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The version of the standard whose tags new nodes have.
fn standard(file: &Asdf) -> Version {
    let declared = file.layout().standard_version.filter(|version| STANDARDS.contains(version));
    declared.or_else(|| STANDARDS.last().copied()).unwrap_or(Version::new(1, 6, 0))
}

/// How a change will reach the file.
enum Planned<'e> {
    Unchanged,
    Patched(u64, Vec<u8>),
    InPlace(Box<InPlace<'e>>),
    NewFile(FilePlan<'e>),
}

impl Planned<'_> {
    fn method(&self) -> Method {
        match self {
            Self::Unchanged => Method::Unchanged,
            Self::Patched(..) => Method::Patched,
            Self::InPlace(_) => Method::InPlace,
            Self::NewFile(_) => Method::NewFile,
        }
    }
}

/// Writes bytes within one page.
fn patch(storage: &mut dyn Storage, offset: u64, bytes: &[u8]) -> Result<()> {
    storage.file_mut().write_all_at(bytes, offset)?;
    Ok(storage.file_mut().sync()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::save::writer::Writer;
    use crate::yaml::PARSED;

    #[test]
    fn setting_a_value_parses_the_tree_twice_even_if_blanks_make_up_for_its_length() {
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
            // The value itself is parsed too.
            let twice = 2 * lines.len();
            assert!((twice..twice + 1000).contains(&PARSED.get()), "{value}: {}", PARSED.get());
        }
    }
}
