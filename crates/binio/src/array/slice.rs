//! Slicing arrays with `start:stop:step` on each axis, with the same meaning as in numpy.
//!
//! | text | selected elements |
//! |---|---|
//! | `:` | all |
//! | `2:5` | 2, 3 and 4, except those past the end of the axis |
//! | `-3:` | the last three |
//! | `::2` | every second element |
//! | `::-1` | all, in reverse order |
//! | `3`, `-1` | a single element; removes the axis; an index outside the axis is an error |
//! | `...` | all elements of all axes that no other slice applies to; allowed once |
//! | `None` | a new axis of length 1 |
//!
//! With a negative step, the start defaults to the last element, and the stop to the position
//! before the first element. Axes without a slice are kept in full. Slicing reads nothing: the
//! result refers to the same bytes with a different shape, strides and offset.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, space0};
use nom::combinator::{all_consuming, map_res, opt, recognize, value, verify};
use nom::multi::separated_list0;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

use crate::array::{ElementsError, Strided};
use crate::diagnostic::count;

/// A selection of elements along one axis, an ellipsis, or a new axis.
///
/// ```
/// use binio::array::{Order, Slice, Strided};
///
/// let array = Strided::packed(vec![4, 6], Order::C, 0, 1, 24)?;
/// let last_column = array.slice(&[Slice::ALL, Slice::Index(-1)])?;
/// assert_eq!((last_column.shape(), last_column.offset()), (&[4][..], 5));
/// let every_second_row = Slice::Range { start: None, stop: None, step: 2 };
/// assert_eq!(array.slice(&[every_second_row])?.shape(), [2, 6]);
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Slice {
    /// A single element; the axis is removed. Negative indices count from the end.
    Index(i64),
    /// Every `step`-th element from `start` to `stop`, excluding `stop`. Negative positions count
    /// from the end, a negative step goes backwards, and a step of 0 is an error.
    Range {
        /// Position of the first element. If `None`, the slice starts at the first element of the
        /// axis, or at the last element if the step is negative.
        start: Option<i64>,
        /// Position at which to stop; the element there is not selected. If `None`, the slice
        /// extends to the end of the axis in the direction of the step.
        stop: Option<i64>,
        /// Distance between selected elements, in elements.
        step: i64,
    },
    /// All elements of all axes that no other slice applies to.
    Ellipsis,
    /// A new axis of length 1.
    NewAxis,
}

/// The positions that a slice selects on one axis: `start`, `start + step`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AxisPart {
    /// Position of the first element, or 0 if no elements are selected.
    start: u64,
    /// Number of selected elements, all of them inside the axis.
    count: u64,
    /// Distance between selected elements, in elements. Never 0.
    step: i64,
    /// Whether the axis is kept; `false` for an index.
    is_kept: bool,
}

/// Applies slices to the axes of a shape. Returns the positions that are selected on each axis,
/// outermost first; `None` stands for a new axis.
fn resolve(slices: &[Slice], shape: &[u64]) -> Result<Vec<Option<AxisPart>>, ElementsError> {
    let named = slices.iter().filter(|slice| !matches!(slice, Slice::Ellipsis | Slice::NewAxis));
    let named = named.count();
    let Some(left) = shape.len().checked_sub(named) else {
        let (slices, dimensions) = (count(named, "slice"), count(shape.len(), "dimension"));
        return Err(invalid(format!("too many slices: {slices} for {dimensions}")));
    };
    let mut ellipses = slices.iter().filter(|slice| matches!(slice, Slice::Ellipsis));
    if ellipses.nth(1).is_some() {
        return Err(invalid("expected at most one `...`"));
    }
    let implied = [Slice::Ellipsis];
    let has_ellipsis = slices.contains(&Slice::Ellipsis);
    let all = slices.iter().chain(implied.iter().filter(|_| !has_ellipsis));
    let mut axes = shape.iter().copied().enumerate();
    let mut parts = Vec::with_capacity(slices.len().saturating_add(left));
    for slice in all {
        match slice {
            Slice::NewAxis => parts.push(None),
            Slice::Ellipsis => {
                for (axis, len) in axes.by_ref().take(left) {
                    parts.push(Some(Slice::ALL.on_axis(axis, len)?));
                }
            }
            slice => {
                if let Some((axis, len)) = axes.next() {
                    parts.push(Some(slice.on_axis(axis, len)?));
                }
            }
        }
    }
    Ok(parts)
}

