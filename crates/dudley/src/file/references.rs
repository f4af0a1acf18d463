//! References to items: `<- ref`. The array stores plain numbers, and the filter maps each number to an item.
//! References are followed only on request.

use std::collections::HashSet;

use binio::array::{ByteOrder, Order as ElementOrder, ScalarKind};
use binio::diagnostic::count;

use super::value::{Array, File};
use crate::error::{Error, ErrorKind};
use crate::filter::{FilterError, Reference};
use crate::layout::{Filter, FilterKind, Found, ItemId, ItemKind, Subject};

/// The references stored in an array.
///
/// ```
/// use dudley::{File, Layout, OpenOptions, Order, Rules};
///
/// let layout = Layout::parse("a = u1[2]  g/ b = u1  / r = i2[3] <- ref")?;
/// let bytes = vec![7, 8, 9, 0, 1, 0, 0, 0, 2, 0];
/// let file = OpenOptions::new().rules(Rules::new().order(Order::Little)).layout(layout).from_bytes(bytes)?;
/// let references = file.references("/r")?;
/// assert_eq!(references.get(0)?.unwrap().array()?.read::<u8>()?, [7, 8]);
/// assert!(references.get(1)?.is_none());
/// assert_eq!(references.get(2)?.unwrap().path(), "/g");
/// # Ok::<(), dudley::Error>(())
/// ```
pub struct References<'f> {
    file: &'f File,
    path: String,
    shape: Vec<u64>,
    numbers: Vec<i64>,
    filter: &'f dyn Reference,
}

/// The target of a reference. Its data is read only on request.
#[derive(Clone, Copy)]
pub struct Referenced<'f> {
    file: &'f File,
    item: ItemId,
}

impl File {
    /// Returns the references stored in the array at a path.
    ///
    /// # Errors
    ///
    /// Same as [`get`](Self::get). Also fails with [`NotData`](ErrorKind::NotData) if the array has no
    /// reference filter or its elements are not integers, and with [`Reference`](ErrorKind::Reference) if the
    /// filter is not registered.
    pub fn references(&self, path: &str) -> Result<References<'_>, Error> {
        let not_data = |what| Error::from(ErrorKind::NotData { path: path.to_owned(), what });
        let (row, inside) = self.find(path)?;
        let inputs = self.inputs();
        let stored = self.follow(&mut self.inner(&inputs), row, &inside, path)?;
        let filter = stored.filter().map(|id| self.layout().filter_of(id));
        let filter = filter.filter(|filter| filter.kind == FilterKind::Reference);
        let Some(Filter { name, .. }) = filter else {
            return Err(not_data("not an array of references"));
        };
        let known = self.filters().reference(name).ok_or_else(|| ErrorKind::Reference {
            path: path.to_owned(),
            index: 0,
            message: format!("no filter named {name} is registered"),
        })?;
        let array = self.get(path)?;
        let is_integer = |kind| matches!(kind, ScalarKind::Int | ScalarKind::Uint);
        if !array.datatype().as_scalar().is_some_and(|scalar| is_integer(scalar.kind())) {
            return Err(not_data("not an array of integers"));
        }
        let numbers = numbers(&array)?;
        let (path, shape) = (path.to_owned(), array.shape().to_vec());
        Ok(References { file: self, path, shape, numbers, filter: known })
    }

    /// Follows the references at a path, and the references in their targets, recursively. Returns
    /// the id of each target once, in order of discovery.
    ///
    /// ```
    /// use dudley::{File, Layout};
    ///
    /// let layout = Layout::parse("x = u1  r = i1[2] <- ref  s = i1 <- ref")?;
    /// let reached = |bytes: &[u8]| File::from_bytes(bytes.to_vec(), layout.clone())?.deref_deep("/s");
    /// assert_eq!(reached(&[5, 1, 0, 2])?.len(), 2);
    /// let error = reached(&[5, 1, 3, 2]).unwrap_err();
    /// assert_eq!(error.to_string(), "`/r`, element 1: following references leads back to /s");
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`references`](Self::references) and [`References::get`]. Also fails with
    /// [`Reference`](ErrorKind::Reference) if the references form a cycle.
    pub fn deref_deep(&self, path: &str) -> Result<Vec<ItemId>, Error> {
        let mut open = vec![(None, self.references(path)?, 0)];
        if let Found::Item(item, members) = self.layout().find(path)? {
            if members.is_empty() {
                open[0].0 = Some(item);
            }
        }
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        while let Some((_, references, index)) = open.last_mut() {
            let at = *index;
            if at == references.len() {
                open.pop();
                continue;
            }
            *index += 1;
            let Some(target) = references.get(at)? else { continue };
            let from = references.path.clone();
            if open.iter().any(|(item, ..)| *item == Some(target.item)) {
                let message = format!("following references leads back to {}", target.path());
                return Err(ErrorKind::Reference { path: from, index: at, message }.into());
            }
            if !seen.insert(target.item) {
                continue;
            }
            found.push(target.item);
            if target.is_reference() {
                open.push((Some(target.item), self.references(&target.path())?, 0));
            }
        }
        Ok(found)
    }
}

