//! Opening the array that a node describes: finding its block and checking that the elements lie inside the
//! block. The type and shape can be determined without opening the array.

use std::sync::Arc;

use binio::array::c_strides;
use binio::diagnostic::count;

use super::external::Files;
use crate::diagnostic::Code;
use crate::error::{ArrayError, Error, ErrorKind, Result};
use crate::ndarray::data::{ArrayData, StoredArray};
use crate::ndarray::mask::Mask;
use crate::ndarray::parse::{ArrayHeader, Shape};
use crate::ndarray::source::Source;
use crate::ndarray::view::NdArray;
use crate::ndarray::{Datatype, Order, Strided, inline};
use crate::options::Strictness;
use crate::yaml::{NodeKind, YamlNode};

/// Opens the array that a node describes.
pub(crate) fn open<'a>(files: Files<'a>, node: YamlNode<'a>) -> Result<NdArray<'a>> {
    let header = parse(files, node)?;
    let array = open_unmasked(files, node, &header)?;
    let Some(mask) = header.mask else { return Ok(array) };
    let mask = match mask.kind() {
        // Ignore the mask of the mask, because an array could be its own mask.
        NodeKind::Sequence | NodeKind::Mapping => {
            let mask = open_unmasked(files, mask, &parse(files, mask)?)?;
            Mask::array(&mask, array.shape())?
        }
        _ => Mask::Value(inline::number_of(mask).ok_or_else(|| {
            let message = "expected a number or an array";
            mask.array_error(ArrayError::Mask(message.into()))
        })?),
    };
    let mask = match array.mask {
        Mask::None => mask,
        nulls => Mask::Either(Box::new([nulls, mask])),
    };
    Ok(NdArray { mask, ..array })
}

fn parse<'a>(files: Files<'a>, node: YamlNode<'a>) -> Result<ArrayHeader<'a>> {
    let mut diagnostics = Vec::new();
    let header = ArrayHeader::parse(node, &mut diagnostics);
    files.current.reports().extend(diagnostics);
    header
}

fn open_unmasked<'a>(
    files: Files<'a>,
    node: YamlNode<'a>,
    header: &ArrayHeader<'a>,
) -> Result<NdArray<'a>> {
    let limits = files.root.options().limits;
    if let Source::Inline(data) = header.source {
        return open_inline(files, data, header, node);
    }
    let found = find_block(files, &header.source);
    let (data, len) = found.map_err(|error| node.array_error(ArrayError::Data(Arc::new(error))))?;
    let (datatype, shape) = header.type_and_shape(node)?;
    let (shape, partial) = concrete_shape(shape, header, datatype.itemsize(), len, node)?;
    if partial > 0 {
        let partial = count(partial, "byte");
        let message = format!("the block ends with {partial}, which is less than a complete row");
        files.current.reports().add(node.diagnostic(Code::PartialRow, message));
    }
    let itemsize = datatype.itemsize();
    let layout_in = |len| match header.strides.clone() {
        Some(strides) => Strided::new(shape.clone(), strides, header.offset, itemsize, len),
        None => Strided::packed(shape.clone(), Order::C, header.offset, itemsize, len),
    };
    let layout = match layout_in(len) {
        // Open an array in a truncated block anyway. Only reading the missing elements will fail.
        Err(binio::array::ElementsError::Outside { .. })
            if files.root.options().strictness == Strictness::Salvage =>
        {
            layout_in(u64::MAX)
        }
        layout => layout,
    };
    let array = layout.and_then(|layout| StoredArray::new(data, datatype.clone(), layout, limits));
    let array = array.map_err(|error| node.elements_error(error, Some(datatype)))?;
    Ok(NdArray { array, mask: Mask::None, node })
}

