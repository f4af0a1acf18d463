//! Masks, which select those elements of an array that are treated as missing.
//!
//! | `mask` | masked elements |
//! |---|---|
//! | a real number | elements equal to the number; for float and complex elements, the number is first rounded to their precision, and NaN masks all NaNs |
//! | a complex number | like a real number, but an error if the elements are real floats |
//! | an array | elements for which this array, after broadcasting, is nonzero |
//! | none, but inline data with `null` | the elements that are `null`, and the records that contain `null` |
//!
//! If inline data contains `null` and there is also a `mask`, an element is masked if at least one of
//! the two selects it, as in numpy. Python writes masked arrays in this form.
//!
//! If a mask array has a mask itself, that mask is ignored, so an array may be its own mask.

use binio::array::{ByteOrder, Order, ScalarKind, ScalarType, Slice};
use half::f16;
use num_complex::Complex;

use crate::error::{ArrayError, Error, Result};
use crate::ndarray::datatype_name;
use crate::ndarray::number::Number;
use crate::ndarray::view::NdArray;

/// The mask of an array.
#[derive(Clone, Debug)]
pub(crate) enum Mask<'a> {
    None,
    /// Masks all elements equal to this value.
    Value(Number),
    /// Masks the elements for which an array of the same shape is nonzero.
    Array(Box<NdArray<'a>>),
    /// Masks the elements that at least one of two masks selects: the `null` items of inline data,
    /// and the value of the key `mask`.
    Either(Box<[Self; 2]>),
}

impl<'a> Mask<'a> {
    /// Creates a mask from an array, broadcasting it to the given shape.
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
            let message = format!(
                "the shape {:?} of the mask cannot be broadcast to the shape {shape:?} of the \
                 array",
                mask.shape()
            );
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

    /// Returns the mask for a field of an array of records. `shape` is the shape of the field,
    /// including the dimensions of the array. If a record is masked, all elements of the field in
    /// this record are masked.
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

    /// Returns a flag for each element of `array`: `true` if the element is masked. Returns `None`
    /// if there is no mask.
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

/// Returns a flag for each element of a numeric array: `true` if the element is nonzero.
fn nonzero(array: &NdArray<'_>) -> Result<Vec<bool>> {
    let Some(scalar) = array.datatype().as_scalar() else { return Ok(Vec::new()) };
    let mut bytes = array.read_bytes(Order::C, ByteOrder::Big)?;
    if is_float(scalar) {
        // Clear the sign bit of each number, because minus zero is equal to zero.
        bytes.iter_mut().step_by(scalar.component_width()).for_each(|byte| *byte &= 0x7f);
    }
    let size = usize::try_from(scalar.size()).unwrap_or(usize::MAX).max(1);
    Ok(bytes.chunks_exact(size).map(|element| element.iter().any(|&byte| byte != 0)).collect())
}

fn is_float(scalar: ScalarType) -> bool {
    matches!(scalar.kind(), ScalarKind::Float | ScalarKind::Complex)
}

/// Returns a flag for each element: `true` if the element is equal to `value`.
fn equal(array: &NdArray<'_>, value: Number) -> Result<Vec<bool>> {
    let Some(scalar) = array.datatype().as_scalar() else { return Err(no_numbers(array)) };
    match (value, scalar.kind()) {
        (_, ScalarKind::Bool | ScalarKind::Int | ScalarKind::Uint) => {
            // `None` means that the value is not an integer, so no element is equal to it.
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

/// Returns a flag for each element: `true` if the element satisfies a condition.
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

/// Rounds a value to the precision of the array, as numpy does before comparing.
#[allow(
    clippy::cast_possible_truncation,
    reason = "numpy also rounds the value to the array's type"
)]
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
    let message = format!("a number cannot mask elements of type {dtype}");
    array.error(ArrayError::Mask(message))
}
