//! Parts of an array by `start:stop:step` on each axis, with the meaning that numpy gives them.
//!
//! | text | elements of an axis of `n` |
//! |---|---|
//! | `:` | all |
//! | `2:5` | 2, 3, 4; what lies outside the axis is left out |
//! | `-3:` | the last three |
//! | `::2` | every second |
//! | `::-1` | all, backwards; a missing start is then the last, a missing stop before the first |
//! | `3`, `-1` | one; the axis goes away. Outside of the axis it is an error |
//!
//! Axes that are not named are taken whole. Nothing is read: a slice of an array is the same bytes
//! with another shape, other strides and another offset.

use nom::bytes::complete::take_while1;
use nom::character::complete::{char, space0};
use nom::combinator::{all_consuming, map_res, opt, recognize};
use nom::multi::separated_list0;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

use crate::error::ArrayError;
use crate::ndarray::extent::Strided;

/// What to take of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slice {
    /// One element; the axis goes away. Negative numbers count from the end.
    Index(i64),
    /// Every `step`-th element from `start` up to but without `stop`. Negative positions count
    /// from the end, a negative step goes backwards, 0 is an error.
    Range {
        /// First element; missing: the first in the direction of the step.
        start: Option<i64>,
        /// End, not taken itself; missing: all to the end in the direction of the step.
        stop: Option<i64>,
        /// From one element to the next.
        step: i64,
    },
}

impl Slice {
    /// The whole axis.
    pub const ALL: Self = Self::Range { start: None, stop: None, step: 1 };

    /// Reads one slice an axis from text, separated by commas.
    ///
    /// ```
    /// use asdf::ndarray::Slice;
    /// let slices = Slice::parse("0:10, ::-2, 3").unwrap();
    /// assert_eq!(slices[0], Slice::Range { start: Some(0), stop: Some(10), step: 1 });
    /// assert_eq!(slices[1], Slice::Range { start: None, stop: None, step: -2 });
    /// assert_eq!(slices[2], Slice::Index(3));
    /// assert!(Slice::parse("::0").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Vec<Self>, ArrayError> {
        let parsed = all_consuming(separated_list0(char(','), padded(slice))).parse(text);
        match parsed {
            Ok((_, slices)) => Ok(slices),
            Err(nom::Err::Error(error) | nom::Err::Failure(error)) => {
                let column = text.len() - error.input.len() + 1;
                Err(ArrayError::Slice(format!(
                    "{text:?} at character {column}: expected start:stop:step or an index on each \
                     axis, with numbers of 64 bits and no step of 0"
                )))
            }
            Err(nom::Err::Incomplete(_)) => Err(ArrayError::Slice(format!("{text:?} is cut"))),
        }
    }

    /// Position of the first element, count and step on an axis of `len`.
    fn resolve(self, axis: usize, len: u64) -> Result<(i128, u64, i128), ArrayError> {
        let len = i128::from(len);
        match self {
            Self::Index(index) => {
                let position = from_end(index, len);
                if position < 0 || position >= len {
                    return Err(ArrayError::Slice(format!(
                        "index {index} is outside of axis {axis} of {len}"
                    )));
                }
                Ok((position, 1, 1))
            }
            Self::Range { step: 0, .. } => {
                Err(ArrayError::Slice(format!("the step on axis {axis} is 0")))
            }
            Self::Range { start, stop, step } => {
                let step = i128::from(step);
                // A backward slice begins at the last element and ends before the first.
                let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
                let place = |position: i64| from_end(position, len).clamp(low, high);
                let (first, last) = if step > 0 { (low, high) } else { (high, low) };
                let start = start.map_or(first, place);
                let stop = stop.map_or(last, place);
                let count = if step > 0 {
                    (stop - start + step - 1).div_euclid(step)
                } else {
                    (start - stop - step - 1).div_euclid(-step)
                };
                Ok((start, u64::try_from(count).unwrap_or(0), step))
            }
        }
    }
}

fn from_end(position: i64, len: i128) -> i128 {
    let position = i128::from(position);
    if position < 0 { position + len } else { position }
}

