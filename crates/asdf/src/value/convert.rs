//! Conversions from Rust types to values.

use num_complex::Complex;

use crate::value::{Array, Mapping, Sequence, SharedId, Value};
use crate::yaml::{Date, DateTime, Integer};

macro_rules! from {
    ($($type:ty, $value:ident => $make:expr;)+) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $make
            }
        }
    )+};
}

from! {
    (), value => { let () = value; Self::Null };
    bool, value => Self::Bool(value);
    i32, value => Self::Int(Integer::Small(value.into()));
    u32, value => Self::Int(Integer::Small(value.into()));
    i64, value => Self::Int(Integer::Small(value.into()));
    u64, value => Self::Int(Integer::Small(value.into()));
    i128, value => Self::Int(Integer::Small(value));
    f32, value => Self::Float(value.into());
    f64, value => Self::Float(value);
    &str, value => Self::String(value.to_owned());
    String, value => Self::String(value);
    Date, value => Self::Date(value);
    DateTime, value => Self::DateTime(value);
    Sequence, value => Self::Sequence(value);
    Mapping, value => Self::Mapping(value);
    Array, value => Self::Array(Box::new(value));
    SharedId, value => Self::Shared(value);
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::Sequence(items.into_iter().collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Converts the number to a string with the tag `!core/complex`.
impl From<Complex<f64>> for Value {
    fn from(number: Complex<f64>) -> Self {
        Self::String(crate::complex::to_text(number)).tagged(crate::value::emit::COMPLEX_TAG)
    }
}
