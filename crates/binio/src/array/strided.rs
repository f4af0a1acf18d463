//! The layout of array elements: shape, strides and offset, checked with exact arithmetic.
//!
//! With offset `o`, counts `n`, and strides `s` in bytes, all elements are within the bytes
//!
//! ```text
//! o + sum of min(0, (n - 1) s)   ..   o + sum of max(0, (n - 1) s) + size of one element
//! ```
//!
//! An array with a dimension of 0 has no elements and occupies no bytes, regardless of its offset.

use std::ops::Range;

use crate::array::{ElementsError, Field};
use crate::diagnostic;
use crate::error::elements::shape as bad_shape;

/// Maximum number of dimensions of an array or a field, the same as in numpy 2.
pub const MAX_DIMENSIONS: usize = 64;

/// The order of an array's elements, determined by the index that varies fastest.
///
/// ```
/// use binio::array::{Order, Strided};
///
/// let strides = |order| Strided::packed(vec![2, 3], order, 0, 8, 48).map(|array| array.strides().to_vec());
/// assert_eq!(strides(Order::C)?, [24, 8]);
/// assert_eq!(strides(Order::F)?, [8, 16]);
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last index varies fastest.
    #[default]
    C,
    /// The first index varies fastest.
    F,
}

impl Order {
    /// Returns numpy's letter for the order, `C` or `F`.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::F => "F",
        }
    }
}

/// Shape, strides and offset of an array in a sequence of bytes. The elements may overlap.
///
/// ```
/// use binio::array::{Order, Strided};
///
/// let array = Strided::packed(vec![2, 3], Order::F, 16, 8, 64)?;
/// assert_eq!(array.strides(), [8, 16]);
/// assert_eq!(array.extent(), 16..64);
/// let backwards = Strided::new(vec![3], vec![-8], 16, 8, 24)?;
/// assert_eq!(backwards.extent(), 0..24);
/// assert!(Strided::new(vec![3], vec![-8], 15, 8, 24).is_err());
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Offset in bytes from the start of the data to the first element.
    offset: u64,
    shape: Vec<u64>,
    /// Distance in bytes between neighbours along each dimension.
    strides: Vec<i64>,
    /// Size of one element in bytes.
    itemsize: u64,
}

impl Strided {
    /// Creates a layout in `len` bytes of data. `offset` is the offset of the first element, and
    /// `strides` are the distances between neighbours, in bytes.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Shape`] for more than 64 dimensions or more than 2^64 - 1
    /// elements, with [`ElementsError::Strides`] unless there is one stride per dimension, and with
    /// [`ElementsError::Outside`] if any element is outside the data.
    pub fn new(
        shape: Vec<u64>,
        strides: Vec<i64>,
        offset: u64,
        itemsize: u64,
        len: u64,
    ) -> Result<Self, ElementsError> {
        check_shape(&shape)?;
        if strides.len() != shape.len() {
            let dimensions = diagnostic::count(shape.len(), "dimension");
            let message = format!(
                "expected one stride per dimension, found {} for {dimensions}",
                diagnostic::count(strides.len(), "stride")
            );
            return Err(ElementsError::Strides(message));
        }
        let strided = Self { offset, shape, strides, itemsize };
        strided.check(len)?;
        Ok(strided)
    }

    /// Creates a layout of contiguous elements in `len` bytes of data, starting at `offset`.
    ///
    /// ```
    /// use binio::array::{Order, Strided};
    ///
    /// // 2 rows of 3 elements of 8 bytes, after a header of 16 bytes in a file of 64.
    /// let array = Strided::packed(vec![2, 3], Order::C, 16, 8, 64)?;
    /// assert_eq!((array.strides(), array.extent()), (&[24, 8][..], 16..64));
    /// assert!(Strided::packed(vec![2, 3], Order::C, 24, 8, 64).is_err());
    /// # Ok::<(), binio::array::ElementsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new). Also fails with [`ElementsError::Shape`] if a stride would be
    /// 2^63 bytes or more, unless the array has no elements.
    pub fn packed(
        shape: Vec<u64>,
        order: Order,
        offset: u64,
        itemsize: u64,
        len: u64,
    ) -> Result<Self, ElementsError> {
        check_shape(&shape)?;
        let strides = match order {
            Order::C => c_strides(&shape, itemsize)?,
            Order::F => {
                let reversed: Vec<u64> = shape.iter().rev().copied().collect();
                let mut strides = c_strides(&reversed, itemsize)?;
                strides.reverse();
                strides
            }
        };
        Self::new(shape, strides, offset, itemsize, len)
    }

