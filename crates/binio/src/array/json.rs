//! Converting an element to JSON.
//!
//! | element | JSON |
//! |---|---|
//! | integer, boolean | number, boolean |
//! | float | number with the fewest digits that read back as the same value (for `f2`, as the same `f8`); `"nan"`, `"inf"`, `"-inf"` |
//! | complex | `{"$complex": [1.0, -2.0]}` |
//! | date | ISO 8601 string with the precision of its unit; number if it has no unit; `"NaT"` |
//! | time span | number of units; `"NaT"` |
//! | text | string without padding; invalid characters become U+FFFD |
//! | uninterpreted bytes, C's `long double` | `"0x01ab"` |
//! | record | object |
//! | field with a shape | nested lists |

use std::fmt::Write;

use serde_json::{Value, json};

use crate::array::date::iso_8601;
use crate::array::{Datatype, Number, ScalarKind, ScalarType};
use crate::number::decode;

/// Converts an element to JSON according to the [table](self), given its bytes in the byte order of
/// its type. A scalar whose bytes are incomplete is converted as if it had no bytes: text becomes
/// an empty string, a date or time span becomes `"NaT"`, and any other scalar, or each part of a
/// complex number, becomes `"0x"`.
///
/// ```
/// use binio::array::{Datatype, json};
///
/// let datatype = Datatype::parse("[('a', '|i1'), ('b', '>f4', (2,))]")?;
/// let bytes = [0xff, 0x3f, 0xc0, 0, 0, 0x7f, 0x80, 0, 0];
/// assert_eq!(json::element(&datatype, &bytes).to_string(), r#"{"a":-1,"b":[1.5,"inf"]}"#);
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
pub fn element(datatype: &Datatype, bytes: &[u8]) -> Value {
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

/// Converts elements to nested lists of the given shape, from contiguous bytes in C order.
///
/// ```
/// use binio::array::{Datatype, json};
///
/// let lists = json::nested(&Datatype::of::<u8>(), &[2, 2], &[1, 2, 3, 4]);
/// assert_eq!(lists.to_string(), "[[1,2],[3,4]]");
/// ```
pub fn nested(datatype: &Datatype, shape: &[u64], bytes: &[u8]) -> Value {
    let Some((&rows, inner)) = shape.split_first() else {
        return element(datatype, bytes);
    };
    let row = inner.iter().copied().fold(datatype.itemsize(), u64::saturating_mul);
    let part = |index: u64| {
        let start = usize::try_from(index.saturating_mul(row)).unwrap_or(usize::MAX);
        bytes.get(start..).unwrap_or_default()
    };
    (0..rows).map(|index| nested(datatype, inner, part(index))).collect()
}

fn scalar_value(scalar: ScalarType, bytes: &[u8]) -> Value {
    let size = usize::try_from(scalar.size()).unwrap_or(usize::MAX);
    let bytes = bytes.get(..size).unwrap_or_default();
    let number = scalar.decode(bytes);
    match scalar.kind() {
        ScalarKind::Timedelta(unit) | ScalarKind::Datetime(unit) => {
            let count = number.and_then(Number::to_int).and_then(|count| i64::try_from(count).ok());
            let is_date = matches!(scalar.kind(), ScalarKind::Datetime(_));
            match (count, unit.filter(|_| is_date)) {
                (Some(i64::MIN) | None, _) => json!("NaT"),
                (Some(count), Some(unit)) => iso_8601(count, unit.count, unit.unit)
                    .map_or_else(|| json!(count), Value::String),
                (Some(count), None) => json!(count),
            }
        }
        ScalarKind::Complex => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            json!({"$complex": [scalar_value(scalar.part(), re), scalar_value(scalar.part(), im)]})
        }
        ScalarKind::Bytes | ScalarKind::Utf8 => {
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            json!(String::from_utf8_lossy(&bytes[..end]))
        }
        ScalarKind::Utf16 => {
            let units = decode::<u16>(bytes, scalar.endian()).unwrap_or_default();
            json!(String::from_utf16_lossy(&units).trim_end_matches('\0'))
        }
        ScalarKind::Unicode => {
            let points = decode::<u32>(bytes, scalar.endian()).unwrap_or_default();
            let point = |&point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
            let text: String = points.iter().map(point).collect();
            json!(text.trim_end_matches('\0'))
        }
        _ => match number {
            Some(Number::Bool(truth)) => json!(truth),
            Some(Number::Int(value)) => i64::try_from(value)
                .map_or_else(|_| json!(u64::try_from(value).ok()), |value| json!(value)),
            Some(Number::Float(value)) if bytes.len() == 4 => single(value),
            Some(Number::Float(value)) => float(value),
            // The value of a C `long double` depends on the machine, so print its bytes.
            _ => hexadecimal(bytes),
        },
    }
}

/// Formats a float32 with the fewest digits that identify it among all float32 values: for example,
/// as 0.1 instead of 0.10000000149011612.
#[allow(clippy::cast_possible_truncation, reason = "the value was converted from float32")]
fn single(value: f64) -> Value {
    let digits = value.is_finite().then(|| (value as f32).to_string().parse().ok()).flatten();
    float(digits.unwrap_or(value))
}

