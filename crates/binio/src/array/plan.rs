//! Planning which bytes of an array to access, in which order, and where they belong among the
//! packed elements.
//!
//! The array is split along the axis with the longest stride, then along the next one, until each
//! piece is small and has no large gaps:
//!
//! ```text
//! In an array with rows of 8000 bytes, select the first 10 float64 of rows 0 and 1:
//!
//! row 0  |####----------------------------|    gap of 7920 bytes: two pieces of 80 bytes
//! row 1  |####----------------------------|
//!
//! In an array with rows of 800 bytes, select the same elements:
//!
//! row 0  |####------|####------|               gap of 720 bytes: one piece of 880 bytes
//! ```
//!
//! A read copies the elements of each piece to the packed elements. A write copies in the opposite
//! direction. The pieces of a write must have no gaps, because bytes in gaps must not change.

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

/// Returns the operation that copies the elements of an array to packed elements in C order.
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

/// A plan that divides the data of an array into pieces.
pub(crate) struct Plan<'p> {
    copy: &'p StridedCopy<'p>,
    /// Axes in order of decreasing stride in the data.
    axes: Vec<Axis>,
    levels: Vec<Level>,
    piece: usize,
}

/// The range of the data that is covered by an axis and all axes inside it.
struct Level {
    /// Length of the range in bytes.
    span: usize,
    /// Number of bytes in the range before the first element, if strides are negative.
    below: usize,
    /// Whether all gaps in the range are small enough to read.
    dense: bool,
}

/// A part of the data that is read or written in one go. A long run whose bytes are swapped is
/// split further.
pub(crate) struct Piece<'p> {
    /// Offset of the piece in bytes, from the start of the data.
    pub(crate) start: u64,
    /// Length of the piece in bytes.
    pub(crate) span: usize,
    /// Offset in bytes from the start of the piece to its first element.
    pub(crate) below: usize,
    /// The axes of the elements in the piece. If there are none, the piece is a single run of
    /// elements that are contiguous both in the data and when packed.
    pub(crate) axes: &'p [Axis],
    /// Offset in bytes of the piece's first element among the packed elements.
    pub(crate) packed: usize,
}

impl<'p> Plan<'p> {
    /// Plans pieces of at most `piece` bytes with gaps of less than `gap` bytes between their
    /// elements. A contiguous run of elements is never divided, so its piece may be longer.
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

    /// Calls `body` with each piece. `offset` is the offset of the array's first element in the
    /// data.
    pub(crate) fn for_each<E>(
        &self,
        offset: u64,
        body: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.copy.is_empty() { Ok(()) } else { self.level(0, offset, 0, body) }
    }

    /// Visits all pieces along the axes from `level` inwards. The recursion depth is at most 64,
    /// the maximum number of axes.
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
        // Combine as many steps along this axis as fit into one piece.
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
            // The sums after the last step may be out of range, but they are not used.
            let steps = isize::try_from(count).unwrap_or(isize::MAX);
            let step = i64::try_from(axis.from.saturating_mul(steps)).unwrap_or(i64::MAX);
            at = at.wrapping_add_signed(step);
            packed = packed.wrapping_add_signed(axis.to.wrapping_mul(steps));
        }
        Ok(())
    }
}

/// Returns the [`Level`] of each axis, followed by the level of a single run. Returns `None` if a
/// range exceeds the address space.
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
