//! Writing a complete file from a tree: header line, tree, blocks and index.

use std::io::{Seek, Write};
#[cfg(any(unix, windows))]
use std::path::Path;
use std::path::PathBuf;

#[cfg(any(unix, windows))]
use binio::write::{AtomicFile, Discard};

use super::WriteOptions;
use super::block::{BlockOptions, Content};
#[cfg(any(unix, windows))]
use super::exploded;
use super::numbered_tree::{NumberedTree, Origin};
use super::options::MAX_PADDING;
use super::output::Stream;
use super::plan::{FilePlan, Part, Written};
use crate::asdf::Asdf;
use crate::error::{Error, Result};
use crate::layout::{BlockHeader, head};
use crate::options::Strictness;
use crate::tag::Version;
use crate::value::Tree;
use crate::value::edit::TreeText;
#[cfg(any(unix, windows))]
use crate::value::relocate::to_uri;
use crate::yaml::ParseOptions;

/// The versions of the standard that can be written: all stable ones.
pub const STANDARDS: &[Version] = {
    let (stable, _) = crate::tag::KNOWN_STANDARDS.split_at(7);
    stable
};

/// Maximum number of block files of an exploded file that are open at the same time.
#[cfg(any(unix, windows))]
const OPEN_FILES: usize = 256;

/// Writes a tree and its blocks to a file.
///
/// ```
/// use asdf::value::Array;
/// use asdf::{Asdf, Compression, Tree, WriteOptions, Writer};
///
/// let mut tree = Tree::parse("meta: {gain: 2.5}")?;
/// tree.set("/image", Array::from_slice(&[1_u16, 2, 3, 4], &[2, 2])?)?;
/// let options = WriteOptions::new().compression(Compression::Zlib(6));
/// let mut bytes = std::io::Cursor::new(Vec::new());
/// let report = Writer::new(tree).options(options).write_to(&mut bytes)?;
/// assert_eq!((report.len, report.blocks), (bytes.get_ref().len() as u64, 1));
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Writer<'a> {
    pub(super) tree: Tree,
    file: Option<&'a Asdf>,
    implode: bool,
    /// The folders against which relative URIs of external files are resolved: the folder of the original
    /// file, and the folder of the written file.
    folders: Option<(PathBuf, PathBuf)>,
    pub(super) options: WriteOptions,
}

/// A summary of the written file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReport {
    /// Length of the file in bytes.
    pub len: u64,
    /// Number of blocks in the file, without those in separate block files.
    pub blocks: usize,
    /// Paths of the block files, if the file was exploded.
    pub files: Vec<PathBuf>,
}

impl<'a> Writer<'a> {
    /// Creates a writer for a tree, with the default options.
    pub fn new(tree: Tree) -> Self {
        Self { tree, file: None, implode: false, folders: None, options: WriteOptions::default() }
    }

    binio::setters! {
        /// Sets the options for writing the file.
        options: WriteOptions;
        /// Sets whether blocks of external files are copied into the written file. Otherwise,
        /// arrays still refer to the external files by URI. The policy of the file set with
        /// [`blocks_of`](Self::blocks_of) determines which external files may be opened. Without
        /// such a file, this option has no effect. Default: `false`.
        implode: bool;
    }

    /// Sets the file whose blocks the tree refers to by number. Its blocks are copied in order and
    /// keep their compression, unless the options set a compression. Blocks whose arrays are no
    /// longer in the tree are omitted.
    ///
    /// ```
    /// use asdf::value::Array;
    /// use asdf::{Asdf, Tree, Writer};
    ///
    /// let mut tree = Tree::default();
    /// tree.set("/image", Array::from_slice(&[1_u8, 2, 3], &[3])?)?;
    /// let mut bytes = std::io::Cursor::new(Vec::new());
    /// Writer::new(tree).write_to(&mut bytes)?;
    /// let file = Asdf::from_bytes(bytes.into_inner())?;
    ///
    /// let mut tree = Tree::from_file(&file, 0)?;
    /// tree.set("/meta/gain", 2.5)?;
    /// let mut copy = std::io::Cursor::new(Vec::new());
    /// Writer::new(tree).blocks_of(&file).write_to(&mut copy)?;
    /// let copy = Asdf::from_bytes(copy.into_inner())?;
    /// assert_eq!(copy.tree()?.pointer("/image")?.ndarray()?.read::<u8>()?, [1, 2, 3]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    #[must_use]
    pub fn blocks_of(mut self, file: &'a Asdf) -> Self {
        self.file = Some(file);
        self
    }

