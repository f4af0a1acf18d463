//! Elements of arrays as text and JSON.

use asdf::ndarray::{Datatype, ScalarType};
use serde_json::{Value, json};

use crate::values::{float, half_float, single};

/// One element as JSON, from its packed little-endian bytes: complex as `{"$complex": [re, im]}`,
/// non-finite floats as strings, records as objects, text without its padding.
pub(crate) fn element(datatype: &Datatype, bytes: &[u8]) -> Value {
    match datatype {
        Datatype::Scalar(scalar) => scalar_value(*scalar, bytes),
        Datatype::Record(record) => record
            .fields()
            .iter()
            .map(|field| {
                let at = usize::try_from(field.offset()).unwrap_or(usize::MAX);
                let bytes = bytes.get(at..).unwrap_or_default();
                (field.name().to_owned(), nested(field.datatype(), field.shape(), bytes))
            })
            .collect(),
    }
}

/// Elements of a shape as nested lists, from their packed little-endian bytes in C order.
pub(crate) fn nested(datatype: &Datatype, shape: &[u64], bytes: &[u8]) -> Value {
    let Some((&rows, inner)) = shape.split_first() else {
        return element(datatype, bytes);
    };
    let row = inner.iter().product::<u64>().saturating_mul(datatype.size());
    let part = |index: u64| {
        let start = usize::try_from(index.saturating_mul(row)).unwrap_or(usize::MAX);
        bytes.get(start..).unwrap_or_default()
    };
    (0..rows).map(|index| nested(datatype, inner, part(index))).collect()
}

fn scalar_value(scalar: ScalarType, bytes: &[u8]) -> Value {
    fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
        let mut result = [0; N];
        let len = bytes.len().min(N);
        result[..len].copy_from_slice(&bytes[..len]);
        result
    }
    let half = |at: usize| bytes.get(at..).unwrap_or_default();
    match scalar {
        ScalarType::Int8 => json!(i8::from_le_bytes(take(bytes))),
        ScalarType::Int16 => json!(i16::from_le_bytes(take(bytes))),
        ScalarType::Int32 => json!(i32::from_le_bytes(take(bytes))),
        ScalarType::Int64 => json!(i64::from_le_bytes(take(bytes))),
        ScalarType::Uint8 => json!(u8::from_le_bytes(take(bytes))),
        ScalarType::Uint16 => json!(u16::from_le_bytes(take(bytes))),
        ScalarType::Uint32 => json!(u32::from_le_bytes(take(bytes))),
        ScalarType::Uint64 => json!(u64::from_le_bytes(take(bytes))),
        ScalarType::Float16 => float(half_float(u16::from_le_bytes(take(bytes)))),
        ScalarType::Float32 => single(f32::from_le_bytes(take(bytes))),
        ScalarType::Float64 => float(f64::from_le_bytes(take(bytes))),
        ScalarType::Complex64 => {
            let part = |at| single(f32::from_le_bytes(take(half(at))));
            json!({"$complex": [part(0), part(4)]})
        }
        ScalarType::Complex128 => {
            let part = |at| float(f64::from_le_bytes(take(half(at))));
            json!({"$complex": [part(0), part(8)]})
        }
        ScalarType::Bool8 => json!(take::<1>(bytes) != [0]),
        ScalarType::Ascii(length) => {
            let bytes = bytes.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            json!(String::from_utf8_lossy(&bytes[..end]))
        }
        ScalarType::Ucs4(length) => {
            let bytes = bytes
                .get(..usize::try_from(length).unwrap_or(0).saturating_mul(4))
                .unwrap_or_default();
            let points = bytes.chunks_exact(4).map(|point| u32::from_le_bytes(take(point)));
            let text: String = points
                .map(|point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect();
            json!(text.trim_end_matches('\0'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::cell;

    fn scalar(scalar: ScalarType, bytes: &[u8]) -> Value {
        element(&Datatype::Scalar(scalar), bytes)
    }

    #[test]
    fn numbers_print_by_their_own_shortest_digits() {
        assert_eq!(scalar(ScalarType::Float32, &0.1f32.to_le_bytes()), json!(0.1));
        assert_eq!(scalar(ScalarType::Float16, &[0x00, 0x3e]), json!(1.5));
        assert_eq!(scalar(ScalarType::Float16, &[0x01, 0x00]), json!(2f64.powi(-24)));
        assert_eq!(scalar(ScalarType::Float64, &f64::NEG_INFINITY.to_le_bytes()), json!("-inf"));
        assert_eq!(scalar(ScalarType::Uint64, &u64::MAX.to_le_bytes()), json!(u64::MAX));
    }

    #[test]
    fn text_loses_trailing_nuls_only() {
        assert_eq!(scalar(ScalarType::Ascii(5), b"a\0b\0\0"), json!("a\0b"));
        assert_eq!(scalar(ScalarType::Ucs4(2), &[0xe9, 0, 0, 0, 0, 0, 0, 0]), json!("é"));
    }

    #[test]
    fn complex_is_a_pair_in_json_and_a_sum_in_text() {
        let bytes = [1f64.to_le_bytes(), (-2f64).to_le_bytes()].concat();
        let value = scalar(ScalarType::Complex128, &bytes);
        assert_eq!(value, json!({"$complex": [1.0, -2.0]}));
        assert_eq!(cell(&value), "1.0-2.0j");
    }
}
