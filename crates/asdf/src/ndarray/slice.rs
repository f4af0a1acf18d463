//! Parts of an array: the same bytes with another shape, other strides and another offset. Nothing
//! is read.

use binio::slice;

pub use binio::slice::Slice;

use crate::error::ArrayError;
use crate::ndarray::extent::Strided;

impl Strided {
    /// The part of an array that these slices name, one an axis from the outermost.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self, ArrayError> {
        let parts = slice::resolve(slices, self.shape()).map_err(ArrayError::Slice)?;
        let mut shape = Vec::with_capacity(parts.len());
        let mut strides = Vec::with_capacity(parts.len());
        let mut offset = i128::from(self.offset());
        for (part, &stride) in parts.iter().zip(self.strides()) {
            if part.count > 0 {
                let reach = i128::from(part.start).saturating_mul(i128::from(stride));
                offset = offset.saturating_add(reach);
            }
            if part.is_kept {
                shape.push(part.count);
                // With one element or none the step leads nowhere, however long it is; with more
                // it stays inside the array.
                let long = stride.checked_mul(part.step);
                strides.push(if part.count > 1 { long.unwrap_or(stride) } else { stride });
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
