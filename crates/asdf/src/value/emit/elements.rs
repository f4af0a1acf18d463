//! Arrays as nodes of the tree: their keys and, if written inline, their elements.

use std::ops::RangeInclusive;
use std::sync::Arc;

use binio::Endian;
use binio::array::{ByteOrder, Datatype, Field, Number, Order, ScalarKind, ScalarType, byte_size};
use bytes::Bytes;

use crate::complex;
use crate::error::{Error, Result};
use crate::ndarray::scalar_name;
use crate::value::{Array, Mapping, Sequence, Value};

/// The tag of a complex number.
pub(crate) const COMPLEX_TAG: &str = "tag:stsci.edu:asdf/core/complex-1.0.0";

/// The range of integers that the standard allows as literals.
pub(crate) const LITERALS: RangeInclusive<i128> = -((1 << 63) - 2)..=(1 << 63) - 1;

/// An array represented as a mapping.
pub(crate) struct ArrayNode {
    pub(crate) tag: String,
    /// The entries in order, except `data` and `mask`. Unless the elements are inline, the first key is
    /// `source`.
    pub(crate) entries: Vec<(&'static str, Value)>,
    /// The elements, if they are written inline.
    pub(crate) elements: Option<Elements>,
}

impl ArrayNode {
    /// Creates a node for an array in a block.
    pub(crate) fn in_block(array: &Array, source: Value, tag: String) -> Self {
        let mut entries = vec![
            ("source", source),
            ("datatype", datatype(&array.datatype, true)),
            ("byteorder", Value::from(byteorder(&array.datatype))),
            ("shape", numbers(array.shape())),
        ];
        let layout = &array.layout;
        if layout.offset() > 0 {
            entries.push(("offset", Value::from(layout.offset())));
        }
        if !layout.is_contiguous(Order::C) {
            entries.push(("strides", layout.strides().to_vec().into()));
        }
        Self { tag, entries, elements: None }
    }

    /// Creates a node for an array whose elements are in the tree.
    pub(crate) fn inline(array: &Array, tag: String) -> Result<Self> {
        let entries =
            vec![("datatype", datatype(&array.datatype, false)), ("shape", numbers(array.shape()))];
        Ok(Self { tag, entries, elements: Some(Elements::new(array)?) })
    }
}

fn numbers(numbers: &[u64]) -> Value {
    numbers.to_vec().into()
}

/// Returns the byte order that the reference implementation would write for an array: the order of its numbers
/// or characters if they have more than one byte each, the native order for one-byte integers, and `big` for
/// everything else.
pub(crate) fn byteorder(datatype: &Datatype) -> &'static str {
    let endian = match datatype {
        Datatype::Scalar(scalar) if scalar.component_width() > 1 => scalar.endian(),
        Datatype::Scalar(scalar)
            if matches!(scalar.kind(), ScalarKind::Bool | ScalarKind::Bytes) =>
        {
            Endian::Big
        }
        Datatype::Scalar(_) => Endian::NATIVE,
        Datatype::Record(_) => Endian::Big,
    };
    if endian == Endian::Big { "big" } else { "little" }
}

/// Returns a datatype as represented in the tree. `with_order` adds the byte order of record fields, which is
/// needed for elements in a block.
pub(crate) fn datatype(datatype: &Datatype, with_order: bool) -> Value {
    let record = match datatype {
        Datatype::Scalar(scalar) => return scalar_type(*scalar),
        Datatype::Record(record) => record,
    };
    let field = |field: &Field| {
        let mut entries = Mapping::new();
        if with_order {
            entries.insert("byteorder", byteorder(field.datatype()));
        }
        entries.insert("datatype", self::datatype(field.datatype(), with_order));
        entries.insert("name", field.name());
        if !field.shape().is_empty() {
            entries.insert("shape", numbers(field.shape()));
        }
        entries
    };
    record.fields().iter().map(field).collect::<Sequence>().into()
}

fn scalar_type(scalar: ScalarType) -> Value {
    let text = |name: &str, length: u64| vec![Value::from(name), Value::from(length)].into();
    match scalar.kind() {
        ScalarKind::Bytes => text("ascii", scalar.size()),
        ScalarKind::Unicode => text("ucs4", scalar.size() / 4),
        _ => scalar_name(scalar).into(),
    }
}

/// All elements of an inline array, or those with given indices along the first axes.
#[derive(Clone)]
pub(crate) struct Elements {
    /// The bytes of the elements in C order, packed and little-endian.
    bytes: Bytes,
    datatype: Arc<Datatype>,
    shape: Arc<[u64]>,
    axis: usize,
}

impl Elements {
    /// Reads the elements. Fails if they cannot be read, or if text cannot be represented in the tree.
    pub(crate) fn new(array: &Array) -> Result<Self> {
        let view = array.view()?;
        let bytes: Bytes = view.read_bytes(Order::C, ByteOrder::Little)?.into();
        let datatype = array.datatype.with_byte_order(ByteOrder::Little);
        let size = usize::try_from(datatype.itemsize()).unwrap_or(usize::MAX);
        if has_text(&datatype) && size > 0 {
            for element in bytes.chunks_exact(size) {
                if value(&datatype, element).is_none() {
                    return Err(not_text());
                }
            }
        }
        Ok(Self { bytes, datatype: Arc::new(datatype), shape: array.shape().into(), axis: 0 })
    }

