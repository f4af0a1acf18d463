//! From what a node declares to an array: the block is found, and the elements checked to lie in
//! it. Type and shape alone are found without the block.

use std::sync::Arc;

use binio::array::{Array, c_strides};

use super::external::Files;
use crate::blocks::Block;
use crate::diagnostic::Code;
use crate::error::{ArrayError, Error, ErrorKind, Result};
use crate::ndarray::data::ArrayData;
use crate::ndarray::mask::Mask;
use crate::ndarray::parse::{ArrayHeader, Shape, Source};
use crate::ndarray::view::NdArray;
use crate::ndarray::{Datatype, Order, Place, Strided, inline};
use crate::yaml::{Kind, Node};

/// The array of a node.
pub(crate) fn open<'a>(files: Files<'a>, node: Node<'a>) -> Result<NdArray<'a>> {
    let header = parse(files, node)?;
    let array = open_unmasked(files, node, &header)?;
    let Some(mask) = header.mask else { return Ok(array) };
    if array.is_masked() {
        let message = "the array has both a mask and null in its data";
        return Err(array.error(ArrayError::Mask(message.into())));
    }
    let mask = match mask.kind() {
        // The mask's own mask is ignored, or an array could mask itself for ever.
        Kind::Sequence | Kind::Mapping => {
            let mask = open_unmasked(files, mask, &parse(files, mask)?)?;
            Mask::array(&mask, array.shape())?
        }
        _ => Mask::Value(inline::number_of(mask).ok_or_else(|| {
            let message = "expected a number or an array";
            Place::of(mask).error(ArrayError::Mask(message.into()))
        })?),
    };
    Ok(NdArray { mask, ..array })
}

fn parse<'a>(files: Files<'a>, node: Node<'a>) -> Result<ArrayHeader<'a>> {
    let mut diagnostics = Vec::new();
    let header = ArrayHeader::parse(node, &mut diagnostics);
    files.current.reports().extend(diagnostics);
    header
}

fn open_unmasked<'a>(
    files: Files<'a>,
    node: Node<'a>,
    header: &ArrayHeader<'a>,
) -> Result<NdArray<'a>> {
    let place = Place::of(node);
    let limits = files.root.options().limits;
    let found = match header.source {
        Source::Inline(data) => return open_inline(files, data, header, place),
        Source::Block(number) => internal(files, number),
        Source::External(uri) => external(files, uri),
    };
    let (data, len) = found.map_err(|error| place.error(ArrayError::Data(Arc::new(error))))?;
    let (datatype, shape) = header.type_and_shape(place)?;
    let (shape, partial) = concrete_shape(shape, header, datatype.itemsize(), len, place)?;
    if partial > 0 {
        let message = format!("{partial} bytes at the end of the block are less than a row");
        files.current.reports().add(place.diagnostic(Code::PartialRow, message));
    }
    let itemsize = datatype.itemsize();
    let layout = match header.strides.clone() {
        Some(strides) => Strided::new(shape, strides, header.offset, itemsize, len),
        None => Strided::packed(shape, Order::C, header.offset, itemsize, len),
    };
    let array = layout.and_then(|layout| Array::new(data, datatype.clone(), layout, limits));
    let array = array.map_err(|error| place.array_error(error, Some(datatype)))?;
    Ok(NdArray { array, mask: Mask::None, place })
}

fn open_inline<'a>(
    files: Files<'a>,
    data: Node<'a>,
    header: &ArrayHeader<'a>,
    place: Place,
) -> Result<NdArray<'a>> {
    let limits = files.root.options().limits;
    let inferred = inline::infer(header, data, &limits)?;
    let read = inline::read(data, &inferred, &limits)?;
    let array = |bytes: bytes::Bytes, datatype: Datatype, mask| {
        let (shape, len) = (inferred.shape.clone(), bytes.len() as u64);
        let layout = Strided::packed(shape, Order::C, 0, datatype.itemsize(), len);
        let data = ArrayData::Memory(bytes);
        let array = layout.and_then(|layout| Array::new(data, datatype, layout, limits));
        let array = array.map_err(|error| place.array_error(error, None))?;
        Ok::<_, Error>(NdArray { array, mask, place })
    };
    let mask = match read.mask {
        None => Mask::None,
        Some(mask) => {
            Mask::array(&array(mask, Datatype::of::<bool>(), Mask::None)?, &inferred.shape)?
        }
    };
    array(read.elements, inferred.datatype.clone(), mask)
}

