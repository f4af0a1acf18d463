//! Types without fields.

use std::fmt;

use binio::Endian;

use crate::array::dtype::{MAX_SIZE, invalid, shortened};
use crate::array::element::Element;
use crate::error::{Error, ErrorKind, Result};

/// A type without fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    kind: Kind,
    size: u64,
    endian: Endian,
}

/// The kinds of scalars; a size makes a type of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `b`: zero is false.
    Bool,
    /// `i`: signed, two's complement.
    Int,
    /// `u`: unsigned.
    Uint,
    /// `f`: floating-point.
    Float,
    /// `c`: real, then imaginary part.
    Complex,
    /// `m`: a number of units as i64; without a unit the number alone.
    Timedelta(Option<TimeUnit>),
    /// `M`: units since 1970 as i64.
    Datetime(Option<TimeUnit>),
    /// `S`: bytes, padded with NUL.
    Bytes,
    /// `U`: code points of four bytes, padded with NUL.
    Unicode,
    /// `V`: bytes without a meaning.
    Void,
}

/// The unit of dates and time spans: `[25s]` is 25 times `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    /// How many.
    pub count: u32,
    /// Of what: `Y M W D h m s ms us ns ps fs as`.
    pub unit: &'static str,
}

const TIME_UNITS: [&str; 13] =
    ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

impl Scalar {
    /// The type of a Rust type, in the byte order of this machine.
    pub(crate) fn of<T: Element>() -> Self {
        let size = size_of::<T::Raw>() as u64;
        Self { kind: T::KIND, size, endian: Endian::NATIVE }.normalized()
    }

    /// Parses a type string: `<f8`, `|S5`, `>M8[25s]`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
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
            return Err(Error::new(ErrorKind::ObjectDtype));
        }
        let (number, unit) = rest.split_at_checked(digits).ok_or_else(unknown)?;
        let number: u64 = number.parse().map_err(|_| unknown())?;
        let kind = match (letter, number, unit) {
            ('b', 1, "") => Kind::Bool,
            ('i', 1 | 2 | 4 | 8, "") => Kind::Int,
            ('u', 1 | 2 | 4 | 8, "") => Kind::Uint,
            ('f', 2 | 4 | 8 | 16, "") => Kind::Float,
            ('c', 8 | 16 | 32, "") => Kind::Complex,
            ('m', 8, unit) => Kind::Timedelta(TimeUnit::parse(unit).ok_or_else(unknown)?),
            ('M', 8, unit) => Kind::Datetime(TimeUnit::parse(unit).ok_or_else(unknown)?),
            ('S', _, "") => Kind::Bytes,
            ('U', _, "") => Kind::Unicode,
            ('V', _, "") => Kind::Void,
            _ => return Err(unknown()),
        };
        let size = number.saturating_mul(if kind == Kind::Unicode { 4 } else { 1 });
        if size > MAX_SIZE {
            let text = shortened(text);
            return Err(invalid(format!("the type {text} is longer than {MAX_SIZE} bytes")));
        }
        Ok(Self { kind, size, endian }.normalized())
    }

    /// The same with the one byte order of types that have none.
    fn normalized(self) -> Self {
        let endian = if self.component_width() == 1 { Endian::Little } else { self.endian };
        Self { endian, ..self }
    }

    /// The kind of number: dates and time spans are integers.
    pub(crate) fn number(self) -> Kind {
        match self.kind {
            Kind::Datetime(_) | Kind::Timedelta(_) => Kind::Int,
            kind => kind,
        }
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Bytes of one.
    pub fn size(self) -> u64 {
        self.size
    }

    /// The byte order; little where there is none.
    pub fn endian(self) -> Endian {
        self.endian
    }

    /// Bytes of the parts that a byte order applies to: 4 for the halves of `c8` and for the
    /// characters of `U`, 1 where there is no order.
    pub fn component_width(self) -> usize {
        match self.kind {
            Kind::Bytes | Kind::Void => 1,
            Kind::Unicode => 4,
            Kind::Complex => usize::try_from(self.size / 2).unwrap_or(1),
            _ => usize::try_from(self.size).unwrap_or(1),
        }
    }
}

impl fmt::Display for Scalar {
    /// numpy's type string.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.endian {
            _ if self.component_width() == 1 => '|',
            Endian::Little => '<',
            Endian::Big => '>',
        };
        let (letter, unit) = match self.kind {
            Kind::Bool => ('b', None),
            Kind::Int => ('i', None),
            Kind::Uint => ('u', None),
            Kind::Float => ('f', None),
            Kind::Complex => ('c', None),
            Kind::Timedelta(unit) => ('m', unit),
            Kind::Datetime(unit) => ('M', unit),
            Kind::Bytes => ('S', None),
            Kind::Unicode => ('U', None),
            Kind::Void => ('V', None),
        };
        let number = if self.kind == Kind::Unicode { self.size / 4 } else { self.size };
        write!(f, "{order}{letter}{number}")?;
        unit.map_or(Ok(()), |unit| unit.fmt(f))
    }
}

impl TimeUnit {
    /// Parses `[25s]`; no text is no unit. `None` for anything else.
    #[allow(clippy::option_option, reason = "no unit is one of the results")]
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
    fn type_strings_are_those_of_numpy() {
        // Left: what numpy 2 takes. Right: `.str` of the type.
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
            let scalar = Scalar::parse(given).unwrap();
            assert_eq!((scalar.to_string().as_str(), scalar.size()), (expected, size), "{given}");
        }
    }

    #[test]
    fn byte_order_is_that_of_the_parts() {
        let width = |text| Scalar::parse(text).unwrap().component_width();
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
        assert_eq!(Scalar::parse(">S3").unwrap(), Scalar::parse("<S3").unwrap());
    }
}