fn padded<'t, O>(
    inner: impl Parser<&'t str, Output = O, Error = nom::error::Error<&'t str>>,
) -> impl Parser<&'t str, Output = O, Error = nom::error::Error<&'t str>> {
    delimited(space0, inner, space0)
}

fn number(text: &str) -> IResult<&str, i64> {
    let digits = take_while1(|c: char| c.is_ascii_digit());
    let signed = recognize((opt(nom::branch::alt((char('-'), char('+')))), digits));
    map_res(signed, str::parse).parse(text)
}

/// `start:stop:step` with all parts optional, or an index.
fn slice(text: &str) -> IResult<&str, Slice> {
    let (text, start) = opt(number).parse(text)?;
    let (text, stop) = opt(preceded(padded(char(':')), opt(number))).parse(text)?;
    let Some(stop) = stop else {
        return match start {
            Some(index) => Ok((text, Slice::Index(index))),
            None => {
                Err(nom::Err::Error(nom::error::make_error(text, nom::error::ErrorKind::Digit)))
            }
        };
    };
    let (text, step) = opt(preceded(padded(char(':')), opt(step))).parse(text)?;
    Ok((text, Slice::Range { start, stop, step: step.flatten().unwrap_or(1) }))
}

fn step(text: &str) -> IResult<&str, i64> {
    nom::combinator::verify(number, |step| *step != 0).parse(text)
}

