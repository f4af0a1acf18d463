//! Mapping values to brightness.

use crate::picture::{ColorMap, Plane};

/// The range of values to display: the values mapped to the lowest and the highest brightness.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Range {
    /// The values at two percentiles of the finite values, such as 0.5 and 99.5. Percentiles are
    /// interpolated linearly, as `numpy.percentile` does by default.
    Percentiles(f64, f64),
    /// Two values in the units of the array.
    Values(f64, f64),
}

/// The relation between value and brightness, where both range from 0 to 1. The functions and their
/// constants are the same as in the stretches of `astropy.visualization`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scale {
    /// Brightness is a linear function of the value.
    #[default]
    Linear,
    /// Brightness is the square root of the value.
    Sqrt,
    /// The brightness of the value x is `log(1000 x + 1) / log(1001)`.
    Log,
    /// The brightness of the value x is `asinh(10 x) / asinh(10)`, which is linear for faint values
    /// and logarithmic for bright ones.
    Asinh,
}

/// The mapping from values to brightness: a range and a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The values mapped to the lowest and the highest brightness.
    pub range: Range,
    /// The relation between value and brightness.
    pub scale: Scale,
}

impl Default for Stretch {
    /// Returns a stretch with a linear scale between the percentiles 0.5 and 99.5.
    fn default() -> Self {
        Self { range: Range::Percentiles(0.5, 99.5), scale: Scale::Linear }
    }
}

impl Scale {
    /// Returns the brightness, from 0 to 1, of a value from 0 to 1.
    pub fn apply(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Sqrt => value.sqrt(),
            Self::Log => (1000.0 * value).ln_1p() / 1000_f64.ln_1p(),
            Self::Asinh => (10.0 * value).asinh() / 10_f64.asinh(),
        }
    }
}

impl Stretch {
    /// Returns the values mapped to the lowest and the highest brightness. Returns `None` if the
    /// range is given as percentiles and no value is finite.
    pub fn limits(&self, values: &[f64]) -> Option<(f64, f64)> {
        match self.range {
            Range::Values(low, high) => Some((low, high)),
            Range::Percentiles(low, high) => {
                let mut finite: Vec<f64> =
                    values.iter().copied().filter(|value| value.is_finite()).collect();
                Some((percentile(&mut finite, low)?, percentile(&mut finite, high)?))
            }
        }
    }

    /// Returns the brightness of a value, as a number from 0 to 1, for the given
    /// [limits](Self::limits). Values outside the limits have the lowest or the highest brightness.
    /// If both limits are equal, a value equal to them is treated as the middle of the range. NaN
    /// remains NaN.
    pub fn brightness(&self, value: f64, (low, high): (f64, f64)) -> f64 {
        // Halve the numbers, because the difference of two finite numbers may be infinite.
        let (value, low, high) = (value / 2.0, low / 2.0, high / 2.0);
        let linear = (value - low) / (high - low);
        let is_at_limits = linear.is_nan() && !value.is_nan();
        let linear = if is_at_limits { 0.5 } else { linear };
        self.scale.apply(linear.clamp(0.0, 1.0))
    }
}

/// Returns a percentile of the values, or `None` if there are no values. The values may be in any
/// order, but none may be NaN.
pub(super) fn percentile(values: &mut [f64], percent: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let position = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let index = (position as usize).min(last);
    let (_, &mut low, above) = values.select_nth_unstable_by(index, f64::total_cmp);
    let fraction = position - index as f64;
    if fraction == 0.0 {
        return Some(low);
    }
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    Some(low * (1.0 - fraction) + high * fraction)
}

impl Plane {
    /// Returns four bytes per pixel, row by row: red, green, blue and opacity. NaN is transparent,
    /// and all other values are opaque.
    pub fn to_rgba(&self, stretch: &Stretch, colors: ColorMap) -> Vec<u8> {
        let limits = stretch.limits(self.values()).unwrap_or_default();
        let pixel = |&value: &f64| {
            if value.is_nan() {
                return [0; 4];
            }
            let [red, green, blue] = colors.color(stretch.brightness(value, limits));
            [red, green, blue, 255]
        };
        self.values().iter().flat_map(pixel).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_match_numpy() {
        // The expected values are numpy.percentile([1, 2, 4, 8, 16], [0, 10, 50, 99.5, 100]).
        let expected = [1.0, 1.4, 4.0, 15.84, 16.0];
        for (percent, expected) in [0.0, 10.0, 50.0, 99.5, 100.0].into_iter().zip(expected) {
            let found = percentile(&mut [16.0, 1.0, 8.0, 2.0, 4.0], percent).unwrap();
            assert!((found - expected).abs() < 1e-12, "{percent}: {found}");
        }
        assert_eq!(percentile(&mut [], 50.0), None);
    }

    #[test]
    fn scales_match_astropy_and_map_0_to_0_and_1_to_1() {
        // The expected values are astropy's SqrtStretch()(0.25), LogStretch()(0.25) and
        // AsinhStretch()(0.25).
        for (scale, quarter) in [
            (Scale::Linear, 0.25),
            (Scale::Sqrt, 0.5),
            (Scale::Log, 0.799_775_5),
            (Scale::Asinh, 0.549_402_4),
        ] {
            assert!((scale.apply(0.25) - quarter).abs() < 1e-6, "{scale:?}: {}", scale.apply(0.25));
            assert_eq!((scale.apply(0.0), scale.apply(1.0)), (0.0, 1.0), "{scale:?}");
        }
    }

    #[test]
    fn equal_limits_produce_mid_grey_and_values_outside_the_limits_are_clamped() {
        let stretch = Stretch::default();
        assert_eq!(stretch.brightness(7.0, (7.0, 7.0)), 0.5);
        assert_eq!(stretch.brightness(9.0, (7.0, 7.0)), 1.0);
        assert_eq!(stretch.brightness(f64::NEG_INFINITY, (0.0, 1.0)), 0.0);
        assert_eq!(stretch.brightness(0.0, (-f64::MAX, f64::MAX)), 0.5);
        assert!(stretch.brightness(f64::NAN, (0.0, 1.0)).is_nan());
    }
}
