//! Arrays of a file: type and shape, parts, and all ways of reading.

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

/// An array: its type, its shape, and where its elements are.
///
/// It is a view. Making one, [slicing](Self::slice) it and taking a [field](Self::field) of it
/// reads nothing; parts of parts are parts of the whole. The mask goes along.
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

/// Where the elements of an array come from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Origin<'a> {
    /// A block of the file that holds the array.
    Block(Block<'a>),
    /// A block of another file.
    External(&'a Asdf, Block<'a>),
    /// The tree.
    Inline,
}

/// Elements, and which of them are masked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Masked<T> {
    /// All elements in C order, masked ones as they are stored.
    pub values: Vec<T>,
    /// For each element, whether it is masked; `None` if the array has no mask.
    pub mask: Option<Vec<bool>>,
}

impl<'a> NdArray<'a> {
    /// What one element is.
    pub fn datatype(&self) -> &Datatype {
        self.array.datatype()
    }

    /// Lengths of the dimensions, outermost first; empty for a single element.
    pub fn shape(&self) -> &[u64] {
        self.layout().shape()
    }

    /// Bytes from one element to the next, outermost first.
    pub fn strides(&self) -> &[i64] {
        self.layout().strides()
    }

    /// How many elements there are.
    pub fn len(&self) -> u64 {
        self.layout().len()
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.layout().is_empty()
    }

    /// Where the elements lie in the data of their block.
    pub fn layout(&self) -> &Strided {
        self.array.layout()
    }

