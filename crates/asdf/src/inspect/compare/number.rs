//! Comparing numbers with a tolerance.

pub(super) use binio::array::Number;

use super::Tolerance;

impl Tolerance {
    /// Returns `true` if two numbers are equal within the tolerance. NaN is equal to itself.
    pub(super) fn allows(self, before: Number, after: Number) -> bool {
        if before == after {
            return true;
        }
        if let (Number::Int(_), Number::Int(_), true) = (before, after, self.is_exact()) {
            return false;
        }
        // Floats are precise enough, because there is a tolerance or the numbers are not both integers.
        let (before, after) = (before.to_complex(), after.to_complex());
        if before.is_nan() || after.is_nan() {
            return before.is_nan() && after.is_nan();
        }
        // An infinity is only equal to itself, regardless of the tolerance.
        before == after || {
            let difference = (before - after).norm();
            difference.is_finite() && difference <= self.atol + self.rtol * after.norm()
        }
    }

    fn is_exact(self) -> bool {
        self.rtol == 0.0 && self.atol == 0.0
    }
}

/// Returns the absolute difference of two numbers.
pub(super) fn distance(before: Number, after: Number) -> f64 {
    (before.to_complex() - after.to_complex()).norm()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_if_they_differ_by_at_most_the_tolerance() {
        let complex = |re, im| Number::Complex(num_complex::Complex::new(re, im));
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
            (complex(3.0, 4.0), complex(3.0, 4.01), false, true),
            (complex(3.0, 0.0), Number::Int(3), true, true),
            (Number::Bool(true), Number::Int(1), true, true),
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
