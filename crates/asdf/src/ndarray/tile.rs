//! Reading a part of an array from a file: only the bytes of its elements, in few reads.
//!
//! In memory the elements are copied from where they are. Elsewhere the part is cut along the axis
//! with the longest stride, then the next, until a piece is small and has no large gaps:
//!
//! ```text
//! 100 rows of 8000 bytes, the first 10 float64 of rows 0 and 1:
//!
//! row 0  |####----------------------------|    gap of 7920 bytes: two reads of 80
//! row 1  |####----------------------------|
//!
//! 100 rows of 800 bytes, the same part:
//!
//! row 0  |####------|####------|               gap of 720 bytes: one read of 880
//! ```

use binio::ReadAt;

use crate::error::{ArrayError, Result};
use crate::ndarray::Place;
use crate::ndarray::element::{InMemory, zeroed_bytes};
use crate::ndarray::extent::{Strided, c_strides};
use crate::ndarray::gather::{Axis, Gather};
use crate::ndarray::swap::Swap;

/// Gaps below this are read over: one more read costs more than these bytes.
const GAP: usize = 4096;

/// The largest piece that is read into a buffer of its own.
const PIECE: usize = 1 << 20;

/// Copies elements from a slice that holds the bytes `start..` of the data to `out`, packed in C
/// order.
pub(crate) fn copy_from_slice(
    data: &[u8],
    start: u64,
    array: &Strided,
    swap: &Swap,
    out: &mut [u8],
) -> Result<(), ArrayError> {
    let gather = plan(array, swap).ok_or_else(|| too_large(array))?;
    if gather.is_empty() {
        return Ok(());
    }
    let outside = || outside(array, data.len());
    let from = array.offset().checked_sub(start).ok_or_else(outside)?;
    let from = usize::try_from(from).map_err(|_| too_large(array))?;
    gather.copy(data, from, out, 0).ok_or_else(outside)
}

/// Appends elements in C order. `None`, and nothing done, where [`copy_from_slice`] has to do it.
pub(crate) fn append<T: bytemuck::Pod>(elements: InMemory<'_>, out: &mut Vec<T>) -> Option<()> {
    let InMemory { data, start, array, swap } = elements;
    let from = usize::try_from(array.offset().checked_sub(start)?).ok()?;
    plan(array, swap)?.append(data, from, out)
}

/// Reads elements from a source that holds the data from `base` on to `out`, packed in C order.
pub(crate) fn read(
    source: &dyn ReadAt,
    base: u64,
    array: &Strided,
    swap: &Swap,
    out: &mut [u8],
    place: Place,
) -> Result<()> {
    if array.packed_size() == Some(0) {
        return Ok(());
    }
    let from = base.checked_add(array.offset());
    let from = from.ok_or_else(|| place.error(outside(array, 0)))?;
    let too_large = || place.error(too_large(array));
    if source.is_memory() {
        let extent = array.extent();
        let len = usize::try_from(extent.end - extent.start).map_err(|_| too_large())?;
        // No overflow: the extent begins at the offset or before.
        let data = source.bytes_at(base + extent.start, len)?;
        return copy_from_slice(&data, extent.start, array, swap, out)
            .map_err(|kind| place.error(kind));
    }
    let gather = plan(array, swap).ok_or_else(too_large)?;
    let mut axes = gather.axes().to_vec();
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.from.unsigned_abs()));
    let levels = levels(&axes, gather.run()).ok_or_else(too_large)?;
    Pieces { source, gather: &gather, axes: &axes, levels: &levels }.read(0, from, out, 0)
}

fn too_large(array: &Strided) -> ArrayError {
    ArrayError::Invalid {
        key: "shape",
        message: format!("{:?} does not fit into the memory of this machine", array.shape()),
    }
}