impl Strided {
    /// The part of an array that these slices name, one an axis from the outermost.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self, ArrayError> {
        if slices.len() > self.shape().len() {
            return Err(ArrayError::Slice(format!(
                "{} slices for {} dimensions",
                slices.len(),
                self.shape().len()
            )));
        }
        let mut shape = Vec::with_capacity(self.shape().len());
        let mut strides = Vec::with_capacity(self.shape().len());
        let mut offset = i128::from(self.offset());
        let all = slices.iter().copied().chain(std::iter::repeat(Slice::ALL));
        let axes = self.shape().iter().zip(self.strides());
        for (axis, ((&len, &stride), slice)) in axes.zip(all).enumerate() {
            let (start, count, step) = slice.resolve(axis, len)?;
            if count > 0 {
                offset = offset.saturating_add(start.saturating_mul(i128::from(stride)));
            }
            if matches!(slice, Slice::Range { .. }) {
                shape.push(count);
                // With one element or none the step leads nowhere, however long it is; with more
                // it stays inside the array.
                let long = i64::try_from(i128::from(stride).saturating_mul(step));
                strides.push(if count > 1 { long.unwrap_or(stride) } else { stride });
            }
        }
        self.part(shape, strides, offset, self.item_size())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: Option<i64>, stop: Option<i64>, step: i64) -> Slice {
        Slice::Range { start, stop, step }
    }

    /// What Python's `range(*slice(start, stop, step).indices(len))` gives, by its documentation:
    /// walk from the start in steps, stop at the stop, leave out what is outside.
    fn naive(len: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<i64> {
        let fix = |position: i64| if position < 0 { position + len } else { position };
        if step > 0 {
            let start = start.map_or(0, fix).max(0);
            let stop = stop.map_or(len, fix).min(len);
            (0..len).filter(|i| *i >= start && *i < stop && (i - start) % step == 0).collect()
        } else {
            let start = start.map_or(len - 1, fix).min(len - 1);
            let stop = stop.map_or(-1, |stop| fix(stop).max(-1));
            (0..len)
                .rev()
                .filter(|i| *i <= start && *i > stop && (start - i) % -step == 0)
                .collect()
        }
    }

    fn elements(array: &Strided) -> Vec<i64> {
        let mut places = vec![i64::try_from(array.offset()).unwrap()];
        for (&count, &stride) in array.shape().iter().zip(array.strides()) {
            places = places
                .into_iter()
                .flat_map(|place| {
                    (0..i64::try_from(count).unwrap()).map(move |i| place + i * stride)
                })
                .collect();
        }
        places
    }

    #[test]
    fn text_is_read_as_numpy_writes_it() {
        assert_eq!(
            Slice::parse("0:10,:,3").unwrap(),
            [range(Some(0), Some(10), 1), Slice::ALL, Slice::Index(3)]
        );
        assert_eq!(
            Slice::parse(" -3 : , ::-2 ,-1").unwrap(),
            [range(Some(-3), None, 1), range(None, None, -2), Slice::Index(-1)]
        );
        assert_eq!(Slice::parse("1:2:").unwrap(), [range(Some(1), Some(2), 1)]);
        assert_eq!(Slice::parse("").unwrap(), []);
    }

    #[test]
    fn other_text_is_an_error() {
        for text in ["a", "1,", ",", "1:2:3:4", "1 2", "::0", "99999999999999999999", "1.5", "--1"]
        {
            assert!(Slice::parse(text).is_err(), "{text}");
        }
        let message = Slice::parse("0:3,x").unwrap_err().to_string();
        assert!(
            message.contains("at character 4") || message.contains("at character 5"),
            "{message}"
        );
    }

    #[test]
    fn an_index_drops_the_axis_and_must_exist() {
        let array = Strided::new(vec![4, 3], None, 0, 1, 12).unwrap();
        let row = array.slice(&[Slice::Index(-1)]).unwrap();
        assert_eq!((row.shape(), row.offset()), (&[3][..], 9));
        let column = array.slice(&[Slice::ALL, Slice::Index(1)]).unwrap();
        assert_eq!((column.shape(), column.strides(), column.offset()), (&[4][..], &[3][..], 1));
        assert!(array.slice(&[Slice::Index(4)]).is_err());
        assert!(array.slice(&[Slice::Index(-5)]).is_err());
        assert!(array.slice(&[Slice::ALL; 3]).is_err());
    }

    #[test]
    fn extreme_numbers_are_cut_to_the_axis() {
        let array = Strided::new(vec![4], None, 0, 8, 32).unwrap();
        for (start, stop, step, count) in [
            (Some(i64::MIN), Some(i64::MAX), 1, 4),
            (Some(i64::MAX), Some(i64::MIN), -1, 4),
            (None, None, i64::MAX, 1),
            (None, None, i64::MIN, 1),
            (Some(3), Some(1), 1, 0),
        ] {
            assert_eq!(array.slice(&[range(start, stop, step)]).unwrap().len(), count);
        }
    }

    #[test]
    fn a_slice_of_no_elements_lies_nowhere() {
        let array = Strided::new(vec![4, 2], None, 0, 8, 64).unwrap();
        let none = array.slice(&[range(Some(9), None, 1)]).unwrap();
        assert_eq!((none.shape(), none.extent()), (&[0, 2][..], 0..0));
        assert_eq!(none.slice(&[Slice::ALL, range(None, None, -1)]).unwrap().len(), 0);
    }

    fn any_range() -> impl Strategy<Value = Slice> {
        let bound = || proptest::option::of(-12..12_i64);
        (bound(), bound(), prop_oneof![-7..=-1_i64, 1..=7_i64])
            .prop_map(|(start, stop, step)| range(start, stop, step))
    }

    proptest! {
        #[test]
        fn ranges_equal_the_naive_walk(len in 0..10_i64, slice in any_range()) {
            let Slice::Range { start, stop, step } = slice else { unreachable!() };
            let count = u64::try_from(len).unwrap();
            let array = Strided::new(vec![count], None, 0, 1, count).unwrap();
            prop_assert_eq!(
                elements(&array.slice(&[slice]).unwrap()),
                naive(len, start, stop, step)
            );
        }

        #[test]
        fn slices_of_slices_compose(len in 0..10_i64, first in any_range(), second in any_range()) {
            let count = u64::try_from(len).unwrap();
            let array = Strided::new(vec![count], None, 0, 1, count).unwrap();
            let once = elements(&array.slice(&[first]).unwrap());
            let twice = elements(&array.slice(&[first]).unwrap().slice(&[second]).unwrap());
            let Slice::Range { start, stop, step } = second else { unreachable!() };
            let picks = naive(i64::try_from(once.len()).unwrap(), start, stop, step);
            let expected: Vec<i64> =
                picks.into_iter().map(|i| once[usize::try_from(i).unwrap()]).collect();
            prop_assert_eq!(twice, expected);
        }
    }
}
