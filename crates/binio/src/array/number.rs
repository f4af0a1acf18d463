//! Decoding and encoding a single number.

use half::f16;
use num_complex::Complex;

use crate::Endian;
use crate::array::{ScalarKind, ScalarType};

/// The value of a boolean, integer, float, complex, date or time span element. C's `long double` is
/// not supported, on its own or as part of a complex number.
///
/// Conversions to integers are exact: `true` becomes 1, and `2.0` becomes 2, but `2.5` cannot be
/// converted. Conversions to floats round large integers.
///
/// ```
/// use binio::array::Number;
///
/// assert_eq!(Number::Float(2.0).to_int(), Some(2));
/// assert_eq!(Number::Float(2.5).to_int(), None);
/// assert_eq!(Number::Bool(true).to_float(), Some(1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A boolean.
    Bool(bool),
    /// An integer, or the number of units in a date or a time span.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(Complex<f64>),
}

impl Number {
    /// Returns the value as an integer, or `None` if it is not finite, has a fraction or a nonzero
    /// imaginary part, or is too large.
    pub fn to_int(self) -> Option<i128> {
        match self {
            Self::Bool(truth) => Some(truth.into()),
            Self::Int(value) => Some(value),
            Self::Float(value) => exact_integer(value),
            Self::Complex(value) => exact_integer(value.re).filter(|_| value.im == 0.0),
        }
    }

    /// Returns the nearest float, or `None` for a complex number.
    pub fn to_float(self) -> Option<f64> {
        match self {
            Self::Bool(truth) => Some(u8::from(truth).into()),
            #[allow(
                clippy::cast_precision_loss,
                reason = "rounding to the nearest float is intended"
            )]
            Self::Int(value) => Some(value as f64),
            Self::Float(value) => Some(value),
            Self::Complex(_) => None,
        }
    }

    /// Returns the nearest complex number, whose imaginary part is 0 unless the value is complex.
    pub fn to_complex(self) -> Complex<f64> {
        match self {
            Self::Complex(value) => value,
            _ => Complex::new(self.to_float().unwrap_or_default(), 0.0),
        }
    }
}

/// Converts a float to an integer, or returns `None` if it is not finite, has a fraction, or is too
/// large.
fn exact_integer(value: f64) -> Option<i128> {
    let fits = value.fract() == 0.0 && value.abs() < 2_f64.powi(127);
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the value is whole and its magnitude is below 2^127"
    )]
    fits.then_some(value as i128)
}

impl ScalarType {
    /// Decodes the bytes of one element. The value is always exact, even for 64-bit integers.
    ///
    /// Returns `None` for text, uninterpreted bytes, and C's `long double`, on its own or as part
    /// of a complex number. Also returns `None` if the length of `bytes` differs from the size of
    /// the type.
    ///
    /// ```
    /// use binio::array::{Number, ScalarType};
    ///
    /// let scalar = ScalarType::parse(">i2")?;
    /// assert_eq!(scalar.decode(&[0xff, 0xfe]), Some(Number::Int(-2)));
    /// # Ok::<(), binio::array::ElementsError>(())
    /// ```
    #[inline]
    pub fn decode(self, bytes: &[u8]) -> Option<Number> {
        if bytes.len() as u64 != self.size() {
            return None;
        }
        let endian = self.endian();
        Some(match (self.kind(), bytes.len()) {
            (ScalarKind::Bool, 1) => Number::Bool(bytes != [0]),
            (ScalarKind::Int, 1) => Number::Int(i8::from_le_bytes(little(bytes, endian)?).into()),
            (ScalarKind::Int, 2) => Number::Int(i16::from_le_bytes(little(bytes, endian)?).into()),
            (ScalarKind::Int, 4) => Number::Int(i32::from_le_bytes(little(bytes, endian)?).into()),
            (ScalarKind::Int | ScalarKind::Timedelta(_) | ScalarKind::Datetime(_), 8) => {
                Number::Int(i64::from_le_bytes(little(bytes, endian)?).into())
            }
            (ScalarKind::Uint, 1) => Number::Int(u8::from_le_bytes(little(bytes, endian)?).into()),
            (ScalarKind::Uint, 2) => Number::Int(u16::from_le_bytes(little(bytes, endian)?).into()),
            (ScalarKind::Uint, 4) => Number::Int(u32::from_le_bytes(little(bytes, endian)?).into()),
            (ScalarKind::Uint, 8) => Number::Int(u64::from_le_bytes(little(bytes, endian)?).into()),
            (ScalarKind::Float, _) => Number::Float(float(bytes, endian)?),
            (ScalarKind::Complex, len) => {
                let (re, im) = bytes.split_at(len / 2);
                Number::Complex(Complex::new(float(re, endian)?, float(im, endian)?))
            }
            _ => return None,
        })
    }

