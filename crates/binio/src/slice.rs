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
//! Axes that are not named are taken whole. Nothing is read here: [`resolve`] turns slices and a
//! shape into positions, and who knows where the elements lie turns those into bytes.

use nom::bytes::complete::take_while1;
use nom::character::complete::{char, space0};
use nom::combinator::{all_consuming, map_res, opt, recognize};
use nom::multi::separated_list0;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

use crate::{Error, Result};

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

/// The elements of one axis that a slice takes: `start`, `start + step`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisPart {
    /// Position of the first; 0 where there is none.
    pub start: u64,
    /// How many there are. All of them lie on the axis.
    pub count: u64,
    /// From one to the next, not 0.
    pub step: i64,
    /// Whether the axis stays: not for an index.
    pub is_kept: bool,
}

/// What the slices take of each axis of a shape, from the outermost.
///
/// Fails if there are more slices than axes, if an index is outside of its axis, if a step is 0.
///
/// ```
/// use binio::slice::{Slice, resolve};
///
/// let parts = resolve(&Slice::parse("::-2, 1")?, &[5, 3, 7])?;
/// assert_eq!((parts[0].start, parts[0].count, parts[0].step), (4, 3, -2));
/// assert!(!parts[1].is_kept);
/// assert_eq!((parts[2].start, parts[2].count, parts[2].step), (0, 7, 1));
/// # Ok::<(), binio::Error>(())
/// ```
pub fn resolve(slices: &[Slice], shape: &[u64]) -> Result<Vec<AxisPart>> {
    if slices.len() > shape.len() {
        return Err(invalid(format!("{} slices for {} dimensions", slices.len(), shape.len())));
    }
    let all = slices.iter().copied().chain(std::iter::repeat(Slice::ALL));
    shape
        .iter()
        .zip(all)
        .enumerate()
        .map(|(axis, (&len, slice))| slice.on_axis(axis, len))
        .collect()
}

fn invalid(message: String) -> Error {
    Error::invalid(message).context("slice")
}

impl Slice {
    /// The whole axis.
    pub const ALL: Self = Self::Range { start: None, stop: None, step: 1 };

    /// Reads one slice an axis from text, separated by commas.
    ///
    /// ```
    /// use binio::slice::Slice;
    /// let slices = Slice::parse("0:10, ::-2, 3").unwrap();
    /// assert_eq!(slices[0], Slice::Range { start: Some(0), stop: Some(10), step: 1 });
    /// assert_eq!(slices[1], Slice::Range { start: None, stop: None, step: -2 });
    /// assert_eq!(slices[2], Slice::Index(3));
    /// assert!(Slice::parse("::0").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Vec<Self>> {
        let parsed = all_consuming(separated_list0(char(','), padded(slice))).parse(text);
        match parsed {
            Ok((_, slices)) => Ok(slices),
            Err(nom::Err::Error(error) | nom::Err::Failure(error)) => {
                let column = text.len() - error.input.len() + 1;
                Err(invalid(format!(
                    "{text:?} at character {column}: expected start:stop:step or an index on each \
                     axis, with numbers of 64 bits and no step of 0"
                )))
            }
            Err(nom::Err::Incomplete(_)) => Err(invalid(format!("{text:?} is cut"))),
        }
    }

    fn on_axis(self, axis: usize, len: u64) -> Result<AxisPart> {
        // No sum or difference of positions of 64 bits leaves 128.
        let len = i128::from(len);
        let (start, count, step) = match self {
            Self::Index(index) => {
                let position = from_end(index, len);
                if position < 0 || position >= len {
                    let message = format!("index {index} is outside of axis {axis} of {len}");
                    return Err(invalid(message));
                }
                (position, 1, 1)
            }
            Self::Range { step: 0, .. } => {
                return Err(invalid(format!("the step on axis {axis} is 0")));
            }
            Self::Range { start, stop, step } => {
                let wide = i128::from(step);
                // A backward slice begins at the last element and ends before the first.
                let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
                let place = |position: i64| from_end(position, len).clamp(low, high);
                let (first, last) = if step > 0 { (low, high) } else { (high, low) };
                let start = start.map_or(first, place);
                let stop = stop.map_or(last, place);
                let count = if step > 0 {
                    (stop - start + wide - 1).div_euclid(wide)
                } else {
                    (start - stop - wide - 1).div_euclid(-wide)
                };
                (start, u64::try_from(count).unwrap_or(0), step)
            }
        };
        // Without elements the start may lie before or behind the axis.
        let start = if count > 0 { u64::try_from(start).unwrap_or(0) } else { 0 };
        Ok(AxisPart { start, count, step, is_kept: matches!(self, Self::Range { .. }) })
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
        let last = AxisPart { start: 3, count: 1, step: 1, is_kept: false };
        assert_eq!(resolve(&[Slice::Index(-1)], &[4]).unwrap(), [last]);
        for index in [4, -5, i64::MAX, i64::MIN] {
            let error = resolve(&[Slice::ALL, Slice::Index(index)], &[9, 4]).unwrap_err();
            let expected = format!("slice: index {index} is outside of axis 1 of 4");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn more_slices_than_axes_and_steps_of_0_are_errors() {
        let error = resolve(&[Slice::ALL; 3], &[4, 3]).unwrap_err();
        assert_eq!(error.to_string(), "slice: 3 slices for 2 dimensions");
        let error = resolve(&[range(None, None, 0)], &[4]).unwrap_err();
        assert_eq!(error.to_string(), "slice: the step on axis 0 is 0");
    }

    #[test]
    fn extreme_numbers_are_cut_to_the_axis() {
        for (start, stop, step, count) in [
            (Some(i64::MIN), Some(i64::MAX), 1, 4),
            (Some(i64::MAX), Some(i64::MIN), -1, 4),
            (None, None, i64::MAX, 1),
            (None, None, i64::MIN, 1),
            (Some(3), Some(1), 1, 0),
        ] {
            assert_eq!(resolve(&[range(start, stop, step)], &[4]).unwrap()[0].count, count);
        }
        assert_eq!(resolve(&[], &[u64::MAX]).unwrap()[0].count, u64::MAX);
    }

    proptest! {
        #[test]
        fn ranges_equal_the_naive_walk(
            len in 0..10_i64,
            start in proptest::option::of(-12..12_i64),
            stop in proptest::option::of(-12..12_i64),
            step in prop_oneof![-7..=-1_i64, 1..=7_i64],
        ) {
            let part = resolve(&[range(start, stop, step)], &[len.unsigned_abs()]).unwrap()[0];
            let signed = |number| i64::try_from(number).unwrap();
            let found: Vec<i64> =
                (0..signed(part.count)).map(|i| signed(part.start) + i * part.step).collect();
            prop_assert_eq!(found, naive(len, start, stop, step));
        }
    }
}
