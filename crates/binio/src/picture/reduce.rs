//! Reducing a two-dimensional array to the size of a picture.

use crate::array::{Datatype, ElementsError, Order};
use crate::picture::Values;

/// The values of a picture, row by row. NaN stands for missing values.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    width: usize,
    height: usize,
    step: u64,
    values: Vec<f64>,
}

impl Plane {
    /// Returns the width of the picture in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the height of the picture in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the number of elements along each side of the square block that a pixel represents.
    /// The number is 1 if the picture is not reduced.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns one value per pixel, row by row. NaN stands for a missing value.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Reverses the order of the rows, so that row 0 is at the bottom, as is the convention for
    /// FITS images.
    pub fn flip(&mut self) {
        let rows = self.values.chunks_exact(self.width).rev().flatten().copied().collect();
        self.values = rows;
    }

    fn transposed(self) -> Self {
        let Self { width, height, step, values } = self;
        let column = |x: usize| values.iter().skip(x).step_by(width).copied();
        let values = (0..width).flat_map(column).collect();
        Self { width: height, height: width, step, values }
    }
}

/// Computes the [`Plane`] of an array in one pass over its elements.
///
/// If the array is larger than the picture, each pixel is the mean of a square block of elements.
/// NaNs are ignored. The blocks at the right and bottom edges may be incomplete.
#[derive(Clone, Debug)]
pub struct Reducer {
    elements: Elements,
    cells: Cells,
    order: Order,
}

/// Decodes the elements of an array in the order in which they are pushed.
#[derive(Clone, Debug)]
struct Elements {
    values: Values,
    /// The mask, which is `true` for missing elements.
    mask: Option<Vec<bool>>,
    index: usize,
}

/// Collects elements into pixels.
#[derive(Clone, Debug)]
struct Cells {
    rows: u64,
    columns: u64,
    /// The number of elements along the side of a block.
    step: u64,
    row: u64,
    column: u64,
    /// For each block in the current row of pixels, the sum and the number of its values. NaNs are
    /// not included.
    blocks: Vec<(f64, u64)>,
    plane: Vec<f64>,
}

impl Reducer {
    /// Creates a reducer for an array. Neither side of the picture will have more than `max_side`
    /// pixels. A maximum of 0 is treated as 1.
    ///
    /// `order` is the order in which the elements are pushed. The reducer needs about 8 bytes of
    /// memory per pixel.
    ///
    /// # Errors
    ///
    /// - Fails with [`ElementsError::Datatype`] unless the elements are real numbers of up to 64
    ///   bits, booleans, dates or time spans.
    /// - Fails with [`ElementsError::Shape`] if the array does not have two dimensions, or has no
    ///   elements.
    pub fn new(
        datatype: &Datatype,
        shape: &[u64],
        order: Order,
        max_side: usize,
    ) -> Result<Self, ElementsError> {
        let values = Values::new(datatype)?;
        let (rows, columns) = match *shape {
            [rows, columns] if rows > 0 && columns > 0 => (rows, columns),
            [_, _] => {
                let message =
                    format!("an array without elements cannot be drawn; the shape is {shape:?}");
                return Err(ElementsError::Shape(message));
            }
            _ => {
                let message =
                    format!("a picture has 2 dimensions, but the array has {}", shape.len());
                return Err(ElementsError::Shape(message));
            }
        };
        let step = rows.max(columns).div_ceil((max_side as u64).max(1));
        let (rows, columns) = if order == Order::F { (columns, rows) } else { (rows, columns) };
        let blocks = vec![(0.0, 0); columns.div_ceil(step) as usize];
        let plane = Vec::with_capacity(blocks.len() * rows.div_ceil(step) as usize);
        let cells = Cells { rows, columns, step, row: 0, column: 0, blocks, plane };
        Ok(Self { elements: Elements { values, mask: None, index: 0 }, cells, order })
    }

    /// Ignores the elements for which the mask is `true`. The mask contains one value per element,
    /// in the order in which the elements are pushed.
    #[must_use]
    pub fn mask(mut self, mask: Option<Vec<bool>>) -> Self {
        self.elements.mask = mask;
        self
    }

    /// Adds the bytes of the next elements, in the byte order of the datatype. The bytes of an
    /// element may be split between two calls. Bytes after the last element of the array are
    /// ignored.
    pub fn push(&mut self, bytes: &[u8]) {
        let Elements { values, mask, index } = &mut self.elements;
        values.push(bytes, |value| {
            let is_missing = mask.as_ref().is_some_and(|mask| mask.get(*index) == Some(&true));
            *index += 1;
            self.cells.add(if is_missing { f64::NAN } else { value });
        });
    }

