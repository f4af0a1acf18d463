//! Copying strided elements: the inner loops of all reads.
//!
//! A copy is a set of nested loops, one per axis. Each axis has a count and two steps in bytes: one
//! in the source, which may be negative or zero, and one in the destination. The axes are first
//! simplified: those with a single element are dropped, and adjacent axes are merged if together
//! they form one sequence of equal steps. Then one of three loops runs:
//!
//! - *runs*: elements that are contiguous in both source and destination are copied together;
//! - *lines*: elements of 1, 2, 4, 8 or 16 bytes with gaps between them are copied as machine
//!   words;
//! - *tiles*: if the orders of source and destination differ (Fortran order), lines are copied in
//!   small blocks, so that each cache line is fetched only once.
//!
//! If the byte order has to change, numbers and characters of 2, 4 or 8 bytes are swapped as they
//! are copied, including the parts of complex numbers. Records and C's `long double` are swapped
//! after each run has been copied. No loop branches on the element type.

use crate::array::swap::Swap;

/// One axis of a copy operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Number of elements along the axis.
    pub(crate) count: usize,
    /// Distance in bytes between neighbours in the source.
    pub(crate) from: isize,
    /// Distance in bytes between neighbours in the destination.
    pub(crate) to: isize,
}

/// A strided copy: the axes to loop over, and the size of the run to copy at each step.
#[derive(Debug)]
pub(crate) struct StridedCopy<'s> {
    /// Axes from the outermost to the innermost, in the order of the destination.
    axes: Vec<Axis>,
    /// Size of one element in bytes.
    item: usize,
    /// Size in bytes of a run: one or more elements that are contiguous in both source and
    /// destination.
    run: usize,
    swap: &'s Swap,
    empty: bool,
}

/// Size of a tile in elements. Neighbours in a column are close in the source, and neighbours in a
/// row are close in the destination. With this size, 64 MiB of float64 in Fortran order take as
/// little as 0.7 times as long to copy as with other sizes. If the distance between columns is a
/// power of two, copying line by line instead of in tiles takes 3.5 times as long (`--example
/// array_speed`, row `transposed`). At other distances, copying line by line takes as little as 0.9
/// times as long.
const TILE_ROWS: usize = 16;
const TILE_COLUMNS: usize = 64;

