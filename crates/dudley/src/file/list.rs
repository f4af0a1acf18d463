//! The elements of a list.

use binio::ReadAt as _;
use binio::array::Strided;

use super::value::{Array, File};
use crate::error::{Error, ErrorKind};
use crate::layout::{Found, ItemId, ItemKind};

/// The elements of a list. An element is opened as an array only when requested.
///
/// ```
/// use dudley::{Layout, OpenOptions, Order, Rules};
///
/// let layout = Layout::parse("time [u1]  rho [u2[2]]  time %0 rho %0  time %0 rho %0")?;
/// let bytes = vec![1, 0, 10, 0, 11, 0, 2, 0, 20, 0, 21, 0, 3, 0, 30, 0, 31, 0];
/// let rules = Rules::new().order(Order::Little);
/// let file = OpenOptions::new().rules(rules).layout(layout).from_bytes(bytes)?;
///
/// let rho = file.list("/rho")?;
/// assert_eq!(rho.get(1)?.read::<u16>()?, [20, 21]);
/// let all = rho.stacked()?.unwrap();
/// assert_eq!((all.shape(), all.strides()), (&[3, 2][..], &[6, 2][..]));
/// assert_eq!(all.read::<u16>()?, [10, 11, 20, 21, 30, 31]);
/// # Ok::<(), dudley::Error>(())
/// ```
pub struct List<'f> {
    file: &'f File,
    path: String,
    elements: &'f [ItemId],
}

impl File {
    /// Returns the elements of the list at a path.
    ///
    /// # Errors
    ///
    /// Fails with [`Path`](ErrorKind::Path) if the path is malformed, with [`NotFound`](ErrorKind::NotFound) if
    /// there is nothing at the path, and with [`NotData`](ErrorKind::NotData) if it leads to anything but a
    /// list. If the text of a compiled layout has errors or cannot be read, fails with the error in
    /// [`stopped`](Self::stopped).
    pub fn list(&self, path: &str) -> Result<List<'_>, Error> {
        List::find(self, path)
    }
}

impl<'f> List<'f> {
    pub(super) fn find(file: &'f File, path: &str) -> Result<Self, Error> {
        let not_a_list = |what| Error::from(ErrorKind::NotData { path: path.to_owned(), what });
        let layout = &file.valid()?.layout;
        let Found::Item(id, inside) = layout.find(path)? else {
            return Err(not_a_list("a parameter, not a list"));
        };
        match layout.kind(id) {
            ItemKind::List(elements) => Ok(Self { file, path: layout.path(id), elements }),
            ItemKind::Dict(_) => Err(not_a_list("a dict, not a list")),
            ItemKind::Data(_) if inside.is_empty() => Err(not_a_list("an array, not a list")),
            ItemKind::Data(_) => Err(not_a_list("a member, not a list")),
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns the path of an element, such as `/list[2]`. Use the path to access an element that
    /// is a list or a dict.
    pub fn path(&self, index: usize) -> String {
        format!("{}[{index}]", self.path)
    }

    /// Returns the element with this index as an array.
    ///
    /// # Errors
    ///
    /// Same as [`File::get`].
    pub fn get(&self, index: usize) -> Result<Array, Error> {
        self.file.get(&self.path(index))
    }

    /// Iterates over the elements in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Array, Error>> + '_ {
        (0..self.elements.len()).map(|index| self.get(index))
    }

    /// Returns all elements as one array, with the index in the list as its first dimension.
    /// Returns `None` if the list is empty, or if its elements have a filter, differ in type or
    /// shape, or are not evenly spaced in ascending order. Also returns `None` if the size of the
    /// elements depends on their contents, as in counted text.
    ///
    /// # Errors
    ///
    /// Same as [`File::get`].
    pub fn stacked(&self) -> Result<Option<Array>, Error> {
        let Some(&first) = self.elements.first() else { return Ok(None) };
        let one = self.get(0)?;
        let data = |id| self.file.layout().data_of(id);
        let row = |id| self.file.table().row_of(id);
        let address = |id| row(id).and_then(|row| row.address());
        let Some((found, declared)) = row(first).zip(data(first)) else { return Ok(None) };
        let entry = self.file.table().entry(found);
        // The filter may come from a typedef, so ask the entry, not the declaration.
        if entry.filter().is_some() || entry.is_indeterminate() {
            return Ok(None);
        }
        let Some(start) = entry.address() else { return Ok(None) };
        let second = self.elements.get(1).and_then(|&id| address(id));
        let stride = second.map_or(Some(0), |second| second.checked_sub(start));
        let Some(stride) = stride.and_then(|stride| i64::try_from(stride).ok()) else {
            return Ok(None);
        };
        let layout = self.file.layout();
        let is_alike = |id| {
            data(id).is_some_and(|found| {
                found.datatype == declared.datatype
                    && layout.shape(found) == layout.shape(declared)
                    && layout.bindings(found) == layout.bindings(declared)
                    && layout.filter(found) == layout.filter(declared)
            })
        };
        for (at, &id) in (0_u64..).zip(self.elements) {
            let expected = start.checked_add(at.saturating_mul(stride.unsigned_abs()));
            if !is_alike(id) || address(id) != expected {
                return Ok(None);
            }
        }
        let shape = [&[self.elements.len() as u64], one.shape()].concat();
        let strides = [&[stride], one.strides()].concat();
        let itemsize = one.datatype().itemsize();
        let len = self.file.source().len();
        let strided = Strided::new(shape, strides, start, itemsize, len);
        let strided = strided.map_err(binio::Error::from)?;
        let source = self.file.source().clone();
        let all = Array::new(source, one.datatype().clone(), strided, *self.file.limits());
        Ok(Some(all.map_err(binio::Error::from)?))
    }
}
