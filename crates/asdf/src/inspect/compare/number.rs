//! Numbers, and when they are equal.

use half::f16;

use super::Tolerance;
use crate::ndarray::{Kind, ScalarType};

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
    Complex(f64, f64),
}

impl Number {
    /// The parts as floats.
    #[allow(clippy::cast_precision_loss, reason = "a difference is as exact as a float")]
    fn parts(self) -> (f64, f64) {
        match self {
            Self::Int(integer) => (integer as f64, 0.0),
            Self::Float(float) => (float, 0.0),
            Self::Complex(re, im) => (re, im),
        }
    }

    /// An element of an array in native byte order; `None` for what is not a number of at most 8 bytes a part.
    pub(super) fn read(scalar: ScalarType, bytes: &[u8]) -> Option<Self> {
        Some(match scalar.kind() {
            Kind::Bool => Self::Int((*bytes.first()? != 0).into()),
            Kind::Int => Self::Int(match bytes.len() {
                1 => i8::from_ne_bytes(bytes.try_into().ok()?).into(),
                2 => i16::from_ne_bytes(bytes.try_into().ok()?).into(),
                4 => i32::from_ne_bytes(bytes.try_into().ok()?).into(),
                _ => i64::from_ne_bytes(bytes.try_into().ok()?).into(),
            }),
            Kind::Uint => Self::Int(match bytes.len() {
                1 => u8::from_ne_bytes(bytes.try_into().ok()?).into(),
                2 => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
                4 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
                _ => u64::from_ne_bytes(bytes.try_into().ok()?).into(),
            }),
            Kind::Float => Self::Float(float(bytes)?),
            Kind::Complex => {
                let (re, im) = bytes.split_at_checked(bytes.len() / 2)?;
                Self::Complex(float(re)?, float(im)?)
            }
            _ => return None,
        })
    }
}

fn float(bytes: &[u8]) -> Option<f64> {
    Some(match bytes.len() {
        2 => f16::from_ne_bytes(bytes.try_into().ok()?).into(),
        4 => f32::from_ne_bytes(bytes.try_into().ok()?).into(),
        8 => f64::from_ne_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

impl Tolerance {
    /// Whether numbers are equal. Not-a-number is equal to itself.
    pub(super) fn allows(self, before: Number, after: Number) -> bool {
        if before == after {
            return true;
        }
        if let (Number::Int(_), Number::Int(_), true) = (before, after, self.is_exact()) {
            return false;
        }
        let (before, after) = (before.parts(), after.parts());
        let is_nan = |(re, im): (f64, f64)| re.is_nan() || im.is_nan();
        if is_nan(before) || is_nan(after) {
            return is_nan(before) && is_nan(after);
        }
        // Infinities are equal to themselves, and no tolerance reaches them.
        before == after || {
            let difference = (before.0 - after.0).hypot(before.1 - after.1);
            let size = after.0.hypot(after.1);
            difference.is_finite() && difference <= self.atol + self.rtol * size
        }
    }

    fn is_exact(self) -> bool {
        self.rtol == 0.0 && self.atol == 0.0
    }
}

/// How far numbers are apart.
pub(super) fn distance(before: Number, after: Number) -> f64 {
    let (before, after) = (before.parts(), after.parts());
    (before.0 - after.0).hypot(before.1 - after.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_value_and_within_the_tolerance() {
        let exact = Tolerance::default();
        let near = Tolerance { rtol: 0.01, atol: 0.0 };
        for (before, after, is_exact, is_near) in [
            (Number::Int(1), Number::Float(1.0), true, true),
            (Number::Int(100), Number::Int(101), false, true),
            (Number::Int(1 << 60), Number::Int((1 << 60) + 1), false, true),
            (Number::Float(1.0), Number::Float(1.02), false, false),
            (Number::Float(f64::NAN), Number::Float(f64::NAN), true, true),
            (Number::Float(f64::NAN), Number::Float(1.0), false, false),
            (Number::Float(f64::INFINITY), Number::Float(f64::INFINITY), true, true),
            (Number::Float(1.0), Number::Float(f64::INFINITY), false, false),
            (Number::Complex(3.0, 4.0), Number::Complex(3.0, 4.01), false, true),
            (Number::Complex(3.0, 0.0), Number::Int(3), true, true),
            (Number::Float(0.0), Number::Float(-0.0), true, true),
        ] {
            assert_eq!(exact.allows(before, after), is_exact, "{before:?} {after:?}");
            assert_eq!(near.allows(before, after), is_near, "{before:?} {after:?}");
        }
        let apart = Tolerance { rtol: 0.0, atol: 0.5 };
        assert!(apart.allows(Number::Int(0), Number::Float(0.5)));
        assert!(!apart.allows(Number::Int(0), Number::Float(0.6)));
    }
}