    /// Returns the picture. A pixel is NaN if none of its elements were pushed, or if all of them
    /// are masked or NaN.
    pub fn finish(mut self) -> Plane {
        let width = self.cells.blocks.len();
        let height = self.cells.rows.div_ceil(self.cells.step) as usize;
        if self.cells.plane.len() < width * height {
            self.cells.end_blocks();
        }
        let mut values = self.cells.plane;
        values.resize(width * height, f64::NAN);
        let plane = Plane { width, height, step: self.cells.step, values };
        if self.order == Order::F { plane.transposed() } else { plane }
    }
}

impl Cells {
    fn add(&mut self, value: f64) {
        if self.row == self.rows {
            return;
        }
        if !value.is_nan() {
            let (sum, count) = &mut self.blocks[(self.column / self.step) as usize];
            *sum += value;
            *count += 1;
        }
        self.column += 1;
        if self.column < self.columns {
            return;
        }
        self.column = 0;
        self.row += 1;
        if self.row % self.step == 0 || self.row == self.rows {
            self.end_blocks();
        }
    }

    /// Turns the current blocks into a row of pixels.
    fn end_blocks(&mut self) {
        self.plane.extend(self.blocks.iter().map(|&(sum, count)| sum / count as f64));
        self.blocks.fill((0.0, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(shape: &[u64], order: Order, max_side: usize, bytes: &[u8]) -> Plane {
        let mut reducer = Reducer::new(&Datatype::of::<u8>(), shape, order, max_side).unwrap();
        reducer.push(bytes);
        reducer.finish()
    }

    #[test]
    fn a_small_array_is_not_reduced() {
        let found = plane(&[2, 3], Order::C, 8, &[1, 2, 3, 4, 5, 6]);
        assert_eq!((found.width(), found.height(), found.step()), (3, 2, 1));
        assert_eq!(found.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn pixels_are_the_means_of_blocks_even_if_the_last_blocks_are_smaller() {
        let found = plane(&[3, 3], Order::C, 2, &[1, 3, 9, 5, 7, 11, 2, 4, 6]);
        assert_eq!((found.width(), found.height(), found.step()), (2, 2, 2));
        assert_eq!(found.values(), [4.0, 10.0, 3.0, 6.0]);
    }

    #[test]
    fn arrays_in_fortran_order_produce_the_same_picture() {
        let by_rows = plane(&[2, 3], Order::C, 2, &[1, 2, 3, 4, 5, 6]);
        let by_columns = plane(&[2, 3], Order::F, 2, &[1, 4, 2, 5, 3, 6]);
        assert_eq!(by_rows, by_columns);
    }

    #[test]
    fn masked_elements_and_nan_are_ignored_and_pixels_without_values_are_nan() {
        let mask = vec![false, true, false, true];
        let mut reducer =
            Reducer::new(&Datatype::of::<f32>(), &[2, 2], Order::C, 1).unwrap().mask(Some(mask));
        for value in [1_f32, 100.0, f32::NAN, 100.0] {
            reducer.push(&value.to_ne_bytes());
        }
        assert_eq!(reducer.finish().values(), [1.0]);
        let reducer = Reducer::new(&Datatype::of::<f32>(), &[2, 2], Order::C, 4).unwrap();
        assert!(reducer.finish().values().iter().all(|value| value.is_nan()));
    }

    #[test]
    fn flipping_moves_row_0_to_the_bottom() {
        let mut found = plane(&[2, 2], Order::C, 8, &[1, 2, 3, 4]);
        found.flip();
        assert_eq!(found.values(), [3.0, 4.0, 1.0, 2.0]);
    }

    #[test]
    fn arrays_without_elements_or_without_exactly_two_dimensions_are_rejected() {
        for (shape, message) in [
            (&[][..], "a picture has 2 dimensions, but the array has 0"),
            (&[2, 3, 4], "a picture has 2 dimensions, but the array has 3"),
            (&[0, 4], "an array without elements cannot be drawn; the shape is [0, 4]"),
        ] {
            let error = Reducer::new(&Datatype::of::<u8>(), shape, Order::C, 8).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }

    #[test]
    fn a_huge_array_needs_memory_only_for_its_picture() {
        let reducer =
            Reducer::new(&Datatype::of::<u8>(), &[1 << 60, 1 << 60], Order::C, 16).unwrap();
        assert_eq!(reducer.finish().values().len(), 256);
    }
}