    fn check(&self, len: u64) -> Result<(), ElementsError> {
        let Some((low, high)) = self.span() else { return Ok(()) };
        if low < 0 || high > i128::from(len) {
            return Err(ElementsError::Outside { low, high, len });
        }
        Ok(())
    }

    /// Returns the offset at which the lowest element begins and the offset at which the highest
    /// element ends, or `None` if there are no elements.
    fn span(&self) -> Option<(i128, i128)> {
        if self.is_empty() {
            return None;
        }
        // There are at most 64 products of two 64-bit numbers, each below 2^127 in magnitude. The
        // sums saturate, but a saturated sum is outside any data.
        let (mut low, mut high) = (i128::from(self.offset), i128::from(self.offset));
        for (&count, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (i128::from(count) - 1).saturating_mul(i128::from(stride));
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
        }
        Some((low, high.saturating_add(i128::from(self.itemsize))))
    }

    /// Returns the range of bytes that contains all elements. The range is empty if there are no
    /// elements.
    pub fn extent(&self) -> Range<u64> {
        let bounds = self
            .span()
            .and_then(|(low, high)| Some(u64::try_from(low).ok()?..u64::try_from(high).ok()?));
        bounds.unwrap_or(0..0)
    }

    /// Returns the lengths of the dimensions, outermost first. A zero-dimensional array, which has
    /// a single element, has an empty shape.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the distances in bytes between neighbours, outermost dimension first.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Returns the offset in bytes from the start of the data to the first element.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the size of one element in bytes.
    pub fn itemsize(&self) -> u64 {
        self.itemsize
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        count(&self.shape).unwrap_or(u64::MAX)
    }

    /// Returns `true` if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Returns the total size of the packed elements in bytes, or `None` if it exceeds 64 bits.
    pub fn byte_size(&self) -> Option<u64> {
        self.len().checked_mul(self.itemsize)
    }

    /// Returns `true` if the elements are contiguous in the given order.
    pub fn is_contiguous(&self, order: Order) -> bool {
        let axes = self.shape.iter().zip(&self.strides);
        match order {
            Order::C => self.are_contiguous(axes.rev()),
            Order::F => self.are_contiguous(axes),
        }
    }