fn outside(array: &Strided, len: usize) -> ArrayError {
    let extent = array.extent();
    ArrayError::OutsideBlock {
        low: extent.start.into(),
        high: extent.end.into(),
        len: len.try_into().unwrap_or(u64::MAX),
    }
}

/// The copy of an array to C order; `None` when it is larger than the address space.
fn plan<'s>(array: &Strided, swap: &'s Swap) -> Option<Gather<'s>> {
    let item = usize::try_from(array.item_size()).ok()?;
    let packed = c_strides(array.shape(), array.item_size()).ok()?;
    let axes = array.shape().iter().zip(array.strides()).zip(packed);
    let axes = axes.map(|((&count, &from), to)| {
        Some(Axis {
            count: count.try_into().ok()?,
            from: from.try_into().ok()?,
            to: to.try_into().ok()?,
        })
    });
    Some(Gather::new(axes.collect::<Option<_>>()?, item, swap))
}

/// What the axes from some axis on look like in the source.
struct Level {
    /// From their lowest byte to the end of the highest.
    span: usize,
    /// Bytes of it below the first element.
    below: usize,
    /// No gap inside it is large.
    dense: bool,
}

/// One level an axis, and that of a single run.
fn levels(axes: &[Axis], run: usize) -> Option<Vec<Level>> {
    let mut levels = vec![Level { span: run, below: 0, dense: true }];
    for axis in axes.iter().rev() {
        let inner = levels.last()?;
        let step = axis.from.unsigned_abs();
        let reach = step.checked_mul(axis.count - 1)?;
        levels.push(Level {
            span: inner.span.checked_add(reach)?,
            below: inner.below.checked_add(if axis.from < 0 { reach } else { 0 })?,
            dense: inner.dense && step.saturating_sub(inner.span) < GAP,
        });
    }
    levels.reverse();
    Some(levels)
}

struct Pieces<'p> {
    source: &'p dyn ReadAt,
    gather: &'p Gather<'p>,
    /// By the stride in the source, the longest first.
    axes: &'p [Axis],
    levels: &'p [Level],
}