impl<'s> StridedCopy<'s> {
    /// Creates an operation that copies elements of `item` bytes along the given axes.
    pub(crate) fn new(mut axes: Vec<Axis>, item: usize, swap: &'s Swap) -> Self {
        let empty = item == 0 || axes.iter().any(|axis| axis.count == 0);
        axes.retain(|axis| axis.count != 1);
        // The sort is stable, so axes with the same step in the destination keep the caller's
        // order.
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.to.unsigned_abs()));
        let mut merged: Vec<Axis> = Vec::with_capacity(axes.len());
        for axis in axes.into_iter().rev() {
            match merged.last_mut() {
                Some(inner) if continues(inner, &axis) => inner.count *= axis.count,
                _ => merged.push(axis),
            }
        }
        merged.reverse();
        let mut run = item;
        if let Some(inner) = merged.last() {
            if is_step(inner.from, item) && is_step(inner.to, item) {
                run = item.saturating_mul(inner.count);
                merged.pop();
            }
        }
        Self { axes: merged, item, run, swap, empty }
    }

    /// Copies the elements. The first element is at offset `from` in `src` and at offset `to` in
    /// `dst`. Returns `None` without copying anything if an element is outside `src` or `dst`.
    pub(crate) fn copy(&self, src: &[u8], from: usize, dst: &mut [u8], to: usize) -> Option<()> {
        if self.empty {
            return Some(());
        }
        self.check_source(src.len(), from)?;
        self.check(dst.len(), to, |axis| axis.to)?;
        match (self.run, self.swap) {
            (1, Swap::None) => self.words(src, from, dst, to, |word: u8| word),
            (2, Swap::None) => self.words(src, from, dst, to, |word: u16| word),
            (4, Swap::None) => self.words(src, from, dst, to, |word: u32| word),
            (8, Swap::None) => self.words(src, from, dst, to, |word: u64| word),
            (16, Swap::None) => self.words(src, from, dst, to, |word: u128| word),
            (2, Swap::Width(2)) => self.words(src, from, dst, to, u16::swap_bytes),
            (4, Swap::Width(4)) => self.words(src, from, dst, to, u32::swap_bytes),
            (8, Swap::Width(8)) => self.words(src, from, dst, to, u64::swap_bytes),
            // Reversing all bytes and then rotating by half the width reverses each half
            // separately.
            (8, Swap::Width(4)) => {
                self.words(src, from, dst, to, |word: u64| word.swap_bytes().rotate_left(32));
            }
            (16, Swap::Width(8)) => {
                self.words(src, from, dst, to, |Pair([re, im])| {
                    Pair([re.swap_bytes(), im.swap_bytes()])
                });
            }
            (_, Swap::Width(2)) => self.swapped_runs(src, from, dst, to, u16::swap_bytes),
            (_, Swap::Width(4)) => self.swapped_runs(src, from, dst, to, u32::swap_bytes),
            (_, Swap::Width(8)) => self.swapped_runs(src, from, dst, to, u64::swap_bytes),
            _ => self.runs(src, from, dst, to),
        }
        Some(())
    }

    /// Returns the axes from the outermost to the innermost, in the order of the destination.
    pub(crate) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the size in bytes of each run of elements that is contiguous in both source and
    /// destination.
    pub(crate) fn run(&self) -> usize {
        self.run
    }

    /// Returns `true` if words would be copied in tiles: an outer axis has shorter steps in the
    /// source than the innermost axis, and both axes are long enough.
    pub(crate) fn is_crossed(&self) -> bool {
        let split = self.axes.split_last();
        split.is_some_and(|(&inner, outer)| crossing_axis(outer, inner).is_some())
    }

    /// Returns the change to the byte order of each element.
    pub(crate) fn swap(&self) -> &Swap {
        self.swap
    }

    /// Checks that all elements are inside a source of `len` bytes, given the offset `from` of the
    /// first element. Returns `None` if they are not.
    pub(crate) fn check_source(&self, len: usize, from: usize) -> Option<()> {
        self.check(len, from, |axis| axis.from)
    }

    /// Returns `true` if there is nothing to copy.
    pub(crate) fn is_empty(&self) -> bool {
        self.empty
    }

    /// Returns this copy operation with its axes replaced, for example to copy only some of the
    /// elements.
    pub(crate) fn part(&self, mut axes: Vec<Axis>) -> Self {
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.to.unsigned_abs()));
        Self { axes, item: self.item, run: self.run, swap: self.swap, empty: self.empty }
    }

    /// Changes the byte order of a run that has already been copied.
    pub(crate) fn swap_run(&self, run: &mut [u8]) {
        self.swap.apply(run, self.item);
    }

    /// Returns the size of the pieces in which to swap the bytes of a run: the largest multiple of
    /// the element size that is at most `len`, but at least one element. Returns `None` if the run
    /// need not be swapped.
    pub(crate) fn swap_piece(&self, len: usize) -> Option<usize> {
        let item = self.item.max(1);
        (*self.swap != Swap::None).then_some((len - len % item).max(item))
    }

    /// Copies run by run without the fast loops, as a reference for tests.
    #[cfg(test)]
    pub(crate) fn copy_simply(&self, src: &[u8], from: usize, dst: &mut [u8], to: usize) {
        if !self.empty {
            nest(&self.axes, from, to, &mut |from, to| {
                let run = &mut dst[to..to + self.run];
                for (i, byte) in run.iter_mut().enumerate() {
                    *byte = src[from + i];
                }
                self.swap.apply(run, self.item);
            });
        }
    }

    /// Checks that all elements are inside a slice of `len` bytes, given the offset `start` of the
    /// first element. `step` returns the distance between neighbours in this slice. Returns `None`
    /// if an element is outside. The loops rely on this check.
    fn check(&self, len: usize, start: usize, step: fn(&Axis) -> isize) -> Option<()> {
        let (mut low, mut high) = (i128::try_from(start).ok()?, i128::try_from(start).ok()?);
        for axis in &self.axes {
            let reach = i128::try_from(axis.count - 1)
                .ok()?
                .checked_mul(i128::try_from(step(axis)).ok()?)?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        high = high.checked_add(i128::try_from(self.run).ok()?)?;
        (low >= 0 && high <= i128::try_from(len).ok()?).then_some(())
    }

    fn runs(&self, src: &[u8], from: usize, dst: &mut [u8], to: usize) {
        nest(&self.axes, from, to, &mut |from, to| {
            let run = &mut dst[to..to + self.run];
            run.copy_from_slice(&src[from..from + self.run]);
            self.swap.apply(run, self.item);
        });
    }

    fn swapped_runs<W: Word>(
        &self,
        src: &[u8],
        from: usize,
        dst: &mut [u8],
        to: usize,
        change: impl Fn(W) -> W + Copy,
    ) {
        nest(&self.axes, from, to, &mut |from, to| {
            let run = &mut dst[to..to + self.run];
            let words = &src[from..from + self.run];
            // Swap four words at a time. With a simple loop, the compiler would use vector
            // instructions, but only those that all processors support. Swapping would then take
            // 1.05 times as long (`--example array_speed`, row `swapped`).
            let mut outs = run.chunks_exact_mut(4 * W::SIZE);
            let mut fours = words.chunks_exact(4 * W::SIZE);
            for (out, words) in (&mut outs).zip(&mut fours) {
                let word = |i: usize| change(W::load(&words[i * W::SIZE..][..W::SIZE]));
                let words = [word(0), word(1), word(2), word(3)];
                for (out, word) in out.chunks_exact_mut(W::SIZE).zip(words) {
                    word.store(out);
                }
            }
            let rest = fours.remainder().chunks_exact(W::SIZE);
            for (out, word) in outs.into_remainder().chunks_exact_mut(W::SIZE).zip(rest) {
                change(W::load(word)).store(out);
            }
        });
    }

    fn words<W: Word>(
        &self,
        src: &[u8],
        from: usize,
        dst: &mut [u8],
        to: usize,
        change: impl Fn(W) -> W + Copy,
    ) {
        let Some((&inner, outer)) = self.axes.split_last() else {
            change(W::load(&src[from..from + W::SIZE])).store(&mut dst[to..to + W::SIZE]);
            return;
        };
        let Some(row) = crossing_axis(outer, inner) else {
            nest(outer, from, to, &mut |from, to| line(src, from, dst, to, inner, change));
            return;
        };
        let rows = outer[row];
        let rest: Vec<Axis> = [&outer[..row], &outer[row + 1..]].concat();
        nest(&rest, from, to, &mut |from, to| tiles(src, from, dst, to, [rows, inner], change));
    }
}