    fn are_contiguous<'s>(&self, axes: impl Iterator<Item = (&'s u64, &'s i64)>) -> bool {
        let mut expected = i128::from(self.itemsize);
        for (&count, &stride) in axes {
            if count != 1 && i128::from(stride) != expected {
                return self.is_empty();
            }
            expected = expected.saturating_mul(i128::from(count));
        }
        true
    }

    /// Returns `true` if it is certain that no two elements share a byte. Considers the axes in
    /// order of increasing stride: each step along an axis has to lead past all bytes that the
    /// previous axes cover. Returns `false` for some layouts without shared bytes.
    pub(crate) fn is_disjoint(&self) -> bool {
        let axes = self.shape.iter().zip(&self.strides).filter(|&(&count, _)| count > 1);
        let mut axes: Vec<(u64, u64)> =
            axes.map(|(&count, &stride)| (stride.unsigned_abs(), count)).collect();
        axes.sort_unstable();
        let mut span = u128::from(self.itemsize);
        self.is_empty()
            || axes.into_iter().all(|(stride, count)| {
                let is_past = u128::from(stride) >= span;
                span = u128::from(count - 1).saturating_mul(stride.into()).saturating_add(span);
                is_past
            })
    }

    /// Returns a layout of the same data that selects some of the elements, or a part of each
    /// element. Fails if the new layout extends past the end of the current elements. If there are
    /// no elements, `offset` need not fit in 64 bits; if it does not, the current offset is used
    /// instead.
    pub(crate) fn part(
        &self,
        shape: Vec<u64>,
        strides: Vec<i64>,
        offset: i128,
        itemsize: u64,
    ) -> Result<Self, ElementsError> {
        check_shape(&shape)?;
        let offset = u64::try_from(offset).unwrap_or(self.offset);
        let part = Self { offset, shape, strides, itemsize };
        part.check(self.extent().end)?;
        Ok(part)
    }

    /// Returns the layout with its axes reversed.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let shape = self.shape.iter().rev().copied().collect();
        let strides = self.strides.iter().rev().copied().collect();
        Self { shape, strides, ..*self }
    }

    /// Returns the layout with its axes ordered so that reading it in C order reads the elements of
    /// this layout in `order`.
    #[must_use]
    pub(crate) fn in_order(&self, order: Order) -> Self {
        match order {
            Order::C => self.clone(),
            Order::F => self.transpose(),
        }
    }

    /// Returns the layout of a field in an array of records. The dimensions of the field follow the
    /// dimensions of the array.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Shape`] if the result has more than 64 dimensions or more than
    /// 2^64 - 1 elements, or if a stride of the field would be 2^63 bytes or more. Fails with
    /// [`ElementsError::Outside`] if the field extends past the end of the array's
    /// [`extent`](Self::extent).
    pub fn field(&self, field: &Field) -> Result<Self, ElementsError> {
        let itemsize = field.datatype().itemsize();
        let inner = c_strides(field.shape(), itemsize)?;
        let shape = [&self.shape[..], field.shape()].concat();
        let strides = [&self.strides[..], &inner[..]].concat();
        let offset = i128::from(self.offset) + i128::from(field.offset());
        self.part(shape, strides, offset, itemsize)
    }

    /// Repeats the elements to fill a larger shape, following numpy's rules: dimensions are matched
    /// from last to first, and dimensions of length 1 are repeated.
    ///
    /// ```
    /// use binio::array::{Order, Strided};
    ///
    /// let column = Strided::packed(vec![3, 1], Order::C, 0, 8, 24)?;
    /// assert_eq!(column.broadcast(&[2, 3, 5])?.strides(), [0, 8, 0]);
    /// assert!(column.broadcast(&[2, 5]).is_err());
    /// # Ok::<(), binio::array::ElementsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Shape`] if the shapes do not match, or if the new shape has more
    /// than 64 dimensions or more than 2^64 - 1 elements.
    pub fn broadcast(&self, shape: &[u64]) -> Result<Self, ElementsError> {
        check_shape(shape)?;
        let mismatch =
            || bad_shape(format!("the shape {:?} cannot be broadcast to {shape:?}", self.shape));
        let extra = shape.len().checked_sub(self.shape.len()).ok_or_else(mismatch)?;
        let mut strides = vec![0; extra];
        for ((&from, &stride), &to) in self.shape.iter().zip(&self.strides).zip(&shape[extra..]) {
            match from {
                _ if from == to => strides.push(stride),
                1 => strides.push(0),
                _ => return Err(mismatch()),
            }
        }
        Ok(Self { shape: shape.to_vec(), strides, ..*self })
    }

    /// Returns the layout of the same elements, in the same C order, in a different shape. Fails if
    /// that is not possible without copying.
    ///
    /// ```
    /// use binio::array::{Order, Strided};
    ///
    /// let array = Strided::packed(vec![4, 6], Order::C, 0, 1, 24)?;
    /// assert_eq!(array.reshape(&[2, 2, 3, 2])?.strides(), [12, 6, 2, 1]);
    /// assert!(array.transpose().reshape(&[24]).is_err());
    /// # Ok::<(), binio::array::ElementsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Shape`] if the number of elements differs or the new shape has
    /// more than 64 dimensions, and with [`ElementsError::Strides`] if no strides can describe the
    /// new shape.
    pub fn reshape(&self, shape: &[u64]) -> Result<Self, ElementsError> {
        check_shape(shape)?;
        if count(shape) != count(&self.shape) {
            return Err(bad_shape(format!(
                "the shape {:?} has a different number of elements than {shape:?}",
                self.shape
            )));
        }
        let strides = if self.is_empty() {
            c_strides(shape, self.itemsize)?
        } else {
            self.reshaped(shape).ok_or_else(|| {
                let message = format!(
                    "the shape {:?} cannot become {shape:?} without copying the elements",
                    self.shape
                );
                ElementsError::Strides(message)
            })?
        };
        Ok(Self { shape: shape.to_vec(), strides, ..*self })
    }

    /// Returns the strides of a new shape, or `None` if no strides can describe it. Matches groups
    /// of old axes with groups of new axes that have the same number of elements. The old axes of
    /// each group have to form one sequence of equal steps.
    fn reshaped(&self, shape: &[u64]) -> Option<Vec<i64>> {
        let old = self.shape.iter().copied().zip(self.strides.iter().copied());
        let mut old = old.filter(|&(count, _)| count != 1);
        let mut strides = Vec::with_capacity(shape.len());
        let mut new = shape.iter().copied();
        while let Some((mut have, mut stride)) = old.next() {
            let mut group = Vec::new();
            let mut want = 1_u64;
            while want != have {
                if want < have {
                    let count = new.next()?;
                    group.push(count);
                    want = want.checked_mul(count)?;
                } else {
                    // One step along the current axis must lead exactly past the whole next axis.
                    let (count, inner) = old.next()?;
                    if inner.checked_mul(i64::try_from(count).ok()?)? != stride {
                        return None;
                    }
                    have = have.checked_mul(count)?;
                    stride = inner;
                }
            }
            let start = strides.len();
            for &count in group.iter().rev() {
                strides.insert(start, stride);
                // For the outermost axis of the group, the product may saturate, but it is not
                // used.
                stride = stride.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
        // The remaining new axes have length 1, so their strides do not matter.
        strides.extend(new.map(|_| 0));
        Some(strides)
    }

    /// Divides the array into parts of at most `max` bytes, and calls `body` with each part in C
    /// order. Elements larger than `max` are also split. Does nothing if the array has no elements
    /// or its elements have no bytes.
    ///
    /// # Errors
    ///
    /// Stops at the first error of `body` and returns it. There are no other errors.
    pub fn for_each_piece<E>(
        &self,
        max: u64,
        body: &mut dyn FnMut(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.is_empty() || self.itemsize == 0 {
            return Ok(());
        }
        if self.byte_size().is_some_and(|size| size <= max) {
            return body(self);
        }
        // The array has been checked, so its parts are inside the data.
        let part = |shape: &[u64], strides: &[i64], offset, itemsize| Self {
            offset,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            itemsize,
        };
        let Some((&count, &stride)) = self.shape.first().zip(self.strides.first()) else {
            // Treat the bytes of a large element as an axis of their own.
            return part(&[self.itemsize], &[1], self.offset, 1).for_each_piece(max.max(1), body);
        };
        let mut row = part(&self.shape[1..], &self.strides[1..], self.offset, self.itemsize);
        let at_once = row.byte_size().map_or(0, |size| max / size);
        let mut rows = self.clone();
        let mut done = 0;
        while done < count {
            if at_once == 0 {
                row.for_each_piece(max, body)?;
            } else {
                rows.shape[0] = at_once.min(count - done);
                rows.for_each_piece(max, body)?;
            }
            let step = at_once.clamp(1, count - done);
            done += step;
            // The sum after the last row may be out of range, but it is not used.
            let step = stride.wrapping_mul(i64::try_from(step).unwrap_or(0));
            row.offset = row.offset.wrapping_add_signed(step);
            rows.offset = row.offset;
        }
        Ok(())
    }
}

fn check_shape(shape: &[u64]) -> Result<(), ElementsError> {
    if shape.len() > MAX_DIMENSIONS {
        let message = format!("{} dimensions, but the limit is {MAX_DIMENSIONS}", shape.len());
        return Err(bad_shape(message));
    }
    match count(shape) {
        Some(_) => Ok(()),
        None => Err(bad_shape(format!("the shape {shape:?} has more than 2^64 - 1 elements"))),
    }
}

/// Returns the number of elements, or `None` if it exceeds 64 bits. A shape that contains 0 has no
/// elements, regardless of its other counts.
pub fn count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, &count| product.checked_mul(count))
}

