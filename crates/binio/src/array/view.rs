//! Arrays as their users see them: shape and type, parts, and all ways of reading.

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
use crate::error::elements::datatype as invalid;

/// Below this size, a vector is filled by one thread without zeros first. Beyond it threads win,
/// although the zeros cost a page fault each: 1 GiB takes 0.54 times as long on two cores, 128 MiB of
/// big-endian complex128 0.85 times, and 64 MiB gain nothing (`--example array_speed`, column
/// `vector`).
const PARALLEL_VECTOR: usize = 96 << 20;

/// An array: its type, its shape, and where its elements are.
///
/// It is a view. Making one, [slicing](Self::slice) it and taking a [field](Self::field) of it reads
/// nothing; parts of parts are parts of the whole.
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
    /// Elements of a type that lie so in the data.
    ///
    /// Buffers are made for at most [`max_alloc`](Limits::max_alloc) bytes of elements. Fails with
    /// [`ElementsError::Datatype`] unless type and layout have elements of one size.
    pub fn new(
        data: D,
        datatype: impl Into<Arc<Datatype>>,
        layout: Strided,
        limits: Limits,
    ) -> Result<Self, ElementsError> {
        let datatype = datatype.into();
        let (expected, found) = (datatype.itemsize(), layout.itemsize());
        if expected != found {
            let message = format!("elements of {expected} bytes in a layout for {found}");
            return Err(ElementsError::Datatype(message));
        }
        Ok(Self { data, datatype, layout, limits })
    }

    /// Where the bytes are.
    pub fn data(&self) -> &D {
        &self.data
    }

    /// What one element is.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Where the elements lie in the data.
    pub fn layout(&self) -> &Strided {
        &self.layout
    }

    /// Counts, outermost first; empty for a single element.
    pub fn shape(&self) -> &[u64] {
        self.layout.shape()
    }

    /// Bytes from one element to the next, outermost first.
    pub fn strides(&self) -> &[i64] {
        self.layout.strides()
    }

    /// How many elements there are.
    pub fn len(&self) -> u64 {
        self.layout.len()
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// How many bytes a buffer for elements may have, and how many texts a list.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same elements in other data, in which they lie at the same places.
    pub fn with_data<E>(self, data: E) -> Array<E> {
        let Self { datatype, layout, limits, .. } = self;
        Array { data, datatype, layout, limits }
    }

    /// Bytes of all elements, if the limits allow a buffer for them.
    fn checked_size(&self) -> Result<usize, ElementsError> {
        let requested = self.layout.byte_size().unwrap_or(u64::MAX);
        let limit = self.limits.max_alloc;
        if requested > limit {
            return Err(ElementsError::Limit { what: "bytes of an array", limit, requested });
        }
        usize::try_from(requested).map_err(|_| too_large(&self.layout))
    }

    /// How many of a type the whole array is.
    fn count<T: Element>(&self) -> Result<usize, ElementsError> {
        let each = self.datatype.as_scalar().and_then(per_element::<T>);
        let each = each.ok_or_else(|| self.type_error(T::NAME))?;
        let count = self.len().checked_mul(each).and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| too_large(&self.layout))
    }

    pub(super) fn type_error(&self, asked: &'static str) -> ElementsError {
        ElementsError::Type { datatype: self.datatype.to_string(), asked }
    }
}

impl<D: Clone> Array<D> {
    fn with_layout(&self, layout: Strided) -> Self {
        Self { layout, ..self.clone() }
    }

    /// A part of the array; nothing is read. Fails as [`Strided::slice`].
    pub fn slice(&self, slices: &[Slice]) -> Result<Self, ElementsError> {
        Ok(self.with_layout(self.layout.slice(slices)?))
    }

    /// One field of an array of records, with the dimensions of the field after those of the array;
    /// nothing is read.
    ///
    /// Fails with [`ElementsError::Datatype`] if no field has the name.
    pub fn field(&self, name: &str) -> Result<Self, ElementsError> {
        let fields = self.datatype.as_record().map_or(&[][..], Record::fields);
        let field = fields.iter().find(|field| field.name() == name).ok_or_else(|| {
            let names: Vec<&str> = fields.iter().map(Field::name).collect();
            invalid(format!("no field named {name:?}; the fields are {names:?}"))
        })?;
        let datatype = Arc::new(field.datatype().clone());
        Ok(Self { datatype, layout: self.layout.field(field)?, ..self.clone() })
    }