/// Returns `true` if a step of `outer` continues where `inner` ends, in both source and
/// destination.
fn continues(inner: &Axis, outer: &Axis) -> bool {
    let Ok(count) = isize::try_from(inner.count) else { return false };
    inner.count.checked_mul(outer.count).is_some()
        && inner.from.checked_mul(count) == Some(outer.from)
        && inner.to.checked_mul(count) == Some(outer.to)
}

pub(super) fn is_step(step: isize, size: usize) -> bool {
    usize::try_from(step) == Ok(size)
}

/// Finds the outer axis with the shortest nonzero steps in the source, ignoring axes with fewer
/// than 4 elements. Returns its index if its steps are shorter than the steps of the innermost
/// axis, and the innermost axis also has at least 4 elements. Returns `None` otherwise.
fn crossing_axis(outer: &[Axis], inner: Axis) -> Option<usize> {
    let candidates = outer.iter().enumerate().filter(|(_, axis)| axis.from != 0 && axis.count >= 4);
    let (place, axis) = candidates.min_by_key(|(_, axis)| axis.from.unsigned_abs())?;
    (inner.count >= 4 && axis.from.unsigned_abs() < inner.from.unsigned_abs()).then_some(place)
}

/// Calls `body` with the source and destination offsets of each position in the nested loops. The
/// recursion depth is the number of axes, which is at most 64.
pub(super) fn nest(axes: &[Axis], from: usize, to: usize, body: &mut impl FnMut(usize, usize)) {
    let Some((axis, inner)) = axes.split_first() else { return body(from, to) };
    let (mut from, mut to) = (from, to);
    for _ in 0..axis.count {
        nest(inner, from, to, body);
        // The sums after the last step may be out of range, but they are not used.
        from = from.wrapping_add_signed(axis.from);
        to = to.wrapping_add_signed(axis.to);
    }
}

/// Copies words along one axis.
#[inline]
fn line<W: Word>(
    src: &[u8],
    from: usize,
    dst: &mut [u8],
    to: usize,
    axis: Axis,
    change: impl Fn(W) -> W + Copy,
) {
    let size = W::SIZE;
    if !is_step(axis.to, size) {
        let (mut from, mut to) = (from, to);
        for _ in 0..axis.count {
            change(W::load(&src[from..from + size])).store(&mut dst[to..to + size]);
            from = from.wrapping_add_signed(axis.from);
            to = to.wrapping_add_signed(axis.to);
        }
        return;
    }
    let out = dst[to..to + size * axis.count].chunks_exact_mut(size);
    let gap = axis.from.unsigned_abs();
    if axis.from < 0 && gap == size {
        let start = from - size * (axis.count - 1);
        for (out, word) in out.zip(src[start..from + size].rchunks_exact(size)) {
            change(W::load(word)).store(out);
        }
    } else if axis.from > 0 && gap >= size {
        // A whole chunk of `gap` bytes starts at each element except the last, so the loop needs no
        // bounds checks.
        let last = axis.count - 1;
        for (out, words) in out.take(last).zip(src[from..].chunks_exact(gap)) {
            change(W::load(&words[..size])).store(out);
        }
        let (from, to) = (from + last * gap, to + last * size);
        change(W::load(&src[from..from + size])).store(&mut dst[to..to + size]);
    } else {
        let mut from = from;
        for out in out {
            change(W::load(&src[from..from + size])).store(out);
            from = from.wrapping_add_signed(axis.from);
        }
    }
}

