//! A locked file whose tree, arrays and blocks are changed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use binio::write::{AtomicFile, Discard, FileLock, FileStorage, Storage};
use binio::{FileSource, Limits, ReadAt as _};

use super::draft::{Draft, PAGE, sources};
use super::in_place::{InPlace, patch};
use super::plan::{NewBlock, Plan};
use super::rewrite::copy_pieces;
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

/// Bytes of a tree that are compared at a time.
const PIECE: usize = 256 << 10;

/// How a file is changed.
///
/// ```
/// use asdf::save::EditOptions;
///
/// let options = EditOptions::new().in_place(true);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EditOptions {
    in_place: bool,
    read_only: bool,
    patience: Duration,
    limits: Limits,
}

impl Default for EditOptions {
    fn default() -> Self {
        Self {
            in_place: false,
            read_only: false,
            patience: Duration::from_secs(10),
            limits: Limits::default(),
        }
    }
}

impl EditOptions {
    /// The default: see the methods.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets whether the file itself is changed, under a journal, instead of replaced by a new one:
        /// for files that are too large to be copied. Other programs may then see a file that is being
        /// changed. The tree has to fit its room, and removed blocks keep theirs. Default: no.
        in_place: bool;
        /// Sets whether a read-only file is changed. Default: no.
        read_only: bool;
        /// Sets how long to wait for another process that is changing the file. Default: 10 seconds.
        patience: Duration;
        /// Sets the limits for reading the file and for the tree that the edits lead to.
        limits: Limits;
    }

    /// Opens and locks a file to change it. A change in place that was interrupted is undone first.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Editor> {
        let path = path.as_ref();
        let lock = FileLock::acquire_within(path, self.patience)?;
        let can_write = !is_read_only(lock.path())?;
        if !can_write && !self.read_only {
            return Err(Error::unwritable(format!("{}: the file is read-only", path.display())));
        }
        let rolled_back = lock.roll_back()?;
        let handle = File::open(lock.path())?;
        let state = State::of(&handle.metadata()?);
        let source = FileSource::new(handle.try_clone()?)?;
        let file = OpenOptions::new().limits(self.limits).from_source(Arc::new(source))?;
        let mut editor = self.edit(file);
        editor.place = Some(Locked { lock, handle, state, can_write });
        editor.rolled_back = rolled_back;
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

