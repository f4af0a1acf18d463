//! Where the elements of an array or of a part of it lie in the data.
//!
//! Each axis has a count and a stride, the bytes from one element to the next. A slice or a field
//! is the same data with other axes, so parts of parts are made without reading.

use binio::slice::AxisPart;

use crate::array::ArrayOrder;

/// Elements in the data, all of them inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// Where the first element begins.
    pub(crate) offset: u64,
    /// Outermost first.
    pub(crate) axes: Vec<Axis>,
    /// Bytes of an element.
    pub(crate) itemsize: u64,
}

/// How many elements, and the bytes from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) count: u64,
    pub(crate) stride: i64,
}

/// The axes of elements that lie side by side, the last of them the innermost. Without elements,
/// and with elements of no bytes, the strides are 0.
fn packed(shape: &[u64], itemsize: u64) -> Vec<Axis> {
    let is_empty = shape.contains(&0);
    let mut stride = if is_empty { 0 } else { itemsize };
    let mut axes: Vec<Axis> = shape
        .iter()
        .rev()
        .map(|&count| {
            // An array is below 2^63 bytes, so each stride is, too.
            let axis = Axis { count, stride: i64::try_from(stride).unwrap_or(0) };
            stride = stride.saturating_mul(count);
            axis
        })
        .collect();
    axes.reverse();
    axes
}

impl View {
    /// A whole array of less than 2^63 bytes, from the beginning of the data on.
    pub(crate) fn new(shape: &[u64], itemsize: u64, order: ArrayOrder) -> Self {
        let axes = match order {
            ArrayOrder::C => packed(shape, itemsize),
            ArrayOrder::F => {
                let reversed: Vec<u64> = shape.iter().rev().copied().collect();
                packed(&reversed, itemsize).into_iter().rev().collect()
            }
        };
        Self { offset: 0, axes, itemsize }
    }

    pub(crate) fn shape(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.count).collect()
    }

    /// Whether there is no byte.
    pub(crate) fn is_empty(&self) -> bool {
        self.itemsize == 0 || self.axes.iter().any(|axis| axis.count == 0)
    }

    /// Bytes of all elements side by side. Parts of an array of less than 2^63 bytes have no more.
    pub(crate) fn byte_size(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.axes.iter().fold(self.itemsize, |size, axis| size.saturating_mul(axis.count))
    }

    /// The elements that `parts` take of each axis.
    pub(crate) fn slice(&self, parts: &[AxisPart]) -> Self {
        let mut view = Self { axes: Vec::with_capacity(parts.len()), ..*self };
        for (axis, part) in self.axes.iter().zip(parts) {
            // No element of an array lies 2^63 bytes or more from another.
            let start = i64::try_from(part.start).unwrap_or(0);
            view.offset = view.offset.wrapping_add_signed(start.wrapping_mul(axis.stride));
            if part.is_kept {
                let stride = if part.count > 1 { axis.stride.wrapping_mul(part.step) } else { 0 };
                view.axes.push(Axis { count: part.count, stride });
            }
        }
        view
    }

    /// A field of each element, `offset` bytes into it, with the axes of the field behind those of
    /// the array.
    pub(crate) fn field(&self, offset: u64, shape: &[u64], itemsize: u64) -> Self {
        let mut axes = self.axes.clone();
        axes.extend(packed(shape, itemsize));
        Self { offset: self.offset.wrapping_add(offset), axes, itemsize }
    }

    /// The same elements with the axes so that the innermost is the one that varies fastest in this
    /// order.
    pub(crate) fn in_order(&self, order: ArrayOrder) -> Self {
        let mut view = self.clone();
        if order == ArrayOrder::F {
            view.axes.reverse();
        }
        view
    }

    /// Calls `body` with parts that together are the view, in order, none of them empty and each of
    /// at most `max` bytes; an element that is larger is cut, too.
    pub(crate) fn for_each_piece<E>(
        &self,
        max: u64,
        body: &mut dyn FnMut(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.is_empty() {
            return Ok(());
        }
        if self.byte_size() <= max {
            return body(self);
        }
        let Some((&outer, inner)) = self.axes.split_first() else {
            // The bytes of a large element are an axis.
            let axes = packed(&[self.itemsize], 1);
            return Self { axes, itemsize: 1, ..*self }.for_each_piece(max.max(1), body);
        };
        let row = Self { axes: inner.to_vec(), ..*self };
        let at_once = (max / row.byte_size()).max(1);
        let mut done = 0;
        while done < outer.count {
            let count = at_once.min(outer.count - done);
            let start = i64::try_from(done).unwrap_or(0).wrapping_mul(outer.stride);
            let mut piece = row.clone();
            piece.offset = piece.offset.wrapping_add_signed(start);
            if count > 1 {
                piece.axes.insert(0, Axis { count, ..outer });
            }
            piece.for_each_piece(max, body)?;
            done += count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use binio::slice::{Slice, resolve};

    use super::*;

    fn strides(view: &View) -> Vec<i64> {
        view.axes.iter().map(|axis| axis.stride).collect()
    }

    #[test]
    fn the_fastest_axis_is_the_last_in_c_and_the_first_in_f_order() {
        assert_eq!(strides(&View::new(&[2, 3, 5], 8, ArrayOrder::C)), [120, 40, 8]);
        assert_eq!(strides(&View::new(&[2, 3, 5], 8, ArrayOrder::F)), [8, 16, 48]);
        assert!(View::new(&[], 8, ArrayOrder::F).axes.is_empty());
    }

    #[test]
    fn shapes_without_bytes_never_overflow() {
        for (shape, itemsize) in [(&[u64::MAX, 0, u64::MAX][..], 8), (&[u64::MAX, u64::MAX], 0)] {
            let view = View::new(shape, itemsize, ArrayOrder::C);
            assert_eq!((view.byte_size(), view.is_empty()), (0, true));
            let part = view.slice(&resolve(&[Slice::Index(-1)], shape).unwrap());
            assert!(part.is_empty() && part.in_order(ArrayOrder::F).is_empty());
            part.for_each_piece::<()>(1, &mut |_| panic!("an empty piece")).unwrap();
        }
    }

    #[test]
    fn slices_and_fields_are_the_same_data_with_other_axes() {
        let view = View::new(&[4, 3], 10, ArrayOrder::C);
        let parts = resolve(&Slice::parse("::-2, 1").unwrap(), &view.shape()).unwrap();
        let part = view.slice(&parts);
        assert_eq!((part.offset, part.shape(), strides(&part)), (100, vec![2], vec![-60]));
        let field = part.field(4, &[3], 2);
        assert_eq!((field.offset, field.shape(), strides(&field)), (104, vec![2, 3], vec![-60, 2]));
        assert_eq!(field.byte_size(), 12);
    }

    #[test]
    fn pieces_are_the_whole_in_order_and_none_is_too_large() {
        let view = View::new(&[3, 4, 5], 6, ArrayOrder::C);
        for max in [1, 5, 6, 13, 30, 31, 120, 240, 359, 360] {
            let mut place = 0;
            view.for_each_piece::<()>(max, &mut |piece| {
                assert!(piece.byte_size() <= max, "{max}");
                assert_eq!(piece.offset, place, "{max}");
                place += piece.byte_size();
                Ok(())
            })
            .unwrap();
            assert_eq!(place, 360, "{max}");
        }
    }
}
