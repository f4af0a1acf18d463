//! Comparing arrays: their types, shapes, masks and elements.

use std::fmt;

use binio::Endian;
use binio::array::{ByteOrder, Order, json};
use binio::diagnostic;
use binio::pointer::push;
use bytes::Bytes;

use super::number::distance;
use super::value::{shortened, shown};
use super::{DifferenceKind, Progress, Run, Stop};
use crate::Node;
use crate::error::{Error, Result};
use crate::file::blocks::join;
use crate::ndarray::{Datatype, Field, NdArray, Origin, Record, ScalarType, Slice, datatype_name};

/// Maximum number of bytes of each array that are compared at a time.
const PIECE: u64 = 4 << 20;

/// Maximum number of elements that are compared if, in both arrays, many elements share the same bytes.
const MAX_REPEATED: u64 = 1 << 24;

/// A summary of the differences between the elements of two arrays.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElementsDifference {
    /// Number of elements that differ.
    pub count: u64,
    /// Total number of elements.
    pub total: u64,
    /// Index of the first element that differs, in C order. It consists of one number per dimension, counted
    /// from 0.
    pub first: Vec<u64>,
    /// Value of the first differing element in the first array, or `--` if it is masked.
    pub from: String,
    /// Value of the first differing element in the second array, or `--` if it is masked.
    pub to: String,
    /// The largest absolute difference between two corresponding numbers, or `None` if no numbers
    /// differ. Masked elements and NaN are ignored.
    pub largest: Option<f64>,
}

impl fmt::Display for ElementsDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, total, first, from, to, largest } = self;
        let differ = if *count == 1 { "differs" } else { "differ" };
        let total = diagnostic::count(*total, "element");
        write!(f, "{count} of {total} {differ}, the first at {first:?}: {from} -> {to}")?;
        match largest {
            Some(largest) if *count > 1 => write!(f, ", by at most {largest}"),
            _ => Ok(()),
        }
    }
}

impl Run<'_, '_> {
    /// Compares two nodes, at least one of which has an ndarray tag.
    pub(super) fn arrays(
        &mut self,
        pointer: &str,
        before: Node<'_>,
        after: Node<'_>,
        progress: &[Progress],
    ) -> Result<(), Stop> {
        let is_array = |node: Node<'_>| node.is_ndarray() || node.ndarray().is_ok();
        if is_array(before) && is_array(after) {
            return self.opened(pointer, [&before.ndarray()?, &after.ndarray()?], progress);
        }
        self.report(pointer.to_owned(), DifferenceKind::Value(shown(before), shown(after)))
    }

