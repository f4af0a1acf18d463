//! Reading elements and packing them in C order, in the requested byte order.
//!
//! Elements in memory are copied directly. For other data, the [plan](super::plan) determines which
//! ranges to read into a buffer, and the elements are copied from there.

use bytes::Bytes;

use crate::array::buffer::zeroed;
use crate::array::copy::StridedCopy;
use crate::array::plan::{Plan, to_packed, too_large};
use crate::array::swap::Swap;
use crate::array::{Access, Data, ElementsError, Order, Strided};

/// Size in bytes of the pieces in which a run is read if its byte order changes. Each piece is
/// swapped while it is still in the cache.
const SWAP_PIECE: usize = 1 << 20;

/// Above this many bytes, elements are copied by several threads. Two threads take half the time
/// from 2 MiB upwards; at 1 MiB, starting the threads takes as much time as they save
/// (`--example array_speed`).
#[cfg(feature = "rayon")]
const PARALLEL: usize = 1 << 20;

/// Minimum and maximum size in bytes of the pieces that threads copy at a time. Between these
/// limits, the array is split into about four pieces per thread.
#[cfg(feature = "rayon")]
const PARALLEL_PIECES: std::ops::RangeInclusive<usize> = (256 << 10)..=(4 << 20);

/// Reads all elements into a buffer whose length is their total size.
pub(crate) fn fill<D: Data + ?Sized>(
    data: &D,
    array: &Strided,
    swap: &Swap,
    out: &mut [u8],
) -> Result<(), D::Error> {
    if out.is_empty() {
        return Ok(());
    }
    match data.access() {
        Access::Whole if array.is_contiguous(Order::C) => {
            // Read directly into `out`, without an intermediate buffer.
            data.read_exact_at(out, array.offset())?;
            swap.apply(out, usize::try_from(array.itemsize()).unwrap_or(usize::MAX));
            Ok(())
        }
        Access::Memory | Access::Whole => {
            let extent = array.extent();
            let bytes = data.bytes_at(extent.clone())?;
            Ok(from_memory(&bytes, extent.start, array, swap, out)?)
        }
        Access::Ranges { gap, piece } => {
            #[cfg(feature = "rayon")]
            if is_slowest_first(array) && pays_threads(array, out.len()) {
                return over_threads(array, out, |part, out| {
                    from_ranges(data, gap, piece, part, swap, out)
                });
            }
            from_ranges(data, gap, piece, array, swap, out)
        }
    }
}

/// Calls `body` with the packed bytes of each part of the array in C order. Each part has at most
/// `max` bytes. If every read would decode all the data, the data is decoded only once.
pub(crate) fn for_each_piece<D: Data + ?Sized>(
    data: &D,
    array: &Strided,
    max: u64,
    mut body: impl FnMut(&[u8]) -> Result<(), D::Error>,
) -> Result<(), D::Error> {
    if array.byte_size() == Some(0) {
        return Ok(());
    }
    let extent = array.extent();
    let whole: Option<Bytes> = match data.access() {
        Access::Memory | Access::Whole => Some(data.bytes_at(extent.clone())?),
        Access::Ranges { .. } => None,
    };
    let mut buffer = Vec::new();
    array.for_each_piece(max, &mut |part| {
        let size = part.byte_size().and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(|| too_large(part))?;
        if buffer.len() < size {
            buffer = zeroed(size)?;
        }
        let out = &mut buffer[..size];
        match &whole {
            Some(bytes) => copy_from_slice(bytes, extent.start, part, &Swap::None, out)?,
            None => fill(data, part, &Swap::None, out)?,
        }
        body(out)
    })
}

/// Copies elements from a slice that contains the data from `start` onwards, using threads if there
/// are many elements.
fn from_memory(
    bytes: &[u8],
    start: u64,
    array: &Strided,
    swap: &Swap,
    out: &mut [u8],
) -> Result<(), ElementsError> {
    #[cfg(feature = "rayon")]
    if pays_threads(array, out.len()) {
        return over_threads(array, out, |part, out| {
            copy_from_slice(bytes, start, part, swap, out)
        });
    }
    copy_from_slice(bytes, start, array, swap, out)
}

/// Copies elements from a slice that contains the data from `start` onwards.
fn copy_from_slice(
    bytes: &[u8],
    start: u64,
    array: &Strided,
    swap: &Swap,
    out: &mut [u8],
) -> Result<(), ElementsError> {
    let copy = to_packed(array, swap)?;
    if copy.is_empty() {
        return Ok(());
    }
    let outside = || outside(array, bytes.len());
    let from = array.offset().checked_sub(start).ok_or_else(outside)?;
    let from = usize::try_from(from).map_err(|_| too_large(array))?;
    copy.copy(bytes, from, out, 0).ok_or_else(outside)
}

