//! Where the elements of an array lie: shape, strides and offset, checked in exact arithmetic.
//!
//! With the offset `o`, the counts `n` and the strides `s`, in bytes, the elements lie in
//!
//! ```text
//! o + sum of min(0, (n - 1) s)   ..   o + sum of max(0, (n - 1) s) + size of one element
//! ```
//!
//! An array with a dimension of 0 has no elements and lies nowhere, whatever its offset says.

use crate::error::ArrayError;
use crate::ndarray::dtype::MAX_DIMENSIONS;

/// Shape, strides and offset of an array in a run of bytes. The elements may overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Where the first element begins.
    offset: u64,
    shape: Vec<u64>,
    /// Bytes from one element to the next, one a dimension.
    strides: Vec<i64>,
    /// Bytes of one element.
    item_size: u64,
}

impl Strided {
    /// An array in a run of `len` bytes, checked to lie inside it. Without strides it is in C
    /// order.
    pub fn new(
        shape: Vec<u64>,
        strides: Option<Vec<i64>>,
        offset: u64,
        item_size: u64,
        len: u64,
    ) -> Result<Self, ArrayError> {
        if shape.len() > MAX_DIMENSIONS {
            return Err(invalid(
                "shape",
                format!("{} dimensions, the limit is {MAX_DIMENSIONS}", shape.len()),
            ));
        }
        let strides = match strides {
            Some(strides) if strides.len() != shape.len() => {
                return Err(invalid(
                    "strides",
                    format!("{} strides for {} dimensions", strides.len(), shape.len()),
                ));
            }
            Some(strides) => strides,
            None => c_strides(&shape, item_size)?,
        };
        count(&shape)
            .ok_or_else(|| invalid("shape", format!("{shape:?} has too many elements")))?;
        let strided = Self { offset, shape, strides, item_size };
        strided.check(len)?;
        Ok(strided)
    }

    fn check(&self, len: u64) -> Result<(), ArrayError> {
        let Some((low, high)) = self.span() else { return Ok(()) };
        if low < 0 || high > i128::from(len) {
            return Err(ArrayError::OutsideBlock { low, high, len });
        }
        Ok(())
    }

    /// The lowest byte of any element and the end of the highest; `None` without elements.
    fn span(&self) -> Option<(i128, i128)> {
        if self.is_empty() {
            return None;
        }
        // At most 64 products of 64 by 64 bits, each below 2^127 in size: the sums saturate, and a
        // saturated sum is outside any block.
        let (mut low, mut high) = (i128::from(self.offset), i128::from(self.offset));
        for (&count, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (i128::from(count) - 1).saturating_mul(i128::from(stride));
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
        }
        Some((low, high.saturating_add(i128::from(self.item_size))))
    }

    /// The range of bytes that holds all elements; empty without elements.
    pub fn extent(&self) -> std::ops::Range<u64> {
        let bounds = self
            .span()
            .and_then(|(low, high)| Some(u64::try_from(low).ok()?..u64::try_from(high).ok()?));
        bounds.unwrap_or(0..0)
    }

    /// Counts, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Bytes from one element to the next, outermost first.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Where the first element begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of one element.
    pub fn item_size(&self) -> u64 {
        self.item_size
    }

    /// How many elements there are.
    pub fn len(&self) -> u64 {
        count(&self.shape).unwrap_or(u64::MAX)
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Bytes of all elements side by side; `None` above 64 bits.
    pub fn packed_size(&self) -> Option<u64> {
        self.len().checked_mul(self.item_size)
    }

    /// Whether the elements lie side by side in C order.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = i128::from(self.item_size);
        for (&count, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if count != 1 && i128::from(stride) != expected {
                return self.is_empty();
            }
            expected = expected.saturating_mul(i128::from(count));
        }
        true
    }

