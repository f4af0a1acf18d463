//! Arrays that are not yet in a file.

use std::fmt;
use std::sync::Arc;

use binio::array::{
    self, ByteOrder, Datatype, Element, Field, Order, Record, ScalarKind, Strided, byte_size, npy,
    write_bytes,
};
use binio::diagnostic::count;
use binio::{Limits, ReadAt, Span};
use bytes::Bytes;

use crate::codec::Compression;
use crate::error::{Error, Result};
use crate::ndarray::NdArray;
use crate::value::Value;

/// An array, together with the data that will be stored in the file.
///
/// Unless the elements are stored in the tree, the data is stored unchanged in a block. Arrays created from the
/// same data ([`Self::new`] with clones of one `Arc`, [`Self::with_layout`]) share the block, each with its
/// own offset and strides. The data need not be in memory; it is read piece by piece when the block is written.
///
/// ```
/// use asdf::value::{Array, ArrayStorage};
///
/// let image = Array::from_slice(&[1.5_f32, 2.0, 2.5, 3.0, 3.5, 4.0], &[2, 3])?;
/// let small = Array::from_slice(&[1_u8, 2], &[2])?.storage(ArrayStorage::Inline);
/// assert_eq!(image.shape(), [2, 3]);
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone)]
pub struct Array {
    pub(crate) data: Arc<dyn ReadAt>,
    pub(crate) datatype: Datatype,
    pub(crate) layout: Strided,
    pub(crate) mask: Option<Mask>,
    pub(crate) storage: ArrayStorage,
    pub(crate) compression: Option<Compression>,
    limits: Limits,
}

/// Specifies which elements of an array are masked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mask {
    /// All elements equal to this value. NaN masks every NaN.
    Value(Value),
    /// The elements at positions where this array is nonzero. The array usually consists of booleans.
    Array(Box<Array>),
}

/// The part of the file in which the elements of an array are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayStorage {
    /// In the tree if the array has fewer elements than the writer's
    /// [`inline_below`](crate::save::WriteOptions::inline_below) and the reference implementation can read its
    /// inline form. Otherwise, in a block.
    #[default]
    Automatic,
    /// In the tree, regardless of the number of elements.
    Inline,
    /// In a block, regardless of the number of elements.
    Block,
}

impl Array {
    /// Creates an array whose elements have the given layout in the data. Unless the elements are stored in the
    /// tree, the entire data is stored in a block.
    ///
    /// Records with gaps between their fields are copied without the gaps, which ASDF does not support. The
    /// limits apply to this copy and to reading elements.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if ASDF lacks the datatype (Python
    /// objects, dates, `float128`), or if the datatype and the layout have different element sizes. If records
    /// have to be copied, also fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) or
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the copy is too large, and with
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the data cannot be read.
    pub fn new(
        data: Arc<dyn ReadAt>,
        datatype: Datatype,
        layout: Strided,
        limits: Limits,
    ) -> Result<Self> {
        check(&datatype)?;
        let array = array::Array::new(data, datatype, layout, limits);
        let array = array.map_err(invalid)?;
        if !is_packed(array.datatype()) {
            return repacked(&array);
        }
        let (datatype, layout) = (array.datatype().clone(), array.layout().clone());
        Ok(Self::unchecked(array.data().clone(), datatype, layout, limits))
    }

    fn unchecked(
        data: Arc<dyn ReadAt>,
        datatype: Datatype,
        layout: Strided,
        limits: Limits,
    ) -> Self {
        let storage = ArrayStorage::default();
        Self { data, datatype, layout, mask: None, storage, compression: None, limits }
    }

    /// Creates an array from the bytes of its elements in C order. Numbers are in the byte order of the
    /// datatype. The bytes are not copied if they are passed as [`Bytes`] or as a vector.
    ///
    /// ```
    /// use asdf::ndarray::Datatype;
    /// use asdf::value::Array;
    ///
    /// let array = Array::from_bytes(vec![0, 1, 0, 2], Datatype::parse(">u2")?, &[2])?;
    /// assert_eq!(array.view()?.read::<u16>()?, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new). Also fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if
    /// the number of bytes does not match the number and size of the elements, or if there are more than 64
    /// dimensions.
    pub fn from_bytes(bytes: impl Into<Bytes>, datatype: Datatype, shape: &[u64]) -> Result<Self> {
        let bytes: Bytes = bytes.into();
        let (itemsize, len) = (datatype.itemsize(), bytes.len() as u64);
        if byte_size(shape, itemsize) != Some(len) {
            let [len, itemsize] = [len, itemsize].map(|size| count(size, "byte"));
            let message = format!(
                "the shape {shape:?} with elements of {itemsize} does not match the data, which \
                 has {len}"
            );
            return Err(Error::unwritable(message));
        }
        let layout = Strided::packed(shape.to_vec(), Order::C, 0, itemsize, len);
        Self::new(Arc::new(bytes), datatype, layout.map_err(invalid)?, Limits::NONE)
    }

