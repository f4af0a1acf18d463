//! Arrays in a file: their types and shapes, slices and fields, and reading their elements.

use std::io::Write;
use std::ops::Range;

use binio::array::{
    Array, ByteOrder, Data as _, Datatype, Element, Elements, Field, Order, PrintStyle, Record,
    Slice, Strided,
};
use bytes::Bytes;

use super::data::{ArrayData, Failure, StoredArray, VerifiedData};
use super::mask::Mask;
use crate::asdf::Asdf;
use crate::error::{ArrayError, Error, Result};
use crate::file::blocks::Block;
use crate::yaml::YamlNode;

/// An array in a file: its type, its shape, and the location of its elements.
///
/// An `NdArray` is a view: creating it, [slicing](Self::slice) it or accessing a
/// [field](Self::field) does not read elements from blocks. The result of slicing can be sliced
/// again. The mask is preserved.
///
/// See the schema `core/ndarray` of the ASDF standard.
///
/// ```
/// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
///     --- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 [[1, 2, 3], [4, 5, 6]]\n...\n"[..])?;
/// let array = file.tree()?.pointer("/a")?.ndarray()?;
/// assert_eq!(array.shape(), [2, 3]);
/// assert_eq!(array.read::<i64>()?, [1, 2, 3, 4, 5, 6]);
/// let column = array.slice(&asdf::ndarray::Slice::parse(":,-1")?)?;
/// assert_eq!(column.read::<i64>()?, [3, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NdArray<'a> {
    pub(crate) array: StoredArray<'a>,
    pub(crate) mask: Mask<'a>,
    pub(crate) node: YamlNode<'a>,
}

/// The location of an array's elements.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Origin<'a> {
    /// A block in the same file as the array.
    Block(Block<'a>),
    /// A block of an external file.
    External(&'a Asdf, Block<'a>),
    /// The tree.
    Inline,
}

/// Elements together with their mask.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Masked<T> {
    /// All elements in C order. Masked elements have their stored values; `null` in the tree is read as 0.
    pub values: Vec<T>,
    /// Whether each element is masked, or `None` if the array has no mask.
    pub mask: Option<Vec<bool>>,
}

impl<'a> NdArray<'a> {
    /// Returns the type of the elements.
    pub fn datatype(&self) -> &Datatype {
        self.array.datatype()
    }

    /// Returns the lengths of the dimensions, outermost first. A single element has no dimensions.
    pub fn shape(&self) -> &[u64] {
        self.layout().shape()
    }

    /// Returns the distances between adjacent elements in bytes, outermost dimension first.
    pub fn strides(&self) -> &[i64] {
        self.layout().strides()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.layout().len()
    }