fn float(value: f64) -> Value {
    match value {
        _ if value.is_finite() => json!(value),
        _ if value.is_nan() => json!("nan"),
        _ if value > 0.0 => json!("inf"),
        _ => json!("-inf"),
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
    use crate::Endian;

    fn of(datatype: &str, bytes: &[u8]) -> Value {
        element(&Datatype::parse(datatype).unwrap(), bytes)
    }

    #[test]
    fn numbers_are_read_in_their_stored_byte_order() {
        assert_eq!(of("<i2", &[0xfe, 0xff]), json!(-2));
        assert_eq!(of(">i2", &[0xff, 0xfe]), json!(-2));
        assert_eq!(of("<u8", &[0xff; 8]), json!(u64::MAX));
        assert_eq!(of("|i1", &[0x80]), json!(-128));
        assert_eq!(of("|b1", &[2]), json!(true));
    }

    #[test]
    fn floats_print_with_the_fewest_digits_or_as_text_if_not_finite() {
        assert_eq!(of(">f4", &0.1f32.to_be_bytes()), json!(0.1));
        assert_eq!(of("<f4", &f32::MAX.to_le_bytes()).to_string(), "3.4028235e+38");
        assert_eq!(of("<f2", &[0x00, 0x3e]), json!(1.5));
        assert_eq!(of("<f2", &[0x01, 0x00]), json!(2f64.powi(-24)));
        assert_eq!(of("<f2", &[0x00, 0xfc]), json!("-inf"));
        assert_eq!(of("<f8", &f64::NAN.to_le_bytes()), json!("nan"));
        assert_eq!(of("<f8", &f64::NEG_INFINITY.to_le_bytes()), json!("-inf"));
        let bytes = [1f32.to_be_bytes(), (-2f32).to_be_bytes()].concat();
        assert_eq!(of(">c8", &bytes), json!({"$complex": [1.0, -2.0]}));
        assert_eq!(of("<f16", &[0; 16]), json!(format!("0x{}", "0".repeat(32))));
    }

    #[test]
    fn text_prints_without_its_padding_and_uninterpreted_bytes_print_as_hexadecimal() {
        assert_eq!(of("|S4", b"a\0b\0"), json!("a\0b"));
        assert_eq!(of(">U2", &[0, 0, 0, 0xe9, 0, 0, 0, 0]), json!("é"));
        assert_eq!(of("<U1", &[0, 0xd8, 0, 0]), json!("\u{fffd}"));
        assert_eq!(of("|V2", &[1, 0xab]), json!("0x01ab"));
        let scalar = |kind, size, bytes: &[u8]| {
            let scalar = ScalarType::new(kind, size, Endian::Big).unwrap();
            element(&scalar.into(), bytes)
        };
        assert_eq!(scalar(ScalarKind::Utf8, 4, "é\0\0".as_bytes()), json!("é"));
        assert_eq!(scalar(ScalarKind::Utf16, 6, &[0xd8, 0x3d, 0xde, 0, 0, 0]), json!("😀"));
        let half_complex = [0x3c, 0, 0xc0, 0];
        assert_eq!(scalar(ScalarKind::Complex, 4, &half_complex), json!({"$complex": [1.0, -2.0]}));
    }

    #[test]
    fn dates_print_as_iso_8601_and_time_spans_as_numbers() {
        assert_eq!(of("<M8[ns]", &1_i64.to_le_bytes()), json!("1970-01-01T00:00:00.000000001"));
        assert_eq!(of("<M8[D]", &i64::MIN.to_le_bytes()), json!("NaT"));
        assert_eq!(of("<M8", &5_i64.to_le_bytes()), json!(5));
        assert_eq!(of(">m8[25s]", &(-3_i64).to_be_bytes()), json!(-3));
    }

    #[test]
    fn records_print_as_objects() {
        let datatype = "[('a', '|i1'), ('', '|V1'), ('b', '>i2', (2,))]";
        assert_eq!(of(datatype, &[1, 9, 0, 2, 0, 3]), json!({"a": 1, "b": [2, 3]}));
        assert_eq!(of("[('a', '<i4', (2, 0))]", &[]), json!({"a": [[], []]}));
    }

    #[test]
    fn missing_bytes_are_not_replaced_with_made_up_values() {
        for (datatype, expected) in [
            ("<i4", json!("0x")),
            ("<f8", json!("0x")),
            ("<c16", json!({"$complex": ["0x", "0x"]})),
            ("<M8[s]", json!("NaT")),
            ("|S3", json!("")),
            ("<U1", json!("")),
            ("[('a', '<i4', (2,))]", json!({"a": ["0x", "0x"]})),
        ] {
            assert_eq!(of(datatype, &[]), expected, "{datatype}");
            assert_eq!(of(datatype, &[1]), expected, "{datatype}");
        }
    }
}