/// Copies words along two axes. The first axis has the shorter steps in the source, and the second
/// axis has the shorter steps in the destination.
///
/// Each tile is copied through a buffer. The buffer is filled column by column, so that each cache
/// line of the source is fetched only once, even if the columns collide in the cache. It is then
/// written row by row.
fn tiles<W: Word>(
    src: &[u8],
    from: usize,
    dst: &mut [u8],
    to: usize,
    [rows, columns]: [Axis; 2],
    change: impl Fn(W) -> W + Copy,
) {
    let place = |start: usize, step: isize, count: usize| {
        // `check` has shown that the result is inside the slices, so nothing overflows.
        start.wrapping_add_signed(step.wrapping_mul(isize::try_from(count).unwrap_or(0)))
    };
    let mut tile = [[W::ZERO; TILE_COLUMNS]; TILE_ROWS];
    for column in (0..columns.count).step_by(TILE_COLUMNS) {
        let width = TILE_COLUMNS.min(columns.count - column);
        let from = place(from, columns.from, column);
        let to = place(to, columns.to, column);
        for row in (0..rows.count).step_by(TILE_ROWS) {
            let height = TILE_ROWS.min(rows.count - row);
            let (mut from, to) = (place(from, rows.from, row), place(to, rows.to, row));
            for column in 0..width {
                load_column(src, from, rows.from, height, &mut tile, column, change);
                from = from.wrapping_add_signed(columns.from);
            }
            for (row, words) in tile.iter().take(height).enumerate() {
                let to = place(to, rows.to, row);
                store_row(&words[..width], dst, to, columns.to);
            }
        }
    }
}

/// Loads a column of a tile: `height` words, starting at `from`.
#[inline]
fn load_column<W: Word>(
    src: &[u8],
    from: usize,
    step: isize,
    height: usize,
    tile: &mut [[W; TILE_COLUMNS]; TILE_ROWS],
    column: usize,
    change: impl Fn(W) -> W + Copy,
) {
    if height == TILE_ROWS && is_step(step, W::SIZE) {
        let words = src[from..from + TILE_ROWS * W::SIZE].chunks_exact(W::SIZE);
        for (row, word) in tile.iter_mut().zip(words) {
            row[column] = change(W::load(word));
        }
        return;
    }
    let mut from = from;
    for row in tile.iter_mut().take(height) {
        row[column] = change(W::load(&src[from..from + W::SIZE]));
        from = from.wrapping_add_signed(step);
    }
}

/// Stores a row of a tile, starting at `to`.
#[inline]
fn store_row<W: Word>(words: &[W], dst: &mut [u8], to: usize, step: isize) {
    if is_step(step, W::SIZE) {
        let out = dst[to..to + words.len() * W::SIZE].chunks_exact_mut(W::SIZE);
        for (out, word) in out.zip(words) {
            word.store(out);
        }
        return;
    }
    let mut to = to;
    for word in words {
        word.store(&mut dst[to..to + W::SIZE]);
        to = to.wrapping_add_signed(step);
    }
}

/// A machine word, the unit in which the fast loops copy. It contains a whole element, or a
/// component of an element, such as a character.
pub(super) trait Word: Copy {
    const SIZE: usize;
    const ZERO: Self;
    /// Reads a word from a slice of exactly its size.
    fn load(bytes: &[u8]) -> Self;
    /// Writes the word to a slice of exactly its size.
    fn store(self, bytes: &mut [u8]);
}

