//! Elements of arrays as JSON.

use std::fmt::Write;

use binio::Endian;
use bloscpack::Dtype;
use bloscpack::array::{Field, Kind, Scalar};
use serde_json::{Value, json};

use crate::dates;
use crate::values::{float, half_float, single};

/// A type as JSON: that of records as a list of fields, each a name, a type and perhaps a shape.
pub(super) fn dtype_json(dtype: &Dtype) -> Value {
    let Dtype::Record(record) = dtype else { return json!(dtype.to_string()) };
    let field = |field: &Field| {
        let mut parts = vec![json!(field.name()), dtype_json(field.dtype())];
        if !field.shape().is_empty() {
            parts.push(json!(field.shape()));
        }
        Value::Array(parts)
    };
    record.fields().iter().map(field).collect()
}

/// One element as JSON, from its bytes: complex as `{"$complex": [re, im]}`, non-finite floats as
/// strings, dates as ISO 8601, records as objects, text without its padding, and bytes without a
/// meaning in hexadecimal.
pub(super) fn element(dtype: &Dtype, bytes: &[u8]) -> Value {
    match dtype {
        Dtype::Scalar(scalar) => scalar_value(*scalar, bytes),
        Dtype::Record(record) => record
            .fields()
            .iter()
            .map(|field| {
                let at = usize::try_from(field.offset()).unwrap_or(usize::MAX);
                let bytes = bytes.get(at..).unwrap_or_default();
                (field.name().to_owned(), nested(field.dtype(), field.shape(), bytes))
            })
            .collect(),
    }
}

/// Elements of a shape as nested lists, from their bytes in C order.
fn nested(dtype: &Dtype, shape: &[u64], bytes: &[u8]) -> Value {
    let Some((&rows, inner)) = shape.split_first() else {
        return element(dtype, bytes);
    };
    let row = inner.iter().copied().fold(dtype.itemsize(), u64::saturating_mul);
    let part = |index: u64| {
        let start = usize::try_from(index.saturating_mul(row)).unwrap_or(usize::MAX);
        bytes.get(start..).unwrap_or_default()
    };
    (0..rows).map(|index| nested(dtype, inner, part(index))).collect()
}

fn scalar_value(scalar: Scalar, bytes: &[u8]) -> Value {
    let size = usize::try_from(scalar.size()).unwrap_or(usize::MAX);
    let bytes = bytes.get(..size).unwrap_or_default();
    let endian = scalar.endian();
    match scalar.kind() {
        Kind::Bool => json!(bytes != [0]),
        Kind::Int => signed(bytes, endian).map_or_else(|| hexadecimal(bytes), |n| json!(n)),
        Kind::Uint => unsigned(bytes, endian).map_or_else(|| hexadecimal(bytes), |n| json!(n)),
        Kind::Float => real(bytes, endian),
        Kind::Complex => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            json!({"$complex": [real(re, endian), real(im, endian)]})
        }
        Kind::Timedelta(_) => match signed(bytes, endian) {
            Some(i64::MIN) | None => json!("NaT"),
            Some(n) => json!(n),
        },
        Kind::Datetime(unit) => match (signed(bytes, endian), unit) {
            (Some(i64::MIN) | None, _) => json!("NaT"),
            (Some(n), Some(unit)) => {
                dates::iso_8601(n, unit.count, unit.unit).map_or_else(|| json!(n), Value::String)
            }
            (Some(n), None) => json!(n),
        },
        Kind::Bytes => {
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            json!(String::from_utf8_lossy(&bytes[..end]))
        }
        Kind::Unicode => {
            let point = |point: &[u8]| {
                let point = unsigned(point, endian).and_then(|point| u32::try_from(point).ok());
                point.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
            };
            let text: String = bytes.chunks_exact(4).map(point).collect();
            json!(text.trim_end_matches('\0'))
        }
        Kind::Void => hexadecimal(bytes),
    }
}

