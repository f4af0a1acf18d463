//! Putting elements, strings and arrays at a path.
//!
//! Elements that fill a whole array of a primitive type take a fast path if the file can be written at
//! any offset. If they already have the type of the array, they are written directly from the memory
//! of the caller. If only their byte order differs, they are copied and swapped in small pieces.
//!
//! In all other cases, elements of a different type are first converted to the type of the array.

use std::borrow::Cow;
use std::ops::Deref;

use binio::Bytes;
use binio::array::{self, ByteOrder, Data, Datatype, Element, ScalarKind, ScalarType, Strided};
use binio::diagnostic;

use super::convert::{byte_order, convert, convert_packed, same_scalars};
use super::target::{Destination, put_fields};
use super::writer::Writer;
use crate::error::{Error, ErrorKind};

/// Elements packed in C order.
pub(super) enum Packed<'p> {
    /// Elements in the memory of the caller.
    Borrowed(&'p [u8]),
    /// Elements in shared memory, which can be kept without being copied.
    Kept(Bytes),
}

impl Packed<'_> {
    /// Returns the bytes, copied if they are borrowed.
    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Kept(bytes) => bytes,
        }
    }
}

impl Deref for Packed<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Kept(bytes) => bytes,
        }
    }
}

impl Writer<'_> {
    /// Puts numbers at a path. `elements` contains the numbers in C order. Paths have the same form
    /// as for [`File::get`](crate::File::get). Numbers are converted to the type in the file.
    /// Floats are rounded to the precision of that type, but a number that is out of range, or a
    /// fraction for an integer type, is an error.
    ///
    /// Numbers that fill a whole array and need no conversion are copied only if they cannot be
    /// written yet, for example because earlier data is missing in a file that is written in one
    /// pass. Use [`put_vec`](Self::put_vec) to avoid this copy.
    ///
    /// ```
    /// use dudley::{ErrorKind, File, Layout, WriteOptions};
    ///
    /// let mut bytes = Vec::new();
    /// let mut writer = WriteOptions::new().write_at(&mut bytes, Layout::parse("x = i2[2]")?)?;
    /// writer.put("/x", &[1_i64, -2])?;
    /// assert!(matches!(writer.put("/x", &[1_i64]).unwrap_err().kind(), ErrorKind::Mismatch { .. }));
    /// // The type `i2` cannot represent 40,000.
    /// assert!(matches!(writer.put("/x", &[1, 40_000]).unwrap_err().kind(), ErrorKind::Read(_)));
    /// writer.finish()?;
    /// assert_eq!(File::from_bytes(bytes, None)?.get("/x")?.read::<i16>()?, [1, -2]);
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Path`](ErrorKind::Path), [`NotFound`](ErrorKind::NotFound), [`NotData`](ErrorKind::NotData)
    /// or [`NotStrided`](ErrorKind::NotStrided) if there is no array at the path, as in
    /// [`File::get`](crate::File::get), or if the path leads to a parameter. Fails with
    /// [`Mismatch`](ErrorKind::Mismatch) if the number of elements is wrong, or if the array can no longer be
    /// changed, because it has been written to a stream or belongs to the file that is being extended. Fails
    /// with [`Layout`](ErrorKind::Layout) if a size or address depends on a parameter stored in a struct, and
    /// the parameter has no value. Fails with [`Read`](ErrorKind::Read) if the type in the file cannot
    /// represent an element, or if the file cannot be written, and with [`Filter`](ErrorKind::Filter) if the
    /// array cannot be compressed.
    pub fn put<T: Element>(&mut self, path: &str, elements: &[T]) -> Result<(), Error> {
        self.put_elements::<T>(path, elements.len(), Packed::Borrowed(array::as_bytes(elements)))
    }

    /// Puts numbers at a path, like [`put`](Self::put). If the numbers fill a whole array, need no
    /// conversion and cannot be written yet, the vector is kept without being copied.
    ///
    /// # Errors
    ///
    /// Same as [`put`](Self::put).
    pub fn put_vec<T: Element>(&mut self, path: &str, elements: Vec<T>) -> Result<(), Error> {
        let count = elements.len();
        self.put_elements::<T>(path, count, Packed::Kept(array::into_bytes(elements)))
    }

    fn put_elements<T: Element>(
        &mut self,
        path: &str,
        found: usize,
        packed: Packed<'_>,
    ) -> Result<(), Error> {
        let place = self.destination(path)?;
        let given = Datatype::of::<T>();
        let characters = characters(&place.datatype, &given);
        let count = array::count(&place.shape).unwrap_or(u64::MAX);
        if count.checked_mul(characters.unwrap_or(1)) != Some(found as u64) {
            let shape: Vec<u64> = place.shape.iter().copied().chain(characters).collect();
            let found = diagnostic::count(found, "element");
            let message = format!("expected elements of shape {shape:?}, found {found}");
            return Err(ErrorKind::Mismatch { path: path.to_owned(), message }.into());
        }
        let datatype = match characters {
            Some(_) => place.datatype.with_byte_order(ByteOrder::Native),
            None => given,
        };
        self.put_packed(path, place, &datatype, packed)
    }

    /// Puts strings at a path. `texts` contains the strings in C order.
    ///
    /// # Errors
    ///
    /// Same as [`put`](Self::put). Also fails with [`Read`](ErrorKind::Read) if a string is too long for the
    /// type in the file.
    pub fn put_strings(&mut self, path: &str, texts: &[&str]) -> Result<(), Error> {
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0).max(1);
        let mut bytes = vec![0; longest * texts.len()];
        for (text, place) in texts.iter().zip(bytes.chunks_exact_mut(longest)) {
            place[..text.len()].copy_from_slice(text.as_bytes());
        }
        let scalar = ScalarType::new(ScalarKind::Utf8, longest as u64, binio::Endian::Little);
        let datatype = Datatype::from(scalar.map_err(binio::Error::from)?);
        let place = self.destination(path)?;
        let count = texts.len() as u64;
        if array::count(&place.shape) != Some(count) {
            return Err(wrong_shape(path, &[count], &place.shape));
        }
        self.put_packed(path, place, &datatype, Packed::Kept(bytes.into()))
    }

    /// Puts an array at a path. The array may come from a `.npy` file, from another Dudley file, or from
    /// anything else that [`binio::array`] reads. Records are converted field by field, and fields are matched
    /// by name.
    ///
    /// Contiguous elements in memory are not copied if they fill a whole array of a primitive type
    /// and need no conversion.
    ///
    /// # Errors
    ///
    /// Same as [`put`](Self::put). Also fails with [`Mismatch`](ErrorKind::Mismatch) if the shape
    /// is wrong, and with a read error if `array` cannot be read.
    pub fn put_array<D: Data>(&mut self, path: &str, array: &array::Array<D>) -> Result<(), Error>
    where
        Error: From<D::Error>,
    {
        let place = self.destination(path)?;
        if place.shape != array.shape() {
            return Err(wrong_shape(path, array.shape(), &place.shape));
        }
        self.check_unwritten(path, place.index)?;
        let is_packed = array.layout().is_contiguous(array::Order::C);
        let shared = if is_packed { array.shared_bytes()? } else { None };
        let (datatype, bytes) = match shared {
            Some(bytes) => (array.datatype().clone(), bytes),
            None => (place.datatype.clone(), convert(array, &place.datatype)?.into()),
        };
        self.put_packed(path, place, &datatype, Packed::Kept(bytes))
    }

    /// Converts elements of type `datatype`, and puts them at their destination. The caller has
    /// checked the number of elements.
    fn put_packed(
        &mut self,
        path: &str,
        place: Destination,
        datatype: &Datatype,
        packed: Packed<'_>,
    ) -> Result<(), Error> {
        self.check_unwritten(path, place.index)?;
        let Destination { index, inside, datatype: stored, shape, strided } = place;
        let is_whole = inside.is_empty() && stored.as_scalar().is_some();
        if let (true, Some(strided), Some((given, _))) =
            (is_whole, &strided, same_scalars(datatype, &stored))
        {
            if let Some((target, address)) = self.target_of(index) {
                let write = |offset, bytes: &[u8]| target.write_all_at(bytes, address + offset);
                let order = array::Order::C;
                array::write_ranges(strided, &stored, &packed, order, byte_order(given), write)?;
                self.put[index].add(inside);
                return Ok(());
            }
        }
        let converted = convert_packed(&packed, datatype, &stored, &self.limits)?;
        let packed = match converted {
            Cow::Owned(bytes) => Packed::Kept(bytes.into()),
            Cow::Borrowed(_) => packed,
        };
        let Some(strided) = strided else {
            let bytes = self.encode(self.table.rows()[index], &stored, &shape, &packed)?;
            self.put[index].add(inside);
            return self.store(index, Packed::Kept(bytes));
        };
        if is_whole {
            self.put[index].add(inside);
            return self.store(index, packed);
        }
        let mut bytes = self.take(index)?;
        let (itemsize, len) = (stored.itemsize(), packed.len() as u64);
        let whole = Strided::packed(shape, array::Order::C, 0, itemsize, len);
        let whole = whole.map_err(binio::Error::from)?;
        let packed = array::Array::new(packed.into_bytes(), stored, whole, self.limits);
        put_fields(&strided, &packed.map_err(binio::Error::from)?, &mut bytes)?;
        self.put[index].add(inside);
        self.store(index, Packed::Kept(bytes.into()))
    }
}

/// Returns the number of code units per string if the file stores text and `given` is the type of
/// its code units, otherwise `None`.
fn characters(stored: &Datatype, given: &Datatype) -> Option<u64> {
    let (text, given) = (stored.as_scalar().filter(|stored| stored.is_text())?, given.as_scalar()?);
    let width = text.component_width() as u64;
    let is_character = given.kind() == ScalarKind::Uint && given.size() == width;
    is_character.then(|| text.size() / width)
}

fn wrong_shape(path: &str, found: &[u64], expected: &[u64]) -> Error {
    let message = format!("the shape is {found:?}, expected {expected:?}");
    ErrorKind::Mismatch { path: path.to_owned(), message }.into()
}