    /// Where the elements come from.
    pub fn source(&self) -> Origin<'a> {
        match self.array.data() {
            ArrayData::Block { block, other: None } => Origin::Block(block.clone()),
            ArrayData::Block { block, other: Some(file) } => Origin::External(file, block.clone()),
            ArrayData::Memory(_) => Origin::Inline,
        }
    }

    /// Whether the array has a mask, which may turn out to mask nothing.
    pub fn is_masked(&self) -> bool {
        !matches!(self.mask, Mask::None)
    }

    /// A part of the array; nothing is read.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self> {
        let array = self.array.slice(slices).map_err(|error| self.elements_error(error))?;
        Ok(Self { array, mask: self.mask.slice(slices)?, node: self.node })
    }

    /// One field of an array of records, with the dimensions of the field after those of the
    /// array; nothing is read.
    pub fn field(&self, name: &str) -> Result<Self> {
        let fields = self.datatype().as_record().map(Record::fields);
        let fields = fields.ok_or_else(|| {
            let dtype = super::datatype_name(self.datatype());
            self.error(ArrayError::Type { dtype, asked: "a record" })
        })?;
        if !fields.iter().any(|field| field.name() == name) {
            let names: Vec<&str> = fields.iter().map(Field::name).collect();
            let message = format!("no field named {name:?}; the fields are {}", names.join(", "));
            return Err(self.error(ArrayError::Field(message)));
        }
        let array = self.array.field(name).map_err(|error| self.elements_error(error))?;
        Ok(Self { mask: self.mask.for_field(array.layout().shape()), array, node: self.node })
    }

    /// The elements in C order, without a copy where they lie in memory just so: in native byte
    /// order, side by side and aligned, in a block that is mapped, in memory or decoded. Otherwise
    /// one pass over them. The mask is ignored.
    pub fn view<T: Element>(&self) -> Result<Elements<T>> {
        self.read_by(Array::view)
    }

    /// Compares the block with its checksum, unless that has been done or the elements are in the tree.
    pub(crate) fn check_block(&self) -> Result<()> {
        match self.array.data() {
            ArrayData::Block { block, .. } => block.check_once(),
            ArrayData::Memory(_) => Ok(()),
        }
    }

    /// The elements in C order. The mask is ignored.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.read_by(Array::read)
    }

    /// The elements in C order into a slice of exactly their number; see [`Self::read`].
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        self.read_by(|array| array.read_into(out))
    }

    /// The bytes of the elements, packed in C or Fortran order, each number in the byte order asked
    /// for: the parts of complex numbers, the characters of `ucs4` and the fields of records, too.
    pub fn read_bytes(&self, order: Order, numbers: ByteOrder) -> Result<Vec<u8>> {
        self.read_by(|array| array.read_bytes(order, numbers))
    }

    /// The same into a slice of exactly their size. Large reads, of slices too, run in parallel in
    /// the caller's rayon pool (feature `rayon`).
    pub fn read_bytes_into(&self, out: &mut [u8], order: Order, numbers: ByteOrder) -> Result<()> {
        self.read_by(|array| array.read_bytes_into(out, order, numbers))
    }

    /// The bytes from the first element in the data to the last, and where the elements lie in
    /// them. The bytes are shared with the file or with its decoded block if they are in memory,
    /// and read otherwise. For code that works with strides of its own, such as numpy.
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

    /// For each element in C order, whether it is masked; `None` if the array has no mask.
    pub fn mask(&self) -> Result<Option<Vec<bool>>> {
        self.mask.evaluate(self)
    }

    /// The [mask](Self::mask) of an array that has one, as an array.
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

    /// Writes the elements as text for people: of a large array only the first and the last of each
    /// dimension. Masked elements are `--`.
    pub fn write_summary(&self, mut out: impl Write) -> Result<()> {
        let mask = self.mask()?;
        self.read_by(|array| array.write_summary(&mut out, mask.as_deref()))
    }

    /// The elements and their mask.
    pub fn masked<T: Element>(&self) -> Result<Masked<T>> {
        Ok(Masked { values: self.read()?, mask: self.mask()? })
    }

    /// The elements of an array of strings, in C order, without the padding. NUL characters at the
    /// end are padding; those before stay. Fails at an element that is not text: a byte above 7f in
    /// `ascii`, a surrogate or a number above 10ffff in `ucs4`. [`Self::view`] as `u8` or `u32`
    /// returns them as they are.
    pub fn strings(&self) -> Result<Vec<String>> {
        self.read_by(Array::strings)
    }

    /// Writes the array as a `.npy` file, in the byte order that it is stored in. The elements
    /// are read and written in pieces, so that arrays of any size can be written. The mask is left
    /// out: the format has none.
    pub fn write_npy(&self, mut out: impl Write) -> Result<()> {
        self.check_total()?;
        self.read_by(|array| array.write_npy(&mut out, Order::C))
    }

    /// Writes the elements as JSON, text or CSV; masked elements are missing.
    pub fn write_elements(&self, mut out: impl Write, style: PrintStyle) -> Result<()> {
        let mask = self.mask()?;
        self.read_by(|array| array.write_elements(&mut out, style, mask.as_deref()))
    }

    /// The elements as an array of the `ndarray` crate. Where one element is several of the type,
    /// as in strings, they are the last dimension.
    #[cfg(feature = "ndarray")]
    pub fn to_ndarray<T: Element>(&self) -> Result<ndarray::ArrayD<T>> {
        self.read_by(|array| array.to_ndarray(Order::C))
    }

    /// Elements that overlap can be more than the block has bytes, without end.
    fn check_total(&self) -> Result<()> {
        let size = self.layout().byte_size().unwrap_or(u64::MAX);
        if size > self.array.data_len()? {
            self.array.limits().check_alloc("bytes of an array", size)?;
        }
        Ok(())
    }

    /// The positions on the first dimension whose elements are all in the block. These are all
    /// positions, unless the block is cut and the file was opened with
    /// [`Strictness::Salvage`](crate::Strictness::Salvage); reading others fails. A single element
    /// is taken for a dimension of 1.
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

    /// Fails if elements are outside of the block, as they may be in a file that is salvaged.
    pub(crate) fn check_inside(&self) -> Result<()> {
        self.array.check_inside().map_err(|failure| self.failure(failure))
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