macro_rules! words {
    ($($word:ty)+) => {$(
        impl Word for $word {
            const SIZE: usize = size_of::<Self>();
            const ZERO: Self = 0;

            #[inline]
            fn load(bytes: &[u8]) -> Self {
                Self::from_ne_bytes(bytes.try_into().unwrap_or_default())
            }

            #[inline]
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )+};
}

words!(u8 u16 u32 u64 u128);

/// Two 8-byte words, to be swapped separately.
#[derive(Clone, Copy)]
struct Pair([u64; 2]);

impl Word for Pair {
    const SIZE: usize = 16;
    const ZERO: Self = Self([0; 2]);

    #[inline]
    fn load(bytes: &[u8]) -> Self {
        let (re, im) = bytes.split_at(8);
        Self([u64::load(re), u64::load(im)])
    }

    #[inline]
    fn store(self, bytes: &mut [u8]) {
        let (re, im) = bytes.split_at_mut(8);
        self.0[0].store(re);
        self.0[1].store(im);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates axes and their order in memory. Each axis has a count and a step. Some axes are
    /// reversed or have gaps.
    fn any_axes() -> impl Strategy<Value = (Vec<(usize, isize)>, Vec<usize>)> {
        let axis = (1..=70_usize, prop_oneof![Just(1_isize), Just(-1), Just(2), Just(-3), Just(0)]);
        proptest::collection::vec(axis, 0..=3)
            .prop_flat_map(|axes| {
                let order: Vec<usize> = (0..axes.len()).collect();
                (Just(axes), Just(order).prop_shuffle())
            })
            .prop_filter("small", |(axes, _)| axes.iter().map(|a| a.0).product::<usize>() < 20_000)
    }

    fn any_element() -> impl Strategy<Value = (usize, Swap)> {
        prop_oneof![
            (1..=17_usize).prop_map(|item| (item, Swap::None)),
            Just((2, Swap::Width(2))),
            Just((4, Swap::Width(4))),
            Just((8, Swap::Width(8))),
            Just((8, Swap::Width(4))),
            Just((16, Swap::Width(8))),
            Just((12, Swap::Width(4))),
            Just((6, Swap::Width(2))),
        ]
    }

    proptest! {
        #[test]
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
        fn fast_copies_give_the_same_result_as_simple_copies(
            (axes, order) in any_axes(),
            (item, swap) in any_element(),
        ) {
            let size = isize::try_from(item).unwrap();
            let mut from = vec![0_isize; axes.len()];
            let (mut stride, mut start) = (size, 0);
            for &place in &order {
                let (count, step) = axes[place];
                from[place] = stride * step;
                let reach = from[place] * isize::try_from(count - 1).unwrap();
                start += (-reach).max(0);
                stride *= step.abs().max(1) * isize::try_from(count).unwrap();
            }
            let mut to = size;
            let mut nest = Vec::new();
            for (&(count, _), &from) in axes.iter().zip(&from).rev() {
                nest.insert(0, Axis { count, from, to });
                to *= isize::try_from(count).unwrap();
            }
            let src: Vec<u8> = (0..stride).map(|i| (i % 251) as u8).collect();
            let copy = StridedCopy::new(nest, item, &swap);
            let mut fast = vec![0; to as usize];
            let mut simple = fast.clone();
            copy.copy(&src, start as usize, &mut fast, 0).unwrap();
            copy.copy_simply(&src, start as usize, &mut simple, 0);
            prop_assert_eq!(&fast, &simple);
            let mut appended: Vec<u8> = Vec::new();
            match copy.append(&src, start as usize, &mut appended) {
                Some(()) => prop_assert_eq!(&appended, &simple),
                None => prop_assert!(copy.is_crossed() || swap != Swap::None),
            }
            let mut appended: Vec<u64> = Vec::new();
            if copy.append(&src, start as usize, &mut appended).is_some() {
                prop_assert_eq!(bytemuck::cast_slice::<u64, u8>(&appended), &simple);
            }
        }
    }

    #[test]
    fn contiguous_elements_are_merged_into_one_run() {
        let axes = vec![
            Axis { count: 3, from: 40, to: 40 },
            Axis { count: 1, from: -7, to: 40 },
            Axis { count: 5, from: 8, to: 8 },
        ];
        let copy = StridedCopy::new(axes, 8, &Swap::None);
        assert_eq!((copy.axes(), copy.run()), (&[][..], 120));
    }

    #[test]
    fn copying_fails_without_writing_anything_if_an_axis_reaches_out_of_bounds() {
        let axis = |from, to| vec![Axis { count: 3, from, to }];
        for (axes, start) in [(axis(8, 4), 0), (axis(-4, 4), 7), (axis(4, 8), 0)] {
            let mut out = [9; 12];
            assert_eq!(
                StridedCopy::new(axes, 4, &Swap::None).copy(&[0; 12], start, &mut out, 0),
                None
            );
            assert_eq!(out, [9; 12]);
        }
    }

    #[test]
    fn copying_no_elements_accesses_no_bytes() {
        let axes = vec![Axis { count: 0, from: isize::MIN, to: isize::MAX }];
        assert_eq!(StridedCopy::new(axes, 4, &Swap::None).copy(&[], 99, &mut [], 0), Some(()));
    }
}
