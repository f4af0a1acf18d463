//! The type of array elements.

use std::fmt;

use crate::Endian;
use crate::array::{Element, Record, ScalarType};

/// The type of an array element: a scalar, or a record of named fields.
///
/// | numpy | bytes | meaning |
/// |---|---|---|
/// | `\|b1` | 1 | boolean; zero is false |
/// | `\|i1 <i2 <i4 <i8`, `\|u1 <u2 <u4 <u8` | 1 2 4 8 | signed or unsigned integer |
/// | `<f2 <f4 <f8 <f16` | 2 4 8 16 | IEEE 754; `f16` is a C `long double` in 16 bytes |
/// | `<c8 <c16 <c32` | 8 16 32 | complex number: two floats of half the size |
/// | `<M8[ns]`, `<m8[25s]`, `<m8` | 8 | date or time span, as a number of units |
/// | `\|S5`, `<U5`, `\|V5` | 5, 20, 5 | bytes, four-byte characters, uninterpreted bytes |
/// | `[('a', '<i4'), (('title', 'b'), '<f8', (2, 3))]` | 52 | fields, which may have shapes |
///
/// `<` is little-endian, `>` is big-endian, and `|` means no byte order. Each scalar has its own
/// byte order, even inside records. In addition to numpy's types, there are complex numbers of two
/// `f2`, and text in UTF-8 and UTF-16: see [`ScalarKind`](crate::array::ScalarKind).
///
/// ```
/// use binio::array::Datatype;
///
/// let datatype = Datatype::parse("[('a', '|i1'), ('', '|V3'), ('b', '>f4', (2,))]")?;
/// assert_eq!(datatype.itemsize(), 12);
/// let b = datatype.as_record().and_then(|record| record.field("b")).unwrap();
/// assert_eq!((b.offset(), b.shape(), b.datatype().to_string().as_str()), (4, &[2][..], ">f4"));
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// A number, text, or uninterpreted bytes.
    Scalar(ScalarType),
    /// Named fields.
    Record(Record),
}

/// The byte order in which numbers are read or written.
///
/// ```
/// use binio::{Bytes, Limits};
/// use binio::array::{Array, ByteOrder, Datatype, Order, Strided};
///
/// let layout = Strided::packed(vec![2], Order::C, 0, 2, 4)?;
/// let data = Bytes::from_static(&[0, 1, 0, 2]);
/// let array = Array::new(data, Datatype::parse(">u2")?, layout, Limits::default())?;
/// assert_eq!(array.read_bytes(Order::C, ByteOrder::Stored)?, [0, 1, 0, 2]);
/// assert_eq!(array.read_bytes(Order::C, ByteOrder::Little)?, [1, 0, 2, 0]);
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// The byte order of this machine.
    #[default]
    Native,
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
    /// The stored byte order: bytes are not changed.
    Stored,
}

impl ByteOrder {
    /// Returns the byte order to convert to, or `None` to leave the bytes as stored.
    pub(crate) fn target(self) -> Option<Endian> {
        match self {
            Self::Native => Some(Endian::NATIVE),
            Self::Little => Some(Endian::Little),
            Self::Big => Some(Endian::Big),
            Self::Stored => None,
        }
    }
}

impl Datatype {
    /// Returns the datatype that corresponds to a Rust type, in the byte order of this machine.
    ///
    /// ```
    /// assert_eq!(binio::array::Datatype::of::<u8>().to_string(), "|u1");
    /// ```
    pub fn of<T: Element>() -> Self {
        Self::Scalar(ScalarType::of::<T>())
    }

    /// Returns the size of one element in bytes.
    pub fn itemsize(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => scalar.size(),
            Self::Record(record) => record.itemsize(),
        }
    }

    /// Returns the scalar type, or `None` for a record.
    pub fn as_scalar(&self) -> Option<ScalarType> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            Self::Record(_) => None,
        }
    }

    /// Returns the record type, or `None` for a scalar type.
    pub fn as_record(&self) -> Option<&Record> {
        match self {
            Self::Scalar(_) => None,
            Self::Record(record) => Some(record),
        }
    }

    /// Returns this type with all its numbers in the given byte order. This is the type of the
    /// elements after they have been read in that byte order.
    #[must_use]
    pub fn with_byte_order(&self, order: ByteOrder) -> Self {
        let Some(endian) = order.target() else { return self.clone() };
        match self {
            Self::Scalar(scalar) => Self::Scalar(scalar.with_endian(endian)),
            Self::Record(record) => Self::Record(record.with_byte_order(order)),
        }
    }

    /// Returns the alignment in bytes that C and numpy use: for a scalar, the size of its
    /// components, such as the parts of a complex number; for a record, the largest alignment of
    /// its fields.
    pub(crate) fn alignment(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => scalar.component_width() as u64,
            Self::Record(record) => {
                record.fields().iter().map(|field| field.datatype().alignment()).max().unwrap_or(1)
            }
        }
    }

    /// Returns the nesting depth of records, which is 0 for a scalar.
    pub(crate) fn depth(&self) -> u32 {
        self.as_record().map_or(0, Record::depth)
    }
}

impl fmt::Display for Datatype {
    /// Writes the type string of a scalar, or the [literal](Datatype::descr) of a record.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => scalar.fmt(f),
            Self::Record(record) => record.to_literal().fmt(f),
        }
    }
}

impl From<ScalarType> for Datatype {
    fn from(scalar: ScalarType) -> Self {
        Self::Scalar(scalar)
    }
}

impl From<Record> for Datatype {
    fn from(record: Record) -> Self {
        Self::Record(record)
    }
}