/// A number of at most eight bytes.
fn unsigned(bytes: &[u8], endian: Endian) -> Option<u64> {
    let put = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    let value = match endian {
        Endian::Little => bytes.iter().rev().fold(0, put),
        Endian::Big => bytes.iter().fold(0, put),
    };
    (1..=8).contains(&bytes.len()).then_some(value)
}

/// The same in two's complement.
fn signed(bytes: &[u8], endian: Endian) -> Option<i64> {
    let unused = 64 - 8 * u32::try_from(bytes.len()).ok()?.min(8);
    let value = unsigned(bytes, endian)? << unused;
    Some(i64::from_le_bytes(value.to_le_bytes()) >> unused)
}

/// A float; C's `long double`, which is another number on another machine, by its bytes.
fn real(bytes: &[u8], endian: Endian) -> Value {
    let Some(bits) = unsigned(bytes, endian) else { return hexadecimal(bytes) };
    match (bytes.len(), u16::try_from(bits), u32::try_from(bits)) {
        (2, Ok(bits), _) => float(half_float(bits)),
        (4, _, Ok(bits)) => single(f32::from_bits(bits)),
        (8, ..) => float(f64::from_bits(bits)),
        _ => hexadecimal(bytes),
    }
}

fn hexadecimal(bytes: &[u8]) -> Value {
    let mut text = "0x".to_owned();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Value::String(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dtype: &str, bytes: &[u8]) -> Value {
        element(&Dtype::parse(dtype).unwrap(), bytes)
    }

    #[test]
    fn numbers_are_read_in_their_byte_order() {
        assert_eq!(of("<i2", &[0xfe, 0xff]), json!(-2));
        assert_eq!(of(">i2", &[0xff, 0xfe]), json!(-2));
        assert_eq!(of("<u8", &[0xff; 8]), json!(u64::MAX));
        assert_eq!(of("|i1", &[0x80]), json!(-128));
        assert_eq!(of(">f4", &0.1f32.to_be_bytes()), json!(0.1));
        assert_eq!(of("<f2", &[0x00, 0x3e]), json!(1.5));
        assert_eq!(of("<f8", &f64::NAN.to_le_bytes()), json!("nan"));
        let bytes = [1f32.to_be_bytes(), (-2f32).to_be_bytes()].concat();
        assert_eq!(of(">c8", &bytes), json!({"$complex": [1.0, -2.0]}));
        assert_eq!(of("|b1", &[2]), json!(true));
    }

    #[test]
    fn text_loses_its_padding_and_bytes_are_hexadecimal() {
        assert_eq!(of("|S4", b"a\0b\0"), json!("a\0b"));
        assert_eq!(of(">U2", &[0, 0, 0, 0xe9, 0, 0, 0, 0]), json!("é"));
        assert_eq!(of("|V2", &[1, 0xab]), json!("0x01ab"));
        assert_eq!(of("<f16", &[0; 16]), json!(format!("0x{}", "0".repeat(32))));
    }

    #[test]
    fn dates_are_iso_8601_and_spans_numbers() {
        assert_eq!(of("<M8[ns]", &1_i64.to_le_bytes()), json!("1970-01-01T00:00:00.000000001"));
        assert_eq!(of("<M8[D]", &i64::MIN.to_le_bytes()), json!("NaT"));
        assert_eq!(of(">m8[25s]", &(-3_i64).to_be_bytes()), json!(-3));
    }

    #[test]
    fn records_are_objects() {
        let dtype = "[('a', '|i1'), ('', '|V1'), ('b', '>i2', (2,))]";
        assert_eq!(of(dtype, &[1, 9, 0, 2, 0, 3]), json!({"a": 1, "b": [2, 3]}));
        let fields = json!([["a", "|i1"], ["b", ">i2", [2]]]);
        assert_eq!(dtype_json(&Dtype::parse(dtype).unwrap()), fields);
    }
}