    /// Encodes a number as the bytes of one element. If the type is a float or complex type, the
    /// number is rounded to the precision of the type.
    ///
    /// Returns `None`, and leaves the bytes unspecified, if the type cannot represent the number: a
    /// fraction as an integer, a complex number as a float, anything but a boolean or the integers
    /// 0 and 1 as a boolean, or a number out of range. Also returns `None` in the same cases as
    /// [`decode`](Self::decode).
    ///
    /// ```
    /// use binio::array::{Number, ScalarType};
    ///
    /// let mut bytes = [0; 2];
    /// let scalar = ScalarType::parse(">i2")?;
    /// assert_eq!(scalar.encode(Number::Float(-2.0), &mut bytes), Some(()));
    /// assert_eq!(bytes, [0xff, 0xfe]);
    /// assert_eq!(scalar.encode(Number::Int(40_000), &mut bytes), None);
    /// # Ok::<(), binio::array::ElementsError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn encode(self, number: Number, out: &mut [u8]) -> Option<()> {
        if out.len() as u64 != self.size() {
            return None;
        }
        let endian = self.endian();
        macro_rules! integer {
            ($type:ty) => {
                put(<$type>::try_from(number.to_int()?).ok()?.to_le_bytes(), endian, out)
            };
        }
        match (self.kind(), out.len()) {
            (ScalarKind::Bool, 1) => match number {
                Number::Bool(truth) => put([truth.into()], endian, out),
                Number::Int(value @ (0 | 1)) => put([u8::from(value == 1)], endian, out),
                _ => None,
            },
            (ScalarKind::Int, 1) => integer!(i8),
            (ScalarKind::Int, 2) => integer!(i16),
            (ScalarKind::Int, 4) => integer!(i32),
            (ScalarKind::Int | ScalarKind::Timedelta(_) | ScalarKind::Datetime(_), 8) => {
                integer!(i64)
            }
            (ScalarKind::Uint, 1) => integer!(u8),
            (ScalarKind::Uint, 2) => integer!(u16),
            (ScalarKind::Uint, 4) => integer!(u32),
            (ScalarKind::Uint, 8) => integer!(u64),
            (ScalarKind::Float, _) => put_float(number.to_float()?, endian, out),
            (ScalarKind::Complex, len) => {
                let Complex { re, im } = number.to_complex();
                let (real, imaginary) = out.split_at_mut(len / 2);
                put_float(re, endian, real)?;
                put_float(im, endian, imaginary)
            }
            _ => None,
        }
    }
}

/// Converts the bytes of a number to little-endian order. Returns `None` unless there are exactly
/// `N` bytes.
#[inline]
fn little<const N: usize>(bytes: &[u8], endian: Endian) -> Option<[u8; N]> {
    let mut bytes: [u8; N] = bytes.try_into().ok()?;
    if endian == Endian::Big {
        bytes.reverse();
    }
    Some(bytes)
}

#[inline]
fn float(bytes: &[u8], endian: Endian) -> Option<f64> {
    match bytes.len() {
        2 => Some(f16::from_le_bytes(little(bytes, endian)?).into()),
        4 => Some(f32::from_le_bytes(little(bytes, endian)?).into()),
        8 => Some(f64::from_le_bytes(little(bytes, endian)?)),
        _ => None,
    }
}

/// Rounds a number to a float of the size of `out`, and writes the float. Returns `None` if a
/// finite number would become infinite.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "rounding to the nearest value is intended")]
fn put_float(value: f64, endian: Endian, out: &mut [u8]) -> Option<()> {
    let fits = |near: f64| (near.is_finite() || !value.is_finite()).then_some(());
    match out.len() {
        2 => {
            let half = f16::from_f64(value);
            fits(half.into())?;
            put(half.to_le_bytes(), endian, out)
        }
        4 => {
            let single = value as f32;
            fits(single.into())?;
            put(single.to_le_bytes(), endian, out)
        }
        8 => put(value.to_le_bytes(), endian, out),
        _ => None,
    }
}

