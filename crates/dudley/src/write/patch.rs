//! Replacing values in a file, in place.

use std::path::Path;

use binio::array::{self, Data, Element};
use binio::diagnostic::count;
use binio::write::{Change, ChangePlan, FileLock, FileStorage, Storage, WriteAt};
use binio::{Bytes, ReadAt};

use super::convert::convert;
use super::target::put_fields;
use crate::error::{Error, ErrorKind};
use crate::file::value::File;

/// Maximum number of bytes before or after the patch that are used to recognise the file.
const WITNESS: u64 = 64 << 10;

/// New bytes that replace part of a file.
///
/// ```
/// use dudley::{File, Layout};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data.bin");
/// std::fs::write(&path, [0, 1, 2, 3, 4, 5])?;
/// let layout = Layout::parse("v = { a = u1  b = u1[2] }[2]")?;
/// let patch = File::open(&path, layout)?.patch("/v.b", &[9_u8, 9, 8, 8])?;
/// patch.commit_to(&path)?;
/// assert_eq!(std::fs::read(&path)?, [0, 9, 9, 3, 8, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Patch {
    offset: u64,
    bytes: Vec<u8>,
    /// The bytes that the new bytes replace.
    before: Bytes,
    /// Length of the whole file in bytes.
    len: u64,
}

impl File {
    /// Prepares to replace the numbers at a path. `elements` contains the new numbers in C order. Nothing is
    /// written yet.
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get). Also fails with [`Mismatch`](ErrorKind::Mismatch) if the number of elements
    /// is wrong, or if the path leads to a parameter or a compressed array, because a new value could change
    /// sizes and addresses. Also fails with [`Read`](ErrorKind::Read) if the type in the file cannot represent
    /// an element.
    pub fn patch<T: Element>(&self, path: &str, elements: &[T]) -> Result<Patch, Error> {
        let shape = self.get(path)?.shape().to_vec();
        let datatype = array::Datatype::of::<T>();
        let data = Bytes::copy_from_slice(array::as_bytes(elements));
        let (len, size) = (data.len() as u64, datatype.itemsize());
        if array::count(&shape) != Some(elements.len() as u64) {
            let message = format!(
                "expected elements of shape {shape:?}, found {}",
                count(elements.len(), "element")
            );
            return Err(ErrorKind::Mismatch { path: path.to_owned(), message }.into());
        }
        let strided = array::Strided::packed(shape, array::Order::C, 0, size, len)?;
        self.patch_array(path, &array::Array::new(data, datatype, strided, *self.limits())?)
    }

    /// Prepares to replace the array at a path with another array of the same shape. Nothing is written yet.
    ///
    /// # Errors
    ///
    /// Same as [`patch`](Self::patch). Also fails with [`Mismatch`](ErrorKind::Mismatch) if the
    /// shape is wrong, and with a read error if `array` cannot be read.
    pub fn patch_array<D: Data>(&self, path: &str, array: &array::Array<D>) -> Result<Patch, Error>
    where
        Error: From<D::Error>,
    {
        let mismatch = |message| Error::new(ErrorKind::Mismatch { path: path.to_owned(), message });
        if self.is_param(path)? {
            return Err(mismatch(
                "a parameter cannot be replaced, because its value determines addresses".to_owned(),
            ));
        }
        let place = self.get(path)?;
        if !place.data().is_same(self.source()) {
            return Err(mismatch("a compressed array cannot be replaced".to_owned()));
        }
        if place.shape() != array.shape() {
            let (found, expected) = (array.shape(), place.shape());
            return Err(mismatch(format!("the shape is {found:?}, expected {expected:?}")));
        }
        let packed = convert(array, place.datatype())?;
        let extent = place.layout().extent();
        let size = extent.end - extent.start;
        self.limits().check_alloc("bytes of an item", size)?;
        let len = usize::try_from(size).unwrap_or(usize::MAX);
        let before = ReadAt::bytes_at(self.source(), extent.start, len)?;
        let mut bytes = before.to_vec();
        let (shape, strides) = (place.shape().to_vec(), place.strides().to_vec());
        let offset = place.layout().offset().saturating_sub(extent.start);
        let itemsize = place.datatype().itemsize();
        let strided = array::Strided::new(shape.clone(), strides, offset, itemsize, size)?;
        let order = array::Order::C;
        let whole = array::Strided::packed(shape, order, 0, itemsize, packed.len() as u64)?;
        let datatype = place.datatype().clone();
        let packed = array::Array::new(Bytes::from(packed), datatype, whole, *self.limits())?;
        put_fields(&strided, &packed, &mut bytes)?;
        Ok(Patch { offset: extent.start, bytes, before, len: self.source().len() })
    }
}

impl Patch {
    /// Returns the offset in the file at which the new bytes begin.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the new bytes, including unchanged bytes between the replaced elements.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Applies the patch to the file on disk. If an earlier change was interrupted, rolls it back first.
    ///
    /// # Errors
    ///
    /// Same as [`commit`](Self::commit). Also fails with [`Read`](ErrorKind::Read) if another writer is using
    /// the file, or if an interrupted change cannot be rolled back.
    pub fn commit_to(self, path: impl AsRef<Path>) -> Result<(), Error> {
        let lock = FileLock::acquire(path)?;
        lock.roll_back()?;
        self.commit(&mut FileStorage::open(&lock)?)
    }

    /// Applies the patch to a file.
    ///
    /// # Errors
    ///
    /// Fails with [`Extend`](ErrorKind::Extend) if the length of the file or the bytes in the
    /// patched range have changed since this patch was created, and with [`Read`](ErrorKind::Read)
    /// if the file cannot be written. In both cases, the file keeps its old content.
    pub fn commit(self, storage: &mut dyn Storage) -> Result<(), Error> {
        let Self { offset, bytes, before, len } = self;
        // The bytes between the replaced elements are also written, so they must not have changed.
        if storage.file().len() != len || storage.file().bytes_at(offset, bytes.len())? != before {
            let message = "the file was changed after the patch was prepared".to_owned();
            return Err(ErrorKind::Extend { message }.into());
        }
        let end = offset + bytes.len() as u64;
        // Recognise the file by the bytes before the patch or, if the patch is at the start, by the bytes after
        // it. If the patch covers the whole file, use the new bytes.
        let before = offset.saturating_sub(WITNESS)..offset;
        let after = end..len.min(end.saturating_add(WITNESS));
        let untouched = if before.is_empty() { after } else { before };
        let mut plan = ChangePlan::new(untouched.clone());
        if untouched.is_empty() {
            plan = plan.marker(offset, bytes[..bytes.len().min(4096)].to_vec());
        }
        let mut change = Change::begin(storage, &plan.overwrite(offset..end))?;
        change.write_all_at(&bytes, offset)?;
        Ok(change.commit()?)
    }
}
