//! Masks: which elements are masked.
//!
//! | `mask` | masked is |
//! |---|---|
//! | a number | what is equal to it, in the array's type; a NaN masks all NaN |
//! | a complex number | the same |
//! | an array | where it is not zero; it is repeated to the array's shape as numpy does |
//! | none, but `null` in inline data | those |
//!
//! Inline data with both `null` and a mask has the elements of either masked, as numpy does it: Python
//! writes masked arrays this way.
//!
//! The mask of a mask is ignored, so that an array may name itself.

use binio::array::{ByteOrder, Order, ScalarKind, ScalarType, Slice};
use half::f16;
use num_complex::Complex;

use crate::error::{ArrayError, Error, Result};
use crate::ndarray::datatype_name;
use crate::ndarray::number::Number;
use crate::ndarray::view::NdArray;

/// What masks an array.
#[derive(Clone, Debug)]
pub(crate) enum Mask<'a> {
    None,
    /// Elements equal to this.
    Value(Number),
    /// An array of the same shape.
    Array(Box<NdArray<'a>>),
    /// Elements that either mask selects: `null` in inline data, and the key `mask`.
    Either(Box<[Self; 2]>),
}

impl<'a> Mask<'a> {
    /// A mask of another shape, repeated to that of the array.
    pub(crate) fn array(mask: &NdArray<'a>, shape: &[u64]) -> Result<Self> {
        match mask.datatype().as_scalar() {
            Some(scalar) if !scalar.is_text() => {}
            _ => {
                let dtype = datatype_name(mask.datatype());
                let message = format!("expected numbers or booleans, found {dtype}");
                return Err(mask.error(ArrayError::Mask(message)));
            }
        }
        let array = mask.array.broadcast(shape).map_err(|_| {
            let message = format!("{:?} cannot be repeated to {shape:?}", mask.shape());
            mask.error(ArrayError::Mask(message))
        })?;
        Ok(Self::Array(Box::new(NdArray { array, mask: Self::None, node: mask.node })))
    }

    pub(crate) fn slice(&self, slices: &[Slice]) -> Result<Self> {
        Ok(match self {
            Self::Array(mask) => Self::Array(Box::new(mask.slice(slices)?)),
            Self::Either(masks) => {
                let [first, second] = &**masks;
                Self::Either(Box::new([first.slice(slices)?, second.slice(slices)?]))
            }
            other => other.clone(),
        })
    }

    /// The mask of a field of records: it applies to all elements of the field.
    pub(crate) fn for_field(&self, shape: &[u64]) -> Self {
        match self {
            Self::Array(mask) => {
                let ones = shape.iter().skip(mask.shape().len()).map(|_| 1);
                let extended: Vec<u64> = mask.shape().iter().copied().chain(ones).collect();
                let array = mask.array.reshape(&extended).and_then(|mask| mask.broadcast(shape));
                match array {
                    Ok(array) => Self::Array(Box::new(NdArray { array, ..(**mask).clone() })),
                    Err(_) => Self::None,
                }
            }
            Self::Either(masks) => {
                Self::Either(Box::new(masks.each_ref().map(|mask| mask.for_field(shape))))
            }
            other => other.clone(),
        }
    }

    /// For each element of `array`, whether it is masked.
    pub(crate) fn evaluate(&self, array: &NdArray<'a>) -> Result<Option<Vec<bool>>> {
        match self {
            Self::None => Ok(None),
            Self::Array(mask) => nonzero(mask).map(Some),
            Self::Value(value) => equal(array, *value).map(Some),
            Self::Either(masks) => {
                let [first, second] = masks.each_ref().map(|mask| mask.evaluate(array));
                Ok(match (first?, second?) {
                    (Some(first), Some(second)) => Some(
                        first.iter().zip(&second).map(|(first, second)| first | second).collect(),
                    ),
                    (first, second) => first.or(second),
                })
            }
        }
    }
}

/// Where the elements of an array of numbers are not zero.
fn nonzero(array: &NdArray<'_>) -> Result<Vec<bool>> {
    let Some(scalar) = array.datatype().as_scalar() else { return Ok(Vec::new()) };
    let mut bytes = array.read_bytes(Order::C, ByteOrder::Big)?;
    if is_float(scalar) {
        // Minus zero is zero: the sign is the first bit.
        bytes.iter_mut().step_by(scalar.component_width()).for_each(|byte| *byte &= 0x7f);
    }
    let size = usize::try_from(scalar.size()).unwrap_or(usize::MAX).max(1);
    Ok(bytes.chunks_exact(size).map(|element| element.iter().any(|&byte| byte != 0)).collect())
}

fn is_float(scalar: ScalarType) -> bool {
    matches!(scalar.kind(), ScalarKind::Float | ScalarKind::Complex)
}

/// Where the elements equal a value.
fn equal(array: &NdArray<'_>, value: Number) -> Result<Vec<bool>> {
    let Some(scalar) = array.datatype().as_scalar() else { return Err(no_numbers(array)) };
    match (value, scalar.kind()) {
        (_, ScalarKind::Bool | ScalarKind::Int | ScalarKind::Uint) => {
            // No element is equal to what is not an integer.
            let value = value.to_int();
            where_number(array, scalar, |element| value.is_some() && element.to_int() == value)
        }
        (Number::Complex(_), ScalarKind::Float) => {
            let message = "a complex number cannot mask real numbers";
            Err(array.error(ArrayError::Mask(message.into())))
        }
        (_, ScalarKind::Float | ScalarKind::Complex) => {
            let value = nearest(value.to_complex(), scalar.component_width());
            where_number(array, scalar, |element| {
                let element = element.to_complex();
                element == value || value.is_nan() && element.is_nan()
            })
        }
        _ => Err(no_numbers(array)),
    }
}

/// Where a condition holds for the number that an element is.
fn where_number(
    array: &NdArray<'_>,
    scalar: ScalarType,
    condition: impl Fn(Number) -> bool,
) -> Result<Vec<bool>> {
    let bytes = array.read_bytes(Order::C, ByteOrder::Stored)?;
    let size = usize::try_from(scalar.size()).unwrap_or(usize::MAX).max(1);
    let numbers = bytes.chunks_exact(size).map(|element| scalar.decode(element));
    numbers.map(|number| number.map(&condition).ok_or_else(|| no_numbers(array))).collect()
}

/// As numpy compares: the value is taken to the array's type first.
#[allow(clippy::cast_possible_truncation, reason = "the nearest value is what is asked for")]
fn nearest(value: Complex<f64>, width: usize) -> Complex<f64> {
    let part = |part: f64| match width {
        2 => f16::from_f64(part).into(),
        4 => (part as f32).into(),
        _ => part,
    };
    Complex::new(part(value.re), part(value.im))
}

fn no_numbers(array: &NdArray<'_>) -> Error {
    let dtype = datatype_name(array.datatype());
    let message = format!("a number cannot mask elements of {dtype}");
    array.error(ArrayError::Mask(message))
}
