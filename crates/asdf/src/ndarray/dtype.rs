//! Datatypes: what one element of an array is, and how many bytes it takes.
//!
//! | datatype | bytes | numpy | note |
//! |---|---|---|---|
//! | `int8` `int16` `int32` `int64` | 1 2 4 8 | `\|i1 <i2 <i4 <i8` | two's complement |
//! | `uint8` `uint16` `uint32` `uint64` | 1 2 4 8 | `\|u1 <u2 <u4 <u8` | |
//! | `float16` `float32` `float64` | 2 4 8 | `<f2 <f4 <f8` | IEEE 754 |
//! | `complex64` `complex128` | 8 16 | `<c8 <c16` | real, then imaginary part, each swapped alone |
//! | `bool8` | 1 | `\|b1` | zero is false, all else true |
//! | `[ascii, n]` | n | `\|Sn` | padded with NUL |
//! | `[ucs4, n]` | 4 n | `<Un` | n code points, padded with NUL |
//! | a list of fields | their sum | `[["a", "<i4"], ..]` | packed: no alignment, no gaps |
//!
//! The byte order is no part of a scalar's type: an array has one, and each field of a record has
//! its own. A [`Datatype`] holds the byte orders of its fields, already resolved, and is given that
//! of the array where it needs one.

use std::fmt;

use binio::Endian;

use crate::error::ArrayError;

/// How deep records may nest.
pub const MAX_RECORD_DEPTH: usize = 64;

/// The most dimensions that an array or a field may have.
pub const MAX_DIMENSIONS: usize = 64;

/// What one element of an array is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// A number, a truth value or a string of fixed length.
    Scalar(ScalarType),
    /// Several named fields.
    Record(Record),
}

/// The types that are no records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// Signed, one byte.
    Int8,
    /// Signed, two bytes.
    Int16,
    /// Signed, four bytes.
    Int32,
    /// Signed, eight bytes.
    Int64,
    /// Unsigned, one byte.
    Uint8,
    /// Unsigned, two bytes.
    Uint16,
    /// Unsigned, four bytes.
    Uint32,
    /// Unsigned, eight bytes.
    Uint64,
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
    /// Two binary32.
    Complex64,
    /// Two binary64.
    Complex128,
    /// One byte: zero is false.
    Bool8,
    /// Text of so many bytes.
    Ascii(u64),
    /// Text of so many code points of four bytes.
    Ucs4(u64),
}

/// Name in the tree, size in bytes, size of the parts that a byte order applies to, numpy's kind.
struct Numeric {
    scalar: ScalarType,
    name: &'static str,
    size: u64,
    width: usize,
    kind: char,
}

const fn numeric(
    scalar: ScalarType,
    name: &'static str,
    size: u64,
    width: usize,
    kind: char,
) -> Numeric {
    Numeric { scalar, name, size, width, kind }
}

const NUMERIC: [Numeric; 14] = [
    numeric(ScalarType::Int8, "int8", 1, 1, 'i'),
    numeric(ScalarType::Int16, "int16", 2, 2, 'i'),
    numeric(ScalarType::Int32, "int32", 4, 4, 'i'),
    numeric(ScalarType::Int64, "int64", 8, 8, 'i'),
    numeric(ScalarType::Uint8, "uint8", 1, 1, 'u'),
    numeric(ScalarType::Uint16, "uint16", 2, 2, 'u'),
    numeric(ScalarType::Uint32, "uint32", 4, 4, 'u'),
    numeric(ScalarType::Uint64, "uint64", 8, 8, 'u'),
    numeric(ScalarType::Float16, "float16", 2, 2, 'f'),
    numeric(ScalarType::Float32, "float32", 4, 4, 'f'),
    numeric(ScalarType::Float64, "float64", 8, 8, 'f'),
    numeric(ScalarType::Complex64, "complex64", 8, 4, 'c'),
    numeric(ScalarType::Complex128, "complex128", 16, 8, 'c'),
    numeric(ScalarType::Bool8, "bool8", 1, 1, 'b'),
];