    /// Returns `true` if the reference implementation can read the elements back: no record contains a list or
    /// another record, and all integers are in the range of literals.
    pub(crate) fn are_literals(&self) -> bool {
        let is_flat =
            |field: &Field| field.shape().is_empty() && field.datatype().as_scalar().is_some();
        if !self.datatype.as_record().is_none_or(|record| record.fields().iter().all(is_flat)) {
            return false;
        }
        let size = usize::try_from(self.datatype.itemsize()).unwrap_or(usize::MAX);
        !has_wide_integers(&self.datatype)
            || self.bytes.chunks_exact(size.max(1)).all(|element| {
                value(&self.datatype, element).is_some_and(|value| is_of_literals(&value))
            })
    }

    /// Returns the element if no axis remains.
    pub(crate) fn scalar(&self) -> Option<Value> {
        (self.axis == self.shape.len()).then(|| value(&self.datatype, &self.bytes))?
    }

    /// Returns `true` if a single axis remains and the elements are scalars.
    pub(crate) fn is_row(&self) -> bool {
        self.axis + 1 == self.shape.len() && self.datatype.as_scalar().is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape.get(self.axis) == Some(&0)
    }

    /// Splits the elements along the first remaining axis.
    pub(crate) fn children(self) -> impl Iterator<Item = Self> {
        let count = self.shape.get(self.axis).copied().unwrap_or(0);
        let below = self.shape.get(self.axis + 1..).unwrap_or_default();
        let size = byte_size(below, self.datatype.itemsize());
        let size = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        (0..usize::try_from(count).unwrap_or(usize::MAX)).map(move |index| {
            let start = (index * size).min(self.bytes.len());
            let end = (start + size).min(self.bytes.len());
            let Self { bytes, datatype, shape, axis } = self.clone();
            Self { bytes: bytes.slice(start..end), datatype, shape, axis: axis + 1 }
        })
    }
}

fn has_wide_integers(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Scalar(scalar) => {
            matches!(scalar.kind(), ScalarKind::Int | ScalarKind::Uint) && scalar.size() == 8
        }
        Datatype::Record(record) => {
            record.fields().iter().any(|field| has_wide_integers(field.datatype()))
        }
    }
}

/// Returns `true` if all integers in an element, including those in nested lists, are in the range of literals.
fn is_of_literals(value: &Value) -> bool {
    match value {
        Value::Int(integer) => integer.as_i128().is_some_and(|value| LITERALS.contains(&value)),
        Value::Sequence(list) => list.items().iter().all(is_of_literals),
        _ => true,
    }
}

fn not_text() -> Error {
    let message = "text that is not valid ASCII or Unicode cannot be written to the tree";
    Error::unwritable(message)
}

fn has_text(datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Scalar(scalar) => scalar.is_text(),
        Datatype::Record(record) => record.fields().iter().any(|field| has_text(field.datatype())),
    }
}

/// Returns the value of an element. A record becomes a list of its fields; records nest at most
/// [`MAX_RECORD_DEPTH`](binio::array::MAX_RECORD_DEPTH) deep. Returns `None` if bytes that should
/// be text are not valid text.
fn value(datatype: &Datatype, bytes: &[u8]) -> Option<Value> {
    let record = match datatype {
        Datatype::Scalar(scalar) => return scalar_value(*scalar, bytes),
        Datatype::Record(record) => record,
    };
    let field = |field: &Field| {
        let start = usize::try_from(field.offset()).ok()?;
        let end = start.checked_add(usize::try_from(field.size()).ok()?)?;
        nested(field.datatype(), field.shape(), bytes.get(start..end)?)
    };
    let fields: Option<Vec<Value>> = record.fields().iter().map(field).collect();
    fields.map(Into::into)
}

/// Returns elements with the given shape as nested lists.
fn nested(datatype: &Datatype, shape: &[u64], bytes: &[u8]) -> Option<Value> {
    let Some((&count, below)) = shape.split_first() else { return value(datatype, bytes) };
    let size = usize::try_from(byte_size(below, datatype.itemsize())?).ok()?;
    let part = |index: usize| {
        let start = index.checked_mul(size)?;
        nested(datatype, below, bytes.get(start..start.checked_add(size)?)?)
    };
    let parts: Option<Vec<Value>> = (0..usize::try_from(count).ok()?).map(part).collect();
    parts.map(Into::into)
}

/// Decodes a scalar from little-endian bytes.
fn scalar_value(scalar: ScalarType, bytes: &[u8]) -> Option<Value> {
    if let Some(number) = scalar.decode(bytes) {
        return Some(match number {
            Number::Bool(truth) => truth.into(),
            Number::Int(value) => value.into(),
            Number::Float(value) => Value::Float(value),
            Number::Complex(value) => Value::String(complex::to_text(value)).tagged(COMPLEX_TAG),
        });
    }
    Some(match scalar.kind() {
        ScalarKind::Bytes => {
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            let text = bytes.get(..end)?;
            let text = text.is_ascii().then(|| std::str::from_utf8(text).ok())??;
            text.into()
        }
        ScalarKind::Unicode => {
            let units = bytes
                .chunks_exact(4)
                .map(|unit| char::from_u32(u32::from_le_bytes(unit.try_into().ok()?)));
            let text: String = units.collect::<Option<_>>()?;
            text.trim_end_matches('\0').into()
        }
        _ => return None,
    })
}