    /// The same bytes seen otherwise: a part of the elements, or a part of each element. The new
    /// parts must lie inside the old extent; an array without elements keeps the old offset.
    pub(crate) fn part(
        &self,
        shape: Vec<u64>,
        strides: Vec<i64>,
        offset: i128,
        item_size: u64,
    ) -> Result<Self, ArrayError> {
        let offset = u64::try_from(offset).unwrap_or(self.offset);
        let len = self.extent().end;
        if count(&shape).is_none() {
            return Err(invalid("shape", format!("{shape:?} has too many elements")));
        }
        let part = Self { offset, shape, strides, item_size };
        part.check(len)?;
        Ok(part)
    }

    /// Calls `body` with parts that together are the array, in C order, each of at most `max`
    /// bytes; an element that is larger is cut, too.
    pub(crate) fn for_each_piece<E>(
        &self,
        max: u64,
        body: &mut dyn FnMut(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.is_empty() || self.item_size == 0 {
            return Ok(());
        }
        if self.packed_size().is_some_and(|size| size <= max) {
            return body(self);
        }
        // Parts of an array that was checked lie inside it.
        let part = |shape: &[u64], strides: &[i64], offset, item_size| Self {
            offset,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            item_size,
        };
        let Some((&count, &stride)) = self.shape.first().zip(self.strides.first()) else {
            // One large element: its bytes are an axis.
            return part(&[self.item_size], &[1], self.offset, 1).for_each_piece(max, body);
        };
        let mut row = part(&self.shape[1..], &self.strides[1..], self.offset, self.item_size);
        let at_once = row.packed_size().map_or(0, |size| max / size);
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
            // Past the last row the sum may leave the range; it is not used then.
            let step = stride.wrapping_mul(i64::try_from(step).unwrap_or(0));
            row.offset = row.offset.wrapping_add_signed(step);
            rows.offset = row.offset;
        }
        Ok(())
    }

    /// A field of each element: `offset` bytes into it, with the dimensions of the field behind
    /// those of the array.
    pub(crate) fn field(
        &self,
        offset: u64,
        shape: &[u64],
        item_size: u64,
    ) -> Result<Self, ArrayError> {
        if self.shape.len() + shape.len() > MAX_DIMENSIONS {
            return Err(invalid(
                "shape",
                format!("more than {MAX_DIMENSIONS} dimensions with those of the field"),
            ));
        }
        let inner = c_strides(shape, item_size)?;
        let shape = [&self.shape[..], shape].concat();
        let strides = [&self.strides[..], &inner[..]].concat();
        self.part(shape, strides, i128::from(self.offset) + i128::from(offset), item_size)
    }

    /// The elements repeated to a larger shape by the rules of numpy: dimensions are matched from
    /// the last, a dimension of 1 repeats. `None` when the shapes do not match.
    pub(crate) fn broadcast(&self, shape: &[u64]) -> Option<Self> {
        let extra = shape.len().checked_sub(self.shape.len())?;
        count(shape)?;
        let mut strides = vec![0; extra];
        for ((&from, &stride), &to) in self.shape.iter().zip(&self.strides).zip(&shape[extra..]) {
            match from {
                _ if from == to => strides.push(stride),
                1 => strides.push(0),
                _ => return None,
            }
        }
        Some(Self { shape: shape.to_vec(), strides, ..self.clone() })
    }
}

fn invalid(key: &'static str, message: String) -> ArrayError {
    ArrayError::Invalid { key, message }
}

/// The number of elements; `None` above 64 bits. Any 0 makes it 0, whatever the others are.
pub(crate) fn count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, &count| product.checked_mul(count))
}

