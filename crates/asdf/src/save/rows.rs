//! Streamed blocks: arrays that grow row by row.
//!
//! ```text
//! shape: ['*', 8], source: -1    the tree: as many rows as the last block contains
//! STREAMED header, no sizes      the block runs to the end of the file
//! row, row, ..                   readers see all complete rows
//! ```
//!
//! [`RowWriter::close`] turns the streamed block into an ordinary one. The file is valid at all times, because
//! the sizes and the checksum are written to the header first, in a single write, and the index is appended
//! last. The shape remains `'*'`, which is also valid in ordinary blocks. A copy made with [`Tree::from_file`]
//! has the actual number of rows.

use std::path::Path;

use binio::ReadAt as _;
use binio::array::{Datatype, Element, as_bytes, byte_size};
use binio::checksum::Algorithm;
use binio::diagnostic::count;
use binio::write::{AtomicFile, FileLock, FileTarget, WriteAt as _};

use super::block::Content;
use super::options::PATIENCE;
use super::output::Stream;
use super::writer::Writer;
use crate::asdf::Asdf;
use crate::error::{Error, Result};
use crate::layout::{BlockHeader, index};
use crate::tag::CORE_PREFIX;
use crate::tree::Node;
use crate::value::emit::elements;
use crate::value::{Mapping, Sequence, Tree, Value};

/// Appends rows to an array in the streamed block at the end of a file.
///
/// The file is locked for the lifetime of the writer. Dropping it without [`close`](Self::close) leaves a
/// valid file, to which [more rows can be added](Self::resume) later.
///
/// See the ASDF standard, "Low-level file layout", Flags, for streamed blocks.
///
/// ```
/// use asdf::ndarray::Datatype;
/// use asdf::save::RowWriter;
/// use asdf::{Asdf, Tree, Writer};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("events.asdf");
/// let mut rows = Writer::new(Tree::default()).rows(&path, "/events", &Datatype::parse("<f4")?, &[2])?;
/// rows.push(&[1.0_f32, 2.0])?;
/// drop(rows);
/// let mut rows = RowWriter::resume(&path)?;
/// rows.push(&[3.0_f32, 4.0, 5.0, 6.0])?;
/// rows.close()?;
/// let file = Asdf::open(&path)?;
/// assert_eq!(file.tree()?.pointer("/events")?.ndarray()?.shape(), [3, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RowWriter {
    file: FileTarget,
    /// The header of the streamed block.
    header: BlockHeader,
    datatype: Datatype,
    row_size: u64,
    removed: u64,
    lock: FileLock,
}

impl Writer<'_> {
    /// Writes the file with an empty array at `pointer`, to which rows can then be appended. Replaces an
    /// existing file. `row` is the shape of one row; it is empty for a one-dimensional array.
    ///
    /// # Errors
    ///
    /// Same as [`write`](Self::write). Also fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable)
    /// if a row has no bytes or at least 2^63 bytes, with [`ErrorKind::Reference`](crate::ErrorKind::Reference)
    /// if no value can be set at `pointer`, as described at [`Tree::set`], and with
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if another process locks the new file for more than 10 seconds.
    pub fn rows(
        &self,
        path: impl AsRef<Path>,
        pointer: &str,
        datatype: &Datatype,
        row: &[u64],
    ) -> Result<RowWriter> {
        let (path, row_size) = (path.as_ref(), size_of_row(datatype, row)?);
        let mut shape: Sequence = row.iter().copied().collect();
        shape.items.insert(0, "*".into());
        let mut tree: Tree = self.tree.clone();
        let node: Mapping = [
            ("source", Value::from(-1)),
            ("datatype", elements::datatype(datatype, true)),
            ("byteorder", elements::byteorder(datatype).into()),
            ("shape", shape.into()),
        ]
        .into_iter()
        .collect();
        tree.set(pointer, Value::from(node).tagged(format!("{CORE_PREFIX}ndarray-1.0.0")))?;
        let mut writer = self.clone().options(self.options.clone().index(false));
        writer.tree = tree;
        let tree = writer.numbered_tree(true)?;
        let mut plan = writer.file_plan(&tree)?;
        plan.block(Content::Streamed);
        let mut file = AtomicFile::create(path)?;
        let blocks = plan.write(Stream { out: &mut file, existing: None })?.blocks;
        file.commit()?;
        let offset = blocks.last().copied().unwrap_or_default();
        let header = BlockHeader::streamed(offset, self.options.align);
        RowWriter::open(path, header, datatype.clone(), row_size)
    }
}