    /// Creates an array by copying its elements, given in C order. `shape` lists the lengths of the dimensions,
    /// outermost first.
    ///
    /// ```
    /// use asdf::value::Array;
    ///
    /// let image = Array::from_slice(&[1_i16, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!((image.shape(), image.datatype().itemsize()), (&[2, 3][..], 2));
    /// assert!(Array::from_slice(&[1_i16, 2, 3], &[2, 2]).is_err());
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the shape has a different number
    /// of elements, or more than 64 dimensions.
    pub fn from_slice<T: Element>(elements: &[T], shape: &[u64]) -> Result<Self> {
        Self::from_vec(elements.to_vec(), shape)
    }

    /// Creates an array from its elements, given in C order, without copying them.
    ///
    /// ```
    /// use asdf::value::Array;
    ///
    /// let image = Array::from_vec(vec![1.5_f32, 2.0, 2.5, 3.0, 3.5, 4.0], &[2, 3])?;
    /// assert_eq!(image.view()?.read::<f32>()?, [1.5, 2.0, 2.5, 3.0, 3.5, 4.0]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`from_slice`](Self::from_slice).
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: &[u64]) -> Result<Self> {
        Self::from_bytes(array::into_bytes(elements), Datatype::of::<T>(), shape)
    }

    /// Creates an array by copying the elements of a [`binio::array::Array`] in C order. The byte
    /// order is preserved.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new). Also fails with the error of `D` if the elements cannot be read.
    pub fn from_array<D: array::Data>(array: &array::Array<D>) -> Result<Self>
    where
        Error: From<D::Error>,
    {
        let bytes = array.read_bytes(Order::C, ByteOrder::Stored)?;
        Self::from_bytes(bytes, array.datatype().clone(), array.shape())
    }

    /// Copies the elements of an array in a file, but not its mask.
    ///
    /// # Errors
    ///
    /// Same as [`NdArray::read_bytes`]. Also fails with [`ErrorKind::Block`](crate::ErrorKind::Block) of kind
    /// [`Checksum`](crate::block::BlockError::Checksum) if the block does not match its checksum, because the
    /// copy would contain damaged data with a valid checksum, and of kind
    /// [`Unverifiable`](crate::block::BlockError::Unverifiable) if the checksum cannot be verified. If the file was
    /// opened with [`Verify::Report`](crate::Verify::Report), the elements are copied regardless.
    pub fn from_file(array: &NdArray<'_>) -> Result<Self> {
        array.check_block()?;
        let bytes = array.read_bytes(Order::C, ByteOrder::Stored)?;
        Self::from_bytes(bytes, array.datatype().clone(), array.shape())
    }

    /// Creates an array from a `.npy` file. Fortran order is preserved. Unless records have to be copied, as in
    /// [`Self::new`], the data is not read before the array is written. The limits have the same meaning as in
    /// `new`.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new). Also fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the source cannot
    /// be read, is too short, or does not begin with a valid `.npy` header.
    pub fn from_npy(source: Arc<dyn ReadAt>, limits: Limits) -> Result<Self> {
        let (header, start) = npy::Header::read(&source)?;
        let (datatype, shape) = (header.datatype().clone(), header.shape().to_vec());
        let len = header.byte_size();
        let data = Span::new(source, start..start.saturating_add(len))?;
        let layout = Strided::packed(shape, header.order(), 0, datatype.itemsize(), len);
        Self::new(Arc::new(data), datatype, layout.map_err(invalid)?, limits)
    }

    /// Copies an array of the `ndarray` crate.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if there are more than 64 dimensions.
    #[cfg(feature = "ndarray")]
    pub fn from_ndarray<T: Element, D: ndarray::Dimension>(
        array: &ndarray::ArrayRef<T, D>,
    ) -> Result<Self> {
        let shape: Vec<u64> = array.shape().iter().map(|&count| count as u64).collect();
        Self::from_vec(array.iter().copied().collect(), &shape)
    }

    /// Creates another array with the same data, for example an array that contains only some of the elements,
    /// or all elements in another shape.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new).
    pub fn with_layout(&self, datatype: Datatype, layout: Strided) -> Result<Self> {
        Self::new(Arc::clone(&self.data), datatype, layout, self.limits)
    }

    binio::setters! {
        /// Sets which elements are masked.
        mask: Mask => Some(mask);
        /// Sets the part of the file in which the elements are stored.
        storage: ArrayStorage;
        /// Sets the compression of the block, overriding the writer's setting.
        compression: Compression => Some(compression);
    }

    /// Returns the type of the elements.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns the lengths of the dimensions, outermost first.
    pub fn shape(&self) -> &[u64] {
        self.layout.shape()
    }

    /// Returns the layout of the elements in the data.
    pub fn layout(&self) -> &Strided {
        &self.layout
    }

    /// Returns the data of the entire block.
    pub fn data(&self) -> &Arc<dyn ReadAt> {
        &self.data
    }

    /// Returns a view of the array, for reading its elements.
    ///
    /// ```
    /// let array = asdf::value::Array::from_slice(&[1.5_f32, 2.5], &[2])?;
    /// assert_eq!(array.view()?.read::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the datatype and the layout have
    /// different element sizes. This does not happen, because [`new`](Self::new) rejects such arrays.
    pub fn view(&self) -> Result<array::Array<Arc<dyn ReadAt>>> {
        let (data, datatype) = (Arc::clone(&self.data), self.datatype.clone());
        array::Array::new(data, datatype, self.layout.clone(), self.limits).map_err(invalid)
    }

    /// Fails if the elements cannot be written inline.
    pub(super) fn check_inline(&self) -> Result<()> {
        crate::value::emit::check_inline(self)
    }

    /// Returns `true` if both arrays refer to the same data object.
    pub(crate) fn shares_data(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
    }
}