    /// Sets the folders for rewriting the relative URIs of external files: `from` contains the file from which
    /// the tree was read, and `to` will contain the written file; see [`Tree::relocate`].
    #[must_use]
    pub fn relocate(mut self, from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        self.folders = Some((from.into(), to.into()));
        self
    }

    /// Writes the file to `path`, replacing an existing file. The file appears at `path` only when it is
    /// complete and on disk.
    ///
    /// ```
    /// use asdf::{Asdf, Tree, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.asdf");
    /// Writer::new(Tree::parse("gain: 2.5")?).write(&path)?;
    /// assert_eq!(Asdf::open(&path)?.tree()?.pointer("/gain")?.as_f64(), Some(2.5));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`write_to`](Self::write_to). Also fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the
    /// file cannot be created in its folder, if `path` exists but is not a regular file, if another process is
    /// changing the existing file, or if the journal next to it is invalid or belongs to another file.
    #[cfg(any(unix, windows))]
    pub fn write(&self, path: impl AsRef<Path>) -> Result<WriteReport> {
        let path = path.as_ref();
        let mut file = AtomicFile::create(path)?;
        let report = self.write_to(&mut file)?;
        file.commit()?;
        Ok(report)
    }

    /// Writes the file to a seekable output, starting at its current position.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if an option has an invalid value, if
    /// the root of the tree is not a mapping, if a value cannot be represented in the chosen version of the
    /// standard, if this build lacks the codec of a compression, or if the tree refers to a block of a file that
    /// is not set with [`blocks_of`](Self::blocks_of).
    ///
    /// With [`blocks_of`](Self::blocks_of), also fails with any error of [`Asdf::document`] and
    /// [`Blocks::len`](crate::block::Blocks::len). Fails with [`ErrorKind::Block`](crate::ErrorKind::Block) if a
    /// block does not exist, is damaged or has an uncertain number, with
    /// [`ErrorKind::Codec`](crate::ErrorKind::Codec) if it has to be recompressed and cannot be decoded, and with
    /// [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the file of an [imploded](Self::implode) block
    /// cannot be opened.
    ///
    /// Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the data of a block is too large for
    /// [`Compression::Blosc`](crate::Compression::Blosc), or exceeds the limit of the original file when it is
    /// recompressed. Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the data of an array or block cannot
    /// be read, if `out` cannot be written, or if a folder of [`relocate`](Self::relocate) does not exist.
    pub fn write_to(&self, out: impl Write + Seek) -> Result<WriteReport> {
        let tree = self.numbered_tree(false)?;
        let plan = self.file_plan(&tree)?;
        Ok(plan.write(Stream { out, existing: None })?.into())
    }

