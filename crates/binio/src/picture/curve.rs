//! Summarising a one-dimensional array for drawing.

use crate::picture::stretch::percentile;

/// A one-dimensional array, summarised for drawing as a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The smallest and the largest value, including infinities, or `None` if there are no values
    /// or only NaNs.
    pub range: Option<Span>,
    /// The median of the values that are not NaN, or `None` if there are no such values.
    pub median: Option<f64>,
    /// The number of NaNs.
    pub nan: u64,
    /// The smallest and the largest finite value of each column, or `None` for a column without
    /// finite values.
    pub columns: Vec<Option<Span>>,
}

/// The smallest and the largest of a set of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Span {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        values.filter(|value| !value.is_nan()).fold(None, |span: Option<Self>, value| {
            let Self { min, max } = span.unwrap_or(Self { min: value, max: value });
            Some(Self { min: min.min(value), max: max.max(value) })
        })
    }
}

impl Curve {
    /// Summarises values in at most `max_columns` columns. All columns cover the same number of
    /// values, except that the last one may cover fewer. A maximum of 0 is treated as 1.
    ///
    /// ```
    /// use binio::picture::{Curve, Span};
    ///
    /// let curve = Curve::new(vec![5.0, 1.0, f64::NAN, 2.0, 4.0], 2);
    /// assert_eq!((curve.median, curve.nan), (Some(3.0), 1));
    /// assert_eq!(curve.columns, [Some(Span { min: 1.0, max: 5.0 }), Some(Span { min: 2.0, max: 4.0 })]);
    /// ```
    pub fn new(mut values: Vec<f64>, max_columns: usize) -> Self {
        let per_column = values.len().div_ceil(max_columns.max(1)).max(1);
        let column =
            |part: &[f64]| Span::of(part.iter().copied().filter(|value| value.is_finite()));
        let columns = values.chunks(per_column).map(column).collect();
        let range = Span::of(values.iter().copied());
        let count = values.len();
        values.retain(|value| !value.is_nan());
        let nan = (count - values.len()) as u64;
        Self { range, median: percentile(&mut values, 50.0), nan, columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_without_values_or_with_only_nan_has_no_range() {
        for values in [vec![], vec![f64::NAN; 3]] {
            let nan = values.len() as u64;
            let curve = Curve::new(values, 10);
            assert_eq!((curve.range, curve.median, curve.nan), (None, None, nan));
        }
    }

    #[test]
    fn infinities_are_included_in_the_range_but_not_in_the_columns() {
        let curve = Curve::new(vec![1.0, f64::INFINITY, 3.0], 10);
        assert_eq!(curve.range, Some(Span { min: 1.0, max: f64::INFINITY }));
        assert_eq!(curve.columns[1], None);
    }

    #[test]
    fn a_curve_has_at_most_the_requested_number_of_columns() {
        let values: Vec<f64> = (0..1001).map(f64::from).collect();
        let curve = Curve::new(values, 100);
        assert_eq!(curve.columns.len(), 91);
        assert_eq!(curve.columns[90], Some(Span { min: 990.0, max: 1000.0 }));
    }
}
