//! Arrays as seen by the user: shape and type, parts, and all ways of reading.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use binio::{Endian, Limits};
use bytes::Bytes;
#[cfg(feature = "rayon")]
use rayon::prelude::*;

use crate::asdf::Asdf;
use crate::blocks::Block;
use crate::error::{ArrayError, Error, Result};
use crate::ndarray::dtype::{Datatype, Field};
use crate::ndarray::element::{Element, Elements, InMemory, OWN_MEMORY, reserved, zeroed_bytes};
use crate::ndarray::extent::Strided;
use crate::ndarray::mask::Mask;
use crate::ndarray::slice::Slice;
use crate::ndarray::swap::{Order, Swap};
use crate::ndarray::{Place, tile};

/// Elements are written in pieces of about this many bytes.
const PIECE: u64 = 1 << 20;

/// From this many bytes on, elements are copied over threads: 1 GiB in 54 ms on two cores instead of
/// 100, 128 MiB of big-endian complex128 in 11 instead of 13. 64 MiB gained nothing.
#[cfg(feature = "rayon")]
const PARALLEL: usize = 96 << 20;

/// What a thread copies at a time.
#[cfg(feature = "rayon")]
const PARALLEL_PIECE: u64 = 4 << 20;

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
    pub(crate) data: Data<'a>,
    pub(crate) datatype: Arc<Datatype>,
    pub(crate) byteorder: Endian,
    pub(crate) view: Strided,
    pub(crate) mask: Mask<'a>,
    pub(crate) limits: Limits,
    pub(crate) place: Place,
}

/// Where the bytes of an array are.
#[derive(Clone, Debug)]
pub(crate) enum Data<'a> {
    /// In a block, of the file of the array or of another.
    Block { block: Block<'a>, other: Option<&'a Asdf> },
    /// In memory: an inline array, or a decoded block.
    Inline(Bytes),
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

/// Elements and which of them do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct Masked<T> {
    /// All elements in C order, masked ones as they are stored.
    pub values: Vec<T>,
    /// One for each element, true where it does not count; `None` if all count.
    pub mask: Option<Vec<bool>>,
}

impl<'a> NdArray<'a> {
    /// What one element is.
    pub fn dtype(&self) -> &Datatype {
        &self.datatype
    }

    /// Counts, outermost first; empty for a single element.
    pub fn shape(&self) -> &[u64] {
        self.view.shape()
    }

    /// Bytes from one element to the next, outermost first.
    pub fn strides(&self) -> &[i64] {
        self.view.strides()
    }

    /// How the elements are stored. Fields of records have byte orders of their own.
    pub fn byteorder(&self) -> Endian {
        self.byteorder
    }

    /// How many elements there are.
    pub fn len(&self) -> u64 {
        self.view.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// Where the elements lie in the data of their block.
    pub fn layout(&self) -> &Strided {
        &self.view
    }

    /// Where the elements come from.
    pub fn source(&self) -> Origin<'a> {
        match &self.data {
            Data::Block { block, other: None } => Origin::Block(block.clone()),
            Data::Block { block, other: Some(file) } => Origin::External(file, block.clone()),
            Data::Inline(_) => Origin::Inline,
        }
    }

    /// Whether the array has a mask, which may turn out to mask nothing.
    pub fn is_masked(&self) -> bool {
        !matches!(self.mask, Mask::None)
    }