    /// Writes the tree to `path`, and each block to its own file next to it: `name0000.asdf` for
    /// `name.asdf`. Existing files with these names are replaced. A file name is skipped if it
    /// exists but is not a regular file, or if the tree or the existing file at `path` refers to
    /// it.
    ///
    /// Files are renamed to their final names only when they are complete: first the block files,
    /// then the file with the tree. Finally, block files that only the old tree used are removed. An
    /// interruption at any point therefore leaves either the old or the new tree, with all of its
    /// block files.
    ///
    /// See the ASDF standard, "Low-level file layout", Exploded form.
    ///
    /// # Errors
    ///
    /// Same as [`write`](Self::write), for the file at `path` and for each block file.
    #[cfg(any(unix, windows))]
    pub fn explode(&self, path: impl AsRef<Path>) -> Result<WriteReport> {
        let path = path.as_ref();
        let mut out = AtomicFile::create(path)?;
        let (tree, blocks, files) = self.exploded(path)?;
        let written = self.file_plan(&tree)?.write(Stream { out: &mut out, existing: None })?;
        let unused = exploded::only_old(path, &tree.external_sources());
        let mut new = exploded::NewFiles::default();
        for (blocks, files) in blocks.chunks(OPEN_FILES).zip(files.chunks(OPEN_FILES)) {
            let mut parts = Vec::with_capacity(files.len());
            for (block, path) in blocks.iter().zip(files) {
                let mut file = AtomicFile::create(path)?;
                let mut plan = self.begin_plan(head::to_text(self.options.standard));
                plan.block(block.clone());
                plan.write(Stream { out: &mut file, existing: None })?;
                parts.push(file);
            }
            new.commit(parts)?;
        }
        // From here on, keep the block files, because the tree may be in place even if `commit` fails.
        out.flush()?;
        new.keep();
        out.commit()?;
        exploded::remove(&unused);
        Ok(WriteReport { files, ..written.into() })
    }

    /// Returns the report that [`Self::explode`] would return, without writing any files. It contains the
    /// length of the file with the tree, and the paths of the block files.
    ///
    /// # Errors
    ///
    /// Same as [`write_to`](Self::write_to).
    #[cfg(any(unix, windows))]
    pub fn plan_explode(&self, path: impl AsRef<Path>) -> Result<WriteReport> {
        let (tree, _, files) = self.exploded(path.as_ref())?;
        Ok(WriteReport { files, ..self.file_plan(&tree)?.write(Discard::default())?.into() })
    }

    /// Returns the tree, whose arrays refer to block files by URI; the blocks; and the paths of the block
    /// files.
    #[cfg(any(unix, windows))]
    fn exploded(&self, path: &Path) -> Result<(NumberedTree<'a>, Vec<Content<'a>>, Vec<PathBuf>)> {
        let mut tree = self.numbered_tree(false)?;
        let blocks = std::mem::take(&mut tree.blocks);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut taken = tree.external_sources();
        taken.extend(exploded::sources(path));
        let names = (0_usize..).map(|number| format!("{stem}{number:04}.asdf"));
        let is_free = |name: &String| {
            !taken.contains(&to_uri(name)) && !exploded::is_special(&path.with_file_name(name))
        };
        let names: Vec<String> = names.filter(is_free).take(blocks.len()).collect();
        tree.explode(names.iter().map(|name| to_uri(name)).collect())?;
        Ok((tree, blocks, names.iter().map(|name| path.with_file_name(name)).collect()))
    }