/// Reports whether a file must not be written.
pub fn is_read_only(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref();
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        // Opening a pipe for writing would wait for its reader.
        let message = "only regular files can be changed";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    if metadata.permissions().readonly() {
        return Ok(true);
    }
    match File::options().write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
        Err(error) => Err(error),
        Ok(_) => Ok(false),
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

/// A file that is locked.
#[derive(Debug)]
struct Locked {
    lock: FileLock,
    handle: File,
    state: State,
    can_write: bool,
}

/// What differs if a file was replaced or changed.
#[derive(Debug, PartialEq, Eq)]
struct State {
    len: u64,
    modified: Option<SystemTime>,
    /// Device and inode, where the system has them.
    identity: Option<(u64, u64)>,
}

impl State {
    fn of(metadata: &fs::Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let identity = None;
        Self { len: metadata.len(), modified: metadata.modified().ok(), identity }
    }
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
    place: Option<Locked>,
    options: EditOptions,
    tree: Result<TreeText>,
    before: String,
    blocks: BTreeMap<usize, NewBlock>,
    /// Blocks of arrays that were replaced or removed.
    left: BTreeSet<usize>,
    rolled_back: bool,
}

impl std::fmt::Debug for NewBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewBlock").field("len", &self.data.len()).finish_non_exhaustive()
    }
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
            left: BTreeSet::new(),
            rolled_back: false,
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
        self.rolled_back
    }

    /// Sets the value at a JSON Pointer, with its arrays; see [`TreeText::set`].
    pub fn set(&mut self, pointer: &str, value: &Tree) -> Result<()> {
        let left = self.blocks_at(pointer)?;
        self.put(self.with_part(pointer, value, None)?, left);
        Ok(())
    }

    /// Puts an array at a JSON Pointer. The block of an array that it replaces is replaced, if no other
    /// array uses it.
    ///
    /// Fails if a block is needed and the last block is streamed.
    pub fn set_array(&mut self, pointer: &str, array: Array) -> Result<()> {
        let left = self.blocks_at(pointer)?;
        let reused = match left.iter().next() {
            Some(&number) if !self.options.in_place && self.is_only_use(pointer, number)? => {
                Some(number)
            }
            _ => None,
        };
        self.put(self.with_part(pointer, &Tree::new(array), reused)?, left);
        Ok(())
    }

    /// Puts an array at a JSON Pointer, with its elements in the tree.
    pub fn set_inline(&mut self, pointer: &str, array: Array) -> Result<()> {
        self.set(pointer, &Tree::new(array.storage(ArrayStorage::Inline)))
    }

    /// Removes an entry or item; see [`TreeText::remove`]. A block that no array uses after that is
    /// left out of a new file.
    pub fn remove(&mut self, pointer: &str) -> Result<()> {
        let left = self.blocks_at(pointer)?;
        self.tree_mut()?.remove(pointer)?;
        self.left.extend(left);
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
        let draft = self.draft()?;
        let method = self.method(&draft)?;
        let Some(place) = &self.place else {
            return Err(Error::unwritable("the file was not opened to be changed"));
        };
        let mut report = self.report(&draft, method.kind())?;
        self.check_unchanged(place)?;
        match method {
            Planned::Unchanged => {}
            Planned::Patched(offset, bytes) => {
                let mut storage = FileStorage::open(&place.lock)?;
                patch(&mut storage, offset, &bytes)?;
            }
            Planned::InPlace(change) => {
                report.len = change.apply(&mut FileStorage::open(&place.lock)?)?;
                report.blocks += self.blocks.len();
            }
            Planned::NewFile => {
                let mut out = AtomicFile::create(place.lock.path())?;
                let mut copy =
                    |out: &mut AtomicFile, range: Range<u64>| copy_file(&place.handle, range, out);
                (report.len, report.blocks) = draft.write(&mut out, &mut copy)?;
                out.commit()?;
            }
        }
        Ok(report)
    }

    /// Fails unless the file is still the one that was opened. Programs that do not lock the file may have
    /// changed it, such as while a person was editing its text.
    fn check_unchanged(&self, place: &Locked) -> Result<()> {
        let is_same = fs::metadata(place.lock.path())
            .is_ok_and(|metadata| State::of(&metadata) == place.state)
            && self.has_same_tree(&place.handle)?;
        if is_same {
            return Ok(());
        }
        Err(Error::unwritable("another program has changed the file since it was opened"))
    }

    /// Compares the tree in the file with the text that was read. A program may have restored the time of
    /// the last modification.
    fn has_same_tree(&self, handle: &File) -> Result<bool> {
        let Some(range) = &self.file.layout().tree else { return Ok(true) };
        let source = FileSource::new(handle.try_clone()?)?;
        let mut same = true;
        let mut before = &self.file.tree_text()[..];
        for piece in source.pieces(range.clone(), PIECE) {
            let piece = piece?;
            same &= before.starts_with(&piece);
            before = before.get(piece.len()..).unwrap_or_default();
        }
        Ok(same && before.is_empty())
    }

    /// What [`Self::commit`] would do.
    pub fn plan(&self) -> Result<EditReport> {
        let draft = self.draft()?;
        let mut report = self.report(&draft, self.method(&draft)?.kind())?;
        if matches!(report.method, Method::NewFile | Method::InPlace) {
            let mut skip = |out: &mut Discard, range: Range<u64>| {
                out.skip(range.end - range.start);
                Ok(())
            };
            (report.len, report.blocks) = draft.write(&mut Discard::default(), &mut skip)?;
        }
        Ok(report)
    }

    /// Writes the file with the changes to an output that can seek and that is empty.
    pub fn write_to<W: Write + Seek>(&self, mut out: W) -> Result<EditReport> {
        let draft = self.draft()?;
        let mut copy = |out: &mut W, range| copy_pieces(&draft, out, range);
        let (len, blocks) = draft.write(&mut out, &mut copy)?;
        let rolled_back = self.rolled_back;
        Ok(EditReport { method: Method::NewFile, len, blocks, unused: Vec::new(), rolled_back })
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
        let draft = self.draft()?;
        let method = self.method(&draft)?;
        match &method {
            Planned::Unchanged => {}
            Planned::Patched(offset, bytes) => patch(storage, *offset, bytes)?,
            Planned::InPlace(change) => {
                change.apply(storage)?;
            }
            Planned::NewFile => {
                return Err(Error::unwritable(
                    "expected a change in place, but it needs a new file",
                ));
            }
        }
        Ok(method.kind())
    }

    fn draft(&self) -> Result<Draft<'_>> {
        let edited = self.tree()?;
        let mut dropped = BTreeSet::new();
        if !self.options.in_place {
            let used = self.used(edited.document().root())?;
            let unused =
                |number: &&usize| !used.contains(*number) && !self.blocks.contains_key(*number);
            dropped = self.left.iter().filter(unused).copied().collect();
        }
        let mut draft = Draft {
            file: &self.file,
            edited,
            resolved: None,
            before: &self.before,
            blocks: &self.blocks,
            dropped,
        };
        let count = self.file.blocks().len()?;
        if draft.block_count(count) != count {
            draft.resolved = self.with_positive_sources(edited)?;
        }
        Ok(draft)
    }

    fn method<'d>(&self, draft: &'d Draft<'d>) -> Result<Planned<'d>> {
        if !draft.has_changed() {
            return Ok(Planned::Unchanged);
        }
        let can_write = self.place.as_ref().is_none_or(|place| place.can_write);
        if can_write && !draft.changes_blocks() && self.file.layout().tree.is_some() {
            if let Some((offset, bytes)) = draft.in_one_page(&draft.room()?)? {
                debug_assert!(bytes.len() as u64 <= PAGE);
                return Ok(Planned::Patched(offset, bytes));
            }
        }
        if self.options.in_place && can_write {
            return Ok(Planned::InPlace(Box::new(InPlace::new(draft)?)));
        }
        Ok(Planned::NewFile)
    }

    /// What is known before the file is written: its length and blocks are those of the old one.
    fn report(&self, draft: &Draft<'_>, method: Method) -> Result<EditReport> {
        let (len, blocks) = (self.file.layout().file_len, self.file.blocks().len()?);
        let mut unused = Vec::new();
        if self.options.in_place {
            let used = self.used(draft.text().document().root())?;
            unused = self.left.iter().filter(|number| !used.contains(*number)).copied().collect();
        }
        Ok(EditReport { method, len, blocks, unused, rolled_back: self.rolled_back })
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
    ) -> Result<(TreeText, Vec<(usize, NewBlock)>)> {
        let next = self.next_number()?;
        let plan = Plan::of_part(part, &self.file, &self.write_options(), reused, next)?;
        let edited = self.tree()?.with_value(pointer, plan.tree(), &plan)?;
        let blocks = plan.into_arrays();
        let count = self.file.blocks().len()?;
        if blocks.iter().any(|(number, _)| *number >= count) {
            self.check_added(count)?;
        }
        Ok((edited, blocks))
    }

    fn put(&mut self, (tree, blocks): (TreeText, Vec<(usize, NewBlock)>), left: BTreeSet<usize>) {
        self.tree = Ok(tree);
        self.blocks.extend(blocks);
        self.left.extend(left);
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

/// The version of the standard whose tags new nodes have.
fn standard(file: &Asdf) -> Version {
    let declared = file.layout().standard_version.filter(|version| STANDARDS.contains(version));
    declared.or_else(|| STANDARDS.last().copied()).unwrap_or(Version::new(1, 6, 0))
}

/// How a change will reach the file.
enum Planned<'d> {
    Unchanged,
    Patched(u64, Vec<u8>),
    InPlace(Box<InPlace<'d>>),
    NewFile,
}

impl Planned<'_> {
    fn kind(&self) -> Method {
        match self {
            Self::Unchanged => Method::Unchanged,
            Self::Patched(..) => Method::Patched,
            Self::InPlace(_) => Method::InPlace,
            Self::NewFile => Method::NewFile,
        }
    }
}

/// Copies a part of a file, within the system where it can do that.
fn copy_file(mut source: &File, range: Range<u64>, out: &mut AtomicFile) -> Result<()> {
    use std::io::Read as _;

    source.seek(SeekFrom::Start(range.start))?;
    let needed = range.end - range.start;
    let copied = io::copy(&mut source.take(needed), &mut out.file()?)?;
    if copied != needed {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(())
}