impl Pieces<'_> {
    /// Reads all along the axes from `level` on. `from` is a place in the source, `to` in `out`.
    fn read(&self, level: usize, from: u64, out: &mut [u8], to: usize) -> Result<()> {
        let (Some(this), Some(axis)) = (self.levels.get(level), self.axes.get(level)) else {
            return self.read_run(from, out, to);
        };
        if this.dense && this.span <= PIECE {
            return self.read_piece(&self.axes[level..], this.span, this.below, from, out, to);
        }
        let inner = &self.levels[level + 1];
        let (mut from, mut to) = (from, to);
        // As many steps at once as fit into a piece.
        let room = PIECE.saturating_sub(inner.span);
        let at_once = match room.checked_div(axis.from.unsigned_abs()) {
            _ if !this.dense || inner.span > PIECE => 1,
            Some(more) => (1 + more).min(axis.count),
            None => axis.count,
        };
        let mut done = 0;
        while done < axis.count {
            let count = at_once.min(axis.count - done);
            if count == 1 {
                self.read(level + 1, from, out, to)?;
            } else {
                let mut axes = self.axes[level..].to_vec();
                axes[0].count = count;
                let reach = axis.from.unsigned_abs() * (count - 1);
                let below = inner.below + if axis.from < 0 { reach } else { 0 };
                self.read_piece(&axes, inner.span + reach, below, from, out, to)?;
            }
            done += count;
            let steps = isize::try_from(count).unwrap_or(isize::MAX);
            let step = i64::try_from(axis.from.saturating_mul(steps)).unwrap_or(i64::MAX);
            from = from.wrapping_add_signed(step);
            to = to.wrapping_add_signed(axis.to.wrapping_mul(steps));
        }
        Ok(())
    }

    /// Reads one piece into a buffer and copies its elements.
    fn read_piece(
        &self,
        axes: &[Axis],
        span: usize,
        below: usize,
        from: u64,
        out: &mut [u8],
        to: usize,
    ) -> Result<()> {
        let mut piece = zeroed_bytes(span)?;
        let start = from.wrapping_sub(u64::try_from(below).unwrap_or(u64::MAX));
        self.source.read_exact_at(&mut piece, start)?;
        let copied = self.gather.part(axes.to_vec()).copy(&piece, below, out, to);
        debug_assert!(copied.is_some(), "the axes span the piece");
        Ok(())
    }

    /// Reads bytes that lie side by side on both sides to where they belong.
    fn read_run(&self, from: u64, out: &mut [u8], to: usize) -> Result<()> {
        let run = &mut out[to..to + self.gather.run()];
        let Some(piece) = self.gather.swap_piece(PIECE) else {
            self.source.read_exact_at(run, from)?;
            self.gather.swap_run(run);
            return Ok(());
        };
        // Swapped piece by piece, while the bytes are in the cache.
        let mut from = from;
        for part in run.chunks_mut(piece) {
            self.source.read_exact_at(part, from)?;
            self.gather.swap_run(part);
            from += u64::try_from(part.len()).unwrap_or(u64::MAX);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one read is a list of one range")]
mod tests {
    use binio::{Bytes, Endian, ReadLog};
    use proptest::prelude::*;

    use super::*;
    use crate::ndarray::Slice;
    use crate::ndarray::dtype::ScalarType;
    use crate::ndarray::swap::Order;
    use crate::yaml;

    fn place() -> Place {
        let document = yaml::Document::parse(b"", &yaml::ParseOptions::default(), &mut Vec::new());
        Place::of(document.unwrap().root())
    }

    /// The ranges that are read for a slice of a float64 array, which begins at byte 10.
    fn reads(shape: &[u64], slices: &str) -> Vec<std::ops::Range<u64>> {
        let len: u64 = shape.iter().product::<u64>() * 8;
        let bytes = bytes(usize::try_from(len + 10).unwrap());
        let array = Strided::new(shape.to_vec(), None, 0, 8, len).unwrap();
        let part = array.slice(&Slice::parse(slices).unwrap()).unwrap();
        let source = ReadLog::new(Bytes::from(bytes.clone()));
        let size = usize::try_from(part.packed_size().unwrap()).unwrap();
        let (mut out, mut expected) = (vec![0; size], vec![0; size]);
        read(&source, 10, &part, &Swap::None, &mut out, place()).unwrap();
        copy_from_slice(&bytes[10..], 0, &part, &Swap::None, &mut expected).unwrap();
        assert!(out == expected, "{shape:?} {slices}");
        source.ranges()
    }

    /// Bytes that tell one place from another.
    fn bytes(len: usize) -> Vec<u8> {
        (0..=250).cycle().take(len).collect()
    }

    #[test]
    fn far_rows_are_read_one_by_one() {
        assert_eq!(reads(&[100, 1000], "0:2,0:10"), [10..90, 8010..8090]);
        assert_eq!(reads(&[100, 1000], "::-99,5"), [792_050..792_058, 50..58]);
    }

    #[test]
    fn near_rows_are_read_at_once() {
        assert_eq!(reads(&[100, 100], "0:2,0:10"), [10..890]);
        assert_eq!(reads(&[10, 1000], ":,::-2"), [18..80_010]);
    }

    #[test]
    fn what_lies_together_is_read_straight() {
        assert_eq!(reads(&[100, 1000], "3:5"), [24_010..40_010]);
        assert_eq!(reads(&[100, 1000], "3,7"), [24_066..24_074]);
        assert_eq!(reads(&[0, 5], ":"), []);
    }

    #[test]
    fn large_parts_are_read_in_pieces_of_a_mebibyte() {
        // 300,000 elements, every second: 2,400,000 bytes but the last 8.
        let ranges = reads(&[300_000], "::2");
        assert_eq!(ranges, [10..1_048_578, 1_048_586..2_097_154, 2_097_162..2_400_002]);
    }

    fn any_part() -> impl Strategy<Value = (Strided, u64)> {
        let axis = (0..6_u64, -20..=20_i64);
        (proptest::collection::vec(axis, 0..4), 0..40_u64).prop_map(|(axes, item)| {
            let (shape, strides): (Vec<u64>, Vec<i64>) = axes.into_iter().unzip();
            let array = Strided::new(shape, Some(strides), 1 << 10, item, 1 << 11).unwrap();
            (array, item)
        })
    }

    /// Element by element, from the definition of strides.
    fn naive(data: &[u8], array: &Strided) -> Vec<u8> {
        let mut places = vec![i64::try_from(array.offset()).unwrap()];
        for (&count, &stride) in array.shape().iter().zip(array.strides()) {
            let count = i64::try_from(count).unwrap();
            places = places.iter().flat_map(|p| (0..count).map(move |i| p + i * stride)).collect();
        }
        let item = usize::try_from(array.item_size()).unwrap();
        places
            .into_iter()
            .flat_map(|place| data[usize::try_from(place).unwrap()..][..item].to_vec())
            .collect()
    }

    proptest! {
        #[test]
        fn every_way_of_reading_equals_the_naive_one((array, item) in any_part()) {
            let data = bytes(1 << 11);
            let expected = naive(&data, &array);
            let mut out = vec![0; expected.len()];
            copy_from_slice(&data, 0, &array, &Swap::None, &mut out).unwrap();
            prop_assert_eq!(&out, &expected);
            let source = ReadLog::new(Bytes::from(data));
            out.fill(0);
            read(&source, 0, &array, &Swap::None, &mut out, place()).unwrap();
            prop_assert_eq!(&out, &expected);
            for range in source.ranges() {
                prop_assert!(range.start >= array.extent().start);
                prop_assert!(range.end <= array.extent().end);
            }
            prop_assert!(item > 0 || source.ranges().is_empty());
        }

        #[test]
        fn byte_order_changes_on_every_way(
            (array, _) in any_part(),
            scalar in prop_oneof![
                Just(ScalarType::Int16),
                Just(ScalarType::Float64),
                Just(ScalarType::Complex128),
                Just(ScalarType::Complex64),
                Just(ScalarType::Ucs4(3)),
            ],
        ) {
            let array = Strided::new(
                array.shape().to_vec(),
                Some(array.strides().to_vec()),
                array.offset(),
                scalar.size(),
                1 << 11,
            ).unwrap();
            let data = bytes(1 << 11);
            let mut expected = naive(&data, &array);
            expected.chunks_exact_mut(scalar.component_width()).for_each(<[u8]>::reverse);
            let swap = Swap::new(&scalar.into(), Endian::Big, Order::Little);
            let mut out = vec![0; expected.len()];
            copy_from_slice(&data, 0, &array, &swap, &mut out).unwrap();
            prop_assert_eq!(&out, &expected);
            out.fill(0);
            read(&ReadLog::new(Bytes::from(data)), 0, &array, &swap, &mut out, place()).unwrap();
            prop_assert_eq!(&out, &expected);
        }
    }

    #[test]
    fn runs_are_swapped_in_pieces() {
        let data = bytes(PIECE * 3);
        let len = u64::try_from(data.len()).unwrap();
        let array = Strided::new(vec![len / 8 - 1], None, 8, 8, len).unwrap();
        let mut out = vec![0; data.len() - 8];
        let source = ReadLog::new(Bytes::from(data.clone()));
        read(&source, 0, &array, &Swap::Width(8), &mut out, place()).unwrap();
        let mut expected = data[8..].to_vec();
        expected.chunks_exact_mut(8).for_each(<[u8]>::reverse);
        assert!(out == expected);
        assert_eq!(source.ranges().len(), 3);
    }
}
