//! A number of the tree as bytes of a datatype.

use binio::Endian;
use binio::array::{Kind, ScalarType};
use half::f16;
use num_complex::Complex;

/// A number of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(Complex<f64>),
}

impl Number {
    /// The value if it is an integer, in whatever form.
    pub(crate) fn to_int(self) -> Option<i128> {
        match self {
            Self::Bool(truth) => Some(truth.into()),
            Self::Int(value) => Some(value),
            Self::Float(value) => exact_integer(value),
            Self::Complex(value) => exact_integer(value.re).filter(|_| value.im == 0.0),
        }
    }

    /// The nearest float; `None` for a complex number.
    pub(crate) fn to_float(self) -> Option<f64> {
        match self {
            Self::Bool(truth) => Some(u8::from(truth).into()),
            #[allow(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
            Self::Int(value) => Some(value as f64),
            Self::Float(value) => Some(value),
            Self::Complex(_) => None,
        }
    }

    /// The nearest complex number.
    pub(crate) fn to_complex(self) -> Complex<f64> {
        match self {
            Self::Complex(value) => value,
            _ => Complex::new(self.to_float().unwrap_or_default(), 0.0),
        }
    }
}

/// A float without fraction as an integer.
fn exact_integer(value: f64) -> Option<i128> {
    let fits = value.fract() == 0.0 && value.abs() < 2_f64.powi(100);
    #[allow(clippy::cast_possible_truncation, reason = "it is whole, and below 2^100 in size")]
    fits.then_some(value as i128)
}

/// The nearest float of 32 bits; `None` if a finite number is out of its range.
#[allow(clippy::cast_possible_truncation, reason = "the nearest value is what is asked for")]
fn to_f32(value: f64) -> Option<f32> {
    let near = value as f32;
    (near.is_finite() || !value.is_finite()).then_some(near)
}

/// The nearest float of 16 bits; `None` if a finite number is out of its range.
fn to_f16(value: f64) -> Option<f16> {
    let near = f16::from_f64(value);
    (near.is_finite() || !value.is_finite()).then_some(near)
}

/// Appends a number's bytes, given in little-endian order.
pub(crate) fn put<const N: usize>(mut bytes: [u8; N], byteorder: Endian, out: &mut Vec<u8>) {
    if byteorder == Endian::Big {
        bytes.reverse();
    }
    out.extend_from_slice(&bytes);
}

/// Appends a number as an element of a type; `None` if it is not a value of the type.
pub(crate) fn push(number: Number, scalar: ScalarType, out: &mut Vec<u8>) -> Option<()> {
    let byteorder = scalar.endian();
    macro_rules! integer {
        ($type:ty) => {
            put(<$type>::try_from(number.to_int()?).ok()?.to_le_bytes(), byteorder, out)
        };
    }
    match (scalar.kind(), scalar.size()) {
        (Kind::Int, 1) => integer!(i8),
        (Kind::Int, 2) => integer!(i16),
        (Kind::Int, 4) => integer!(i32),
        (Kind::Int, 8) => integer!(i64),
        (Kind::Uint, 1) => integer!(u8),
        (Kind::Uint, 2) => integer!(u16),
        (Kind::Uint, 4) => integer!(u32),
        (Kind::Uint, 8) => integer!(u64),
        (Kind::Bool, 1) => match number {
            Number::Bool(truth) => out.push(truth.into()),
            Number::Int(value @ (0 | 1)) => out.push((value == 1).into()),
            _ => return None,
        },
        (Kind::Float, 2) => put(to_f16(number.to_float()?)?.to_le_bytes(), byteorder, out),
        (Kind::Float, 4) => put(to_f32(number.to_float()?)?.to_le_bytes(), byteorder, out),
        (Kind::Float, 8) => put(number.to_float()?.to_le_bytes(), byteorder, out),
        (Kind::Complex, 8) => {
            let Complex { re, im } = number.to_complex();
            let (re, im) = (to_f32(re)?, to_f32(im)?);
            put(re.to_le_bytes(), byteorder, out);
            put(im.to_le_bytes(), byteorder, out);
        }
        (Kind::Complex, 16) => {
            let Complex { re, im } = number.to_complex();
            put(re.to_le_bytes(), byteorder, out);
            put(im.to_le_bytes(), byteorder, out);
        }
        _ => return None,
    }
    Some(())
}
