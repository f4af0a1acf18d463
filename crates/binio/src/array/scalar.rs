//! Scalar types: numbers, dates, text and bytes.

use std::fmt;

use crate::Endian;
use crate::array::descr::{MAX_ITEMSIZE, shortened};
use crate::array::{Element, ElementsError};
use crate::diagnostic::count;
use crate::error::elements::datatype as invalid;

/// A type without fields: a kind, a size in bytes and a byte order.
///
/// ```
/// use binio::Endian;
/// use binio::array::{ScalarKind, ScalarType};
///
/// let double = ScalarType::new(ScalarKind::Float, 8, Endian::Big)?;
/// assert_eq!(double.to_string(), ">f8");
/// assert_eq!(ScalarType::parse("<U5")?.size(), 20);
/// assert!(ScalarType::new(ScalarKind::Float, 3, Endian::Big).is_err());
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScalarType {
    kind: ScalarKind,
    size: u64,
    endian: Endian,
}

/// The kind of a scalar. Together with a size and a byte order, it forms a [`ScalarType`].
///
/// ```
/// use binio::Endian;
/// use binio::array::{ScalarKind, ScalarType};
///
/// let scalar = ScalarType::parse(">i2")?;
/// assert_eq!(scalar.kind(), ScalarKind::Int);
/// // A type that numpy does not have.
/// let text = ScalarType::new(ScalarKind::Utf8, 5, Endian::Little)?;
/// assert_eq!((text.to_string(), text.typestr()), ("utf8[5]".to_owned(), "|S5".to_owned()));
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScalarKind {
    /// `b`: a boolean; 0 is false. 1 byte.
    Bool,
    /// `i`: a signed integer in two's complement. 1, 2, 4 or 8 bytes.
    Int,
    /// `u`: an unsigned integer. 1, 2, 4 or 8 bytes.
    Uint,
    /// `f`: an IEEE 754 number of 2, 4 or 8 bytes, or a C `long double` of 16 bytes, which can only
    /// be read as bytes.
    Float,
    /// `c`: a complex number, with the real part first. 4 (two `f2`), 8, 16 or 32 bytes.
    Complex,
    /// `m`: a time span as an `i64` number of units, or a plain number if there is no unit.
    Timedelta(Option<TimeUnit>),
    /// `M`: a date as an `i64` number of units since 1970.
    Datetime(Option<TimeUnit>),
    /// `S`: bytes, padded with NUL.
    Bytes,
    /// UTF-8, padded with NUL. numpy has no such type and treats it as bytes, `S`.
    Utf8,
    /// UTF-16, padded with NUL. numpy has no such type and treats it as uninterpreted bytes, `V`.
    Utf16,
    /// `U`: four-byte code points, padded with NUL.
    Unicode,
    /// `V`: uninterpreted bytes.
    Void,
}

/// The unit of dates and time spans. For example, `[25s]` is 25 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    /// The number of base units that make up one unit.
    pub count: u32,
    /// The base unit, one of `Y M W D h m s ms us ns ps fs as`.
    pub unit: &'static str,
}

const TIME_UNITS: [&str; 13] =
    ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

impl ScalarType {
    /// Creates a type from a kind, a size in bytes and a byte order. For a type without a byte
    /// order, the byte order becomes little-endian.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Datatype`] if the kind does not exist in this size, or if the
    /// size is 2^63 bytes or more.
    pub fn new(kind: ScalarKind, size: u64, endian: Endian) -> Result<Self, ElementsError> {
        let is_valid = match kind {
            ScalarKind::Bool => size == 1,
            ScalarKind::Int | ScalarKind::Uint => matches!(size, 1 | 2 | 4 | 8),
            ScalarKind::Float => matches!(size, 2 | 4 | 8 | 16),
            ScalarKind::Complex => matches!(size, 4 | 8 | 16 | 32),
            ScalarKind::Timedelta(_) | ScalarKind::Datetime(_) => size == 8,
            ScalarKind::Utf16 => size % 2 == 0,
            ScalarKind::Unicode => size % 4 == 0,
            ScalarKind::Bytes | ScalarKind::Utf8 | ScalarKind::Void => true,
        };
        if !is_valid || i64::try_from(size).is_err() {
            let size = count(size, "byte");
            return Err(invalid(format!("a scalar of kind {kind:?} cannot have {size}")));
        }
        let scalar = Self { kind, size, endian };
        let endian = if scalar.component_width() == 1 { Endian::Little } else { endian };
        Ok(Self { endian, ..scalar })
    }

    /// Returns the scalar type that corresponds to a Rust type, in the byte order of this machine.
    pub fn of<T: Element>() -> Self {
        Self { kind: T::KIND, size: size_of::<T>() as u64, endian: Endian::NATIVE }
            .with_endian(Endian::NATIVE)
    }

