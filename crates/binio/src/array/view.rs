//! Arrays that combine data, type and layout, and all ways to read them.

use std::sync::Arc;

use bytes::Bytes;

use crate::Limits;
use crate::array::buffer::{OWN_MEMORY, reserved, zeroed};
use crate::array::element::{Elements, per_element};
use crate::array::plan::too_large;
use crate::array::swap::Swap;
use crate::array::{
    Access, ByteOrder, Data, Datatype, Element, ElementsError, Field, Order, Record, Slice,
    Strided, read,
};
use crate::diagnostic::count;
use crate::error::elements::datatype as invalid;

/// Minimum size in bytes of vectors that are zeroed, and then filled by several threads. Smaller
/// vectors are usually filled by a single thread that appends to them. Threads are faster for large
/// vectors, even though writing zeros costs a page fault per page: 1 GiB takes 0.54 times as long
/// on two cores, 128 MiB of big-endian complex128 takes 0.85 times as long, and 64 MiB takes the
/// same time (`--example array_speed`, column `vector`).
const PARALLEL_VECTOR: usize = 96 << 20;

/// An array: its type, its shape, and the location of its elements.
///
/// An array is a view. Creating one, [slicing](Self::slice) it and selecting a [field](Self::field)
/// read nothing, and the results can be sliced again.
///
/// ```
/// use binio::{Bytes, Limits};
/// use binio::array::{Array, Datatype, Order, Slice, Strided};
///
/// let data = Bytes::from_static(&[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]);
/// let layout = Strided::packed(vec![2, 3], Order::C, 0, 2, 12)?;
/// let array = Array::new(data, Datatype::parse(">u2")?, layout, Limits::default())?;
/// assert_eq!(array.read::<u16>()?, [1, 2, 3, 4, 5, 6]);
/// let column = array.slice(&Slice::parse(":, -1")?)?;
/// assert_eq!(column.read::<u16>()?, [3, 6]);
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Array<D> {
    data: D,
    datatype: Arc<Datatype>,
    layout: Strided,
    limits: Limits,
}

impl<D> Array<D> {
    /// Creates an array whose elements have the given type. `layout` describes their positions in
    /// `data`.
    ///
    /// A read that allocates a buffer is limited to [`max_alloc`](Limits::max_alloc) bytes.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Datatype`] if the type and the layout differ in the size of an
    /// element.
    pub fn new(
        data: D,
        datatype: impl Into<Arc<Datatype>>,
        layout: Strided,
        limits: Limits,
    ) -> Result<Self, ElementsError> {
        let datatype = datatype.into();
        let (expected, found) = (datatype.itemsize(), layout.itemsize());
        if expected != found {
            let expected = count(expected, "byte");
            let message = format!("elements have {expected}, but the layout expects {found}");
            return Err(ElementsError::Datatype(message));
        }
        Ok(Self { data, datatype, layout, limits })
    }

    /// Returns the data that contains the elements.
    pub fn data(&self) -> &D {
        &self.data
    }

    /// Returns the type of an element.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns the layout of the elements in the data.
    pub fn layout(&self) -> &Strided {
        &self.layout
    }

    /// Returns the lengths of the dimensions, outermost first. A zero-dimensional array, which has
    /// a single element, has an empty shape.
    pub fn shape(&self) -> &[u64] {
        self.layout.shape()
    }

    /// Returns the distances in bytes between neighbours, outermost dimension first.
    pub fn strides(&self) -> &[i64] {
        self.layout.strides()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.layout.len()
    }

    /// Returns `true` if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Returns the limits on the size of buffers for elements and on the number of strings in a
    /// list.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Replaces the data of the array with `data`. The elements must have the same type and layout
    /// in the new data.
    pub fn with_data<E>(self, data: E) -> Array<E> {
        let Self { datatype, layout, limits, .. } = self;
        Array { data, datatype, layout, limits }
    }

    /// Returns the total size of the elements in bytes. Fails if a buffer of this size would exceed
    /// the limits or the address space.
    fn checked_size(&self) -> Result<usize, ElementsError> {
        let requested = self.layout.byte_size().unwrap_or(u64::MAX);
        let limit = self.limits.max_alloc;
        if requested > limit {
            return Err(ElementsError::Limit { what: "bytes of an array", limit, requested });
        }
        usize::try_from(requested).map_err(|_| too_large(&self.layout))
    }

    /// Returns the number of values of type `T` in the whole array. Fails if an element does not
    /// consist of `T` values.
    fn count<T: Element>(&self) -> Result<usize, ElementsError> {
        let each = self.datatype.as_scalar().and_then(per_element::<T>);
        let each = each.ok_or_else(|| self.type_error(T::NAME))?;
        let count = self.len().checked_mul(each).and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| too_large(&self.layout))
    }

    pub(super) fn type_error(&self, requested: &'static str) -> ElementsError {
        ElementsError::Type { datatype: self.datatype.to_string(), requested }
    }
}

impl<D: Clone> Array<D> {
    fn with_layout(&self, layout: Strided) -> Self {
        Self { layout, ..self.clone() }
    }

