//! Drawing arrays of any container format, by interpreting them as they are written to a `.npy`
//! file.

use std::io::{self, Write};

use crate::Bytes;
use crate::array::{ElementsError, npy};
use crate::picture::{Plane, Reducer, Values};

impl Plane {
    /// Draws a two-dimensional array with at most `max_side` pixels per side. `write` must write
    /// the array as a `.npy` file: first the whole header with a single call, then the elements.
    /// Elements for which the mask is `true` are ignored.
    ///
    /// ```
    /// use binio::array::{ByteOrder, Datatype, Order, npy};
    /// use binio::picture::Plane;
    ///
    /// let header = npy::Header::new(Datatype::parse("|u1")?, Order::C, vec![2, 2])?;
    /// let plane = Plane::from_npy(
    ///     |out| {
    ///         out.write_all(&header.to_bytes())?;
    ///         out.write_all(&[1, 2, 3, 4])
    ///     },
    ///     Some(vec![false, false, false, true]),
    ///     1,
    /// )?;
    /// assert_eq!(plane.values(), [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with the error that `write` returns, and with an [`io::Error`] of the kind
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if `write` writes no header. If the header
    /// is invalid or [`Reducer::new`] fails, the writer that is passed to `write` returns the
    /// error, wrapped in an [`io::Error`].
    pub fn from_npy<E: From<io::Error>>(
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
        mask: Option<Vec<bool>>,
        max_side: usize,
    ) -> Result<Self, E> {
        let start = |header: &npy::Header| {
            let (shape, order) = (header.shape(), header.order());
            Ok(Reducer::new(header.datatype(), shape, order, max_side)?.mask(mask))
        };
        Ok(read(write, start, Reducer::push)?.finish())
    }
}

impl Values {
    /// Returns the values of an array. `write` must write the array as a `.npy` file: first the
    /// whole header with a single call, then the elements. Elements for which the mask is `true`
    /// become NaN.
    ///
    /// # Errors
    ///
    /// Fails with the error that `write` returns, and with an [`io::Error`] of the kind
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if `write` writes no header. If the header
    /// is invalid or [`Values::new`] fails, the writer that is passed to `write` returns the error,
    /// wrapped in an [`io::Error`].
    pub fn from_npy<E: From<io::Error>>(
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
        mask: Option<Vec<bool>>,
    ) -> Result<Vec<f64>, E> {
        let start = |header: &npy::Header| Ok((Self::new(header.datatype())?, Vec::new()));
        let push = |(values, found): &mut (Self, Vec<f64>), bytes: &[u8]| {
            values.push(bytes, |value| found.push(value));
        };
        let (_, mut found) = read(write, start, push)?;
        for (value, is_missing) in found.iter_mut().zip(mask.into_iter().flatten()) {
            if is_missing {
                *value = f64::NAN;
            }
        }
        Ok(found)
    }
}

/// Interprets a `.npy` file while it is being written. Calls `start` with the header, then `push`
/// with the bytes of the elements in pieces. Returns the result of `start`, as modified by `push`.
fn read<E: From<io::Error>, T>(
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    start: impl FnOnce(&npy::Header) -> Result<T, ElementsError>,
    push: impl FnMut(&mut T, &[u8]),
) -> Result<T, E> {
    let mut reading = Reading { start: Some(start), state: None, push };
    write(&mut reading)?;
    let state = reading.state.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof));
    Ok(state?)
}

/// A writer that interprets a `.npy` file. The first write must contain the whole header and
/// nothing else.
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