    /// Parses numpy's type string: `<f8`, `|S5`, `>M8[25s]`.
    ///
    /// If the string begins with `=` or has no character for the byte order, the byte order is that
    /// of the writer's machine, which is assumed to be little-endian.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Object`] for Python objects, and with
    /// [`ElementsError::Datatype`] for unknown types and for elements of 2^31 bytes or more.
    pub fn parse(text: &str) -> Result<Self, ElementsError> {
        let unknown = || invalid(format!("the type {} is unknown", shortened(text)));
        let (endian, code) = match text.split_at_checked(1) {
            Some((">", code)) => (Endian::Big, code),
            Some(("<" | "|" | "=", code)) => (Endian::Little, code),
            _ => (Endian::Little, text),
        };
        let mut letters = code.chars();
        let letter = letters.next().ok_or_else(unknown)?;
        let rest = letters.as_str();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if letter == 'O' && digits == rest.len() {
            return Err(ElementsError::Object);
        }
        let (number, unit) = rest.split_at_checked(digits).ok_or_else(unknown)?;
        let number: u64 = number.parse().map_err(|_| unknown())?;
        let kind = match (letter, number, unit) {
            ('b', 1, "") => ScalarKind::Bool,
            ('i', 1 | 2 | 4 | 8, "") => ScalarKind::Int,
            ('u', 1 | 2 | 4 | 8, "") => ScalarKind::Uint,
            ('f', 2 | 4 | 8 | 16, "") => ScalarKind::Float,
            ('c', 8 | 16 | 32, "") => ScalarKind::Complex,
            ('m', 8, unit) => ScalarKind::Timedelta(TimeUnit::parse(unit).ok_or_else(unknown)?),
            ('M', 8, unit) => ScalarKind::Datetime(TimeUnit::parse(unit).ok_or_else(unknown)?),
            ('S', _, "") => ScalarKind::Bytes,
            ('U', _, "") => ScalarKind::Unicode,
            ('V', _, "") => ScalarKind::Void,
            _ => return Err(unknown()),
        };
        let size = number.saturating_mul(if kind == ScalarKind::Unicode { 4 } else { 1 });
        if size > MAX_ITEMSIZE {
            let text = shortened(text);
            return Err(invalid(format!("the type {text} is longer than {MAX_ITEMSIZE} bytes")));
        }
        Self::new(kind, size, endian)
    }

    /// Returns the same type in another byte order.
    #[must_use]
    pub fn with_endian(self, endian: Endian) -> Self {
        let endian = if self.component_width() == 1 { Endian::Little } else { endian };
        Self { endian, ..self }
    }

    /// Returns the type of the real and imaginary parts of a complex number.
    pub(crate) fn part(self) -> Self {
        Self { kind: ScalarKind::Float, size: self.size / 2, ..self }
    }

    /// Returns the kind of the scalar.
    pub fn kind(self) -> ScalarKind {
        self.kind
    }

    /// Returns the size of one element in bytes.
    pub fn size(self) -> u64 {
        self.size
    }

    /// Returns the byte order, which is little-endian for types that have none.
    pub fn endian(self) -> Endian {
        self.endian
    }

    /// Returns the size in bytes of the components to which the byte order applies: for example, 4
    /// for `c8` and for the characters of `U`, and 1 for types without a byte order.
    pub fn component_width(self) -> usize {
        let width = match self.kind {
            ScalarKind::Bytes | ScalarKind::Utf8 | ScalarKind::Void => 1,
            ScalarKind::Utf16 => 2,
            ScalarKind::Unicode => 4,
            ScalarKind::Complex => self.size / 2,
            _ => self.size,
        };
        usize::try_from(width).unwrap_or(1)
    }

    /// Returns `true` for text in any encoding: `S`, `U`, UTF-8 or UTF-16.
    pub fn is_text(self) -> bool {
        matches!(
            self.kind,
            ScalarKind::Bytes | ScalarKind::Utf8 | ScalarKind::Utf16 | ScalarKind::Unicode
        )
    }

    /// Returns numpy's type string. Types unknown to numpy become types of the same size: `S` for
    /// UTF-8, otherwise `V`.
    pub fn typestr(self) -> String {
        let (letter, number) = match self.kind {
            ScalarKind::Utf8 => ('S', self.size),
            ScalarKind::Complex if self.size == 4 => ('V', self.size),
            ScalarKind::Utf16 => ('V', self.size),
            _ => return self.to_string(),
        };
        format!("|{letter}{number}")
    }
}

