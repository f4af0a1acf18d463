//! Converting elements from one type to another.
//!
//! Floats are rounded to the precision of the new type. Conversion fails for a number that is out
//! of range, for a fraction that would become an integer, and for an integer that would become a
//! float but cannot be represented exactly by an `f64`. Text is re-encoded and padded with zeros.
//! Records are converted field by field, and fields are matched by name.

use std::borrow::Cow;

use binio::array::{
    self, ByteOrder, Data, Datatype, ElementsError, Number, Order, ScalarKind, ScalarType,
};
use binio::diagnostic::count;
use binio::{Endian, Limits};

/// Converts the elements of an array to another type, and returns them packed in C order.
pub(super) fn convert<D: Data>(
    array: &array::Array<D>,
    target: &Datatype,
) -> Result<Vec<u8>, D::Error> {
    if let Some((_, to)) = same_scalars(array.datatype(), target) {
        return array.read_bytes(Order::C, byte_order(to));
    }
    let bytes = array.read_bytes(Order::C, ByteOrder::Stored)?;
    Ok(convert_packed(&bytes, array.datatype(), target, array.limits())?.into_owned())
}

/// Converts packed elements to another type. Scalars that need no conversion are returned as they
/// are, without being copied.
pub(super) fn convert_packed<'p>(
    packed: &'p [u8],
    from: &Datatype,
    to: &Datatype,
    limits: &Limits,
) -> Result<Cow<'p, [u8]>, ElementsError> {
    let same = same_scalars(from, to);
    let is_unchanged = |(from, to): (ScalarType, ScalarType)| {
        to.component_width() == 1 || from.endian() == to.endian()
    };
    if packed.is_empty() || same.is_some_and(is_unchanged) {
        return Ok(Cow::Borrowed(packed));
    }
    let (each, width) = (size(from), size(to));
    let count = packed.len().checked_div(each).unwrap_or(0);
    let len = count.saturating_mul(width);
    let (what, limit, requested) =
        ("bytes of an array", limits.max_alloc, u64::try_from(len).unwrap_or(u64::MAX));
    if requested > limit {
        return Err(ElementsError::Limit { what, limit, requested });
    }
    let mut out = vec![0; len];
    if let Some((_, to)) = same {
        out.copy_from_slice(packed);
        let swapped = binio::number::swap_in_place(&mut out, to.component_width());
        debug_assert!(swapped.is_ok(), "the length is a multiple of the component size");
        return Ok(Cow::Owned(out));
    }
    if out.is_empty() {
        return Ok(Cow::Owned(out));
    }
    for (number, (element, place)) in
        packed.chunks_exact(each).zip(out.chunks_exact_mut(width)).enumerate()
    {
        one(from, to, element, place).map_err(|message| {
            let index = number as u64;
            ElementsError::Element { index, message }
        })?;
    }
    Ok(Cow::Owned(out))
}

/// Returns `from` and `to` as scalar types if both are scalars that differ at most in byte order,
/// otherwise `None`.
pub(super) fn same_scalars(from: &Datatype, to: &Datatype) -> Option<(ScalarType, ScalarType)> {
    let (from, to) = (from.as_scalar()?, to.as_scalar()?);
    ((from.kind(), from.size()) == (to.kind(), to.size())).then_some((from, to))
}

/// Returns the byte order of a scalar type.
pub(super) fn byte_order(scalar: ScalarType) -> ByteOrder {
    match scalar.endian() {
        Endian::Little => ByteOrder::Little,
        Endian::Big => ByteOrder::Big,
    }
}

fn size(datatype: &Datatype) -> usize {
    usize::try_from(datatype.itemsize()).unwrap_or(usize::MAX)
}

/// Converts one element. The recursion is bounded by the maximum nesting of records.
fn one(from: &Datatype, to: &Datatype, bytes: &[u8], out: &mut [u8]) -> Result<(), String> {
    match (from, to) {
        (Datatype::Scalar(from), Datatype::Scalar(to)) => scalar(*from, *to, bytes, out),
        (Datatype::Record(from), Datatype::Record(to)) => {
            let unknown = from.fields().iter().find(|field| to.field(field.name()).is_none());
            if let Some(field) = unknown {
                return Err(format!("the struct has no member `{}`", field.name()));
            }
            for field in to.fields() {
                let name = field.name();
                let given = from
                    .field(name)
                    .ok_or_else(|| format!("the records have no field named `{name}`"))?;
                if given.shape() != field.shape() {
                    let (found, expected) = (given.shape(), field.shape());
                    return Err(format!("`{name}` has shape {found:?}, expected {expected:?}"));
                }
                let (each, wide) = (size(given.datatype()), size(field.datatype()));
                let [start, begin] = [given.offset(), field.offset()]
                    .map(|at| usize::try_from(at).unwrap_or(usize::MAX));
                let count = array::count(field.shape()).unwrap_or(0);
                for number in 0..usize::try_from(count).unwrap_or(0) {
                    let bytes = &bytes[start + number * each..][..each];
                    let out = &mut out[begin + number * wide..][..wide];
                    one(given.datatype(), field.datatype(), bytes, out)
                        .map_err(|message| format!("`{name}`: {message}"))?;
                }
            }
            Ok(())
        }
        _ => Err(format!("elements are {from}, expected {to}")),
    }
}

