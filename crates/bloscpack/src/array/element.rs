//! The Rust types that elements are read as.

use half::f16;
use num_complex::Complex;

use crate::array::Kind;

/// A type that elements can be read as.
///
/// | Rust | numpy |
/// |---|---|
/// | `i8 i16 i32 i64`, `u8 u16 u32 u64` | `i1 i2 i4 i8`, `u1 u2 u4 u8` |
/// | [`half::f16`], `f32`, `f64` | `f2 f4 f8` |
/// | [`Complex<f32>`](num_complex::Complex), `Complex<f64>` | `c8 c16` |
/// | `bool` | `b1`; any byte but zero is true |
/// | `i64` | also `M8` and `m8`: the number of units |
///
/// Nothing is converted from one number type to another: asking for the wrong type is an error. All
/// other types are read as bytes.
pub trait Element: sealed::Storage {}

pub(crate) mod sealed {
    use super::Kind;

    pub trait Storage: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
        /// Its name in messages.
        const NAME: &'static str;
        /// As the elements are in memory: the type itself, unless it is not any bytes.
        type Raw: bytemuck::Pod;
        /// What numpy calls it.
        const KIND: Kind;
        fn from_raw(raw: Vec<Self::Raw>) -> Vec<Self>;
    }
}

macro_rules! elements {
    ($($type:ty, $name:literal, $kind:expr;)+) => {$(
        impl Element for $type {}

        impl sealed::Storage for $type {
            const NAME: &'static str = $name;
            const KIND: Kind = $kind;
            type Raw = Self;

            fn from_raw(raw: Vec<Self>) -> Vec<Self> {
                raw
            }
        }
    )+};
}

elements! {
    i8, "i8", Kind::Int;
    i16, "i16", Kind::Int;
    i32, "i32", Kind::Int;
    i64, "i64", Kind::Int;
    u8, "u8", Kind::Uint;
    u16, "u16", Kind::Uint;
    u32, "u32", Kind::Uint;
    u64, "u64", Kind::Uint;
    f16, "f16", Kind::Float;
    f32, "f32", Kind::Float;
    f64, "f64", Kind::Float;
    Complex<f32>, "Complex<f32>", Kind::Complex;
    Complex<f64>, "Complex<f64>", Kind::Complex;
}

impl Element for bool {}

impl sealed::Storage for bool {
    const NAME: &'static str = "bool";
    const KIND: Kind = Kind::Bool;
    type Raw = u8;

    fn from_raw(raw: Vec<u8>) -> Vec<Self> {
        raw.into_iter().map(|byte| byte != 0).collect()
    }
}