    /// Returns the part of the array that the slices select. Nothing is read.
    ///
    /// # Errors
    ///
    /// Same as [`Strided::slice`].
    pub fn slice(&self, slices: &[Slice]) -> Result<Self, ElementsError> {
        Ok(self.with_layout(self.layout.slice(slices)?))
    }

    /// Returns a field of an array of records. The dimensions of the field follow the dimensions of
    /// the array. Nothing is read.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Datatype`] if the elements are not records or have no field with
    /// this name. Fails with [`ElementsError::Shape`] if the array and the field together have more
    /// than 64 dimensions or more than 2^64 - 1 elements.
    pub fn field(&self, name: &str) -> Result<Self, ElementsError> {
        let fields = self.datatype.as_record().map(Record::fields).ok_or_else(|| {
            invalid(format!("the elements are not records, so they have no field named {name:?}"))
        })?;
        let field = fields.iter().find(|field| field.name() == name).ok_or_else(|| {
            let names: Vec<&str> = fields.iter().map(Field::name).collect();
            invalid(format!("no field named {name:?}; the fields are {names:?}"))
        })?;
        let datatype = Arc::new(field.datatype().clone());
        Ok(Self { datatype, layout: self.layout.field(field)?, ..self.clone() })
    }

    /// Returns the array with its axes reversed.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.with_layout(self.layout.transpose())
    }

    /// Repeats the elements to fill a larger shape, following numpy's rules.
    ///
    /// # Errors
    ///
    /// Same as [`Strided::broadcast`].
    pub fn broadcast(&self, shape: &[u64]) -> Result<Self, ElementsError> {
        Ok(self.with_layout(self.layout.broadcast(shape)?))
    }

    /// Returns the same elements, in the same C order, in a different shape. Fails if that is not
    /// possible without copying.
    ///
    /// # Errors
    ///
    /// Same as [`Strided::reshape`].
    pub fn reshape(&self, shape: &[u64]) -> Result<Self, ElementsError> {
        Ok(self.with_layout(self.layout.reshape(shape)?))
    }
}

/// Methods that read elements.
impl<D: Data> Array<D> {
    /// Reads the elements in C order.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Type`] if the elements cannot be read as `T`, with
    /// [`ElementsError::Limit`] if they exceed [`max_alloc`](Limits::max_alloc), with
    /// [`ElementsError::Shape`] if they exceed the address space, and with
    /// [`ElementsError::Memory`] if there is not enough memory. Also fails with the error of the
    /// data if it cannot be read.
    pub fn read<T: Element>(&self) -> Result<Vec<T>, D::Error> {
        self.read_in(Order::C)
    }

    /// Reads the elements in C or Fortran order.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read).
    pub fn read_in<T: Element>(&self, order: Order) -> Result<Vec<T>, D::Error> {
        let len = self.count::<T>()?;
        let size = self.checked_size()?;
        let swap = Swap::new(&self.datatype, ByteOrder::Native)?;
        let layout = self.layout.in_order(order);
        // Instead of appending, fill a zeroed vector if several threads can share the work, or if
        // the elements are contiguous and the vector gets fresh memory from the system. Such memory
        // is already zero, and swapping contiguous runs in place is a little faster than appending.
        let fills =
            size >= PARALLEL_VECTOR || (size >= OWN_MEMORY && layout.is_contiguous(Order::C));
        if self.data.access() == Access::Memory && !fills {
            let extent = layout.extent();
            let bytes = self.data.bytes_at(extent.clone())?;
            let mut out = reserved(len)?;
            if read::append(&bytes, extent.start, &layout, &swap, &mut out).is_some() {
                return Ok(T::from_raw(out));
            }
        }
        let mut out = zeroed(len)?;
        read::fill(&self.data, &layout, &swap, bytemuck::cast_slice_mut(&mut out))?;
        Ok(T::from_raw(out))
    }