    /// Returns `true` if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.layout().is_empty()
    }

    /// Returns the layout of the elements: their shape, strides and offset in the data of their
    /// block.
    pub fn layout(&self) -> &Strided {
        self.array.layout()
    }

    /// Returns the location of the elements.
    pub fn source(&self) -> Origin<'a> {
        match self.array.data() {
            ArrayData::Block { block, other: None } => Origin::Block(block.clone()),
            ArrayData::Block { block, other: Some(file) } => Origin::External(file, block.clone()),
            ArrayData::Memory(_) => Origin::Inline,
        }
    }

    /// Returns `true` if the array has a mask, even if it masks no elements.
    pub fn is_masked(&self) -> bool {
        !matches!(self.mask, Mask::None)
    }

    /// Returns a slice of the array without reading elements.
    ///
    /// ```
    /// use asdf::ndarray::Slice;
    ///
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 [[1, 2, 3], [4, 5, 6]]\n...\n"[..])?;
    /// let array = file.tree()?.pointer("/a")?.ndarray()?;
    /// let part = array.slice(&Slice::parse("1, ::2")?)?;
    /// assert_eq!(part.shape(), [2]);
    /// assert_eq!(part.read::<i64>()?, [4, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Array`](crate::ErrorKind::Array) of kind [`Slice`](ArrayError::Slice) if there
    /// are more slices than dimensions, if an index is out of range, if a step is 0, or if `...` occurs twice,
    /// and of kind [`Invalid`](ArrayError::Invalid) if the result would have more than 64 dimensions.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self> {
        let array = self.array.slice(slices).map_err(|error| self.elements_error(error))?;
        Ok(Self { array, mask: self.mask.slice(slices)?, node: self.node })
    }

    /// Returns one field of an array of records without reading elements. The dimensions of the
    /// field are appended to those of the array.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\nstars: !core/ndarray-1.1.0\n  \
    ///     datatype: [{name: id, datatype: int32}, {name: mag, datatype: float64}]\n  \
    ///     data: [[1, 7.5], [2, 9.25]]\n...\n"[..])?;
    /// let stars = file.tree()?.pointer("/stars")?.ndarray()?;
    /// assert_eq!(stars.field("mag")?.read::<f64>()?, [7.5, 9.25]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Array`](crate::ErrorKind::Array) of kind [`Type`](ArrayError::Type) if the
    /// elements are not records, of kind [`Field`](ArrayError::Field) if they have no field with this name, and
    /// of kind [`Invalid`](ArrayError::Invalid) if the result would have more than 64 dimensions.
    pub fn field(&self, name: &str) -> Result<Self> {
        let fields = self.datatype().as_record().map(Record::fields);
        let fields = fields.ok_or_else(|| {
            let dtype = super::datatype_name(self.datatype());
            self.error(ArrayError::Type { dtype, requested: "a record" })
        })?;
        if !fields.iter().any(|field| field.name() == name) {
            let names: Vec<&str> = fields.iter().map(Field::name).collect();
            let message = format!("no field named {name:?}; the fields are {}", names.join(", "));
            return Err(self.error(ArrayError::Field(message)));
        }
        let array = self.array.field(name).map_err(|error| self.elements_error(error))?;
        Ok(Self { mask: self.mask.for_field(array.layout().shape()), array, node: self.node })
    }

    /// Returns the elements in C order. They are not copied if they are already in memory (mapped, loaded or
    /// decoded) as an aligned contiguous range in native byte order. Otherwise, and always for `bool`, they are
    /// read into new memory. The mask is ignored.
    ///
    /// ```
    /// use asdf::value::Array;
    /// use asdf::{Asdf, Tree, Writer};
    ///
    /// let mut tree = Tree::default();
    /// tree.set("/a", Array::from_slice(&[1.5_f64, 2.5], &[2])?)?;
    /// let mut bytes = std::io::Cursor::new(Vec::new());
    /// Writer::new(tree).write_to(&mut bytes)?;
    /// let file = Asdf::from_bytes(bytes.into_inner())?;
    /// let array = file.tree()?.pointer("/a")?.ndarray()?;
    /// assert_eq!(array.view::<f64>()?[..], [1.5, 2.5]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), except that [`Limits::max_alloc`](crate::Limits::max_alloc) does not apply
    /// to elements that need not be copied.
    pub fn view<T: Element>(&self) -> Result<Elements<T>> {
        self.read_by(Array::view)
    }

    /// Verifies the checksum of the block, unless this has already been done or the elements are in the tree.
    pub(crate) fn check_block(&self) -> Result<()> {
        match self.array.data() {
            ArrayData::Block { block, .. } => block.check_once(),
            ArrayData::Memory(_) => Ok(()),
        }
    }

    /// Reads the elements in C order. The mask is ignored.
    ///
    /// ```
    /// use asdf::ErrorKind;
    /// use asdf::ndarray::ArrayError;
    ///
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 [[1, 2, 3], [4, 5, 6]]\n...\n"[..])?;
    /// let array = file.tree()?.pointer("/a")?.ndarray()?;
    /// assert_eq!(array.read::<i64>()?, [1, 2, 3, 4, 5, 6]);
    ///
    /// let error = array.read::<f32>().unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Array { kind: ArrayError::Type { .. }, .. }));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Array`](crate::ErrorKind::Array) of kind [`Type`](ArrayError::Type) if the
    /// elements are not of type `T`, and of kind [`OutsideBlock`](ArrayError::OutsideBlock) if some of them are
    /// missing from a truncated block. Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the elements
    /// have more than [`Limits::max_alloc`](crate::Limits::max_alloc) bytes in total, and with
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if there is not enough memory for them. Also
    /// fails like [`Block::decode`] if the data cannot be read.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.read_all_by(Order::C, Array::read)
    }

    /// Reads the elements in C order into a slice of exactly the same length. The mask is ignored.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), except that [`Limits::max_alloc`](crate::Limits::max_alloc) only applies to
    /// `bool`, whose elements need a second buffer. Also fails with
    /// [`ErrorKind::Array`](crate::ErrorKind::Array) of kind [`BufferSize`](ArrayError::BufferSize) if `out` has
    /// a different length.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        self.read_all_by(Order::C, |array| array.read_into(out))
    }

    /// Reads the bytes of the elements, packed in C or Fortran order. Every number is converted to the given
    /// byte order, including the parts of complex numbers, the characters of `ucs4` and the fields of records.
    /// The mask is ignored.
    ///
    /// ```
    /// use asdf::ndarray::{ByteOrder, Order};
    ///
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 {data: [[1, 2], [3, 4]], datatype: uint16}\n...\n"[..])?;
    /// let array = file.tree()?.pointer("/a")?.ndarray()?;
    /// let bytes = array.read_bytes(Order::F, ByteOrder::Big)?;
    /// assert_eq!(bytes, [0, 1, 0, 3, 0, 2, 0, 4]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), but accepts elements of any type.
    pub fn read_bytes(&self, order: Order, numbers: ByteOrder) -> Result<Vec<u8>> {
        self.read_all_by(order, |array| array.read_bytes(order, numbers))
    }

    /// Like [`Self::read_bytes`], but reads into a slice of exactly the same size. Large reads, including
    /// those of slices, can run in parallel in the caller's rayon pool (feature `rayon`).
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), except that
    /// [`Limits::max_alloc`](crate::Limits::max_alloc) does not apply. Also fails with
    /// [`ErrorKind::Array`](crate::ErrorKind::Array) of kind [`BufferSize`](ArrayError::BufferSize) if `out`
    /// has a different size.
    pub fn read_bytes_into(&self, out: &mut [u8], order: Order, numbers: ByteOrder) -> Result<()> {
        self.read_all_by(order, |array| array.read_bytes_into(out, order, numbers))
    }

    /// Returns the bytes from the first to the last element, and the layout of the elements in these bytes. If
    /// the bytes are in memory, they are shared with the file or its decoded block; otherwise, they are read.
    /// This is useful for code that handles strides itself, such as numpy.
    ///
    /// ```
    /// # let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    /// #     --- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 [[1, 2, 3], [4, 5, 6]]\n...\n"[..])?;
    /// let array = file.tree()?.pointer("/a")?.ndarray()?;
    /// let column = array.slice(&asdf::ndarray::Slice::parse(":,1")?)?;
    /// let (bytes, layout) = column.shared_bytes()?;
    /// assert_eq!((bytes.len(), layout.offset(), layout.strides()), (32, 0, &[24][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), except that
    /// [`Limits::max_alloc`](crate::Limits::max_alloc) does not apply to bytes that need not be copied.
    pub fn shared_bytes(&self) -> Result<(Bytes, Strided)> {
        let layout = self.layout();
        let extent = layout.extent();
        let bytes = if let Some(bytes) = self.read_by(Array::shared_bytes)? {
            bytes
        } else {
            let len = extent.end - extent.start;
            self.array.limits().check_alloc("bytes of an array", len)?;
            self.read_by(|array| array.data().bytes_at(extent.clone()))?
        };
        let relative = Strided::new(
            layout.shape().to_vec(),
            layout.strides().to_vec(),
            layout.offset().saturating_sub(extent.start),
            layout.itemsize(),
            bytes.len() as u64,
        );
        Ok((bytes, relative.map_err(|error| self.elements_error(error))?))
    }

    /// Evaluates the mask. Returns a flag for each element in C order: `true` if the element is
    /// masked. Returns `None` if the array has no mask.
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), for the array or for its mask array. Also fails with
    /// [`ErrorKind::Array`](crate::ErrorKind::Array) of kind [`Mask`](ArrayError::Mask) if the mask is
    /// a number but the elements are strings or records, or if the mask is a complex number but the
    /// elements are real floats.
    pub fn mask(&self) -> Result<Option<Vec<bool>>> {
        self.mask.evaluate(self)
    }

    /// Returns the [mask](Self::mask) as an array of booleans. The array must be masked.
    pub(crate) fn mask_array(&self) -> Result<Self> {
        let mask = self.mask()?.unwrap_or_default();
        let bytes: Vec<u8> = mask.into_iter().map(u8::from).collect();
        let (datatype, len) = (Datatype::of::<bool>(), bytes.len() as u64);
        let array =
            Strided::packed(self.shape().to_vec(), Order::C, 0, 1, len).and_then(|layout| {
                let limits = *self.array.limits();
                StoredArray::new(ArrayData::Memory(bytes.into()), datatype, layout, limits)
            });
        let array = array.map_err(|error| self.elements_error(error))?;
        Ok(Self { array, mask: Mask::None, node: self.node })
    }

    /// Writes the elements as human-readable text. In each dimension of a large array, only the first and the
    /// last elements are included. Masked elements are written as `--`.
    ///
    /// # Errors
    ///
    /// Same as [`write_elements`](Self::write_elements). However, if the array has more than 1,000 elements, the
    /// output is abbreviated, so the limits on overlapping elements and the limit of 2^24 empty lists or elements
    /// of size 0 do not apply. In that case, only the elements in the summary are read, unless the array has a
    /// mask.
    pub fn write_summary(&self, mut out: impl Write) -> Result<()> {
        let mask = self.mask()?;
        self.read_by(|array| array.write_summary(&mut out, mask.as_deref()))
    }

    /// Reads the elements in C order, together with their mask.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 {data: [1, -999, 3], mask: -999}\n...\n"[..])?;
    /// let masked = file.tree()?.pointer("/a")?.ndarray()?.masked::<i64>()?;
    /// assert_eq!(masked.values, [1, -999, 3]);
    /// assert_eq!(masked.mask, Some(vec![false, true, false]));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read) and [`mask`](Self::mask).
    pub fn masked<T: Element>(&self) -> Result<Masked<T>> {
        Ok(Masked { values: self.read()?, mask: self.mask()? })
    }

    /// Reads the elements of an array of strings in C order. NULs at the end of a string are
    /// padding, so they are removed; all other NULs are preserved. Use [`Self::view`] with `u8` or
    /// `u32` to read the raw elements, including those that are not valid text.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\nnames: !core/ndarray-1.1.0 {data: [M31, M51], datatype: [ascii, 8]}\n...\n"[..])?;
    /// let names = file.tree()?.pointer("/names")?.ndarray()?;
    /// assert_eq!(names.strings()?, ["M31", "M51"]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`view`](Self::view), with [`ArrayError::Type`] if the elements are not text. Also fails with
    /// [`ErrorKind::Array`](crate::ErrorKind::Array) of kind [`Element`](ArrayError::Element) if an element is
    /// not valid text: if it contains a byte above `0x7f` in `ascii`, or a surrogate or a number above
    /// `0x10ffff` in `ucs4`. Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are more than
    /// [`Limits::max_items`](crate::Limits::max_items) elements, or if the list of strings exceeds
    /// [`Limits::max_alloc`](crate::Limits::max_alloc).
    pub fn strings(&self) -> Result<Vec<String>> {
        self.read_by(Array::strings)
    }

    /// Writes the array as a `.npy` file in the stored byte order. Unless the block is compressed, the
    /// elements are read and written in pieces, so the array may be larger than memory. The mask is
    /// omitted, because the format does not support masks.
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), except that
    /// [`Limits::max_alloc`](crate::Limits::max_alloc) only applies if elements overlap. Also fails with
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if `out` cannot be written.
    pub fn write_npy(&self, mut out: impl Write) -> Result<()> {
        self.check_total()?;
        self.read_by(|array| array.write_npy(&mut out, Order::C))
    }

    /// Writes the elements as JSON, text or CSV. Masked elements are written as missing values.
    ///
    /// # Errors
    ///
    /// Same as [`mask`](Self::mask) and [`read_bytes`](Self::read_bytes). If the array has no mask,
    /// however, [`Limits::max_alloc`](crate::Limits::max_alloc) only applies if elements overlap.
    /// Also fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if `out` cannot be written, and with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are more than 2^24 elements that
    /// overlap. Fails with [`ErrorKind::Array`](crate::ErrorKind::Array) of kind
    /// [`Invalid`](ArrayError::Invalid) if the output would contain more than 2^24 empty lists or
    /// elements of size 0, or if a single field of a record would contain more than 2^16 of them.
    pub fn write_elements(&self, mut out: impl Write, style: PrintStyle) -> Result<()> {
        let mask = self.mask()?;
        self.read_by(|array| array.write_elements(&mut out, style, mask.as_deref()))
    }

    /// Reads the elements into an array of the `ndarray` crate, in C order. If each element
    /// consists of several values of type `T`, as in strings, these values form an additional last
    /// dimension.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read). Also fails with [`ErrorKind::Array`](crate::ErrorKind::Array) of kind
    /// [`Invalid`](ArrayError::Invalid) if `ndarray` does not support the shape.
    #[cfg(feature = "ndarray")]
    pub fn to_ndarray<T: Element>(&self) -> Result<ndarray::ArrayD<T>> {
        self.read_all_by(Order::C, |array| array.to_ndarray(Order::C))
    }

    /// Checks the total size, because overlapping elements can add up to much more than the size of the
    /// block.
    fn check_total(&self) -> Result<()> {
        let size = self.layout().byte_size().unwrap_or(u64::MAX);
        if size > self.array.data_len()? {
            self.array.limits().check_alloc("bytes of an array", size)?;
        }
        Ok(())
    }

    /// Returns the range of indices along the first dimension for which all elements are in the
    /// block. This is the whole dimension, unless the block is truncated and the file was opened
    /// with [`Strictness::Salvage`](crate::Strictness::Salvage). Reading elements at any other index
    /// fails. An array without dimensions is treated as if it had one dimension of length 1.
    ///
    /// # Errors
    ///
    /// Same as [`Block::data_len`].
    pub fn available(&self) -> Result<Range<u64>> {
        let len = self.array.data_len()?;
        if self.layout().extent().end <= len {
            return Ok(0..self.shape().first().copied().unwrap_or(1));
        }
        let (Some(&count), Some(&step)) = (self.shape().first(), self.strides().first()) else {
            return Ok(0..0);
        };
        let first = self.layout().slice(&[Slice::Index(0)]);
        let end = first.map_err(|error| self.elements_error(error))?.extent().end;
        Ok(match (len.checked_sub(end), step.unsigned_abs()) {
            (Some(room), step) => {
                0..room.checked_div(step).map_or(count, |last| last + 1).min(count)
            }
            (None, step) if self.strides()[0] < 0 => (end - len).div_ceil(step).min(count)..count,
            (None, _) => 0..0,
        })
    }

    /// Fails if elements lie outside the block, which can happen in a salvaged file.
    pub(crate) fn check_inside(&self) -> Result<()> {
        self.array.check_inside().map_err(|failure| self.failure(failure))
    }

    /// Calls `read`, which must read all elements into memory in the given order.
    fn read_all_by<T>(
        &self,
        order: Order,
        read: impl FnOnce(&Array<VerifiedData<'a>>) -> Result<T, Failure>,
    ) -> Result<T> {
        self.array.read_all(order, read).map_err(|failure| self.failure(failure))
    }

    fn read_by<T>(
        &self,
        read: impl FnOnce(&Array<VerifiedData<'a>>) -> Result<T, Failure>,
    ) -> Result<T> {
        self.array.read(read).map_err(|failure| self.failure(failure))
    }

    fn failure(&self, failure: Failure) -> Error {
        match failure {
            Failure::Array(error) => self.elements_error(error),
            Failure::Block(error) => error,
        }
    }

    fn elements_error(&self, error: binio::array::ElementsError) -> Error {
        self.node.elements_error(error, Some(self.datatype()))
    }

    pub(crate) fn error(&self, kind: ArrayError) -> Error {
        self.node.array_error(kind)
    }
}