impl ScalarType {
    fn numeric(self) -> Option<&'static Numeric> {
        NUMERIC.iter().find(|row| row.scalar == self)
    }

    /// The type of a name in the tree. The strings have no name of their own: they need a length.
    ///
    /// ```
    /// use asdf::ndarray::ScalarType;
    /// assert_eq!(ScalarType::from_name("float64"), Some(ScalarType::Float64));
    /// assert_eq!(ScalarType::from_name("ascii"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        NUMERIC.iter().find(|row| row.name == name).map(|row| row.scalar)
    }

    /// The name in the tree; `ascii` and `ucs4` go with a length.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ascii(_) => "ascii",
            Self::Ucs4(_) => "ucs4",
            _ => self.numeric().map_or("", |row| row.name),
        }
    }

    /// Bytes of one element.
    pub fn size(self) -> u64 {
        match self {
            Self::Ascii(length) => length,
            Self::Ucs4(length) => length.saturating_mul(4),
            _ => self.numeric().map_or(0, |row| row.size),
        }
    }

    /// Bytes of the parts that a byte order applies to: 4 for the halves of a `complex64` and for
    /// the characters of `ucs4`, 1 where the order does not matter.
    pub fn component_width(self) -> usize {
        match self {
            Self::Ascii(_) => 1,
            Self::Ucs4(_) => 4,
            _ => self.numeric().map_or(1, |row| row.width),
        }
    }

    /// Whether this is `[ascii, n]` or `[ucs4, n]`.
    pub fn is_string(self) -> bool {
        matches!(self, Self::Ascii(_) | Self::Ucs4(_))
    }

    /// numpy's type string, without quotes: `<f8`, `|u1`, `|S5`, `>U3`.
    ///
    /// ```
    /// use asdf::ndarray::ScalarType;
    /// use binio::Endian;
    /// assert_eq!(ScalarType::Ucs4(3).typestr(Endian::Little), "<U3");
    /// assert_eq!(ScalarType::Bool8.typestr(Endian::Big), "|b1");
    /// ```
    pub fn typestr(self, byteorder: Endian) -> String {
        let order = match byteorder {
            _ if self.component_width() == 1 => '|',
            Endian::Little => '<',
            Endian::Big => '>',
        };
        match self {
            Self::Ascii(length) => format!("|S{length}"),
            Self::Ucs4(length) => format!("{order}U{length}"),
            _ => self
                .numeric()
                .map_or_else(String::new, |row| format!("{order}{}{}", row.kind, row.size)),
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii(length) | Self::Ucs4(length) => write!(f, "[{}, {length}]", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

/// A packed row of named fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    fields: Vec<Field>,
    size: u64,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    datatype: Datatype,
    byteorder: Endian,
    shape: Vec<u64>,
    offset: u64,
}

impl Record {
    /// A record of these fields, one after the other without gaps. Two fields of one name, or a
    /// size that no 63-bit integer holds, are errors.
    pub fn packed(mut fields: Vec<Field>) -> Result<Self, ArrayError> {
        let mut names = std::collections::HashSet::with_capacity(fields.len());
        let mut size = 0_u64;
        for field in &fields {
            if !names.insert(field.name.as_str()) {
                return Err(invalid(format!("two fields are named {:?}", field.name)));
            }
        }
        for field in &mut fields {
            field.offset = size;
            size = size
                .checked_add(field.size()?)
                .filter(|&size| i64::try_from(size).is_ok())
                .ok_or_else(|| too_large(&field.name))?;
        }
        let record = Self { fields, size };
        if record.depth() > MAX_RECORD_DEPTH {
            return Err(invalid(format!("records nest deeper than {MAX_RECORD_DEPTH}")));
        }
        Ok(record)
    }

    /// The fields in the order of their bytes.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Bytes of one record.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How deep records nest: 1 when no field is a record. Stops counting above the limit.
    fn depth(&self) -> usize {
        let inner = self.fields.iter().map(|field| match &field.datatype {
            Datatype::Scalar(_) => 0,
            // Built by `packed` itself, so no deeper than the limit: this cannot run away.
            Datatype::Record(record) => record.depth(),
        });
        1 + inner.max().unwrap_or(0)
    }
}

impl Field {
    /// A field; its place in the record is set by [`Record::packed`]. An empty shape is one
    /// element.
    pub fn new(
        name: impl Into<String>,
        datatype: Datatype,
        byteorder: Endian,
        shape: Vec<u64>,
    ) -> Self {
        Self { name: name.into(), datatype, byteorder, shape, offset: 0 }
    }

    /// Its name; unnamed fields of a file are `f0`, `f1` and so on by their place.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What one element of the field is.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// The byte order of the field, of its own or that of what encloses it.
    pub fn byteorder(&self) -> Endian {
        self.byteorder
    }

    /// The shape of the field; empty for a single element.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Where the field begins, in bytes from the start of the record.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the field with all its elements.
    fn size(&self) -> Result<u64, ArrayError> {
        if self.shape.len() > MAX_DIMENSIONS {
            return Err(invalid(format!(
                "field {:?} has {} dimensions, the limit is {MAX_DIMENSIONS}",
                self.name,
                self.shape.len()
            )));
        }
        if self.shape.contains(&0) {
            return Ok(0);
        }
        self.shape
            .iter()
            .try_fold(self.datatype.size(), |size, &count| size.checked_mul(count))
            .filter(|&size| i64::try_from(size).is_ok())
            .ok_or_else(|| too_large(&self.name))
    }
}

fn invalid(message: String) -> ArrayError {
    ArrayError::Invalid { key: "datatype", message }
}

fn too_large(field: &str) -> ArrayError {
    invalid(format!("the record is larger than 2^63 bytes at field {field:?}"))
}

impl Datatype {
    /// Bytes of one element.
    pub fn size(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => scalar.size(),
            Self::Record(record) => record.size(),
        }
    }

    /// The scalar type, `None` for a record.
    pub fn as_scalar(&self) -> Option<ScalarType> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            Self::Record(_) => None,
        }
    }

    /// The record, `None` for a scalar type.
    pub fn as_record(&self) -> Option<&Record> {
        match self {
            Self::Scalar(_) => None,
            Self::Record(record) => Some(record),
        }
    }

    /// numpy's description as JSON: `"<f8"`, or for a record
    /// `[["a", ">i4"], ["c", "<f8", [2, 2]]]`.
    pub fn descr_json(&self, byteorder: Endian) -> String {
        let mut out = String::new();
        self.write_descr(&mut out, byteorder, &JSON);
        out
    }

    /// numpy's description as a Python literal, as `.npy` headers hold it: `'<f8'`, or for a
    /// record `[('a', '>i4'), ('c', '<f8', (2, 2))]`.
    pub fn descr_python(&self, byteorder: Endian) -> String {
        let mut out = String::new();
        self.write_descr(&mut out, byteorder, &PYTHON);
        out
    }

    fn write_descr(&self, out: &mut String, byteorder: Endian, dialect: &Dialect) {
        let record = match self {
            Self::Scalar(scalar) => {
                return (dialect.string)(out, &scalar.typestr(byteorder));
            }
            Self::Record(record) => record,
        };
        out.push('[');
        for (i, field) in record.fields.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            out.push(dialect.open);
            (dialect.string)(out, &field.name);
            out.push_str(", ");
            field.datatype.write_descr(out, field.byteorder, dialect);
            if !field.shape.is_empty() {
                out.push_str(", ");
                write_tuple(out, &field.shape, dialect);
            }
            out.push(dialect.close);
        }
        out.push(']');
    }
}

