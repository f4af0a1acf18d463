//! Planning which bytes of an array to access, in which order, and how they map to packed elements.
//!
//! The array is split along the axis with the longest stride, then along the next one, until each
//! piece is small and has no large gaps:
//!
//! ```text
//! 100 rows of 8000 bytes, the first 10 float64 of rows 0 and 1:
//!
//! row 0  |####----------------------------|    gap of 7920 bytes: two pieces of 80
//! row 1  |####----------------------------|
//!
//! 100 rows of 800 bytes, the same part:
//!
//! row 0  |####------|####------|               gap of 720 bytes: one piece of 880
//! ```
//!
//! Reading copies from each piece to the packed elements. Writing copies the other way; then a
//! piece must have no gaps at all, because the bytes in them must not change.

use std::cmp::Reverse;

use crate::array::copy::{Axis, StridedCopy};
use crate::array::swap::Swap;
use crate::array::{ElementsError, Strided, c_strides};

/// Returns the error for an array that is larger than the address space.
pub(crate) fn too_large(array: &Strided) -> ElementsError {
    let message =
        format!("the shape {:?} exceeds the address space of this machine", array.shape());
    ElementsError::Shape(message)
}

/// Returns a copy from an array to packed elements in C order.
pub(crate) fn to_packed<'s>(
    array: &Strided,
    swap: &'s Swap,
) -> Result<StridedCopy<'s>, ElementsError> {
    let axes = || {
        let packed = c_strides(array.shape(), array.itemsize()).ok()?;
        let axes = array.shape().iter().zip(array.strides()).zip(packed);
        let axes = axes.map(|((&count, &from), to)| {
            Some(Axis {
                count: count.try_into().ok()?,
                from: from.try_into().ok()?,
                to: to.try_into().ok()?,
            })
        });
        Some((axes.collect::<Option<_>>()?, usize::try_from(array.itemsize()).ok()?))
    };
    let (axes, item) = axes().ok_or_else(|| too_large(array))?;
    Ok(StridedCopy::new(axes, item, swap))
}

/// Divides an array into pieces of its data.
pub(crate) struct Plan<'p> {
    copy: &'p StridedCopy<'p>,
    /// Axes by their stride in the data, the longest first.
    axes: Vec<Axis>,
    levels: Vec<Level>,
    piece: usize,
}

/// The extent in the data of all axes from one level inwards.
struct Level {
    /// Bytes from the lowest byte to the end of the highest.
    span: usize,
    /// Bytes below the first element.
    below: usize,
    /// Whether all gaps inside are small.
    dense: bool,
}

/// A part of the data that is read or written in one go.
pub(crate) struct Piece<'p> {
    /// Offset of the piece in the data.
    pub(crate) start: u64,
    /// Length in bytes.
    pub(crate) span: usize,
    /// Offset of the first element in the piece.
    pub(crate) below: usize,
    /// The axes of its elements. If there are none, the elements are contiguous both here and when
    /// packed.
    pub(crate) axes: &'p [Axis],
    /// Offset of the first element in the packed bytes.
    pub(crate) packed: usize,
}

impl<'p> Plan<'p> {
    /// Plans pieces of at most `piece` bytes, with gaps below `gap` bytes.
    pub(crate) fn new(
        array: &Strided,
        copy: &'p StridedCopy<'p>,
        gap: usize,
        piece: usize,
    ) -> Result<Self, ElementsError> {
        let mut axes = if copy.is_empty() { Vec::new() } else { copy.axes().to_vec() };
        axes.sort_by_key(|axis| Reverse(axis.from.unsigned_abs()));
        let levels = levels(&axes, copy.run(), gap).ok_or_else(|| too_large(array))?;
        Ok(Self { copy, axes, levels, piece })
    }

    /// Calls `body` with each piece. `offset` is the offset of the first element in the data.
    pub(crate) fn for_each<E>(
        &self,
        offset: u64,
        body: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.copy.is_empty() { Ok(()) } else { self.level(0, offset, 0, body) }
    }

    /// Visits all pieces along the axes from `level` inwards. Recurses once per axis, and arrays
    /// have at most 64 axes.
    fn level<E>(
        &self,
        level: usize,
        mut at: u64,
        mut packed: usize,
        body: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Some(this), Some(axis)) = (self.levels.get(level), self.axes.get(level)) else {
            let span = self.copy.run();
            return body(Piece { start: at, span, below: 0, axes: &[], packed });
        };
        // Returns the offset of the lowest byte of a piece whose first element is at `at`.
        let start = |at: u64, below: usize| at.wrapping_sub(below as u64);
        if this.dense && this.span <= self.piece {
            let Level { span, below, .. } = *this;
            let axes = &self.axes[level..];
            return body(Piece { start: start(at, below), span, below, axes, packed });
        }
        let inner = &self.levels[level + 1];
        // Take as many steps at a time as fit into a piece.
        let room = self.piece.saturating_sub(inner.span);
        let at_once = match room.checked_div(axis.from.unsigned_abs()) {
            _ if !this.dense || inner.span > self.piece => 1,
            Some(more) => (1 + more).min(axis.count),
            None => axis.count,
        };
        let mut done = 0;
        while done < axis.count {
            let count = at_once.min(axis.count - done);
            if count == 1 {
                self.level(level + 1, at, packed, body)?;
            } else {
                let mut axes = self.axes[level..].to_vec();
                axes[0].count = count;
                let reach = axis.from.unsigned_abs() * (count - 1);
                let span = inner.span + reach;
                let below = inner.below + if axis.from < 0 { reach } else { 0 };
                body(Piece { start: start(at, below), span, below, axes: &axes, packed })?;
            }
            done += count;
            // After the last step the sums may be out of range, but they are not used then.
            let steps = isize::try_from(count).unwrap_or(isize::MAX);
            let step = i64::try_from(axis.from.saturating_mul(steps)).unwrap_or(i64::MAX);
            at = at.wrapping_add_signed(step);
            packed = packed.wrapping_add_signed(axis.to.wrapping_mul(steps));
        }
        Ok(())
    }
}

/// Returns one level per axis, and one for a single run.
fn levels(axes: &[Axis], run: usize, gap: usize) -> Option<Vec<Level>> {
    let mut levels = vec![Level { span: run, below: 0, dense: true }];
    for axis in axes.iter().rev() {
        let inner = levels.last()?;
        let step = axis.from.unsigned_abs();
        let reach = step.checked_mul(axis.count.checked_sub(1)?)?;
        levels.push(Level {
            span: inner.span.checked_add(reach)?,
            below: inner.below.checked_add(if axis.from < 0 { reach } else { 0 })?,
            dense: inner.dense && step.saturating_sub(inner.span) < gap,
        });
    }
    levels.reverse();
    Some(levels)
}