fn open_inline<'a>(
    files: Files<'a>,
    data: YamlNode<'a>,
    header: &ArrayHeader<'a>,
    node: YamlNode<'a>,
) -> Result<NdArray<'a>> {
    let limits = files.root.options().limits;
    let inferred = inline::infer(header, data, &limits)?;
    let read = inline::read(data, &inferred, &limits)?;
    let array = |bytes: bytes::Bytes, datatype: Datatype, mask| {
        let (shape, len) = (inferred.shape.clone(), bytes.len() as u64);
        let layout = Strided::packed(shape, Order::C, 0, datatype.itemsize(), len);
        let data = ArrayData::Memory(bytes);
        let array = layout.and_then(|layout| StoredArray::new(data, datatype, layout, limits));
        let array = array.map_err(|error| node.elements_error(error, None))?;
        Ok::<_, Error>(NdArray { array, mask, node })
    };
    let mask = match read.mask {
        None => Mask::None,
        Some(mask) => {
            Mask::array(&array(mask, Datatype::of::<bool>(), Mask::None)?, &inferred.shape)?
        }
    };
    array(read.elements, inferred.datatype.clone(), mask)
}

/// Returns the data of an array and the size of the data in bytes. The block may be in the current
/// file or in an external file.
fn find_block<'a>(files: Files<'a>, source: &Source<'_>) -> Result<(ArrayData<'a>, u64)> {
    let (block, other) = match source {
        Source::File(uri) => {
            let files = files.open(uri)?;
            (files.current.blocks().get(0)?, Some(files.current))
        }
        Source::Block(block) => (files.current.blocks().by_source(*block)?, None),
        Source::Inline(_) => return Ok((ArrayData::Memory(bytes::Bytes::new()), 0)),
    };
    let len = block.data_len()?;
    Ok((ArrayData::Block { block, other }, len))
}

/// Returns the shape with its open dimension filled in, and the number of bytes after the last
/// complete row.
fn concrete_shape(
    shape: &Shape,
    header: &ArrayHeader<'_>,
    item_size: u64,
    len: u64,
    node: YamlNode<'_>,
) -> Result<(Vec<u64>, u64)> {
    if !shape.streamed {
        return Ok((shape.dimensions.clone(), 0));
    }
    let strides = if let Some(strides) = &header.strides {
        strides.clone()
    } else {
        let whole: Vec<u64> = std::iter::once(1).chain(shape.dimensions.iter().copied()).collect();
        c_strides(&whole, item_size).map_err(|error| node.elements_error(error, None))?
    };
    let row = strides.first().copied();
    let row = row.and_then(|row| u64::try_from(row).ok()).filter(|&row| row > 0);
    let row = row.ok_or_else(|| {
        node.invalid("shape", "'*' requires rows of at least one byte and a positive stride")
    })?;
    let available = len.saturating_sub(header.offset);
    let rows = std::iter::once(available / row);
    Ok((rows.chain(shape.dimensions.iter().copied()).collect(), available % row))
}

/// The type and shape of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArrayDescription {
    /// The type as JSON text: `"<f8"` including the quotes, or a list of fields.
    pub(super) dtype: String,
    /// Lengths of the dimensions.
    pub(super) shape: Vec<u64>,
}

/// Determines the type and shape of an array without reading any elements in blocks. They are declared in the
/// tree, with two exceptions: the open dimension `'*'` depends on the size of the block, and inline data may
/// lack a datatype or a shape, which are then inferred from the items.
pub(super) fn describe(files: Files<'_>, node: YamlNode<'_>) -> Result<ArrayDescription> {
    let mut diagnostics = Vec::new();
    let header = ArrayHeader::parse(node, &mut diagnostics);
    files.current.reports().extend(diagnostics);
    let header = header?;
    if let Source::Inline(data) = header.source {
        let inferred = inline::infer(&header, data, &files.current.options().limits)?;
        let dtype = inferred.datatype.descr_json().to_string();
        return Ok(ArrayDescription { dtype, shape: inferred.shape });
    }
    let (datatype, shape) = header.type_and_shape(node)?;
    // Only find the block if the shape is open.
    let len = if shape.streamed { find_block(files, &header.source)?.1 } else { 0 };
    let (shape, _) = concrete_shape(shape, &header, datatype.itemsize(), len, node)?;
    Ok(ArrayDescription { dtype: datatype.descr_json().to_string(), shape })
}

/// Returns the kind of an error as one word, such as `OutsideBlock`.
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
