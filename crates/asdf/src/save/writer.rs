//! A file from its tree: head, tree, blocks, index.

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

/// The versions of the standard that can be written: all that are stable.
pub const STANDARDS: &[Version] = {
    let (stable, _) = crate::tag::KNOWN_STANDARDS.split_at(7);
    stable
};

/// Files of an exploded one that are written before they get their names.
#[cfg(any(unix, windows))]
const OPEN_FILES: usize = 256;

/// Writes a tree and its blocks as a file.
///
/// See [the module](crate::save) for an example.
#[derive(Clone, Debug)]
pub struct Writer<'a> {
    pub(super) tree: Tree,
    file: Option<&'a Asdf>,
    implode: bool,
    /// The folders that relative URIs of other files lead from, and are to lead from.
    folders: Option<(PathBuf, PathBuf)>,
    pub(super) options: WriteOptions,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReport {
    /// Length of the file in bytes.
    pub len: u64,
    /// How many blocks it has.
    pub blocks: usize,
    /// Names of the files that have the blocks, if it was exploded.
    pub files: Vec<PathBuf>,
}

impl<'a> Writer<'a> {
    /// A writer of a tree, with the default options.
    pub fn new(tree: Tree) -> Self {
        Self { tree, file: None, implode: false, folders: None, options: WriteOptions::default() }
    }

    binio::setters! {
        /// Sets how the file is written.
        options: WriteOptions;
        /// Sets whether blocks of other files, which arrays name by URI, are copied into this one.
        /// The policy of the file that names them decides which may be opened.
        implode: bool;
    }

    /// Sets the file whose blocks the tree names by number. Its blocks are copied in their order,
    /// with their compression unless the options have another; those of arrays that are no longer
    /// in the tree are left out.
    #[must_use]
    pub fn blocks_of(mut self, file: &'a Asdf) -> Self {
        self.file = Some(file);
        self
    }

    /// Rewrites the relative URIs of other files, for a tree of a file in the folder `from` that is written to
    /// the folder `to`; see [`Tree::relocate`].
    #[must_use]
    pub fn relocate(mut self, from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        self.folders = Some((from.into(), to.into()));
        self
    }

    /// Writes the file under a name, which it gets when it is complete and on the disk. A file of
    /// that name is replaced.
    #[cfg(any(unix, windows))]
    pub fn write(&self, path: impl AsRef<Path>) -> Result<WriteReport> {
        let path = path.as_ref();
        let mut file = AtomicFile::create(path)?;
        let report = self.write_to(&mut file)?;
        file.commit()?;
        Ok(report)
    }

    /// Writes the file to an output that can seek, from where that is.
    pub fn write_to(&self, out: impl Write + Seek) -> Result<WriteReport> {
        let tree = self.numbered_tree(false)?;
        let plan = self.file_plan(&tree)?;
        Ok(plan.write(Stream { out, existing: None })?.into())
    }

    /// Writes the tree under a name, and each block into a file of its own next to it:
    /// `name0000.asdf` for `name.asdf`. Files of these names are replaced, except those that the tree, or
    /// the file that it replaces, names, and symbolic links: their numbers are skipped.
    ///
    /// The files get their names when all are complete, first the new block files, then the tree. Last,
    /// block files that only the old tree named are removed. So whatever stops this, the file under the name
    /// is the old or the new tree, and its block files are there.
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
        // From here on the tree may be in place even if its commit fails.
        out.flush()?;
        new.keep();
        out.commit()?;
        exploded::remove(&unused);
        Ok(WriteReport { files, ..written.into() })
    }

    /// What [`Self::explode`] would write: the length of the file of the tree, and the names of the
    /// others.
    #[cfg(any(unix, windows))]
    pub fn plan_explode(&self, path: impl AsRef<Path>) -> Result<WriteReport> {
        let (tree, _, files) = self.exploded(path.as_ref())?;
        Ok(WriteReport { files, ..self.file_plan(&tree)?.write(Discard::default())?.into() })
    }

    /// The tree with the names of the files that get its blocks, and these blocks.
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

    /// Writes the lines before the tree and the tree, without blocks, to an output that cannot
    /// seek. Fails if an array is in a block.
    pub fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        let tree = self.numbered_tree(false)?;
        if tree.names_blocks() {
            return Err(Error::unwritable("an array has a block, which text cannot hold"));
        }
        out.write_all(self.head_text().as_bytes())?;
        match self.kept_text(&tree)? {
            Some(text) => Ok(out.write_all(&text)?),
            None => tree.emit(out),
        }
    }

    /// Prepares the tree. `streamed` says that one more block follows, which the tree calls -1.
    pub(super) fn numbered_tree(&self, streamed: bool) -> Result<NumberedTree<'a>> {
        self.check()?;
        let origin = self.file.map(|file| Origin { file, implode: self.implode });
        let mut tree = NumberedTree::new(&self.tree, origin, &self.options, streamed)?;
        if let Some((from, to)) = &self.folders {
            tree.relocate(from, to)?;
        }
        Ok(tree)
    }

    /// Fails for options that no file can have.
    fn check(&self) -> Result<()> {
        let WriteOptions { align, pad_tree, standard, .. } = self.options;
        let max = BlockHeader::MAX_ALIGN;
        if !(align.is_power_of_two() && align <= max) {
            let message = format!("alignment {align}: expected a power of two up to {max}");
            return Err(Error::unwritable(message));
        }
        if pad_tree > MAX_PADDING {
            let message = format!("{pad_tree} bytes of padding: expected at most {MAX_PADDING}");
            return Err(Error::unwritable(message));
        }
        if !STANDARDS.contains(&standard) {
            return Err(Error::unwritable(format!("standard {standard}: expected 1.0.0 to 1.6.0")));
        }
        Ok(())
    }

    /// The text of the tree of the file whose blocks are copied, with the nodes replaced that are
    /// different in `tree`. `None` if there is no such file, or if its tree is too different or irregular.
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

    /// The lines before the tree: the header, and the comments of the file that is copied.
    fn head_text(&self) -> String {
        let mut text = head::to_text(self.options.standard);
        for comment in self.file.iter().flat_map(|file| &file.layout().comments) {
            text.push('#');
            text.push_str(&comment.text);
            text.push('\n');
        }
        text
    }

    /// The plan of a file that so far has only these lines.
    fn begin_plan(&self, head: String) -> FilePlan<'a> {
        let WriteOptions { align, checksum, .. } = self.options;
        let mut plan = FilePlan::new(BlockOptions { align, checksum });
        plan.bytes(head.into_bytes());
        plan
    }

    /// The plan of the file with a tree and its blocks.
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
