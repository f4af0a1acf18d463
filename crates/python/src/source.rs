//! Bytes that Python provides: a path, bytes in memory, or an object that reads by position.

use std::path::PathBuf;

use binio::{Error, ReadAt};
use bytes::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

/// The argument of `open`.
pub(crate) enum Input {
    /// The path of a file.
    Path(PathBuf),
    /// The bytes of a file.
    Bytes(Bytes),
    /// An object that reads by position.
    Source(PythonSource),
}

impl Input {
    /// Recognises a path as `str`, bytes-like data, and an object with `read_at`. Data that could be changed
    /// is copied.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            return Ok(Self::Path(object.extract()?));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            let bytes = PyBackedBytes::from(bytes.clone());
            return Ok(Self::Bytes(Bytes::from_owner(bytes)));
        }
        if object.hasattr("read_at")? {
            return Ok(Self::Source(PythonSource::new(object)?));
        }
        match PyBuffer::<u8>::get(object) {
            Ok(buffer) => Ok(Self::Bytes(buffer.to_vec(object.py())?.into())),
            Err(_) => Err(PyTypeError::new_err(format!(
                "expected a path, bytes, or an object with `read_at` and a length, found {}",
                object.get_type().name()?
            ))),
        }
    }
}

/// An object with `read_at(offset, length)`, which returns exactly these bytes, and a length. It may also have
/// the attributes `gap` and `piece`; see [`ReadAt::gap_worth_reading`] and [`ReadAt::preferred_piece`].
///
/// It is called from any thread, also from several at the same time. Each call takes the GIL, and nothing
/// else does.
pub(crate) struct PythonSource {
    object: Py<PyAny>,
    len: u64,
    gap: u64,
    piece: usize,
}

/// The default of `gap`. A request to a remote store takes about as long as reading this many bytes.
const GAP: u64 = 1 << 20;

/// The default of `piece`.
const PIECE: usize = 16 << 20;

impl PythonSource {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let number = |name: &str| match object.getattr_opt(name)? {
            Some(value) => value.extract::<u64>().map(Some).map_err(|_| {
                PyValueError::new_err(format!("`{name}` of the source: expected a number of bytes"))
            }),
            None => Ok(None),
        };
        let gap = number("gap")?.unwrap_or(GAP);
        let piece = number("piece")?.and_then(|piece| piece.try_into().ok()).unwrap_or(PIECE);
        let len = u64::try_from(object.len()?).unwrap_or_default();
        Ok(Self { object: object.clone().unbind(), len, gap, piece: piece.max(1) })
    }
}

impl ReadAt for PythonSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> binio::Result<()> {
        binio::source::check_range(self.len, offset, out.len() as u64)?;
        if out.is_empty() {
            return Ok(());
        }
        let read = Python::attach(|py| {
            let data = self.object.bind(py).call_method1("read_at", (offset, out.len()))?;
            let buffer = PyBuffer::<u8>::get(&data)?;
            let got = buffer.item_count();
            if got == out.len() {
                buffer.copy_to_slice(py, out)?;
            }
            Ok::<usize, PyErr>(got)
        });
        match read {
            Ok(got) if got == out.len() => Ok(()),
            Ok(got) => {
                let wanted = out.len();
                let message = format!("`read_at` of the source returned {got} of {wanted} bytes");
                Err(Error::from(std::io::Error::other(message)).at(offset))
            }
            Err(error) => Err(Error::from(std::io::Error::other(error)).at(offset)),
        }
    }

    fn gap_worth_reading(&self) -> u64 {
        self.gap
    }

    fn preferred_piece(&self) -> usize {
        self.piece
    }
}