/// Arrays are equal if they refer to the same data object and have the same datatype, layout, mask,
/// storage and compression.
impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        self.shares_data(other)
            && (&self.datatype, &self.layout, &self.mask)
                == (&other.datatype, &other.layout, &other.mask)
            && (self.storage, self.compression) == (other.storage, other.compression)
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let datatype = crate::ndarray::datatype_name(&self.datatype);
        f.debug_struct("Array")
            .field("datatype", &datatype)
            .field("shape", &self.layout.shape())
            .finish_non_exhaustive()
    }
}

#[allow(clippy::needless_pass_by_value, reason = "map_err passes the error by value")]
fn invalid(error: array::ElementsError) -> Error {
    Error::unwritable(error.to_string())
}

/// Fails if ASDF lacks the datatype.
fn check(datatype: &Datatype) -> Result<()> {
    match datatype {
        Datatype::Scalar(scalar) => {
            let is_known = match scalar.kind() {
                ScalarKind::Bool
                | ScalarKind::Int
                | ScalarKind::Uint
                | ScalarKind::Bytes
                | ScalarKind::Unicode => true,
                ScalarKind::Float => scalar.size() <= 8,
                ScalarKind::Complex => matches!(scalar.size(), 8 | 16),
                _ => false,
            };
            if is_known {
                return Ok(());
            }
            let message = format!("ASDF has no datatype for {scalar}");
            Err(Error::unwritable(message))
        }
        Datatype::Record(record) => {
            record.fields().iter().try_for_each(|field| check(field.datatype()))
        }
    }
}

fn is_packed(datatype: &Datatype) -> bool {
    datatype.as_record().is_none_or(|record| {
        record.is_packed() && record.fields().iter().all(|field| is_packed(field.datatype()))
    })
}

/// Returns the datatype without gaps between the fields of records.
fn packed(datatype: &Datatype) -> Result<Datatype> {
    let Some(record) = datatype.as_record() else { return Ok(datatype.clone()) };
    let field = |field: &Field| {
        Ok(Field::new(field.name(), packed(field.datatype())?).with_shape(field.shape().to_vec()))
    };
    let fields = record.fields().iter().map(field).collect::<Result<_>>()?;
    Ok(Datatype::Record(Record::packed(fields).map_err(invalid)?))
}

/// Copies an array of records, omitting the gaps between fields.
fn repacked(array: &array::Array<Arc<dyn ReadAt>>) -> Result<Array> {
    let datatype = packed(array.datatype())?;
    let (shape, itemsize) = (array.shape().to_vec(), datatype.itemsize());
    let len = byte_size(&shape, itemsize).unwrap_or(u64::MAX);
    array.limits().check_alloc("bytes of an array", len)?;
    let layout = Strided::packed(shape, Order::C, 0, itemsize, len).map_err(invalid)?;
    let mut out = binio::memory::reserve("an array of records", len)?;
    out.resize(out.capacity().min(usize::try_from(len).unwrap_or(usize::MAX)), 0);
    copy_fields(array, &datatype, &layout, &mut out)?;
    Ok(Array::unchecked(Arc::new(Bytes::from(out)), datatype, layout, *array.limits()))
}

/// Copies an array field by field. The recursion is limited, because records cannot be nested deeper than
/// [`array::MAX_RECORD_DEPTH`].
fn copy_fields(
    from: &array::Array<Arc<dyn ReadAt>>,
    datatype: &Datatype,
    layout: &Strided,
    out: &mut [u8],
) -> Result<()> {
    let Some(record) = datatype.as_record() else {
        let bytes = from.read_bytes(Order::C, ByteOrder::Stored)?;
        return write_bytes(layout, datatype, &bytes, Order::C, ByteOrder::Stored, out)
            .map_err(invalid);
    };
    for field in record.fields() {
        let place = layout.field(field).map_err(invalid)?;
        let from = from.field(field.name()).map_err(invalid)?;
        copy_fields(&from, field.datatype(), &place, out)?;
    }
    Ok(())
}
