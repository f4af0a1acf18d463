//! Reading the elements of an array of any format, from the `.npy` file that it writes.

use std::io::{self, Write};

use binio::Bytes;
use binio::array::{ElementsError, Slice, npy};
use binio::picture::{Plane, Reducer, Values};

use crate::output::print::Elements;

/// Reads a part of an array as an image, with at most `max_side` pixels per side.
pub(super) fn plane<E: From<io::Error>>(
    array: &Elements<'_, E>,
    part: &[Slice],
    max_side: usize,
) -> Result<Plane, E> {
    let mask = (array.missing)(part)?;
    let start = |header: &npy::Header| {
        let (shape, order) = (header.shape(), header.order());
        Ok(Reducer::new(header.datatype(), shape, order, max_side)?.mask(mask))
    };
    let reducer = read(array, part, start, Reducer::push)?;
    Ok(reducer.finish())
}

/// Reads a part of a one-dimensional array. Masked elements are NaN.
pub(super) fn values<E: From<io::Error>>(
    array: &Elements<'_, E>,
    part: &[Slice],
) -> Result<Vec<f64>, E> {
    let mask = (array.missing)(part)?;
    let start = |header: &npy::Header| Ok((Values::new(header.datatype())?, Vec::new()));
    let push = |(values, found): &mut (Values, Vec<f64>), bytes: &[u8]| {
        values.push(bytes, |value| found.push(value));
    };
    let (_, mut found) = read(array, part, start, push)?;
    for (value, is_missing) in found.iter_mut().zip(mask.into_iter().flatten()) {
        if is_missing {
            *value = f64::NAN;
        }
    }
    Ok(found)
}

/// Reads a part of an array. `start` is called with the header, `push` with the bytes of the elements in pieces.
fn read<E: From<io::Error>, T>(
    array: &Elements<'_, E>,
    part: &[Slice],
    start: impl FnOnce(&npy::Header) -> Result<T, ElementsError>,
    push: impl FnMut(&mut T, &[u8]),
) -> Result<T, E> {
    let mut reading = Reading { start: Some(start), state: None, push };
    (array.write_npy)(part, &mut reading)?;
    let state = reading.state.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof));
    Ok(state?)
}

/// A writer that interprets a `.npy` file. The first piece is expected to be the header.
struct Reading<S, T, P> {
    start: Option<S>,
    state: Option<T>,
    push: P,
}

impl<S, T, P> Write for Reading<S, T, P>
where
    S: FnOnce(&npy::Header) -> Result<T, ElementsError>,
    P: FnMut(&mut T, &[u8]),
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(start) = self.start.take() {
            let (header, _) =
                npy::Header::read(&Bytes::copy_from_slice(bytes)).map_err(io::Error::other)?;
            self.state = Some(start(&header).map_err(io::Error::other)?);
        } else if let Some(state) = &mut self.state {
            (self.push)(state, bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