impl RowWriter {
    /// Reopens a file to append more rows. Removes an incomplete row at the end, which a killed process may
    /// have left.
    ///
    /// # Errors
    ///
    /// Same as [`Asdf::open`], [`Asdf::document`], [`Blocks::len`](crate::block::Blocks::len) and
    /// [`roll_back`](crate::save::roll_back). Also fails with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the last block is not streamed, if no packed
    /// array with an open first dimension uses it, or if a row has no bytes. Fails with
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be written, or if another process keeps it
    /// locked for more than 10 seconds. Fails with [`ErrorKind::Block`](crate::ErrorKind::Block) if the header
    /// of the last block is invalid, and with [`ErrorKind::Array`](crate::ErrorKind::Array) if the array is
    /// invalid.
    pub fn resume(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        crate::file::journal::roll_back(path)?;
        let file = Asdf::open(path)?;
        let count = file.blocks().len()?;
        let rejected = || {
            Error::unwritable(
                "the last block is not a streamed block with an array of rows, so no rows can be \
                 added",
            )
        };
        let last = file.blocks().get(count.checked_sub(1).ok_or_else(rejected)?)?;
        if !last.header()?.is_streamed() {
            return Err(rejected());
        }
        let is_streamed = |node: &Node<'_>| {
            let is_last =
                node.block_ref().is_some_and(|block| block.resolve(count) == Some(count - 1));
            let is_open = node.pointer("/shape/0").is_ok_and(|first| first.as_str() == Some("*"));
            let is_packed = node.get("offset").is_none() && node.get("strides").is_none();
            is_last && is_open && is_packed
        };
        let node = file.nodes()?.find(is_streamed).ok_or_else(rejected)?;
        let array = node.ndarray()?;
        let row = array.shape().get(1..).unwrap_or_default();
        let (datatype, row_size) = (array.datatype().clone(), size_of_row(array.datatype(), row)?);
        Self::open(path, *last.header()?, datatype, row_size)
    }

    fn open(path: &Path, header: BlockHeader, datatype: Datatype, row_size: u64) -> Result<Self> {
        let lock = FileLock::acquire_within(path, PATIENCE)?;
        let mut file = FileTarget::open(lock.path())?;
        let removed = file.len().saturating_sub(header.data_start()) % row_size;
        if removed > 0 {
            file.set_len(file.len() - removed)?;
        }
        Ok(Self { file, header, datatype, row_size, removed, lock })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> u64 {
        self.file.len().saturating_sub(self.header.data_start()) / self.row_size
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the length in bytes of the incomplete row that was removed on opening, or 0 if there was none.
    pub fn removed_bytes(&self) -> u64 {
        self.removed
    }

    /// Appends rows, given as elements in C order. The elements must have the type and byte order of the array.
    ///
    /// # Errors
    ///
    /// Same as [`push_bytes`](Self::push_bytes). Also fails with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the type or the byte order differs.
    pub fn push<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        let given = Datatype::of::<T>();
        if given != self.datatype {
            let (want, got) = (&self.datatype, given);
            return Err(Error::unwritable(format!(
                "the elements have the type {got}, but the array has the type {want}"
            )));
        }
        self.push_bytes(as_bytes(elements))
    }

    /// Appends rows, given as the bytes to store: elements in C order, in the byte order of the array.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the bytes are not a whole number
    /// of rows, and with [`ErrorKind::Io`](crate::ErrorKind::Io) if they cannot be written.
    pub fn push_bytes(&mut self, rows: &[u8]) -> Result<()> {
        if rows.len() as u64 % self.row_size != 0 {
            let (len, size) = (count(rows.len(), "byte"), count(self.row_size, "byte"));
            return Err(Error::unwritable(format!(
                "expected a multiple of {size} (the size of a row), found {len}"
            )));
        }
        Ok(self.file.write_all_at(rows, self.file.len())?)
    }

    /// Waits until all rows are on disk.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the system cannot write the rows.
    pub fn sync(&mut self) -> Result<()> {
        Ok(self.file.sync()?)
    }

    /// Turns the streamed block into an ordinary block with sizes and a checksum, and appends an index of all
    /// blocks.
    ///
    /// # Errors
    ///
    /// Same as [`sync`](Self::sync), [`Asdf::from_source`] and [`Blocks::len`](crate::block::Blocks::len). The
    /// file remains valid if this fails.
    pub fn close(mut self) -> Result<()> {
        let end = self.file.len();
        let mut hasher = Algorithm::Md5.hasher();
        let start = self.header.data_start();
        for piece in self.file.pieces(start..end, self.file.preferred_piece()) {
            hasher.update(&piece?);
        }
        let mut offsets = Vec::new();
        let whole = Asdf::from_source(std::sync::Arc::new(binio::FileSource::open(self.path())?))?;
        for block in whole.blocks() {
            offsets.push(block?.offset());
        }
        let mut header = BlockHeader { flags: 0, ..self.header };
        let len = end - start;
        header.complete(len, len, Some(hasher.finish()));
        self.file.sync()?;
        self.file.write_all_at(&header.fields(), header.offset)?;
        self.file.sync()?;
        self.file.write_all_at(index::to_text(&offsets).as_bytes(), end)?;
        self.sync()
    }

    fn path(&self) -> &Path {
        self.lock.path()
    }
}

/// Returns the size of a row in bytes. Fails if the row is empty or too large.
fn size_of_row(datatype: &Datatype, row: &[u64]) -> Result<u64> {
    let size = byte_size(row, datatype.itemsize());
    size.filter(|&size| size > 0)
        .ok_or_else(|| Error::unwritable("a row must have from 1 to 2^63 - 1 bytes"))
}