impl Strided {
    /// Returns the part of the array that the slices select. The first slice applies to the
    /// outermost axis. Nothing is read.
    ///
    /// ```
    /// use binio::array::{Order, Slice, Strided};
    ///
    /// let array = Strided::packed(vec![5, 3, 7], Order::C, 0, 1, 105)?;
    /// let part = array.slice(&Slice::parse("::-2, 1")?)?;
    /// assert_eq!((part.shape(), part.strides(), part.offset()), (&[3, 7][..], &[-42, 1][..], 91));
    /// assert_eq!(array.slice(&Slice::parse("..., None, 0")?)?.shape(), [5, 3, 1]);
    /// # Ok::<(), binio::array::ElementsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Slice`] if there are more indices and ranges than axes, if an
    /// index is outside its axis, if a step is 0, or if there is more than one `...`. Fails with
    /// [`ElementsError::Shape`] if new axes lead to more than 64 dimensions.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self, ElementsError> {
        let parts = resolve(slices, self.shape())?;
        let mut shape = Vec::with_capacity(parts.len());
        let mut strides = Vec::with_capacity(parts.len());
        let mut offset = i128::from(self.offset());
        let mut all_strides = self.strides().iter();
        for part in parts {
            let Some(part) = part else {
                shape.push(1);
                strides.push(0);
                continue;
            };
            let stride = all_strides.next().copied().unwrap_or(0);
            if part.count > 0 {
                let reach = i128::from(part.start).saturating_mul(i128::from(stride));
                offset = offset.saturating_add(reach);
            }
            if part.is_kept {
                shape.push(part.count);
                // If the product overflows, it is not used: the part then has at most one element
                // along this axis, or the array has no elements.
                let long = stride.checked_mul(part.step);
                strides.push(if part.count > 1 { long.unwrap_or(stride) } else { stride });
            }
        }
        self.part(shape, strides, offset, self.itemsize())
    }
}

fn invalid(message: impl Into<String>) -> ElementsError {
    ElementsError::Slice(message.into())
}

impl Slice {
    /// Selects all elements of an axis.
    pub const ALL: Self = Self::Range { start: None, stop: None, step: 1 };

    /// Parses a list of slices that are separated by commas.
    ///
    /// ```
    /// use binio::array::Slice;
    /// let slices = Slice::parse("0:10, ::-2, 3").unwrap();
    /// assert_eq!(slices[0], Slice::Range { start: Some(0), stop: Some(10), step: 1 });
    /// assert_eq!(slices[1], Slice::Range { start: None, stop: None, step: -2 });
    /// assert_eq!(slices[2], Slice::Index(3));
    /// assert_eq!(Slice::parse("..., None").unwrap(), [Slice::Ellipsis, Slice::NewAxis]);
    /// assert!(Slice::parse("::0").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Slice`] if the text is not a list of indices, `start:stop:step`
    /// ranges, `...` and `None`, if a number does not fit in 64 bits, or if a step is 0. The
    /// message contains the position of the problem in the text.
    pub fn parse(text: &str) -> Result<Vec<Self>, ElementsError> {
        let parsed = all_consuming(separated_list0(char(','), padded(slice))).parse(text);
        match parsed {
            Ok((_, slices)) => Ok(slices),
            Err(nom::Err::Error(error) | nom::Err::Failure(error)) => {
                let column = text.len() - error.input.len() + 1;
                Err(invalid(format!(
                    "{text:?} at byte {column}: expected an index, start:stop:step with a nonzero \
                     step, `...` or `None`, separated by commas; numbers must fit into 64 bits"
                )))
            }
            Err(nom::Err::Incomplete(_)) => Err(invalid(format!("{text:?} is incomplete"))),
        }
    }