/// Returns the size of an array in bytes, or `None` if it is 2^63 or more. A shape that contains 0
/// has size 0, regardless of its other counts.
pub fn byte_size(shape: &[u64], itemsize: u64) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    let size = shape.iter().try_fold(itemsize, |size, &count| size.checked_mul(count))?;
    i64::try_from(size).is_ok().then_some(size)
}

/// Returns the strides, in bytes, of an array in C order. The last dimension is the innermost, and
/// a dimension of 0 is treated as 1.
///
/// # Errors
///
/// Fails with [`ElementsError::Shape`] for strides of 2^63 bytes or more. If the array has no
/// elements, such strides become 2^63 - 1 instead, since they are not used.
pub fn c_strides(shape: &[u64], itemsize: u64) -> Result<Vec<i64>, ElementsError> {
    let is_empty = shape.contains(&0);
    let mut strides = vec![0; shape.len()];
    let mut stride = i64::try_from(itemsize).ok();
    for (place, &count) in strides.iter_mut().zip(shape).rev() {
        *place = match stride {
            Some(stride) => stride,
            None if is_empty => i64::MAX,
            None => return Err(bad_shape(format!("the shape {shape:?} exceeds 2^63 - 1 bytes"))),
        };
        stride = i64::try_from(count.max(1)).ok().and_then(|count| place.checked_mul(count));
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Datatype;

    fn strided(
        shape: &[u64],
        strides: &[i64],
        offset: u64,
        len: u64,
    ) -> Result<Strided, ElementsError> {
        Strided::new(shape.to_vec(), strides.to_vec(), offset, 4, len)
    }

    fn c_order(shape: &[u64], itemsize: u64, len: u64) -> Result<Strided, ElementsError> {
        Strided::packed(shape.to_vec(), Order::C, 0, itemsize, len)
    }

    #[test]
    fn packed_arrays_are_contiguous_in_their_own_order() {
        let array = c_order(&[2, 3, 5], 8, 240).unwrap();
        assert_eq!((array.strides(), array.extent()), (&[120, 40, 8][..], 0..240));
        assert!(array.is_contiguous(Order::C) && !array.is_contiguous(Order::F));
        let array = Strided::packed(vec![2, 3, 5], Order::F, 0, 8, 240).unwrap();
        assert_eq!(array.strides(), [8, 16, 48]);
        assert!(!array.is_contiguous(Order::C) && array.is_contiguous(Order::F));
        assert!(array.transpose().is_contiguous(Order::C));
    }

    #[test]
    fn data_that_is_one_byte_too_short_is_rejected() {
        assert!(c_order(&[2, 3], 4, 24).is_ok());
        assert!(c_order(&[2, 3], 4, 23).is_err());
        assert!(Strided::packed(vec![2, 3], Order::C, 1, 4, 24).is_err());
    }

    #[test]
    fn negative_strides_reach_below_the_offset() {
        assert_eq!(strided(&[3], &[-4], 8, 12).unwrap().extent(), 0..12);
        let error = strided(&[3], &[-4], 7, 12).unwrap_err();
        assert!(matches!(error, ElementsError::Outside { low: -1, high: 11, len: 12 }));
    }

    #[test]
    fn strides_of_zero_and_overlapping_elements_are_allowed() {
        let repeated = strided(&[1000, 1000], &[0, 0], 0, 4).unwrap();
        assert_eq!(repeated.len(), 1_000_000);
        let overlapping = strided(&[4, 4], &[1, 1], 0, 10).unwrap();
        assert!(!repeated.is_disjoint() && !overlapping.is_disjoint());
        assert!(strided(&[2, 3], &[-4, 8], 4, 24).unwrap().is_disjoint());
    }

    #[test]
    fn an_array_without_elements_is_in_bounds_at_any_offset() {
        let array = Strided::packed(vec![3, 0, 2], Order::C, u64::MAX, 8, 0).unwrap();
        assert_eq!((array.strides(), array.extent()), (&[16, 16, 8][..], 0..0));
        assert!(array.is_contiguous(Order::C));
    }

    #[test]
    fn extreme_shapes_and_strides_do_not_overflow() {
        assert!(c_order(&[1 << 62, 4], 1, u64::MAX).is_err());
        assert!(c_order(&[1 << 62, 4], 8, u64::MAX).is_err());
        assert!(strided(&[1 << 62, 8], &[0, 0], 0, 100).is_err());
        assert!(strided(&[2], &[i64::MIN], 0, u64::MAX).is_err());
        assert!(strided(&[u64::MAX, 1], &[i64::MIN, i64::MIN], u64::MAX, u64::MAX).is_err());
        assert!(strided(&[1], &[i64::MIN], i64::MAX as u64, u64::MAX).is_ok());
        assert!(strided(&[1], &[1], u64::MAX, u64::MAX).is_err());
        assert!(c_order(&[1; 1000], 1, 1).is_err());
        assert!(matches!(strided(&[1, 1], &[4], 0, 100), Err(ElementsError::Strides(_))));
        assert!(c_order(&[u64::MAX, u64::MAX, 0], u64::MAX, 0).unwrap().is_empty());
        assert!(c_order(&[u64::MAX, 0, u64::MAX], 8, 0).unwrap().transpose().is_empty());
    }

    #[test]
    fn axes_of_length_1_do_not_break_contiguity() {
        assert!(strided(&[1, 3], &[-999, 4], 0, 12).unwrap().is_contiguous(Order::C));
        assert!(!strided(&[2, 3], &[24, 4], 0, 36).unwrap().is_contiguous(Order::C));
    }

    #[test]
    fn broadcasting_repeats_axes_of_length_1() {
        let array = c_order(&[3, 1], 4, 12).unwrap();
        assert_eq!(array.broadcast(&[2, 3, 5]).unwrap().strides(), [0, 4, 0]);
        assert!(array.broadcast(&[2, 5]).is_err());
        assert!(array.broadcast(&[3]).is_err());
        assert!(array.broadcast(&[u64::MAX, 3, 5]).is_err());
    }

    #[test]
    fn reshaping_succeeds_only_if_merged_axes_form_one_sequence_of_equal_steps() {
        let array = strided(&[4, 6, 1], &[48, 4, 7], 0, 400).unwrap();
        assert_eq!(array.reshape(&[2, 2, 2, 3]).unwrap().strides(), [96, 48, 12, 4]);
        assert_eq!(array.reshape(&[4, 1, 6]).unwrap().shape(), [4, 1, 6]);
        assert!(matches!(array.reshape(&[8, 3]), Err(ElementsError::Strides(_))));
        assert!(matches!(array.reshape(&[24]), Err(ElementsError::Strides(_))));
        assert!(matches!(array.reshape(&[25]), Err(ElementsError::Shape(_))));
        let one = strided(&[1, 1], &[9, 9], 0, 4).unwrap();
        assert!(one.reshape(&[]).unwrap().shape().is_empty());
        assert_eq!(one.reshape(&[1; 5]).unwrap().len(), 1);
        let none = c_order(&[0, 5], 4, 0).unwrap();
        assert_eq!(none.reshape(&[7, 0]).unwrap().shape(), [7, 0]);
    }

    #[test]
    fn selecting_a_field_appends_the_dimensions_of_the_field() {
        let record = Datatype::parse("[('', '|V4'), ('a', '<f4', (2, 2))]").unwrap();
        let field = record.as_record().unwrap().field("a").unwrap();
        let array = Strided::packed(vec![3], Order::C, 5, 20, 65).unwrap();
        let part = array.field(field).unwrap();
        assert_eq!(
            (part.offset(), part.shape(), part.strides()),
            (9, &[3, 2, 2][..], &[20, 8, 4][..])
        );
        let many = Strided::packed(vec![1; 63], Order::C, 0, 20, 20).unwrap();
        assert!(matches!(many.field(field), Err(ElementsError::Shape(_))));
    }

    #[test]
    fn pieces_cover_the_array_in_order_without_exceeding_the_maximum_size() {
        let array = c_order(&[3, 4, 5], 6, 360).unwrap();
        for max in [1, 5, 6, 13, 30, 31, 120, 240, 359, 360] {
            let mut place = 0;
            array
                .for_each_piece::<()>(max, &mut |piece| {
                    let size = piece.byte_size().unwrap();
                    assert!(size <= max, "{max}");
                    assert_eq!(piece.offset(), place, "{max}");
                    place += size;
                    Ok(())
                })
                .unwrap();
            assert_eq!(place, 360, "{max}");
        }
    }
}