/// A block of this file, and the size of its data.
fn internal(files: Files<'_>, number: i64) -> Result<(ArrayData<'_>, u64)> {
    with_len(files, files.current.blocks().by_source(number)?, false)
}

/// The first block of another file, and the size of its data.
fn external<'a>(files: Files<'a>, uri: &str) -> Result<(ArrayData<'a>, u64)> {
    // What follows `#` has no meaning here.
    let files = files.open(uri.split_once('#').map_or(uri, |(uri, _)| uri))?;
    with_len(files, files.current.blocks().get(0)?, true)
}

fn with_len<'a>(
    files: Files<'a>,
    block: Block<'a>,
    external: bool,
) -> Result<(ArrayData<'a>, u64)> {
    let len = block.data_len()?;
    let other = external.then_some(files.current);
    Ok((ArrayData::Block { block, other }, len))
}

/// The shape with its open dimension filled in, and the bytes that are left over.
fn concrete_shape(
    shape: &Shape,
    header: &ArrayHeader<'_>,
    item_size: u64,
    len: u64,
    place: Place,
) -> Result<(Vec<u64>, u64)> {
    if !shape.streamed {
        return Ok((shape.dimensions.clone(), 0));
    }
    let strides = if let Some(strides) = &header.strides {
        strides.clone()
    } else {
        let whole: Vec<u64> = std::iter::once(1).chain(shape.dimensions.iter().copied()).collect();
        c_strides(&whole, item_size).map_err(|error| place.array_error(error, None))?
    };
    let row = strides.first().copied();
    let row = row.and_then(|row| u64::try_from(row).ok()).filter(|&row| row > 0);
    let row = row.ok_or_else(|| {
        place.invalid("shape", "'*' needs a row of at least one byte and a positive stride")
    })?;
    let available = len.saturating_sub(header.offset);
    let rows = std::iter::once(available / row);
    Ok((rows.chain(shape.dimensions.iter().copied()).collect(), available % row))
}

/// Type and shape of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    /// JSON text: `"<f8"` with its quotes, or a list of fields.
    pub(super) dtype: String,
    /// Lengths of the dimensions.
    pub(super) shape: Vec<u64>,
}

/// Type and shape of an array without its elements: what the tree declares; `'*'` by the size of
/// the block; of inline data without a datatype, what all its items are.
pub(super) fn describe(file: &crate::Asdf, node: Node<'_>) -> Result<Described> {
    let mut diagnostics = Vec::new();
    let header = ArrayHeader::parse(node, &mut diagnostics);
    file.reports().extend(diagnostics);
    let header = header?;
    let place = Place::of(node);
    let found = match header.source {
        Source::Inline(data) => {
            let inferred = inline::infer(&header, data, &file.options().limits)?;
            let dtype = inferred.datatype.descr_json().to_string();
            return Ok(Described { dtype, shape: inferred.shape });
        }
        // The block matters only where the shape is open.
        _ if !header.shape.as_ref().is_some_and(|shape| shape.streamed) => Ok(0),
        Source::Block(number) => internal(Files::of(file), number).map(|(_, len)| len),
        Source::External(uri) => external(Files::of(file), uri).map(|(_, len)| len),
    };
    let (datatype, shape) = header.type_and_shape(place)?;
    let (shape, _) = concrete_shape(shape, &header, datatype.itemsize(), found?, place)?;
    Ok(Described { dtype: datatype.descr_json().to_string(), shape })
}

/// What an error is, in one word.
pub(super) fn error_code(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Array { kind, .. } => match kind {
            ArrayError::NotAnArray(_) => "NotAnArray",
            ArrayError::Missing(_) => "Missing",
            ArrayError::Invalid { .. } => "Invalid",
            ArrayError::OutsideBlock { .. } => "OutsideBlock",
            ArrayError::Inline(_) => "Inline",
            ArrayError::Data(inner) => return error_code(inner),
            _ => "Array",
        },
        ErrorKind::Block { .. } => "Block",
        ErrorKind::Codec { .. } => "Codec",
        ErrorKind::Reference { .. } => "Reference",
        ErrorKind::Limit { .. } => "Limit",
        ErrorKind::Yaml { .. } => "Yaml",
        _ => "Io",
    }
    .to_owned()
}
