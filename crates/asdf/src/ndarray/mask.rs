//! Masks: which elements do not count.
//!
//! | `mask` | masked is |
//! |---|---|
//! | a number | what is equal to it, in the array's type; a NaN masks all NaN |
//! | a complex number | the same |
//! | an array | where it is not zero; it is repeated to the array's shape as numpy does |
//! | none, but `null` in inline data | those |
//!
//! The mask of a mask does not count, so that an array may name itself.

use half::f16;
use num_complex::Complex;

use crate::error::{ArrayError, Error, Result};
use crate::ndarray::dtype::ScalarType;
use crate::ndarray::number::Number;
use crate::ndarray::slice::Slice;
use crate::ndarray::swap::Order;
use crate::ndarray::view::NdArray;

/// What masks an array.
#[derive(Clone, Debug)]
pub(crate) enum Mask<'a> {
    None,
    /// Elements equal to this.
    Value(Number),
    /// An array of the same shape.
    Array(Box<NdArray<'a>>),
}

impl<'a> Mask<'a> {
    /// A mask of another shape, repeated to that of the array.
    pub(crate) fn array(mask: NdArray<'a>, shape: &[u64]) -> Result<Self> {
        match mask.dtype().as_scalar() {
            Some(scalar) if !scalar.is_string() => {}
            _ => {
                let message = format!("a mask of {} has no zero", mask.dtype());
                return Err(mask.error(ArrayError::Mask(message)));
            }
        }
        let view = mask.view.broadcast(shape).ok_or_else(|| {
            let message = format!("{:?} cannot be repeated to {shape:?}", mask.shape());
            mask.error(ArrayError::Mask(message))
        })?;
        Ok(Self::Array(Box::new(NdArray { view, mask: Self::None, ..mask })))
    }

    pub(crate) fn slice(&self, slices: &[Slice]) -> Result<Self> {
        Ok(match self {
            Self::Array(mask) => Self::Array(Box::new(mask.slice(slices)?)),
            other => other.clone(),
        })
    }

    /// The mask of a field of records: it counts for all elements of the field.
    pub(crate) fn for_field(&self, shape: &[u64]) -> Self {
        match self {
            Self::Array(mask) => {
                let inner = mask.shape().len();
                let ones = shape.iter().skip(inner).map(|_| (1, 0));
                let (counts, strides): (Vec<u64>, Vec<i64>) = mask
                    .shape()
                    .iter()
                    .copied()
                    .zip(mask.strides().iter().copied())
                    .chain(ones)
                    .unzip();
                let view = mask
                    .view
                    .part(counts, strides, mask.view.offset().into(), mask.view.item_size())
                    .ok()
                    .and_then(|view| view.broadcast(shape));
                match view {
                    Some(view) => Self::Array(Box::new(NdArray { view, ..(**mask).clone() })),
                    None => Self::None,
                }
            }
            other => other.clone(),
        }
    }

    /// One truth value for each element of `array`.
    pub(crate) fn evaluate(&self, array: &NdArray<'a>) -> Result<Option<Vec<bool>>> {
        match self {
            Self::None => Ok(None),
            Self::Array(mask) => nonzero(mask).map(Some),
            Self::Value(value) => equal(array, *value).map(Some),
        }
    }
}

/// Where the elements of an array of numbers are not zero.
fn nonzero(array: &NdArray<'_>) -> Result<Vec<bool>> {
    let Some(scalar) = array.dtype().as_scalar() else { return Ok(Vec::new()) };
    let mut bytes = array.read_bytes(Order::Big)?;
    if is_float(scalar) {
        // Minus zero is zero: the sign is the first bit.
        bytes.iter_mut().step_by(scalar.component_width()).for_each(|byte| *byte &= 0x7f);
    }
    let size = usize::try_from(scalar.size()).unwrap_or(usize::MAX).max(1);
    Ok(bytes.chunks_exact(size).map(|element| element.iter().any(|&byte| byte != 0)).collect())
}

fn is_float(scalar: ScalarType) -> bool {
    matches!(
        scalar,
        ScalarType::Float16
            | ScalarType::Float32
            | ScalarType::Float64
            | ScalarType::Complex64
            | ScalarType::Complex128
    )
}

/// Where the elements equal a value.
#[allow(clippy::float_cmp, reason = "a mask value stands for itself, not for what is near")]
fn equal(array: &NdArray<'_>, value: Number) -> Result<Vec<bool>> {
    macro_rules! integers {
        ($type:ty) => {{
            // What is no value of the type is equal to none.
            let value = value.to_int().and_then(|value| <$type>::try_from(value).ok());
            array.view::<$type>()?.iter().map(|element| Some(*element) == value).collect()
        }};
    }
    macro_rules! floats {
        ($type:ty, $convert:expr) => {{
            match value.to_float() {
                Some(value) if value.is_nan() => {
                    array.view::<$type>()?.iter().map(|element| element.is_nan()).collect()
                }
                Some(value) => {
                    let value: $type = $convert(value);
                    array.view::<$type>()?.iter().map(|element| *element == value).collect()
                }
                None => {
                    let message = "a complex number masks no real numbers";
                    return Err(array.error(ArrayError::Mask(message.into())));
                }
            }
        }};
    }
    macro_rules! complex {
        ($type:ty, $convert:expr) => {{
            let value = value.to_complex();
            let target = Complex::<$type>::new($convert(value.re), $convert(value.im));
            let elements = array.view::<Complex<$type>>()?;
            let is_nan = |z: &Complex<$type>| z.re.is_nan() || z.im.is_nan();
            match is_nan(&target) {
                true => elements.iter().map(is_nan).collect(),
                false => elements.iter().map(|element| *element == target).collect(),
            }
        }};
    }
    let Some(scalar) = array.dtype().as_scalar() else {
        return Err(no_numbers(array));
    };
    Ok(match scalar {
        ScalarType::Int8 => integers!(i8),
        ScalarType::Int16 => integers!(i16),
        ScalarType::Int32 => integers!(i32),
        ScalarType::Int64 => integers!(i64),
        ScalarType::Uint8 => integers!(u8),
        ScalarType::Uint16 => integers!(u16),
        ScalarType::Uint32 => integers!(u32),
        ScalarType::Uint64 => integers!(u64),
        ScalarType::Float16 => floats!(f16, f16::from_f64),
        ScalarType::Float32 => floats!(f32, nearest),
        ScalarType::Float64 => floats!(f64, std::convert::identity),
        ScalarType::Complex64 => complex!(f32, nearest),
        ScalarType::Complex128 => complex!(f64, std::convert::identity),
        ScalarType::Bool8 => {
            let value = value.to_int();
            array.view::<bool>()?.iter().map(|truth| Some(i128::from(*truth)) == value).collect()
        }
        ScalarType::Ascii(_) | ScalarType::Ucs4(_) => return Err(no_numbers(array)),
    })
}

/// As numpy compares: the value is taken to the array's type first.
#[allow(clippy::cast_possible_truncation, reason = "the nearest value is what is asked for")]
fn nearest(value: f64) -> f32 {
    value as f32
}

fn no_numbers(array: &NdArray<'_>) -> Error {
    let message = format!("a number masks no elements of {}", array.dtype());
    array.error(ArrayError::Mask(message))
}