    /// Writes the header line, comments and tree to an output that need not be seekable.
    ///
    /// ```
    /// use asdf::{Tree, WriteOptions, Writer};
    ///
    /// let mut text = Vec::new();
    /// let writer = Writer::new(Tree::parse("asdf_library: {name: x, version: '1'}")?);
    /// writer.options(WriteOptions::new().keep_library()).write_text(&mut text)?;
    /// assert!(text.starts_with(b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`write_to`](Self::write_to). Also fails with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if an array is stored in a block.
    pub fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        let tree = self.numbered_tree(false)?;
        if tree.names_blocks() {
            return Err(Error::unwritable(
                "text output cannot contain blocks, but an array is stored in a block: store the \
                 array inline",
            ));
        }
        out.write_all(self.head_text().as_bytes())?;
        match self.kept_text(&tree)? {
            Some(text) => Ok(out.write_all(&text)?),
            None => tree.emit(out),
        }
    }

    /// Prepares the tree. If `streamed` is set, the source -1 refers to an additional block, which
    /// is appended later.
    pub(super) fn numbered_tree(&self, streamed: bool) -> Result<NumberedTree<'a>> {
        self.check()?;
        let origin = self.file.map(|file| Origin { file, implode: self.implode });
        let mut tree = NumberedTree::new(&self.tree, origin, &self.options, streamed)?;
        if let Some((from, to)) = &self.folders {
            tree.relocate(from, to)?;
        }
        Ok(tree)
    }

    /// Fails if an option has a value that is not allowed.
    fn check(&self) -> Result<()> {
        let WriteOptions { align, pad_tree, standard, .. } = self.options;
        let max = BlockHeader::MAX_ALIGN;
        if !(align.is_power_of_two() && align <= max) {
            let message = format!("the alignment is {align}, expected a power of two up to {max}");
            return Err(Error::unwritable(message));
        }
        if pad_tree > MAX_PADDING {
            let message =
                format!("the padding has {pad_tree} bytes, expected at most {MAX_PADDING}");
            return Err(Error::unwritable(message));
        }
        if !STANDARDS.contains(&standard) {
            return Err(Error::unwritable(format!(
                "version {standard} of the standard cannot be written, expected 1.0.0 to 1.6.0"
            )));
        }
        Ok(())
    }

    /// Returns the tree text of the file from which blocks are copied. The text is changed only
    /// where the tree of the file differs from `tree`. Returns `None` if there is no such file, if
    /// it was opened with [`Strictness::Salvage`], or if its tree is missing, irregular or too
    /// different.
    fn kept_text(&self, tree: &NumberedTree<'_>) -> Result<Option<Vec<u8>>> {
        let Some(file) = self.file.filter(|file| file.layout().tree.is_some()) else {
            return Ok(None);
        };
        let Ok(text) = std::str::from_utf8(file.tree_text()) else { return Ok(None) };
        let has_marks = text.starts_with("%YAML") && text.trim_end().ends_with("\n...");
        if !has_marks || file.options().strictness == Strictness::Salvage {
            return Ok(None);
        }
        let options = ParseOptions::default().limits(file.options().limits);
        let Ok(old) = TreeText::parse_with(text.to_owned(), &options) else { return Ok(None) };
        let Some(merged) = tree.merged_into(&old)? else { return Ok(None) };
        let mut text = merged.text().trim_end().to_owned();
        text.push('\n');
        Ok(Some(text.into_bytes()))
    }

    /// Returns the lines before the tree: the header line, the version of the standard, and the comments of the
    /// original file.
    fn head_text(&self) -> String {
        let mut text = head::to_text(self.options.standard);
        for comment in self.file.iter().flat_map(|file| &file.layout().comments) {
            text.push('#');
            text.push_str(&comment.text);
            text.push('\n');
        }
        text
    }

    /// Begins a plan with the given header lines.
    fn begin_plan(&self, head: String) -> FilePlan<'a> {
        let WriteOptions { align, checksum, .. } = self.options;
        let mut plan = FilePlan::new(BlockOptions { align, checksum });
        plan.bytes(head.into_bytes());
        plan
    }

    /// Returns the plan for a file with a tree and its blocks.
    pub(super) fn file_plan<'p>(&self, tree: &'p NumberedTree<'a>) -> Result<FilePlan<'p>>
    where
        'a: 'p,
    {
        let mut plan: FilePlan<'p> = self.begin_plan(self.head_text());
        match self.kept_text(tree)? {
            Some(text) => plan.bytes(text),
            None => plan.parts.push(Part::Tree(tree)),
        }
        plan.parts.push(Part::Padding(self.options.pad_tree));
        tree.blocks.iter().for_each(|block| plan.block(block.clone()));
        if self.options.index {
            plan.parts.push(Part::Index);
        }
        Ok(plan)
    }
}

impl From<Written> for WriteReport {
    fn from(written: Written) -> Self {
        Self { len: written.len, blocks: written.blocks.len(), files: Vec::new() }
    }
}
