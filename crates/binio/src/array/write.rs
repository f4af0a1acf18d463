//! Writing packed elements to their positions in an array: the reverse of reading.
//!
//! Bytes between elements, such as gaps between rows, are not changed. The padding inside a record
//! is part of the element and is written.

use crate::array::buffer::zeroed;
use crate::array::copy::{Axis, StridedCopy};
use crate::array::plan::{Plan, to_packed};
use crate::array::swap::Swap;
use crate::array::{ByteOrder, Datatype, ElementsError, Order, Strided};

/// Maximum size in bytes of the buffer in which elements are rearranged.
const PIECE: usize = 1 << 20;

/// Writes elements to data in memory.
///
/// `packed` contains the contiguous elements in C or Fortran order, with numbers in the byte order
/// `numbers`. `datatype` is the type of the elements in the data.
///
/// ```
/// use binio::array::{ByteOrder, Datatype, Order, Strided, write_bytes};
///
/// let mut data = [9; 8];
/// let every_second = Strided::new(vec![2], vec![4], 1, 2, 8)?;
/// let datatype = Datatype::parse(">u2")?;
/// write_bytes(&every_second, &datatype, &[1, 0, 2, 0], Order::C, ByteOrder::Little, &mut data)?;
/// assert_eq!(data, [9, 0, 1, 9, 9, 0, 2, 9]);
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
///
/// # Errors
///
/// Fails with [`ElementsError::BufferSize`] if the length of `packed` differs from the size of the
/// elements, with [`ElementsError::Overlap`] if elements may share bytes, with
/// [`ElementsError::Datatype`] if a field of a record would have to change its byte order, but
/// overlaps a field with a different layout or byte order, with [`ElementsError::Outside`] if an
/// element is outside the data, and with [`ElementsError::Shape`] if the layout exceeds the address
/// space.
pub fn write_bytes(
    array: &Strided,
    datatype: &Datatype,
    packed: &[u8],
    order: Order,
    numbers: ByteOrder,
    data: &mut [u8],
) -> Result<(), ElementsError> {
    let (array, swap) = check(array, datatype, packed, order, numbers)?;
    let copy = to_packed(&array, &swap)?;
    let outside = || {
        let extent = array.extent();
        let (low, high) = (extent.start.into(), extent.end.into());
        ElementsError::Outside { low, high, len: data.len() as u64 }
    };
    if copy.is_empty() {
        return Ok(());
    }
    let to = usize::try_from(array.offset()).map_err(|_| outside())?;
    if usize::try_from(array.extent().end).is_ok_and(|end| end <= data.len()) {
        reversed(&copy, copy.axes()).copy(packed, 0, data, to);
        return Ok(());
    }
    Err(outside())
}

/// Writes elements in ranges. Calls `write` with the bytes of each range and its offset in the
/// data, in order of increasing index along each axis. A range is as long as the layout allows. If
/// its elements have to be rearranged or swapped, it has at most 1 MiB, or consists of a single
/// larger element.
///
/// The parameters are the same as for [`write_bytes`].
///
/// ```
/// use binio::array::{ElementsError, ByteOrder, Datatype, Order, Strided, write_ranges};
///
/// let columns = Strided::packed(vec![2, 3], Order::F, 100, 1, 106)?;
/// let mut written = Vec::new();
/// let write = |offset, bytes: &[u8]| {
///     written.push((offset, bytes.to_vec()));
///     Ok::<_, ElementsError>(())
/// };
/// let datatype = Datatype::of::<u8>();
/// write_ranges(&columns, &datatype, b"abcdef", Order::C, ByteOrder::Native, write)?;
/// assert_eq!(written, [(100, b"adbecf".to_vec())]);
/// # Ok::<(), ElementsError>(())
/// ```
///
/// # Errors
///
/// Same as [`write_bytes`], but does not check that the elements are inside the data; the `write`
/// callback must do so. Also fails with [`ElementsError::Memory`] if there is not enough memory to
/// rearrange the elements of a range. If `write` fails, stops and returns its error.
pub fn write_ranges<E: From<ElementsError>>(
    array: &Strided,
    datatype: &Datatype,
    packed: &[u8],
    order: Order,
    numbers: ByteOrder,
    mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let (array, swap) = check(array, datatype, packed, order, numbers)?;
    let copy = to_packed(&array, &swap)?;
    // Pieces must have no gaps, because bytes in gaps would be overwritten.
    let plan = Plan::new(&array, &copy, 1, PIECE)?;
    let mut buffer: Vec<u8> = Vec::new();
    plan.for_each(array.offset(), &mut |piece| {
        if piece.axes.is_empty() {
            let run = &packed[piece.packed..piece.packed + piece.span];
            let Some(len) = copy.swap_piece(PIECE) else { return write(piece.start, run) };
            let mut at = piece.start;
            for part in run.chunks(len) {
                let mut part = part.to_vec();
                copy.swap_run(&mut part);
                write(at, &part)?;
                at += part.len() as u64;
            }
            return Ok(());
        }
        if buffer.len() < piece.span {
            buffer = zeroed(piece.span)?;
        }
        let bytes = &mut buffer[..piece.span];
        let copied = reversed(&copy, piece.axes).copy(packed, piece.packed, bytes, piece.below);
        debug_assert!(copied.is_some(), "the axes cover the piece");
        write(piece.start, bytes)
    })
}

/// Checks the arguments. Returns the array with its axes in the order of the packed elements, and
/// the change to their byte order.
fn check(
    array: &Strided,
    datatype: &Datatype,
    packed: &[u8],
    order: Order,
    numbers: ByteOrder,
) -> Result<(Strided, Swap), ElementsError> {
    let (expected, found) = (array.byte_size().unwrap_or(u64::MAX), packed.len() as u64);
    if expected != found {
        return Err(ElementsError::BufferSize { expected, found });
    }
    if !array.is_disjoint() {
        return Err(ElementsError::Overlap);
    }
    // The same byte swap converts in both directions, from stored to packed elements and back,
    // because reversing bytes twice restores them.
    Ok((array.in_order(order), Swap::new(datatype, numbers)?))
}

/// Returns the copy operation in the opposite direction, from packed elements to the array.
fn reversed<'s>(copy: &StridedCopy<'s>, axes: &[Axis]) -> StridedCopy<'s> {
    copy.part(axes.iter().map(|axis| Axis { from: axis.to, to: axis.from, ..*axis }).collect())
}