/// How lists and strings are spelled.
struct Dialect {
    open: char,
    close: char,
    /// A tuple of one number needs a comma.
    lone_comma: bool,
    string: fn(&mut String, &str),
}

const JSON: Dialect = Dialect { open: '[', close: ']', lone_comma: false, string: json_string };
const PYTHON: Dialect = Dialect { open: '(', close: ')', lone_comma: true, string: python_string };

fn write_tuple(out: &mut String, numbers: &[u64], dialect: &Dialect) {
    out.push(dialect.open);
    for (i, number) in numbers.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&number.to_string());
    }
    if numbers.len() == 1 && dialect.lone_comma {
        out.push(',');
    }
    out.push(dialect.close);
}

fn json_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// A Python string literal; what is not printable ASCII is kept, but for controls.
fn python_string(out: &mut String, text: &str) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            c if c.is_control() => out.extend(format!("\\x{:02x}", u32::from(c)).chars()),
            c => out.push(c),
        }
    }
    out.push('\'');
}

impl fmt::Display for Datatype {
    /// As in the tree: `float64`, `[ascii, 5]`, `[{name: a, datatype: int32, byteorder: big}]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = match self {
            Self::Scalar(scalar) => return scalar.fmt(f),
            Self::Record(record) => record,
        };
        f.write_str("[")?;
        for (i, field) in record.fields.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let order = match field.byteorder {
                Endian::Little => "little",
                Endian::Big => "big",
            };
            write!(
                f,
                "{comma}{{name: {}, datatype: {}, byteorder: {order}",
                field.name, field.datatype
            )?;
            if !field.shape.is_empty() {
                write!(f, ", shape: {:?}", field.shape)?;
            }
            f.write_str("}")?;
        }
        f.write_str("]")
    }
}

