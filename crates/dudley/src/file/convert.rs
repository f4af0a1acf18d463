//! Elements of one type as elements of another.
//!
//! Numbers keep their values: one that the new type cannot hold is an error. Text is encoded anew and padded
//! with zeros. Records are converted field by field, by name.

use binio::Endian;
use binio::array::half::f16;
use binio::array::{self, ArrayError, ByteOrder, Data, Datatype, Kind, Order, ScalarType};

/// The elements of an array in C order, packed, in another type.
pub(super) fn convert<D: Data>(
    array: &array::Array<D>,
    target: &Datatype,
) -> Result<Vec<u8>, D::Error> {
    if let (Some(from), Some(to)) = (array.datatype().as_scalar(), target.as_scalar()) {
        if (from.kind(), from.size()) == (to.kind(), to.size()) {
            let order = match to.endian() {
                Endian::Little => ByteOrder::Little,
                Endian::Big => ByteOrder::Big,
            };
            return array.read_bytes(Order::C, order);
        }
    }
    let bytes = array.read_bytes(Order::C, ByteOrder::Stored)?;
    let (from, to) = (size(array.datatype()), size(target));
    let count = usize::try_from(array.len()).unwrap_or(usize::MAX);
    let len = count.saturating_mul(to);
    let (what, limit, requested) =
        ("bytes of an array", array.limits().max_alloc, u64::try_from(len).unwrap_or(u64::MAX));
    if requested > limit {
        return Err(ArrayError::Limit { what, limit, requested }.into());
    }
    let mut out = vec![0; len];
    if out.is_empty() {
        return Ok(out);
    }
    for number in 0..count {
        let element = &bytes[number * from..][..from];
        let place = &mut out[number * to..][..to];
        one(array.datatype(), target, element, place).map_err(|message| {
            let index = number as u64;
            D::Error::from(ArrayError::Element { index, message })
        })?;
    }
    Ok(out)
}

fn size(datatype: &Datatype) -> usize {
    usize::try_from(datatype.itemsize()).unwrap_or(usize::MAX)
}

/// One element. The nesting of records is limited, so the recursion is too.
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
                let given = from.field(name).ok_or_else(|| format!("no field named `{name}`"))?;
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

#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

fn scalar(from: ScalarType, to: ScalarType, bytes: &[u8], out: &mut [u8]) -> Result<(), String> {
    let mismatch = || format!("elements are {from}, expected {to}");
    if from.is_text() && to.is_text() {
        return put_text(&text(from, bytes)?, to, out);
    }
    match (from.kind(), to.kind()) {
        (Kind::Complex, Kind::Complex) if bytes.len() <= 16 => {
            let (half, wide) = (bytes.len() / 2, out.len() / 2);
            for part in 0..2 {
                let value = float(&bytes[part * half..][..half], from.endian());
                put_float(value, &mut out[part * wide..][..wide], to.endian())?;
            }
            Ok(())
        }
        (_, Kind::Complex) => {
            let wide = out.len() / 2;
            let number = number(from, bytes).ok_or_else(mismatch)?;
            put_float(as_float(number)?, &mut out[..wide], to.endian())
        }
        (_, Kind::Float) => {
            let number = number(from, bytes).ok_or_else(mismatch)?;
            put_float(as_float(number)?, out, to.endian())
        }
        (_, Kind::Int | Kind::Uint | Kind::Bool) => {
            let value = match number(from, bytes).ok_or_else(mismatch)? {
                Number::Integer(value) => value,
                #[allow(clippy::cast_possible_truncation, reason = "compared just after")]
                Number::Float(value) => {
                    let integer = value as i128;
                    #[allow(
                        clippy::cast_precision_loss,
                        clippy::float_cmp,
                        reason = "only equal values pass"
                    )]
                    if integer as f64 != value {
                        return Err(format!("{value} is not an integer"));
                    }
                    integer
                }
            };
            put_integer(value, to, out)
        }
        _ => Err(mismatch()),
    }
}

fn number(from: ScalarType, bytes: &[u8]) -> Option<Number> {
    match from.kind() {
        Kind::Int | Kind::Uint | Kind::Bool => {
            let mut wide = [0; 16];
            wide[..bytes.len()].copy_from_slice(bytes);
            if from.endian() == Endian::Big {
                wide[..bytes.len()].reverse();
            }
            let value = i128::from_le_bytes(wide);
            let unused = 128 - 8 * u32::try_from(bytes.len()).unwrap_or(16);
            Some(Number::Integer(match from.kind() {
                Kind::Int => value << unused >> unused,
                Kind::Bool => i128::from(value != 0),
                _ => value,
            }))
        }
        Kind::Float if bytes.len() <= 8 => Some(Number::Float(float(bytes, from.endian()))),
        _ => None,
    }
}

fn as_float(number: Number) -> Result<f64, String> {
    match number {
        Number::Float(value) => Ok(value),
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "only equal values pass"
        )]
        Number::Integer(value) => {
            let float = value as f64;
            if float as i128 == value { Ok(float) } else { Err(format!("{value} is not exact")) }
        }
    }
}

fn float(bytes: &[u8], endian: Endian) -> f64 {
    let mut all = [0; 8];
    let Some(used) = all.get_mut(..bytes.len()) else { return f64::NAN };
    used.copy_from_slice(bytes);
    if endian == Endian::Big {
        used.reverse();
    }
    match bytes.len() {
        2 => f16::from_le_bytes([all[0], all[1]]).to_f64(),
        4 => f32::from_le_bytes([all[0], all[1], all[2], all[3]]).into(),
        _ => f64::from_le_bytes(all),
    }
}

/// A float, rounded as everywhere; but a finite one does not become infinite.
fn put_float(value: f64, out: &mut [u8], endian: Endian) -> Result<(), String> {
    let is_lost = match out.len() {
        2 => {
            let half = f16::from_f64(value);
            out.copy_from_slice(&half.to_le_bytes());
            half.is_infinite()
        }
        4 => {
            #[allow(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
            let single = value as f32;
            out.copy_from_slice(&single.to_le_bytes());
            single.is_infinite()
        }
        _ => {
            out.copy_from_slice(&value.to_le_bytes());
            value.is_infinite()
        }
    };
    if is_lost && value.is_finite() {
        return Err(format!("{value} is too large"));
    }
    if endian == Endian::Big {
        out.reverse();
    }
    Ok(())
}

fn put_integer(value: i128, to: ScalarType, out: &mut [u8]) -> Result<(), String> {
    let bits = 8 * u32::try_from(out.len()).unwrap_or(8).min(8);
    let (low, high) = match to.kind() {
        Kind::Int => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        Kind::Bool => (0, 1),
        _ => (0, (1_i128 << bits) - 1),
    };
    if !(low..=high).contains(&value) {
        return Err(format!("{value} is not a valid {to}"));
    }
    out.copy_from_slice(&value.to_le_bytes()[..out.len()]);
    if to.endian() == Endian::Big {
        out.reverse();
    }
    Ok(())
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
        Kind::Utf8 | Kind::Bytes => {
            String::from_utf8(bytes.to_vec()).map_err(|error| error.utf8_error().to_string())?
        }
        Kind::Utf16 => {
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
        Kind::Bytes if !text.is_ascii() => return Err(format!("{text:?} is not ASCII")),
        Kind::Bytes | Kind::Utf8 => text.as_bytes().to_vec(),
        Kind::Utf16 => text
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
        return Err(format!("{text:?} needs {} bytes, {} are there", encoded.len(), out.len()));
    }
    out[..encoded.len()].copy_from_slice(&encoded);
    out[encoded.len()..].fill(0);
    Ok(())
}
