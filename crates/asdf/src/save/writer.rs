//! A file from its tree: head, tree, blocks, index.

use std::io::{Seek, Write};
#[cfg(any(unix, windows))]
use std::path::Path;
use std::path::PathBuf;

#[cfg(any(unix, windows))]
use binio::write::AtomicFile;

use super::WriteOptions;
use super::blocks::{self, BlockData, Checksums, Encoded, Output};
#[cfg(any(unix, windows))]
use super::exploded;
use super::plan::{Origin, Plan, Planned};
use crate::asdf::Asdf;
use crate::codec::Compression;
use crate::codec::encode::{beside, map, threads};
use crate::error::{Error, Result};
use crate::layout::{head, index};
use crate::tag::Version;
use crate::value::Tree;
use crate::value::emit::emit;

/// The versions of the standard that can be written: all that are stable.
pub const STANDARDS: &[Version] = {
    let (stable, _) = crate::tag::KNOWN_STANDARDS.split_at(7);
    stable
};

/// Data of small blocks that are encoded at a time, for each thread and at most.
const BATCH_OF_THREAD: u64 = 1 << 20;
const MAX_BATCH: u64 = 16 << 20;

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
        Self { tree, file: None, implode: false, options: WriteOptions::default() }
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
        let plan = self.plan()?;
        self.file_of(&plan, &plan.blocks, out)
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
        let mut tree = AtomicFile::create(path)?;
        let (plan, files) = self.exploded(path)?;
        let report = self.file_of(&plan, &[], &mut tree)?;
        let unused = exploded::only_old(path, &plan.external_sources());
        let mut new = exploded::NewFiles::default();
        for (blocks, files) in plan.blocks.chunks(OPEN_FILES).zip(files.chunks(OPEN_FILES)) {
            let mut parts = Vec::with_capacity(files.len());
            for (block, path) in blocks.iter().zip(files) {
                let mut file = AtomicFile::create(path)?;
                let mut out = Output::new(&mut file);
                out.put(head::to_text(self.options.standard).as_bytes())?;
                self.block(&mut out, block, None, None)?;
                out.finish()?;
                parts.push((file, path));
            }
            for (file, path) in parts {
                new.commit(file, path)?;
            }
        }
        // From here on the tree may be in place even if its commit fails.
        tree.flush()?;
        new.keep();
        tree.commit()?;
        exploded::remove(&unused);
        Ok(WriteReport { files, ..report })
    }

    /// What [`Self::explode`] would write: the length of the file of the tree, and the names of the
    /// others.
    #[cfg(any(unix, windows))]
    pub fn plan_explode(&self, path: impl AsRef<Path>) -> Result<WriteReport> {
        let (plan, files) = self.exploded(path.as_ref())?;
        let report = self.file_of(&plan, &[], std::io::Cursor::new(Vec::new()))?;
        Ok(WriteReport { files, ..report })
    }

    #[cfg(any(unix, windows))]
    fn exploded(&self, path: &Path) -> Result<(Plan<'a>, Vec<PathBuf>)> {
        let mut plan = self.plan()?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut taken = plan.external_sources();
        taken.extend(exploded::sources(path));
        let names = (0_usize..).map(|number| format!("{stem}{number:04}.asdf"));
        let is_free = |name: &String| {
            !taken.contains(&exploded::to_uri(name))
                && !exploded::is_special(&path.with_file_name(name))
        };
        let names = names.filter(is_free);
        let names: Vec<String> = names.take(plan.blocks.len()).collect();
        plan.explode(names.iter().map(|name| exploded::to_uri(name)).collect())?;
        Ok((plan, names.iter().map(|name| path.with_file_name(name)).collect()))
    }

    /// Writes the lines before the tree and the tree, without blocks, to an output that cannot
    /// seek. Fails if an array is in a block.
    pub fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        let plan = self.plan()?;
        if !plan.blocks.is_empty() {
            return Err(Error::unwritable("an array has a block, which text cannot hold"));
        }
        out.write_all(head::to_text(self.options.standard).as_bytes())?;
        emit(&plan.tree, &plan, out)
    }

    fn plan(&self) -> Result<Plan<'a>> {
        self.check()?;
        Plan::new(&self.tree, self.origin(), &self.options, false)
    }

    pub(super) fn origin(&self) -> Option<Origin<'a>> {
        self.file.map(|file| Origin { file, implode: self.implode })
    }

    /// Fails for options that no file can have.
    pub(super) fn check(&self) -> Result<()> {
        blocks::check_align(self.options.align)?;
        let standard = self.options.standard;
        if !STANDARDS.contains(&standard) {
            return Err(Error::unwritable(format!("standard {standard}: expected 1.0.0 to 1.6.0")));
        }
        Ok(())
    }

    pub(super) fn file_of(
        &self,
        plan: &Plan<'_>,
        blocks: &[Planned<'_>],
        out: impl Write + Seek,
    ) -> Result<WriteReport> {
        let mut out = Output::new(out);
        let mut offsets = Vec::with_capacity(blocks.len());
        let (mut batch, mut left) = blocks.split_at(batch_len(blocks));
        let mut encoded = self.encode_beside(batch, || {
            out.put(head::to_text(self.options.standard).as_bytes())?;
            emit(&plan.tree, plan, &mut out)?;
            pad(&mut out, self.options.pad_tree)
        })?;
        blocks::with_checksums(&mut out, |out, checksums| {
            while !batch.is_empty() {
                let (next, rest) = left.split_at(batch_len(left));
                encoded = self.encode_beside(next, || {
                    for (block, encoded) in batch.iter().zip(encoded) {
                        offsets.push(self.block(out, block, encoded, checksums)?);
                    }
                    Ok(())
                })?;
                (batch, left) = (next, rest);
            }
            Ok(())
        })?;
        if self.options.index && !offsets.is_empty() {
            out.put(index::to_text(&offsets).as_bytes())?;
        }
        let len = out.position();
        out.finish()?;
        Ok(WriteReport { len, blocks: offsets.len(), files: Vec::new() })
    }

    /// Encodes the small blocks among these over threads, while a function writes what comes before
    /// them.
    fn encode_beside(
        &self,
        blocks: &[Planned<'_>],
        write: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Option<Encoded>>> {
        let mut encoded = Ok(Vec::new());
        let blocks = blocks.iter().collect();
        beside(|| encoded = map(blocks, |block| self.encode_small(block)), write)?;
        encoded
    }

    fn encode_small(&self, block: &Planned<'_>) -> Result<Option<Encoded>> {
        let Planned::New { data, compression, itemsize } = block else { return Ok(None) };
        let (compression, itemsize) = (*compression, *itemsize);
        blocks::encode_small(&BlockData::New { data, compression, itemsize }, &self.options)
    }

    fn block<W: Write + Seek>(
        &self,
        out: &mut Output<W>,
        block: &Planned<'_>,
        encoded: Option<Encoded>,
        checksums: Option<&Checksums<'_>>,
    ) -> Result<u64> {
        match block {
            Planned::New { data, compression, itemsize } => {
                let (compression, itemsize) = (*compression, *itemsize);
                let is_stored = compression == Compression::None && data.is_memory();
                let is_late = self.options.checksum && is_stored && encoded.is_none();
                if let Some(checksums) = checksums.filter(|_| is_late) {
                    return checksums.write(out, data, &self.options);
                }
                let data = BlockData::New { data, compression, itemsize };
                blocks::write(out, &data, encoded, &self.options)
            }
            Planned::Stored(block) => {
                blocks::write(out, &BlockData::Stored(block.clone()), None, &self.options)
            }
            Planned::Decoded(block, compression) => self.decoded(out, block, *compression),
        }
    }

    /// Writes a block of another file with another compression. Its data are read, and decoded, in
    /// pieces.
    fn decoded<W: Write + Seek>(
        &self,
        out: &mut Output<W>,
        block: &crate::file::blocks::Block<'_>,
        compression: Compression,
    ) -> Result<u64> {
        block.check_stored(None)?;
        if block.is_compressed() {
            let data = BlockData::Decoded { block: block.clone(), compression };
            return blocks::write(out, &data, None, &self.options);
        }
        let data = &binio::Span::new(block.source(), block.data_range()?)?;
        let data = BlockData::New { data, compression, itemsize: 1 };
        blocks::write(out, &data, None, &self.options)
    }
}

/// How many of these blocks are encoded at a time.
fn batch_len(blocks: &[Planned<'_>]) -> usize {
    let limit = MAX_BATCH.min(BATCH_OF_THREAD * threads() as u64);
    let mut sum = 0;
    let fits = |block: &&Planned<'_>| {
        if let Planned::New { data, .. } = block {
            sum += Some(data.len()).filter(|len| *len <= blocks::SMALL).unwrap_or(0);
        }
        sum <= limit
    };
    blocks.iter().take_while(fits).count()
}

/// Writes blanks, the last a line end.
fn pad<W: Write + Seek>(out: &mut Output<W>, len: u64) -> Result<()> {
    const BLANKS: [u8; 4096] = [b' '; 4096];
    let Some(mut left) = len.checked_sub(1) else { return Ok(()) };
    while left > 0 {
        let part = left.min(BLANKS.len() as u64);
        out.put(&BLANKS[..usize::try_from(part).unwrap_or(0)])?;
        left -= part;
    }
    out.put(b"\n")
}