    fn on_axis(self, axis: usize, len: u64) -> Result<AxisPart, ElementsError> {
        // Calculate with 128 bits, because they can hold all sums and differences of 64-bit
        // positions.
        let len = i128::from(len);
        let (start, count, step) = match self {
            Self::Ellipsis | Self::NewAxis => (0, u64::try_from(len).unwrap_or(0), 1),
            Self::Index(index) => {
                let position = from_end(index, len);
                if position < 0 || position >= len {
                    let message =
                        format!("index {index} is out of bounds for axis {axis} of length {len}");
                    return Err(invalid(message));
                }
                (position, 1, 1)
            }
            Self::Range { step: 0, .. } => {
                return Err(invalid(format!("the step on axis {axis} must not be 0")));
            }
            Self::Range { start, stop, step } => {
                let wide = i128::from(step);
                // By default, a backward slice starts at the last element and stops before the
                // first element.
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
        // If no elements are selected, the start may be outside the axis, so use 0 instead.
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
    let signed = recognize((opt(alt((char('-'), char('+')))), digits));
    map_res(signed, str::parse).parse(text)
}

/// Parses `...`, `None`, an index, or `start:stop:step`, where each part is optional.
fn slice(text: &str) -> IResult<&str, Slice> {
    alt((value(Slice::Ellipsis, tag("...")), value(Slice::NewAxis, tag("None")), range_or_index))
        .parse(text)
}

fn range_or_index(text: &str) -> IResult<&str, Slice> {
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
    verify(number, |step| *step != 0).parse(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::array::Order;

    fn range(start: Option<i64>, stop: Option<i64>, step: i64) -> Slice {
        Slice::Range { start, stop, step }
    }

    fn count_of(slice: Slice, len: u64) -> u64 {
        resolve(&[slice], &[len]).unwrap()[0].unwrap().count
    }

    /// Returns the positions in Python's `range(*slice(start, stop, step).indices(len))`. Tests
    /// every position on the axis, and keeps the positions between start and stop that are a whole
    /// number of steps from the start.
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
    fn slices_are_parsed_in_numpy_notation() {
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
    fn text_that_is_not_a_list_of_slices_is_rejected() {
        for text in ["a", "1,", ",", "1:2:3:4", "1 2", "::0", "99999999999999999999", "1.5", "--1"]
        {
            assert!(Slice::parse(text).is_err(), "{text}");
        }
        let message = Slice::parse("0:3,x").unwrap_err().to_string();
        assert!(message.contains("\"0:3,x\" at byte 4"), "{message}");
    }

    #[test]
    fn an_index_selects_one_element_and_must_be_in_bounds() {
        let last = AxisPart { start: 3, count: 1, step: 1, is_kept: false };
        assert_eq!(resolve(&[Slice::Index(-1)], &[4]).unwrap(), [Some(last)]);
        for index in [4, -5, i64::MAX, i64::MIN] {
            let error = resolve(&[Slice::ALL, Slice::Index(index)], &[9, 4]).unwrap_err();
            let expected = format!("slice: index {index} is out of bounds for axis 1 of length 4");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_zero_step_and_too_many_slices_are_rejected() {
        let error = resolve(&[Slice::ALL; 3], &[4, 3]).unwrap_err();
        assert_eq!(error.to_string(), "slice: too many slices: 3 slices for 2 dimensions");
        let error = resolve(&[range(None, None, 0)], &[4]).unwrap_err();
        assert_eq!(error.to_string(), "slice: the step on axis 0 must not be 0");
    }

    #[test]
    fn extreme_bounds_are_clamped_to_the_axis() {
        for (start, stop, step, count) in [
            (Some(i64::MIN), Some(i64::MAX), 1, 4),
            (Some(i64::MAX), Some(i64::MIN), -1, 4),
            (None, None, i64::MAX, 1),
            (None, None, i64::MIN, 1),
            (Some(3), Some(1), 1, 0),
        ] {
            assert_eq!(count_of(range(start, stop, step), 4), count);
        }
        assert_eq!(count_of(Slice::Ellipsis, u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn ranges_select_the_same_elements_as_a_naive_loop(
            len in 0..10_i64,
            start in proptest::option::of(-12..12_i64),
            stop in proptest::option::of(-12..12_i64),
            step in prop_oneof![-7..=-1_i64, 1..=7_i64],
        ) {
            let part = resolve(&[range(start, stop, step)], &[len.unsigned_abs()]).unwrap()[0].unwrap();
            let signed = |number| i64::try_from(number).unwrap();
            let found: Vec<i64> =
                (0..signed(part.count)).map(|i| signed(part.start) + i * part.step).collect();
            prop_assert_eq!(found, naive(len, start, stop, step));
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

    fn array(shape: &[u64], itemsize: u64) -> Strided {
        let len = shape.iter().product::<u64>() * itemsize;
        Strided::packed(shape.to_vec(), Order::C, 0, itemsize, len).unwrap()
    }

    #[test]
    fn an_index_removes_its_axis() {
        let array = array(&[4, 3], 1);
        let row = array.slice(&[Slice::Index(-1)]).unwrap();
        assert_eq!((row.shape(), row.offset()), (&[3][..], 9));
        let column = array.slice(&[Slice::ALL, Slice::Index(1)]).unwrap();
        assert_eq!((column.shape(), column.strides(), column.offset()), (&[4][..], &[3][..], 1));
    }

    #[test]
    fn an_ellipsis_keeps_the_remaining_axes_and_new_axes_have_length_1() {
        let array = array(&[4, 3, 2], 1);
        let sliced =
            |text| array.slice(&Slice::parse(text).unwrap()).map(|part| part.shape().to_vec());
        assert_eq!(sliced("..., 0").unwrap(), [4, 3]);
        assert_eq!(sliced("0, ..., 0").unwrap(), [3]);
        assert!(sliced("0, 0, ..., 0").unwrap().is_empty());
        assert_eq!(sliced("None, ..., None, 1:").unwrap(), [1, 4, 3, 1, 1]);
        assert!(sliced("..., ...").is_err());
        assert!(sliced("0, 0, 0, 0, ...").is_err());
        assert!(array.slice(&[Slice::NewAxis; 62]).is_err());
        let added = array.slice(&[Slice::NewAxis; 61]).unwrap();
        assert_eq!((added.shape().len(), added.len()), (64, 24));
    }

    #[test]
    fn a_slice_that_selects_no_elements_has_an_empty_extent() {
        let none = array(&[4, 2], 8).slice(&[range(Some(9), None, 1)]).unwrap();
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
        fn slicing_a_slice_selects_from_the_elements_of_the_first_slice(len in 0..10_u64, first in any_range(), second in any_range()) {
            let array = array(&[len], 1);
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