/// Appends elements from a slice that contains the data from `start` onwards. If the elements
/// cannot be appended, returns `None` and leaves `out` unchanged. In that case, [`fill`] copies
/// them or returns the reason why they cannot be copied.
pub(crate) fn append<T: bytemuck::Pod>(
    bytes: &[u8],
    start: u64,
    array: &Strided,
    swap: &Swap,
    out: &mut Vec<T>,
) -> Option<()> {
    let from = usize::try_from(array.offset().checked_sub(start)?).ok()?;
    to_packed(array, swap).ok()?.append(bytes, from, out)
}

fn outside(array: &Strided, len: usize) -> ElementsError {
    let extent = array.extent();
    ElementsError::Outside { low: extent.start.into(), high: extent.end.into(), len: len as u64 }
}

/// Reads the ranges of the data that contain elements, and copies the elements from them to `out`.
fn from_ranges<D: Data + ?Sized>(
    data: &D,
    gap: usize,
    piece: usize,
    array: &Strided,
    swap: &Swap,
    out: &mut [u8],
) -> Result<(), D::Error> {
    let copy = to_packed(array, swap)?;
    let plan = Plan::new(array, &copy, gap, piece)?;
    let mut buffer: Vec<u8> = Vec::new();
    plan.for_each(array.offset(), &mut |piece| {
        if piece.axes.is_empty() {
            let end = piece.packed + piece.span;
            return run(data, &copy, piece.start, &mut out[piece.packed..end]);
        }
        if buffer.len() < piece.span {
            buffer = zeroed(piece.span)?;
        }
        let bytes = &mut buffer[..piece.span];
        data.read_exact_at(bytes, piece.start)?;
        let part = copy.part(piece.axes.to_vec());
        part.copy(bytes, piece.below, out, piece.packed)
            .ok_or_else(|| outside(array, bytes.len()).into())
    })
}

/// Reads a run of contiguous elements directly into its destination.
fn run<D: Data + ?Sized>(
    data: &D,
    copy: &StridedCopy<'_>,
    mut from: u64,
    run: &mut [u8],
) -> Result<(), D::Error> {
    let piece = copy.swap_piece(SWAP_PIECE).unwrap_or(run.len());
    for part in run.chunks_mut(piece.max(1)) {
        data.read_exact_at(part, from)?;
        copy.swap_run(part);
        from += part.len() as u64;
    }
    Ok(())
}

/// Returns `true` if several threads should copy the elements. A single thread cannot use the full
/// memory bandwidth.
#[cfg(feature = "rayon")]
fn pays_threads(array: &Strided, size: usize) -> bool {
    // Each piece must contain whole elements, because a thread can only swap the bytes of an
    // element that it has copied completely.
    let whole = array.itemsize() <= *PARALLEL_PIECES.start() as u64;
    whole && size > PARALLEL && rayon::current_num_threads() > 1
}

/// Returns `true` if the outermost axis has the longest stride. In that case, threads that divide
/// the work along this axis read different ranges.
#[cfg(feature = "rayon")]
fn is_slowest_first(array: &Strided) -> bool {
    let axes = array.shape().iter().zip(array.strides()).filter(|&(&count, _)| count > 1);
    let mut strides = axes.map(|(_, stride)| stride.unsigned_abs());
    let first = strides.next().unwrap_or(0);
    strides.all(|stride| stride <= first)
}

/// Divides the array and the buffer into parts, and calls `fill` for each part in the caller's
/// thread pool.
#[cfg(feature = "rayon")]
fn over_threads<E: Send>(
    array: &Strided,
    out: &mut [u8],
    fill: impl Fn(&Strided, &mut [u8]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    use rayon::prelude::*;

    let share = out.len() / (4 * rayon::current_num_threads());
    let max = share.clamp(*PARALLEL_PIECES.start(), *PARALLEL_PIECES.end());
    let mut rest = out;
    let mut pieces = Vec::new();
    array.for_each_piece::<E>(max as u64, &mut |part| {
        let size = part.byte_size().and_then(|size| usize::try_from(size).ok());
        let size = size.unwrap_or(usize::MAX).min(rest.len());
        let (place, after) = std::mem::take(&mut rest).split_at_mut(size);
        rest = after;
        pieces.push((part.clone(), place));
        Ok(())
    })?;
    pieces.into_par_iter().try_for_each(|(part, place)| fill(&part, place))
}