impl From<ScalarType> for Datatype {
    fn from(scalar: ScalarType) -> Self {
        Self::Scalar(scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int32() -> Datatype {
        ScalarType::Int32.into()
    }

    fn record(fields: Vec<Field>) -> Datatype {
        Datatype::Record(Record::packed(fields).unwrap())
    }

    #[test]
    fn sizes_are_those_of_the_standard() {
        let sizes: Vec<u64> = NUMERIC.iter().map(|row| row.scalar.size()).collect();
        assert_eq!(sizes, [1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16, 1]);
        assert_eq!(ScalarType::Ascii(5).size(), 5);
        assert_eq!(ScalarType::Ucs4(5).size(), 20);
        assert_eq!(ScalarType::Ucs4(u64::MAX).size(), u64::MAX);
    }

    #[test]
    fn byte_order_applies_to_complex_halves_and_characters() {
        assert_eq!(ScalarType::Complex64.component_width(), 4);
        assert_eq!(ScalarType::Complex128.component_width(), 8);
        assert_eq!(ScalarType::Ucs4(7).component_width(), 4);
        assert_eq!(ScalarType::Ascii(8).component_width(), 1);
    }

    #[test]
    fn records_are_packed() {
        let datatype = record(vec![
            Field::new("a", ScalarType::Uint8.into(), Endian::Little, vec![]),
            Field::new("b", ScalarType::Float64.into(), Endian::Big, vec![2, 3]),
            Field::new("c", ScalarType::Ascii(3).into(), Endian::Big, vec![]),
        ]);
        let record = datatype.as_record().unwrap();
        let offsets: Vec<u64> = record.fields().iter().map(Field::offset).collect();
        assert_eq!(offsets, [0, 1, 49]);
        assert_eq!(datatype.size(), 52);
        assert_eq!(record.field("c").unwrap().offset(), 49);
        assert!(record.field("d").is_none());
    }

    #[test]
    fn two_fields_of_one_name_are_an_error() {
        let fields = vec![
            Field::new("a", int32(), Endian::Little, vec![]),
            Field::new("a", int32(), Endian::Little, vec![]),
        ];
        assert!(Record::packed(fields).unwrap_err().to_string().contains("two fields"));
    }

    #[test]
    fn record_sizes_beyond_63_bits_are_errors() {
        let field = |shape| vec![Field::new("a", int32(), Endian::Little, shape)];
        assert!(Record::packed(field(vec![1 << 61])).is_err());
        assert!(Record::packed(field(vec![1 << 32, 1 << 32])).is_err());
        assert_eq!(Record::packed(field(vec![u64::MAX, 0])).unwrap().size(), 0);
        let huge = Field::new("a", ScalarType::Ascii(u64::MAX).into(), Endian::Little, vec![]);
        assert!(Record::packed(vec![huge]).is_err());
    }

    #[test]
    fn records_nest_to_the_limit_and_no_deeper() {
        let mut datatype = int32();
        for _ in 0..MAX_RECORD_DEPTH {
            datatype = record(vec![Field::new("x", datatype, Endian::Little, vec![])]);
        }
        let deeper = vec![Field::new("x", datatype, Endian::Little, vec![])];
        assert!(Record::packed(deeper).is_err());
    }

    #[test]
    fn descr_is_that_of_numpy() {
        assert_eq!(int32().descr_json(Endian::Big), "\">i4\"");
        assert_eq!(int32().descr_python(Endian::Big), "'>i4'");
        assert_eq!(Datatype::from(ScalarType::Float16).descr_json(Endian::Little), "\"<f2\"");
        let inner = record(vec![Field::new("x", int32(), Endian::Little, vec![])]);
        let datatype = record(vec![
            Field::new("a", int32(), Endian::Big, vec![]),
            Field::new("c", ScalarType::Float64.into(), Endian::Little, vec![2, 2]),
            Field::new("it's", ScalarType::Ascii(5).into(), Endian::Little, vec![1]),
            Field::new("r", inner, Endian::Big, vec![]),
        ]);
        assert_eq!(
            datatype.descr_json(Endian::Little),
            r#"[["a", ">i4"], ["c", "<f8", [2, 2]], ["it's", "|S5", [1]], ["r", [["x", "<i4"]]]]"#
        );
        assert_eq!(
            datatype.descr_python(Endian::Little),
            r"[('a', '>i4'), ('c', '<f8', (2, 2)), ('it\'s', '|S5', (1,)), ('r', [('x', '<i4')])]"
        );
    }

    #[test]
    fn display_is_the_spelling_of_the_tree() {
        assert_eq!(Datatype::from(ScalarType::Ucs4(2)).to_string(), "[ucs4, 2]");
        let datatype = record(vec![Field::new("k", int32(), Endian::Big, vec![2])]);
        assert_eq!(
            datatype.to_string(),
            "[{name: k, datatype: int32, byteorder: big, shape: [2]}]"
        );
    }
}
