//! The names of datatypes in the tree.
//!
//! | datatype | bytes | numpy | note |
//! |---|---|---|---|
//! | `int8` `int16` `int32` `int64` | 1 2 4 8 | `\|i1 <i2 <i4 <i8` | two's complement |
//! | `uint8` `uint16` `uint32` `uint64` | 1 2 4 8 | `\|u1 <u2 <u4 <u8` | |
//! | `float16` `float32` `float64` | 2 4 8 | `<f2 <f4 <f8` | IEEE 754 |
//! | `complex64` `complex128` | 8 16 | `<c8 <c16` | real, then imaginary part; byte order applies to each |
//! | `bool8` | 1 | `\|b1` | zero is false, anything else is true |
//! | `[ascii, n]` | n | `\|Sn` | padded with NUL |
//! | `[ucs4, n]` | 4 n | `<Un` | n code points, padded with NUL |
//! | a list of fields | their sum | `[["a", "<i4"], ..]` | packed: neither alignment nor gaps |

use std::fmt::Write as _;

use binio::Endian;
use binio::array::{Datatype, ScalarKind, ScalarType};

const NUMERIC: [(&str, ScalarKind, u64); 14] = [
    ("int8", ScalarKind::Int, 1),
    ("int16", ScalarKind::Int, 2),
    ("int32", ScalarKind::Int, 4),
    ("int64", ScalarKind::Int, 8),
    ("uint8", ScalarKind::Uint, 1),
    ("uint16", ScalarKind::Uint, 2),
    ("uint32", ScalarKind::Uint, 4),
    ("uint64", ScalarKind::Uint, 8),
    ("float16", ScalarKind::Float, 2),
    ("float32", ScalarKind::Float, 4),
    ("float64", ScalarKind::Float, 8),
    ("complex64", ScalarKind::Complex, 8),
    ("complex128", ScalarKind::Complex, 16),
    ("bool8", ScalarKind::Bool, 1),
];

/// Returns the numeric type with this name in the tree. Text types have no such name, because they
/// need a length.
pub(crate) fn from_name(name: &str, endian: Endian) -> Option<ScalarType> {
    let (_, kind, size) = NUMERIC.iter().find(|(known, ..)| *known == name)?;
    ScalarType::new(*kind, *size, endian).ok()
}

/// Returns the type `[ascii, n]` or `[ucs4, n]`, or `None` if it would have 2^63 bytes or more.
pub(crate) fn text(kind: ScalarKind, length: u64, endian: Endian) -> Option<ScalarType> {
    let width = if kind == ScalarKind::Unicode { 4 } else { 1 };
    ScalarType::new(kind, length.checked_mul(width)?, endian).ok()
}

/// Returns the name of a datatype in the notation of the tree: `float64`, `[ascii, 5]`, `[{name: a, datatype:
/// int32, byteorder: big}]`. Types that ASDF lacks are written as in numpy.
///
/// ```
/// use asdf::ndarray::{Datatype, datatype_name};
///
/// assert_eq!(datatype_name(&Datatype::parse(">f8")?), "float64");
/// assert_eq!(datatype_name(&Datatype::parse("<U5")?), "[ucs4, 5]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn datatype_name(datatype: &Datatype) -> String {
    let record = match datatype {
        Datatype::Scalar(scalar) => return scalar_name(*scalar),
        Datatype::Record(record) => record,
    };
    let mut out = String::from("[");
    for (i, field) in record.fields().iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        // Writing to a string cannot fail.
        let name = datatype_name(field.datatype());
        let _ = write!(out, "{comma}{{name: {}, datatype: {name}", field.name());
        if let Some(scalar) = field.datatype().as_scalar().filter(|s| s.component_width() > 1) {
            let order = if scalar.endian() == Endian::Big { "big" } else { "little" };
            let _ = write!(out, ", byteorder: {order}");
        }
        if !field.shape().is_empty() {
            let _ = write!(out, ", shape: {:?}", field.shape());
        }
        out.push('}');
    }
    out + "]"
}

pub(crate) fn scalar_name(scalar: ScalarType) -> String {
    match scalar.kind() {
        ScalarKind::Bytes => format!("[ascii, {}]", scalar.size()),
        ScalarKind::Unicode => format!("[ucs4, {}]", scalar.size() / 4),
        kind => {
            let row = NUMERIC.iter().find(|(_, k, size)| (*k, *size) == (kind, scalar.size()));
            row.map_or_else(|| scalar.to_string(), |(name, ..)| (*name).to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use binio::array::{Field, Record};

    use super::*;

    #[test]
    fn datatype_names_round_trip() {
        for (name, kind, size) in NUMERIC {
            let scalar = from_name(name, Endian::Big).unwrap();
            assert_eq!((scalar.kind(), scalar.size()), (kind, size));
            assert_eq!(scalar_name(scalar), name);
        }
        assert_eq!(from_name("ascii", Endian::Big), None);
        assert_eq!(from_name("float128", Endian::Big), None);
        assert_eq!(scalar_name(text(ScalarKind::Unicode, 3, Endian::Big).unwrap()), "[ucs4, 3]");
        assert_eq!(text(ScalarKind::Unicode, 1 << 62, Endian::Big), None);
    }

    #[test]
    fn the_name_of_a_record_type_is_its_notation_in_the_tree() {
        let a = from_name("int32", Endian::Big).unwrap();
        let fields = vec![
            Field::new("a", a),
            Field::new("b", from_name("int8", Endian::Big).unwrap()).with_shape(vec![2, 3]),
        ];
        assert_eq!(
            datatype_name(&Record::packed(fields).unwrap().into()),
            "[{name: a, datatype: int32, byteorder: big}, {name: b, datatype: int8, shape: [2, 3]}]"
        );
    }
}