fn scalar(from: ScalarType, to: ScalarType, bytes: &[u8], out: &mut [u8]) -> Result<(), String> {
    let mismatch = || format!("elements are {from}, expected {to}");
    if from.is_text() && to.is_text() {
        return put_text(&text(from, bytes)?, to, out);
    }
    let is_time = matches!(from.kind(), ScalarKind::Timedelta(_) | ScalarKind::Datetime(_));
    let number = from.decode(bytes).filter(|_| !is_time).ok_or_else(mismatch)?;
    let number = match (number, to.kind()) {
        (Number::Complex(_), ScalarKind::Complex) => number,
        (Number::Complex(_), _) => return Err(mismatch()),
        (_, ScalarKind::Float | ScalarKind::Complex) if to.component_width() <= 8 => {
            exact_float(number)?
        }
        (Number::Float(value), ScalarKind::Int | ScalarKind::Uint | ScalarKind::Bool) => {
            let integer = number.to_int().ok_or_else(|| format!("{value} is not an integer"))?;
            Number::Int(integer)
        }
        (_, ScalarKind::Int | ScalarKind::Uint | ScalarKind::Bool) => number,
        _ => return Err(mismatch()),
    };
    to.encode(number, out).ok_or_else(|| match (number, number.to_int()) {
        (Number::Float(value), _) => format!("{value} is too large for {to}"),
        (Number::Complex(value), _) => format!("{value} is too large for {to}"),
        (_, value) => format!("{} is not a valid {to}", value.unwrap_or_default()),
    })
}

/// Converts an integer to a double-precision float. Fails if the float would have a different
/// value. Returns floats unchanged.
#[allow(clippy::cast_possible_truncation, reason = "values that are not preserved are rejected")]
fn exact_float(number: Number) -> Result<Number, String> {
    let float = number.to_float().unwrap_or_default();
    match number {
        Number::Int(value) if float as i128 != value => {
            Err(format!("{value} cannot be represented exactly as a float"))
        }
        _ => Ok(Number::Float(float)),
    }
}

fn text(from: ScalarType, bytes: &[u8]) -> Result<String, String> {
    let units = |width: usize| {
        bytes.chunks_exact(width).map(move |unit| {
            let fold = |sum, &byte: &u8| sum << 8 | u32::from(byte);
            match from.endian() {
                Endian::Big => unit.iter().fold(0, fold),
                Endian::Little => unit.iter().rev().fold(0, fold),
            }
        })
    };
    let text = match from.kind() {
        ScalarKind::Utf8 | ScalarKind::Bytes => {
            String::from_utf8(bytes.to_vec()).map_err(|error| error.utf8_error().to_string())?
        }
        ScalarKind::Utf16 => {
            let units = units(2).map(|unit| u16::try_from(unit).unwrap_or_default());
            let text = char::decode_utf16(units).collect::<Result<String, _>>();
            text.map_err(|_| "unpaired surrogate in UTF-16".to_owned())?
        }
        _ => {
            let character =
                |unit| char::from_u32(unit).ok_or_else(|| format!("{unit:#x} is not a character"));
            units(4).map(character).collect::<Result<String, _>>()?
        }
    };
    Ok(text.trim_end_matches('\0').to_owned())
}

fn put_text(text: &str, to: ScalarType, out: &mut [u8]) -> Result<(), String> {
    let encoded: Vec<u8> = match to.kind() {
        ScalarKind::Bytes if !text.is_ascii() => return Err(format!("{text:?} is not ASCII")),
        ScalarKind::Bytes | ScalarKind::Utf8 => text.as_bytes().to_vec(),
        ScalarKind::Utf16 => text
            .encode_utf16()
            .flat_map(|unit| match to.endian() {
                Endian::Big => unit.to_be_bytes(),
                Endian::Little => unit.to_le_bytes(),
            })
            .collect(),
        _ => text
            .chars()
            .map(u32::from)
            .flat_map(|unit| match to.endian() {
                Endian::Big => unit.to_be_bytes(),
                Endian::Little => unit.to_le_bytes(),
            })
            .collect(),
    };
    if encoded.len() > out.len() {
        let needed = count(encoded.len(), "byte");
        return Err(format!("{text:?} needs {needed}, but the type has only {}", out.len()));
    }
    out[..encoded.len()].copy_from_slice(&encoded);
    out[encoded.len()..].fill(0);
    Ok(())
}