/// Strides of C order: the last dimension is the innermost. A dimension of 0 counts as 1.
pub(crate) fn c_strides(shape: &[u64], item_size: u64) -> Result<Vec<i64>, ArrayError> {
    let mut strides = vec![0; shape.len()];
    let mut stride = i64::try_from(item_size).ok();
    for (place, &count) in strides.iter_mut().zip(shape).rev() {
        let too_large = || invalid("shape", format!("{shape:?} is larger than 2^63 bytes"));
        *place = stride.ok_or_else(too_large)?;
        stride = i64::try_from(count.max(1)).ok().and_then(|count| place.checked_mul(count));
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(
        shape: &[u64],
        strides: &[i64],
        offset: u64,
        len: u64,
    ) -> Result<Strided, ArrayError> {
        Strided::new(shape.to_vec(), Some(strides.to_vec()), offset, 4, len)
    }

    #[test]
    fn strides_default_to_c_order() {
        let array = Strided::new(vec![2, 3, 5], None, 0, 8, 240).unwrap();
        assert_eq!(array.strides(), [120, 40, 8]);
        assert_eq!(array.extent(), 0..240);
        assert!(array.is_contiguous());
    }

    #[test]
    fn one_byte_too_many_is_outside() {
        assert!(Strided::new(vec![2, 3], None, 0, 4, 24).is_ok());
        assert!(Strided::new(vec![2, 3], None, 0, 4, 23).is_err());
        assert!(Strided::new(vec![2, 3], None, 1, 4, 24).is_err());
    }

    #[test]
    fn negative_strides_reach_below_the_offset() {
        assert_eq!(strided(&[3], &[-4], 8, 12).unwrap().extent(), 0..12);
        let error = strided(&[3], &[-4], 7, 12).unwrap_err();
        assert!(matches!(error, ArrayError::OutsideBlock { low: -1, high: 11, len: 12 }));
    }

    #[test]
    fn zero_strides_and_overlaps_are_legal() {
        assert_eq!(strided(&[1000, 1000], &[0, 0], 0, 4).unwrap().len(), 1_000_000);
        assert!(strided(&[4, 4], &[1, 1], 0, 10).is_ok());
    }

    #[test]
    fn an_array_without_elements_is_never_outside() {
        let array = Strided::new(vec![3, 0, 2], None, u64::MAX, 8, 0).unwrap();
        assert_eq!(array.strides(), [16, 16, 8]);
        assert_eq!(array.extent(), 0..0);
        assert!(array.is_contiguous());
    }

    #[test]
    fn hostile_numbers_end_in_errors() {
        assert!(Strided::new(vec![1 << 62, 4], None, 0, 1, u64::MAX).is_err());
        assert!(Strided::new(vec![1 << 62, 4], None, 0, 8, u64::MAX).is_err());
        assert!(strided(&[1 << 62, 8], &[0, 0], 0, 100).is_err());
        assert!(strided(&[2], &[i64::MIN], 0, u64::MAX).is_err());
        assert!(strided(&[u64::MAX, 1], &[i64::MIN, i64::MIN], u64::MAX, u64::MAX).is_err());
        assert!(strided(&[1], &[i64::MIN], i64::MAX as u64, u64::MAX).is_ok());
        assert!(strided(&[1], &[1], u64::MAX, u64::MAX).is_err());
        assert!(Strided::new(vec![1; 10_000], None, 0, 1, 1).is_err());
        assert!(strided(&[1, 1], &[4], 0, 100).is_err());
    }

    #[test]
    fn dimensions_of_one_do_not_break_contiguity() {
        assert!(strided(&[1, 3], &[-999, 4], 0, 12).unwrap().is_contiguous());
        assert!(!strided(&[2, 3], &[24, 4], 0, 36).unwrap().is_contiguous());
    }

    #[test]
    fn broadcasting_repeats_dimensions_of_one() {
        let array = Strided::new(vec![3, 1], None, 0, 4, 12).unwrap();
        let wide = array.broadcast(&[2, 3, 5]).unwrap();
        assert_eq!(wide.strides(), [0, 4, 0]);
        assert!(array.broadcast(&[2, 5]).is_none());
        assert!(array.broadcast(&[3]).is_none());
    }

    #[test]
    fn fields_add_their_dimensions() {
        let array = Strided::new(vec![3], None, 5, 20, 65).unwrap();
        let field = array.field(4, &[2, 2], 4).unwrap();
        assert_eq!(
            (field.offset(), field.shape(), field.strides()),
            (9, &[3, 2, 2][..], &[20, 8, 4][..])
        );
    }
}