impl fmt::Display for ScalarType {
    /// Writes numpy's type string, or `<c4`, `utf8[5]` and `<utf16[5]` for types unknown to numpy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.endian {
            _ if self.component_width() == 1 => '|',
            Endian::Little => '<',
            Endian::Big => '>',
        };
        let (letter, unit) = match self.kind {
            ScalarKind::Bool => ('b', None),
            ScalarKind::Int => ('i', None),
            ScalarKind::Uint => ('u', None),
            ScalarKind::Float => ('f', None),
            ScalarKind::Complex => ('c', None),
            ScalarKind::Timedelta(unit) => ('m', unit),
            ScalarKind::Datetime(unit) => ('M', unit),
            ScalarKind::Bytes => ('S', None),
            ScalarKind::Unicode => ('U', None),
            ScalarKind::Void => ('V', None),
            ScalarKind::Utf8 => return write!(f, "utf8[{}]", self.size),
            ScalarKind::Utf16 => return write!(f, "{order}utf16[{}]", self.size / 2),
        };
        let number = if self.kind == ScalarKind::Unicode { self.size / 4 } else { self.size };
        write!(f, "{order}{letter}{number}")?;
        unit.map_or(Ok(()), |unit| unit.fmt(f))
    }
}

impl TimeUnit {
    /// Parses a unit such as `[25s]`. An empty string means that there is no unit. Returns `None`
    /// for anything else.
    #[allow(clippy::option_option, reason = "`Some(None)` means that there is no unit")]
    fn parse(text: &str) -> Option<Option<Self>> {
        if text.is_empty() {
            return Some(None);
        }
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = inner.split_at_checked(digits)?;
        let count = if count.is_empty() { 1 } else { count.parse().ok()? };
        let unit = TIME_UNITS.into_iter().find(|&known| known == unit)?;
        i32::try_from(count).ok()?;
        Some(Some(Self { count, unit }))
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "[{}]", self.unit),
            count => write!(f, "[{count}{}]", self.unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_strings_are_the_same_as_in_numpy() {
        // Each pair is a type string that numpy 2 accepts, and the `.str` of the resulting type.
        for (given, expected, size) in [
            ("<f8", "<f8", 8),
            ("f8", "<f8", 8),
            ("=f8", "<f8", 8),
            ("|f8", "<f8", 8),
            (">f8", ">f8", 8),
            ("<i1", "|i1", 1),
            (">u1", "|u1", 1),
            ("b1", "|b1", 1),
            ("<f2", "<f2", 2),
            ("<f16", "<f16", 16),
            (">c8", ">c8", 8),
            ("c32", "<c32", 32),
            (">S3", "|S3", 3),
            ("S03", "|S3", 3),
            ("|S0", "|S0", 0),
            ("U3", "<U3", 12),
            (">U70", ">U70", 280),
            ("<U0", "<U0", 0),
            ("|V5", "|V5", 5),
            ("M8", "<M8", 8),
            (">M8[ns]", ">M8[ns]", 8),
            ("m8[1s]", "<m8[s]", 8),
            ("m8[25s]", "<m8[25s]", 8),
            ("m8[0s]", "<m8[0s]", 8),
            ("<M8[D]", "<M8[D]", 8),
        ] {
            let scalar = ScalarType::parse(given).unwrap();
            assert_eq!((scalar.to_string().as_str(), scalar.size()), (expected, size), "{given}");
            assert_eq!(scalar.typestr(), expected);
        }
    }

    #[test]
    fn the_byte_order_applies_to_complex_parts_and_characters_but_not_to_bytes() {
        let width = |text| ScalarType::parse(text).unwrap().component_width();
        for (text, expected) in [
            ("<c8", 4),
            ("<c32", 16),
            ("<U7", 4),
            ("|S8", 1),
            ("|V8", 1),
            ("<M8[s]", 8),
            ("|b1", 1),
        ] {
            assert_eq!(width(text), expected, "{text}");
        }
        assert_eq!(ScalarType::parse(">S3").unwrap(), ScalarType::parse("<S3").unwrap());
    }

    #[test]
    fn sizes_that_a_kind_does_not_support_are_rejected() {
        for (kind, size) in [
            (ScalarKind::Bool, 2),
            (ScalarKind::Int, 3),
            (ScalarKind::Uint, 16),
            (ScalarKind::Float, 1),
            (ScalarKind::Complex, 2),
            (ScalarKind::Datetime(None), 4),
            (ScalarKind::Utf16, 3),
            (ScalarKind::Unicode, 6),
            (ScalarKind::Bytes, 1 << 63),
        ] {
            assert!(ScalarType::new(kind, size, Endian::Little).is_err(), "{kind:?} {size}");
        }
        assert!(ScalarType::new(ScalarKind::Bytes, i64::MAX as u64, Endian::Little).is_ok());
    }

    #[test]
    fn types_unknown_to_numpy_get_the_type_string_of_a_type_of_the_same_size() {
        for (kind, size, name, typestr) in [
            (ScalarKind::Complex, 4, ">c4", "|V4"),
            (ScalarKind::Utf8, 5, "utf8[5]", "|S5"),
            (ScalarKind::Utf16, 6, ">utf16[3]", "|V6"),
        ] {
            let scalar = ScalarType::new(kind, size, Endian::Big).unwrap();
            assert_eq!((scalar.to_string().as_str(), scalar.typestr().as_str()), (name, typestr));
        }
    }
}
