//! What one element of an array is.

use std::fmt;

use crate::Endian;
use crate::array::{Element, Record, ScalarType};

/// What one element of an array is: a scalar, or a record of named fields.
///
/// | numpy | bytes | is |
/// |---|---|---|
/// | `\|b1` | 1 | boolean; zero is false |
/// | `\|i1 <i2 <i4 <i8`, `\|u1 <u2 <u4 <u8` | 1 2 4 8 | integer, signed or not |
/// | `<f2 <f4 <f8 <f16` | 2 4 8 16 | IEEE 754; 16 is C's `long double` in 16 bytes |
/// | `<c8 <c16 <c32` | 8 16 32 | complex: two of half the size |
/// | `<M8[ns]`, `<m8[25s]`, `<m8` | 8 | date, time span, in so many units |
/// | `\|S5`, `<U5`, `\|V5` | 5, 20, 5 | bytes, characters of four bytes, anything |
/// | `[('a', '<i4'), (('title', 'b'), '<f8', (2, 3))]` | 52 | fields, each perhaps with a shape |
///
/// `<` is little-endian, `>` big-endian, `|` neither. Each scalar has its own byte order, those in
/// records too. Beyond numpy there are complex numbers of two `f2`, and text in UTF-8 and UTF-16:
/// see [`ScalarKind`](crate::array::ScalarKind).
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
    /// A number, a text, or bytes of which nothing is known.
    Scalar(ScalarType),
    /// Named fields.
    Record(Record),
}

/// The byte order that numbers are wanted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// That of this machine.
    #[default]
    Native,
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
    /// As stored: nothing changes.
    Stored,
}

impl ByteOrder {
    /// The order to convert to; `None` to leave all as stored.
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
    /// The type of a Rust type, in the byte order of this machine.
    ///
    /// ```
    /// assert_eq!(binio::array::Datatype::of::<u8>().to_string(), "|u1");
    /// ```
    pub fn of<T: Element>() -> Self {
        Self::Scalar(ScalarType::of::<T>())
    }

    /// Bytes of one element.
    pub fn itemsize(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => scalar.size(),
            Self::Record(record) => record.itemsize(),
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

    /// The same type in another byte order: what elements are after a read in that order.
    #[must_use]
    pub fn with_byte_order(&self, order: ByteOrder) -> Self {
        let Some(endian) = order.target() else { return self.clone() };
        match self {
            Self::Scalar(scalar) => Self::Scalar(scalar.with_endian(endian)),
            Self::Record(record) => Self::Record(record.with_byte_order(order)),
        }
    }

    /// What C and numpy align it to: a number to its size, a record to what its fields need.
    pub(crate) fn alignment(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => scalar.component_width() as u64,
            Self::Record(record) => {
                record.fields().iter().map(|field| field.datatype().alignment()).max().unwrap_or(1)
            }
        }
    }

    /// How deep records nest: 0 for a scalar.
    pub(crate) fn depth(&self) -> u32 {
        self.as_record().map_or(0, Record::depth)
    }
}

impl fmt::Display for Datatype {
    /// The type string of a scalar, else the [literal](Datatype::descr).
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