    /// A part of the array; nothing is read.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self> {
        let view = self.view.slice(slices).map_err(|kind| self.error(kind))?;
        Ok(Self { view, mask: self.mask.slice(slices)?, ..self.clone() })
    }

    /// One field of an array of records, with the dimensions of the field behind those of the
    /// array; nothing is read.
    pub fn field(&self, name: &str) -> Result<Self> {
        let record = self.datatype.as_record().ok_or_else(|| self.type_error("a record"))?;
        let field = record.field(name).ok_or_else(|| {
            let names: Vec<&str> = record.fields().iter().map(Field::name).collect();
            let message = format!("no field {name:?}; there are {}", names.join(", "));
            self.place.invalid("datatype", message)
        })?;
        let view = self
            .view
            .field(field.offset(), field.shape(), field.datatype().size())
            .map_err(|kind| self.error(kind))?;
        Ok(Self {
            mask: self.mask.for_field(view.shape()),
            view,
            datatype: Arc::new(field.datatype().clone()),
            byteorder: field.byteorder(),
            ..self.clone()
        })
    }

    /// The elements in C order, without a copy where they lie in memory just so: in native byte
    /// order, side by side and aligned, in a block that is mapped, in memory or decoded. Otherwise
    /// one pass over them. The mask does not count here.
    pub fn view<T: Element>(&self) -> Result<Elements<T>> {
        self.per_element::<T>()?;
        if let Some(elements) = self.shared_elements()? {
            return Ok(elements);
        }
        self.read_copy().map(Elements::owned)
    }

    /// The elements in C order. The mask does not count here.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.count::<T>()?;
        self.checked_size()?;
        self.read_copy()
    }

    /// The elements in C order into a slice of just their number; see [`Self::read`].
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        let len = self.count::<T>()?;
        if len != out.len() {
            let (want, got) = (to_u64(len), to_u64(out.len()));
            return Err(self.error(ArrayError::BufferSize { want, got }));
        }
        T::fill(out, &mut |bytes| self.fill(bytes, Order::Native))
    }

    /// The bytes of the elements, packed in C order, each number in the byte order asked for: the
    /// halves of complex numbers, the characters of `ucs4` and the fields of records, too.
    pub fn read_bytes(&self, order: Order) -> Result<Vec<u8>> {
        let mut out = zeroed_bytes(self.checked_size()?)?;
        self.fill(&mut out, order)?;
        Ok(out)
    }

    /// For each element in C order, whether it is masked; `None` if the array has no mask.
    pub fn mask(&self) -> Result<Option<Vec<bool>>> {
        self.mask.evaluate(self)
    }

    /// The elements and their mask.
    pub fn masked<T: Element>(&self) -> Result<Masked<T>> {
        Ok(Masked { values: self.read()?, mask: self.mask()? })
    }

    /// Writes the array as a `.npy` file, in the byte order that it is stored in. The elements
    /// are read and written in pieces, so that arrays of any size can be written. The mask is left
    /// out: the format has none.
    pub fn write_npy(&self, mut out: impl Write) -> Result<()> {
        self.check_total()?;
        let write_error = |error: std::io::Error| Error::from(error);
        let descr = self.datatype.descr_python(self.byteorder);
        let header = binio::npy::header(&descr, false, self.shape());
        out.write_all(&header).map_err(write_error)?;
        let source = self.to_decoded()?;
        self.view.for_each_piece(PIECE, &mut |piece| {
            let size = usize::try_from(piece.packed_size().unwrap_or(u64::MAX));
            let mut bytes = zeroed_bytes(size.unwrap_or(usize::MAX))?;
            source.fill_part(piece, &Swap::None, &mut bytes)?;
            out.write_all(&bytes).map_err(write_error)
        })
    }

    /// The elements as an array of the `ndarray` crate. Where one element is several of the type,
    /// as in strings, they are the last dimension.
    #[cfg(feature = "ndarray")]
    pub fn to_ndarray<T: Element>(&self) -> Result<ndarray::ArrayD<T>> {
        let per_element = self.per_element::<T>()?;
        let inner = self.datatype.as_scalar().filter(|scalar| scalar.is_string());
        let shape = self.shape().iter().copied().chain(inner.map(|_| per_element));
        let shape: Vec<usize> =
            shape.map(|count| usize::try_from(count).unwrap_or(usize::MAX)).collect();
        ndarray::ArrayD::from_shape_vec(shape, self.read()?)
            .map_err(|error| self.place.invalid("shape", error.to_string()))
    }

    /// The elements as they lie in memory.
    fn shared_elements<T: Element>(&self) -> Result<Option<Elements<T>>> {
        if !self.view.is_contiguous() || self.swap(Order::Native) != Swap::None {
            return Ok(None);
        }
        Ok(self.shared_bytes()?.and_then(Elements::shared))
    }

    /// A copy in a vector.
    fn read_copy<T: Element>(&self) -> Result<Vec<T>> {
        let len = self.count::<T>()?;
        // Zeros cost nothing in memory that comes fresh from the system, and runs are swapped a
        // little faster into memory that is there.
        let size = self.checked_size()?;
        let fill = size >= OWN_MEMORY && self.view.is_contiguous();
        #[cfg(feature = "rayon")]
        let fill = fill || self.pays_threads(size);
        if let Some((data, start)) = self.data_in_memory()?.filter(|_| !fill) {
            let mut out = reserved(len)?;
            let swap = self.swap(Order::Native);
            let elements = InMemory { data: &data, start, array: &self.view, swap: &swap };
            if T::append(elements, &mut out).is_some() {
                return Ok(out);
            }
        }
        T::collect(len, &mut |bytes| self.fill(bytes, Order::Native))
    }

    /// The data around the elements and where it begins, if it is in memory.
    fn data_in_memory(&self) -> Result<Option<(Bytes, u64)>> {
        match &self.data {
            Data::Inline(bytes) => Ok(Some((bytes.clone(), 0))),
            Data::Block { block, .. } => {
                if block.is_compressed() || !block.source().is_memory() {
                    return Ok(None);
                }
                let extent = self.view.extent();
                Ok(Some((block.decode_part(extent.clone())?, extent.start)))
            }
        }
    }

    /// How many of a type one element is.
    fn per_element<T: Element>(&self) -> Result<u64> {
        let scalar = self.datatype.as_scalar();
        scalar.and_then(T::per_element).ok_or_else(|| self.type_error(T::NAME))
    }

    /// How many of a type the whole array is.
    fn count<T: Element>(&self) -> Result<usize> {
        let count = self.len().checked_mul(self.per_element::<T>()?);
        count.and_then(|count| usize::try_from(count).ok()).ok_or_else(|| self.too_large())
    }

    /// Bytes of all elements, if the limits allow a buffer for them.
    pub(super) fn checked_size(&self) -> Result<usize> {
        let size = self.view.packed_size().unwrap_or(u64::MAX);
        self.limits.check_alloc("bytes of an array", size)?;
        usize::try_from(size).map_err(|_| self.too_large())
    }

    /// Elements that overlap can be more than the block has bytes, without end.
    fn check_total(&self) -> Result<()> {
        let size = self.view.packed_size().unwrap_or(u64::MAX);
        let stored = match &self.data {
            Data::Block { block, .. } => block.data_len()?,
            Data::Inline(bytes) => to_u64(bytes.len()),
        };
        if size > stored {
            self.limits.check_alloc("bytes of an array", size)?;
        }
        Ok(())
    }

    /// The same array with its block decoded, for who reads it part by part: a compressed block
    /// that is too large to be kept is otherwise decoded for each part.
    pub fn to_decoded(&self) -> Result<Self> {
        match &self.data {
            Data::Block { block, .. } if block.is_compressed() => {
                Ok(Self { data: Data::Inline(block.decode()?), ..self.clone() })
            }
            _ => Ok(self.clone()),
        }
    }

    fn swap(&self, order: Order) -> Swap {
        Swap::new(&self.datatype, self.byteorder, order)
    }

    /// Copies the elements to a buffer of just their size.
    fn fill(&self, out: &mut [u8], order: Order) -> Result<()> {
        let swap = self.swap(order);
        #[cfg(feature = "rayon")]
        if self.pays_threads(out.len()) {
            return self.fill_over_threads(&swap, out);
        }
        self.fill_part(&self.view, &swap, out)
    }

    /// Whether the elements are in memory, so many that threads copy them sooner: one core alone
    /// does not use all that the memory can give.
    #[cfg(feature = "rayon")]
    fn pays_threads(&self, size: usize) -> bool {
        let in_memory = match &self.data {
            Data::Inline(_) => true,
            Data::Block { block, .. } => !block.is_compressed() && block.source().is_memory(),
        };
        // Pieces must be whole elements, or their bytes could not be swapped.
        let whole = self.datatype.size() <= PARALLEL_PIECE;
        in_memory && whole && size >= PARALLEL && rayon::current_num_threads() > 1
    }

    #[cfg(feature = "rayon")]
    fn fill_over_threads(&self, swap: &Swap, out: &mut [u8]) -> Result<()> {
        let mut rest = out;
        let mut pieces = Vec::new();
        self.view.for_each_piece::<Error>(PARALLEL_PIECE, &mut |piece| {
            let size = piece.packed_size().and_then(|size| usize::try_from(size).ok());
            let size = size.unwrap_or(usize::MAX).min(rest.len());
            let (place, after) = std::mem::take(&mut rest).split_at_mut(size);
            rest = after;
            pieces.push((piece.clone(), place));
            Ok(())
        })?;
        pieces.into_par_iter().try_for_each(|(piece, place)| self.fill_part(&piece, swap, place))
    }

    fn fill_part(&self, view: &Strided, swap: &Swap, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        match &self.data {
            Data::Inline(bytes) => tile::copy_from_slice(bytes, 0, view, swap, out),
            Data::Block { block, .. } if !block.is_compressed() => {
                let start = block.verified_range()?.start;
                return tile::read(block.source(), start, view, swap, out, self.place);
            }
            Data::Block { block, .. } => {
                let extent = view.extent();
                let is_whole = view.is_contiguous() && extent == (0..block.data_len()?);
                if is_whole && !block.is_cached() {
                    // Straight to where it is wanted: a buffer between costs as much as decoding.
                    block.decode_into(out)?;
                    swap.apply(out, usize::try_from(view.item_size()).unwrap_or(usize::MAX));
                    return Ok(());
                }
                let data = block.decode_part(extent.clone())?;
                tile::copy_from_slice(&data, extent.start, view, swap, out)
            }
        }
        .map_err(|kind| self.error(kind))
    }

    /// The bytes from the first element to the last, if that needs no copy of them.
    fn shared_bytes(&self) -> Result<Option<Bytes>> {
        let extent = self.view.extent();
        match &self.data {
            Data::Inline(bytes) => Ok(in_memory(&extent).map(|range| bytes.slice(range))),
            Data::Block { block, .. } => {
                if !block.is_compressed() && !block.source().is_memory() {
                    return Ok(None);
                }
                block.decode_part(extent).map(Some)
            }
        }
    }

    pub(crate) fn error(&self, kind: ArrayError) -> Error {
        self.place.error(kind)
    }

    fn type_error(&self, asked: &'static str) -> Error {
        self.error(ArrayError::Type { dtype: self.datatype.to_string(), asked })
    }

    fn too_large(&self) -> Error {
        let message = format!("{:?} does not fit into the memory of this machine", self.shape());
        self.place.invalid("shape", message)
    }
}

fn in_memory(range: &Range<u64>) -> Option<Range<usize>> {
    Some(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

pub(super) fn to_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