    /// The array with its axes in reverse.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.with_layout(self.layout.transpose())
    }

    /// The elements repeated to a larger shape. Fails as [`Strided::broadcast`].
    pub fn broadcast(&self, shape: &[u64]) -> Result<Self, ElementsError> {
        Ok(self.with_layout(self.layout.broadcast(shape)?))
    }

    /// The elements with another shape, if that needs no copy. Fails as [`Strided::reshape`].
    pub fn reshape(&self, shape: &[u64]) -> Result<Self, ElementsError> {
        Ok(self.with_layout(self.layout.reshape(shape)?))
    }
}

/// Reading. All these fail if the data cannot be read, with [`ElementsError::Limit`] above the caller's
/// limit and with [`ElementsError::Memory`] where the machine has no memory; those with a Rust type
/// with [`ElementsError::Type`] if the elements are not of that type.
impl<D: Data> Array<D> {
    /// The elements in C order.
    pub fn read<T: Element>(&self) -> Result<Vec<T>, D::Error> {
        self.read_in(Order::C)
    }

    /// The elements in C or Fortran order.
    pub fn read_in<T: Element>(&self, order: Order) -> Result<Vec<T>, D::Error> {
        let len = self.count::<T>()?;
        let size = self.checked_size()?;
        let swap = Swap::new(&self.datatype, ByteOrder::Native)?;
        let layout = self.layout.in_order(order);
        // Zeros cost nothing in memory that comes fresh from the system, and runs are swapped a
        // little faster into memory that is there.
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

    /// The elements in C order into a slice of just their number.
    ///
    /// Fails with [`ElementsError::BufferSize`] if the slice has another length.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<(), D::Error> {
        let want = self.count::<T>()?;
        if want != out.len() {
            let (want, got) = (want as u64, out.len() as u64);
            return Err(ElementsError::BufferSize { want, got }.into());
        }
        if let Some(bytes) = T::bytes_mut(out) {
            return self.fill(bytes, Order::C, ByteOrder::Native);
        }
        out.copy_from_slice(&self.read()?);
        Ok(())
    }

    /// The bytes of the elements, side by side in C or Fortran order, each number in the byte order
    /// asked for: the parts of complex numbers, the characters of texts and the fields of records,
    /// too.
    pub fn read_bytes(&self, order: Order, numbers: ByteOrder) -> Result<Vec<u8>, D::Error> {
        let mut out = zeroed(self.checked_size()?)?;
        self.fill(&mut out, order, numbers)?;
        Ok(out)
    }

    /// The same into a slice of just their number.
    ///
    /// Fails with [`ElementsError::BufferSize`] if the slice has another length.
    pub fn read_bytes_into(
        &self,
        out: &mut [u8],
        order: Order,
        numbers: ByteOrder,
    ) -> Result<(), D::Error> {
        let (want, got) = (self.layout.byte_size().unwrap_or(u64::MAX), out.len() as u64);
        if want != got {
            return Err(ElementsError::BufferSize { want, got }.into());
        }
        self.fill(out, order, numbers)
    }

    /// The elements in C order, without a copy where they lie in memory just so: in native byte
    /// order, side by side and aligned. Otherwise one pass over them.
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

    /// The bytes from the first element in the data to the last, if that needs no copy of them. They
    /// begin at the start of the layout's [`extent`](Strided::extent).
    pub fn shared_bytes(&self) -> Result<Option<Bytes>, D::Error> {
        match self.data.access() {
            Access::Memory | Access::Whole => self.data.bytes_at(self.layout.extent()).map(Some),
            Access::Ranges { .. } => Ok(None),
        }
    }

    /// Calls `body` with the bytes of the elements, as they are stored, in C or Fortran order and in
    /// pieces of about `max` bytes: at most `max`, or one element if that is larger and `whole` is
    /// set. Arrays of any size are read so in little memory.
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

    /// Elements that overlap can be more than the data have bytes, without end.
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

    /// The elements as an array of the `ndarray` crate, in memory in C or Fortran order. Where one
    /// element is several of the type, as in texts, they are the last dimension, and the order is C.
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