/// Reads the elements of an integer array.
fn numbers(array: &Array) -> Result<Vec<i64>, Error> {
    let is_unsigned = array.datatype().as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
    let bytes = array.read_bytes(ElementOrder::C, ByteOrder::Native)?;
    let (kind, size) = is_unsigned.unwrap_or((ScalarKind::Int, 1));
    let size = usize::try_from(size).unwrap_or(1).clamp(1, 8);
    let number = |element: &[u8]| {
        let is_big = cfg!(target_endian = "big");
        let is_negative = element[if is_big { 0 } else { size - 1 }] >= 0x80;
        let fill = if kind == ScalarKind::Int && is_negative { 0xff } else { 0 };
        let mut wide = [fill; 8];
        if is_big {
            wide[8 - size..].copy_from_slice(element);
        } else {
            wide[..size].copy_from_slice(element);
        }
        let number = i64::from_ne_bytes(wide);
        // No item is numbered above 2^63-1, so map larger unsigned numbers to `i64::MIN`, which is also
        // invalid. Wrapping could produce -1, a null reference.
        if kind != ScalarKind::Int && number < 0 { i64::MIN } else { number }
    };
    Ok(bytes.chunks_exact(size).map(number).collect())
}

impl<'f> References<'f> {
    /// Returns the number of references.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns `true` if there are no references.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the dimensions of the array of references.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the target of a reference, or `None` for a null reference. `index` is the index in
    /// the flattened array, in C order.
    ///
    /// # Errors
    ///
    /// Fails with [`Reference`](ErrorKind::Reference) if no item has the stored number, or if there is no
    /// reference with this index.
    pub fn get(&self, index: usize) -> Result<Option<Referenced<'f>>, Error> {
        let number = self.numbers.get(index).copied();
        let found = number
            .ok_or_else(|| {
                FilterError::new(format!("the array has only {}", count(self.len(), "element")))
            })
            .and_then(|number| self.filter.resolve(number, self.file.layout()));
        let found = found.map_err(|error| ErrorKind::Reference {
            path: self.path.clone(),
            index,
            message: error.to_string(),
        })?;
        Ok(found.map(|item| Referenced { file: self.file, item }))
    }

    /// Iterates over all references in order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<Option<Referenced<'f>>, Error>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl<'f> Referenced<'f> {
    /// Returns the id of the item.
    pub fn item(&self) -> ItemId {
        self.item
    }

    /// Returns the path of the item.
    pub fn path(&self) -> String {
        self.file.layout().path(self.item)
    }

    /// Returns the data of the item as an array or scalar.
    ///
    /// # Errors
    ///
    /// Same as [`File::get`]. In particular, fails with [`NotData`](ErrorKind::NotData) if the item is a dict
    /// or a list.
    pub fn array(&self) -> Result<Array, Error> {
        self.file.get(&self.path())
    }

    /// Returns the references stored in the item.
    ///
    /// # Errors
    ///
    /// Same as [`File::references`].
    pub fn references(&self) -> Result<References<'f>, Error> {
        self.file.references(&self.path())
    }

    /// Returns `true` if the item is an array of references.
    pub fn is_reference(&self) -> bool {
        let layout = self.file.layout();
        if !matches!(layout.kind(self.item), ItemKind::Data(_)) {
            return false;
        }
        let rows = self.file.table();
        let row = rows.row_of(self.item).filter(|row| row.subject() == Subject::Item(self.item));
        let filter = row.and_then(|row| rows.entry(row).filter().cloned());
        filter.is_some_and(|filter| filter.kind == FilterKind::Reference)
    }
}