    /// Reads the elements in C order into a slice of exactly the right length.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), except that the limits only apply to `bool`, whose elements
    /// need a second buffer. Also fails with [`ElementsError::BufferSize`] if the slice has a
    /// different length.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<(), D::Error> {
        let expected = self.count::<T>()?;
        if expected != out.len() {
            let (expected, found) = (expected as u64, out.len() as u64);
            return Err(ElementsError::BufferSize { expected, found }.into());
        }
        if let Some(bytes) = T::bytes_mut(out) {
            return self.fill(bytes, Order::C, ByteOrder::Native);
        }
        out.copy_from_slice(&self.read()?);
        Ok(())
    }

    /// Reads the bytes of the elements, packed in C or Fortran order. Each number is converted to
    /// the requested byte order, including the parts of complex numbers, the characters of strings
    /// and the fields of records.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), except that the elements can have any type. Also fails with
    /// [`ElementsError::Datatype`] if a field of a record would have to change its byte order, but
    /// overlaps a field with a different layout or byte order.
    pub fn read_bytes(&self, order: Order, numbers: ByteOrder) -> Result<Vec<u8>, D::Error> {
        let mut out = zeroed(self.checked_size()?)?;
        self.fill(&mut out, order, numbers)?;
        Ok(out)
    }

    /// Like [`read_bytes`](Self::read_bytes), but reads into a slice of exactly the right length.
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), except that the limits do not apply. Also fails
    /// with [`ElementsError::BufferSize`] if the slice has a different length.
    pub fn read_bytes_into(
        &self,
        out: &mut [u8],
        order: Order,
        numbers: ByteOrder,
    ) -> Result<(), D::Error> {
        let (expected, found) = (self.layout.byte_size().unwrap_or(u64::MAX), out.len() as u64);
        if expected != found {
            return Err(ElementsError::BufferSize { expected, found }.into());
        }
        self.fill(out, order, numbers)
    }

    /// Returns the elements in C order. They are borrowed if they are contiguous and aligned in
    /// memory and have the native byte order. Otherwise, they are copied in a single pass. Elements
    /// of type `bool` are always copied, because not every byte is a valid `bool`.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), except that the limits do not apply if nothing is copied.
    pub fn view<T: Element>(&self) -> Result<Elements<T>, D::Error> {
        self.count::<T>()?;
        let is_native = Swap::new(&self.datatype, ByteOrder::Native)? == Swap::None;
        if is_native && self.layout.is_contiguous(Order::C) {
            if let Some(elements) = self.shared_bytes()?.and_then(Elements::shared) {
                return Ok(elements);
            }
        }
        self.read().map(Elements::from)
    }

    /// Returns the bytes of the layout's [`extent`](Strided::extent), without copying them if they
    /// are in memory. Returns `None` if the data has to be read in ranges.
    ///
    /// # Errors
    ///
    /// Fails with the error of the data if the extent is outside the data, if the data cannot be
    /// decoded, or if there is not enough memory for the decoded bytes.
    pub fn shared_bytes(&self) -> Result<Option<Bytes>, D::Error> {
        match self.data.access() {
            Access::Memory | Access::Whole => self.data.bytes_at(self.layout.extent()).map(Some),
            Access::Ranges { .. } => Ok(None),
        }
    }

    /// Calls `body` with the bytes of the elements in C or Fortran order, in the stored byte order
    /// and in pieces of at most `max` bytes. If `whole` is `true`, elements larger than `max` are
    /// not split. Arrays of any size need little memory, unless every read decodes all the data.
    ///
    /// # Errors
    ///
    /// Stops at the first error of `body` and returns it. Fails with the error of the data if the
    /// elements cannot be read, with [`ElementsError::Memory`] if there is not enough memory for a
    /// piece, and with [`ElementsError::Shape`] if a piece exceeds the address space. Fails with
    /// [`ElementsError::Limit`] if the total size of the elements exceeds both
    /// [`max_alloc`](Limits::max_alloc) and their [`extent`](Strided::extent), which is only
    /// possible if they share bytes.
    pub fn for_each_piece(
        &self,
        order: Order,
        max: u64,
        whole: bool,
        body: impl FnMut(&[u8]) -> Result<(), D::Error>,
    ) -> Result<(), D::Error> {
        let max = if whole { max.max(self.layout.itemsize()) } else { max };
        self.check_repeated()?;
        read::for_each_piece(&self.data, &self.layout.in_order(order), max, body)
    }

    /// Checks the limits if the elements share so many bytes that their total size exceeds their
    /// extent. The total size can then be far larger than the data.
    pub(super) fn check_repeated(&self) -> Result<(), ElementsError> {
        let extent = self.layout.extent();
        if self.layout.byte_size().is_none_or(|size| size > extent.end - extent.start) {
            self.checked_size()?;
        }
        Ok(())
    }

    fn fill(&self, out: &mut [u8], order: Order, numbers: ByteOrder) -> Result<(), D::Error> {
        let swap = Swap::new(&self.datatype, numbers)?;
        read::fill(&self.data, &self.layout.in_order(order), &swap, out)
    }

    /// Reads the elements into an `ndarray` array in C or Fortran order. If an element consists of
    /// several values of type `T`, as text does, they form an additional last dimension, and the
    /// order is always C.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read). Also fails with [`ElementsError::Shape`] if `ndarray` does not
    /// support the shape, because the product of its nonzero dimensions exceeds `isize::MAX`.
    #[cfg(feature = "ndarray")]
    pub fn to_ndarray<T: Element>(&self, order: Order) -> Result<ndarray::ArrayD<T>, D::Error> {
        use ndarray::ShapeBuilder;

        let each = self.datatype.as_scalar().and_then(per_element::<T>);
        let inner = each.filter(|&each| each != 1);
        let order = if inner.is_some() { Order::C } else { order };
        let shape = self.shape().iter().copied().chain(inner);
        let shape: Vec<usize> =
            shape.map(|count| usize::try_from(count).unwrap_or(usize::MAX)).collect();
        ndarray::ArrayD::from_shape_vec(shape.set_f(order == Order::F), self.read_in(order)?)
            .map_err(|error| ElementsError::Shape(error.to_string()).into())
    }
}