    fn opened(
        &mut self,
        pointer: &str,
        [before, after]: [&NdArray<'_>; 2],
        progress: &[Progress],
    ) -> Result<(), Stop> {
        let datatypes = [before.datatype(), after.datatype()];
        let compared = datatypes.map(|datatype| self.compared_type(datatype, progress));
        let [from, to] = compared.each_ref().map(|it| it.with_byte_order(ByteOrder::Little));
        if from != to {
            let [from, to] = compared.each_ref().map(datatype_name);
            self.report(pointer.to_owned(), DifferenceKind::Datatype(from, to))?;
        }
        if before.shape() != after.shape() {
            let [from, to] = [before.shape(), after.shape()].map(<[u64]>::to_vec);
            return self.report(pointer.to_owned(), DifferenceKind::Shape(from, to));
        }
        if self.is_same_block(before, after)? {
            return Ok(());
        }
        match datatypes.map(|datatype| datatype.as_record()) {
            [Some(from), Some(to)] => self.fields(pointer, [before, after], [from, to], progress),
            [None, None] => match elements(self.compare.tolerance, before, after)? {
                Some(elements) => {
                    self.report(pointer.to_owned(), DifferenceKind::Elements(elements))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Returns `true` if two arrays without masks have the same type and layout, and their compressed
    /// blocks have identical stored bytes that match the checksum. Such blocks need not be decoded,
    /// which saves time when a file is compared with a modified copy.
    fn is_same_block(&mut self, before: &NdArray<'_>, after: &NdArray<'_>) -> Result<bool> {
        let (Origin::Block(one), Origin::Block(two)) = (before.source(), after.source()) else {
            return Ok(false);
        };
        let is_same_view = before.datatype() == after.datatype()
            && before.layout() == after.layout()
            && !before.is_masked()
            && !after.is_masked();
        if !is_same_view || !one.is_compressed() {
            return Ok(false);
        }
        let key = (one.offset(), two.offset());
        if let Some(&is_same) = self.same_blocks.get(&key) {
            return Ok(is_same);
        }
        let is_same = one.is_stored_like(&two)?;
        // Without decoding the block, only a matching checksum proves that the data is intact.
        let is_same = is_same && one.verify()?.is_match();
        self.same_blocks.insert(key, is_same);
        Ok(is_same)
    }

    /// Returns a datatype without the fields that are ignored.
    fn compared_type(&self, datatype: &Datatype, progress: &[Progress]) -> Datatype {
        let Some(record) = datatype.as_record().filter(|_| !progress.is_empty()) else {
            return datatype.clone();
        };
        let mut fields = Vec::new();
        for field in record.fields() {
            let progress = self.step(progress, field.name());
            if !self.is_ignored(&progress) {
                let datatype = self.compared_type(field.datatype(), &progress);
                fields.push(Field::new(field.name(), datatype).with_shape(field.shape().to_vec()));
            }
        }
        Record::packed(fields).map_or_else(|_| datatype.clone(), Datatype::from)
    }

    /// Compares two arrays of records field by field, each field as a separate array.
    fn fields(
        &mut self,
        pointer: &str,
        [before, after]: [&NdArray<'_>; 2],
        [from, to]: [&Record; 2],
        progress: &[Progress],
    ) -> Result<(), Stop> {
        let below = |name: &str| {
            let mut below = pointer.to_owned();
            push(&mut below, name);
            below
        };
        for field in from.fields() {
            let name = field.name();
            let progress = self.step(progress, name);
            if self.is_ignored(&progress) {
                continue;
            }
            if to.field(name).is_some() {
                let arrays = [&before.field(name)?, &after.field(name)?];
                self.opened(&below(name), arrays, &progress)?;
            } else {
                let removed = DifferenceKind::Removed("a field".to_owned());
                self.report(below(name), removed)?;
            }
        }
        for field in to.fields().iter().filter(|field| from.field(field.name()).is_none()) {
            if !self.is_ignored(&self.step(progress, field.name())) {
                self.report(below(field.name()), DifferenceKind::Added("a field".to_owned()))?;
            }
        }
        Ok(())
    }
}

/// Compares the elements of two arrays that have the same shape and whose elements are scalars.
/// Returns `None` if all elements are equal.
fn elements(
    tolerance: super::Tolerance,
    before: &NdArray<'_>,
    after: &NdArray<'_>,
) -> Result<Option<ElementsDifference>> {
    let scalars = [before, after].map(|array| array.datatype().as_scalar());
    let [Some(from), Some(to)] = scalars else { return Ok(None) };
    check_repeated(before, after)?;
    // Keep the decoded blocks, so that they are not decoded again for each piece.
    let (one, two) = join(|| decoded(before), || decoded(after));
    let _decoded = [one?, two?];
    let pieces = Pieces::of(before.shape(), PIECE / from.size().max(to.size()).max(1));
    let native = [from, to].map(|scalar| scalar.with_endian(Endian::NATIVE));
    let is_same_type = native[0] == native[1];
    let mut found: Option<ElementsDifference> = None;
    for (start, slices) in pieces {
        let parts = [before.slice(&slices)?, after.slice(&slices)?];
        let [first, second] = [&parts[0], &parts[1]].map(|part| {
            Ok::<_, Error>((part.read_bytes(Order::C, ByteOrder::Native)?, part.mask()?))
        });
        let ((first, first_mask), (second, second_mask)) = (first?, second?);
        if is_same_type && first == second && first_mask == second_mask {
            continue;
        }
        let sizes = [from, to].map(|scalar| usize::try_from(scalar.size()).unwrap_or(1).max(1));
        let items = first.chunks_exact(sizes[0]).zip(second.chunks_exact(sizes[1]));
        for (at, (one, other)) in items.enumerate() {
            let masked = |mask: &Option<Vec<bool>>| mask.as_ref().is_some_and(|mask| mask[at]);
            let is_masked = [masked(&first_mask), masked(&second_mask)];
            let numbers = native[0].decode(one).zip(native[1].decode(other));
            let is_equal = match (is_masked, numbers) {
                ([true, true], _) => true,
                ([false, false], Some((one, other))) => tolerance.allows(one, other),
                ([false, false], None) => is_same_text(from, to, one, other),
                _ => false,
            };
            if is_equal {
                continue;
            }
            let distance = numbers
                .filter(|_| is_masked == [false, false])
                .map(|(one, other)| distance(one, other))
                .filter(|distance| !distance.is_nan());
            let difference = found.get_or_insert_with(|| ElementsDifference {
                count: 0,
                total: before.len(),
                first: index_of(before.shape(), start + at as u64),
                from: element(from, one, is_masked[0]),
                to: element(to, other, is_masked[1]),
                largest: None,
            });
            difference.count += 1;
            difference.largest = match (difference.largest, distance) {
                (Some(largest), Some(distance)) => Some(largest.max(distance)),
                (largest, distance) => largest.or(distance),
            };
        }
    }
    Ok(found)
}

/// Limits the number of elements if, in both arrays, many elements share the same bytes. Such arrays can have
/// vastly more elements than the file has bytes.
fn check_repeated(before: &NdArray<'_>, after: &NdArray<'_>) -> Result<()> {
    let is_repeated = |array: &NdArray<'_>| {
        let extent = array.layout().extent();
        let size = array.layout().byte_size().unwrap_or(u64::MAX);
        size / 16 > extent.end - extent.start
    };
    if is_repeated(before) && is_repeated(after) {
        binio::check_limit("repeated elements to compare", MAX_REPEATED, before.len())?;
    }
    Ok(())
}

/// Returns the decoded block of an array, or `None` if the array is not in a compressed block.
fn decoded(array: &NdArray<'_>) -> Result<Option<Bytes>> {
    match array.source() {
        Origin::Block(block) | Origin::External(_, block) if block.is_compressed() => {
            block.decode().map(Some)
        }
        _ => Ok(None),
    }
}

/// Returns `true` if two elements have the same kind and the same bytes. Trailing zeros are ignored,
/// because they pad strings.
fn is_same_text(from: ScalarType, to: ScalarType, one: &[u8], other: &[u8]) -> bool {
    if from.kind() != to.kind() {
        return false;
    }
    let trimmed = |bytes: &[u8]| bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    one[..trimmed(one)] == other[..trimmed(other)]
}

fn element(scalar: ScalarType, bytes: &[u8], is_masked: bool) -> String {
    if is_masked {
        return "--".to_owned();
    }
    let native = scalar.with_endian(Endian::NATIVE).into();
    shortened(&json::element(&native, bytes).to_string())
}

/// Converts a position in C order to the index of an element.
fn index_of(shape: &[u64], place: u64) -> Vec<u64> {
    let mut rest = place;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&len| {
            let at = rest % len.max(1);
            rest /= len.max(1);
            at
        })
        .collect();
    index.reverse();
    index
}

/// An iterator that divides a shape into pieces with a limited number of elements, in C order.
/// Yields, for each piece, the position of its first element and the slices that select the piece.
struct Pieces<'s> {
    shape: &'s [u64],
    /// The axis that is split into ranges. All axes before it are split into single indices.
    axis: usize,
    rows: u64,
    /// Number of elements that have the same index along `axis` and all axes before it.
    row: u64,
    next: u64,
    total: u64,
}

impl<'s> Pieces<'s> {
    fn of(shape: &'s [u64], most: u64) -> Self {
        let total = shape.iter().fold(1_u64, |all, &len| all.saturating_mul(len));
        let (mut axis, mut row) = (shape.len(), 1_u64);
        // Combine as many axes as possible into one row, starting with the last axis.
        while axis > 0 {
            axis -= 1;
            let whole = row.saturating_mul(shape[axis]);
            if axis == 0 || whole > most {
                break;
            }
            row = whole;
        }
        Self { shape, axis, rows: (most / row.max(1)).max(1), row, next: 0, total }
    }
}

impl Iterator for Pieces<'_> {
    type Item = (u64, Vec<Slice>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.total {
            return None;
        }
        let start = self.next;
        let signed = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let Some(&len) = self.shape.get(self.axis) else {
            self.next = self.total;
            return Some((start, Vec::new()));
        };
        let index = index_of(self.shape, start);
        let first = index[self.axis];
        let end = first.saturating_add(self.rows).min(len);
        self.next += (end - first) * self.row;
        let range = |start, stop| Slice::Range {
            start: Some(signed(start)),
            stop: Some(signed(stop)),
            step: 1,
        };
        let outer = index[..self.axis].iter().map(|&at| range(at, at + 1));
        Some((start, outer.chain([range(first, end)]).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_shape_cover_all_elements_in_order() {
        for (shape, most) in [
            (&[][..], 1),
            (&[7], 3),
            (&[2, 3, 4], 100),
            (&[2, 3, 4], 12),
            (&[2, 3, 4], 5),
            (&[2, 3, 4], 1),
            (&[3, 0, 2], 2),
        ] {
            let total: u64 = shape.iter().product();
            let mut covered = 0;
            for (start, slices) in Pieces::of(shape, most) {
                assert_eq!(start, covered, "{shape:?} {most}");
                let mut len: u64 = shape[slices.len()..].iter().product();
                for slice in slices {
                    let Slice::Range { start: Some(start), stop: Some(stop), step: 1 } = slice
                    else {
                        panic!("{slice:?}");
                    };
                    len *= u64::try_from(stop - start).unwrap();
                }
                assert!(len <= most, "{shape:?} {most}");
                covered += len;
            }
            assert_eq!(covered, total, "{shape:?} {most}");
        }
    }
}