/// Writes the little-endian bytes of a number to `out` in the given byte order. Returns `None`
/// unless `out` has exactly `N` bytes.
#[inline]
fn put<const N: usize>(mut bytes: [u8; N], endian: Endian, out: &mut [u8]) -> Option<()> {
    if endian == Endian::Big {
        bytes.reverse();
    }
    *<&mut [u8; N]>::try_from(out).ok()? = bytes;
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NUMBERS: [&str; 15] = [
        "|b1", "|i1", "<i2", ">i4", "<i8", "|u1", ">u2", "<u4", ">u8", "<f2", ">f4", "<f8", "<c8",
        ">c16", "<M8[s]",
    ];

    fn scalar(text: &str) -> ScalarType {
        ScalarType::parse(text).unwrap()
    }

    fn encoded(text: &str, number: Number) -> Option<Vec<u8>> {
        let scalar = scalar(text);
        let mut out = vec![0; usize::try_from(scalar.size()).unwrap()];
        scalar.encode(number, &mut out).map(|()| out)
    }

    proptest! {
        #[test]
        fn encoding_a_decoded_number_preserves_its_value(
            bytes in any::<[u8; 16]>(),
            index in 0..NUMBERS.len(),
        ) {
            let scalar = scalar(NUMBERS[index]);
            let bytes = &bytes[..usize::try_from(scalar.size()).unwrap()];
            let number = scalar.decode(bytes).unwrap();
            let mut out = vec![0; bytes.len()];
            prop_assert_eq!(scalar.encode(number, &mut out), Some(()));
            let again = scalar.decode(&out).unwrap();
            // Check for NaN separately, because NaN is not equal to itself.
            prop_assert!(again == number || again.to_complex().is_nan());
            // Only compare the bytes if they are unique: several byte patterns mean NaN or `true`.
            let is_exact = scalar.kind() != ScalarKind::Bool && !number.to_complex().is_nan();
            prop_assert!(!is_exact || out == bytes);
        }
    }

    #[test]
    fn encoded_bytes_match_the_standard_library() {
        for (text, number, expected) in [
            ("<i8", Number::Int(i64::MIN.into()), i64::MIN.to_le_bytes().to_vec()),
            (">u8", Number::Int(u64::MAX.into()), u64::MAX.to_be_bytes().to_vec()),
            (">f8", Number::Float(1e300), 1e300_f64.to_be_bytes().to_vec()),
            ("<f4", Number::Int(-3), (-3_f32).to_le_bytes().to_vec()),
            (">f2", Number::Float(1.0), vec![0x3c, 0]),
            (
                ">c8",
                Number::Complex(Complex::new(1.0, -2.0)),
                [1_f32.to_be_bytes(), (-2_f32).to_be_bytes()].concat(),
            ),
            ("|b1", Number::Int(1), vec![1]),
        ] {
            assert_eq!(encoded(text, number), Some(expected), "{text} {number:?}");
        }
    }

    #[test]
    fn a_number_that_the_type_cannot_represent_is_not_encoded() {
        for (text, number) in [
            ("|i1", Number::Int(128)),
            ("|i1", Number::Int(-129)),
            ("<u8", Number::Int(-1)),
            ("<u8", Number::Int(1 << 64)),
            ("<i8", Number::Int(1 << 63)),
            ("<i4", Number::Float(0.5)),
            ("<i4", Number::Float(f64::NAN)),
            ("<i4", Number::Complex(Complex::new(1.0, 1.0))),
            ("|b1", Number::Int(2)),
            ("|b1", Number::Float(1.0)),
            ("<f4", Number::Float(1e300)),
            ("<f2", Number::Int(70_000)),
            ("<f8", Number::Complex(Complex::new(1.0, 0.0))),
            ("<c8", Number::Float(1e300)),
            ("|S1", Number::Int(1)),
            ("<f16", Number::Float(1.0)),
        ] {
            assert_eq!(encoded(text, number), None, "{text} {number:?}");
        }
        assert!(encoded("<f4", Number::Float(f64::INFINITY)).is_some());
    }

    #[test]
    fn decoding_fails_for_bytes_of_the_wrong_size_and_for_unsupported_types() {
        for text in ["|S2", "<U1", "|V4", "<f16", "<c32"] {
            let scalar = scalar(text);
            let bytes = vec![0; usize::try_from(scalar.size()).unwrap()];
            assert_eq!(scalar.decode(&bytes), None, "{text}");
        }
        for text in NUMBERS {
            assert_eq!(scalar(text).decode(&[]), None, "{text}");
            assert_eq!(scalar(text).decode(&[0; 17]), None, "{text}");
            assert_eq!(scalar(text).encode(Number::Int(0), &mut []), None, "{text}");
        }
    }
}
