//! Reading from a path, from bytes in memory, or from a Python object with a `read_at` method.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use binio::{Error, ReadAt};
use bytes::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

/// The file that a caller passes to `open`.
pub(crate) enum Input {
    /// The path of a file.
    Path(PathBuf),
    /// The bytes of a file.
    Bytes(Bytes),
    /// A Python object with a `read_at` method and a length.
    Source(PythonSource),
}

impl Input {
    /// Converts a path (`str`), bytes-like data, or an object with `read_at`. Copies data
    /// that is not `bytes`, because it could be modified later.
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

/// A Python object with a length and a method `read_at(offset, length)`, which returns exactly `length` bytes. It may
/// also have the attributes `gap` and `piece`; see [`ReadAt::gap_worth_reading`] and [`ReadAt::preferred_piece`].
///
/// `read_at` may be called from several threads at the same time. The GIL is held only during these calls.
///
/// Small reads are extended, because every request takes time. The first read at the start of a file is extended to
/// `gap` bytes, which usually include the whole tree. Other small reads are extended to 64 KiB, so that they often
/// include both a block header and the data of the block. If `gap` is smaller than 64 KiB, `gap` is used instead.
pub(crate) struct PythonSource {
    object: Py<PyAny>,
    len: u64,
    gap: u64,
    piece: usize,
    /// The first bytes of the file. Neither this field nor `recent` has a lock, because another
    /// thread could hold the lock during a fork.
    head: ArcSwapOption<Window>,
    /// The bytes of the last extended read, unless they are in `head`.
    recent: ArcSwapOption<Window>,
}

/// A range of the file that has been read.
struct Window {
    offset: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Copies the bytes at `offset` in the file into `out`. Returns `false` if they are not all
    /// within the window.
    fn copy(&self, out: &mut [u8], offset: u64) -> bool {
        let start = offset.checked_sub(self.offset).and_then(|start| usize::try_from(start).ok());
        let rest = start.and_then(|start| self.bytes.get(start..));
        let Some(found) = rest.and_then(|rest| rest.get(..out.len())) else { return false };
        out.copy_from_slice(found);
        true
    }
}

/// The maximum size in bytes to which small reads are extended, except for the first read at the start of a file.
const AHEAD: u64 = 64 << 10;

/// The default value of `gap` in bytes. A request to a remote store takes about as long as reading this number of
/// bytes.
const GAP: u64 = 1 << 20;

/// The default value of `piece` in bytes.
const PIECE: usize = 16 << 20;

impl PythonSource {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let number = |name: &str| match object.getattr_opt(name)? {
            Some(value) => value.extract::<u64>().map(Some).map_err(|_| {
                let message =
                    format!("the attribute `{name}` of the source must be a number of bytes");
                PyValueError::new_err(message)
            }),
            None => Ok(None),
        };
        let gap = number("gap")?.unwrap_or(GAP);
        let piece = number("piece")?.and_then(|piece| piece.try_into().ok()).unwrap_or(PIECE);
        let len = u64::try_from(object.len()?).unwrap_or_default();
        Ok(Self {
            object: object.clone().unbind(),
            len,
            gap,
            piece: piece.max(1),
            head: ArcSwapOption::empty(),
            recent: ArcSwapOption::empty(),
        })
    }

    /// Fills `out` with the bytes at `offset` by calling the `read_at` method of the object.
    fn request(&self, out: &mut [u8], offset: u64) -> binio::Result<()> {
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
        let cached = |window: &ArcSwapOption<Window>, out: &mut [u8]| {
            window.load().as_ref().is_some_and(|window| window.copy(out, offset))
        };
        if cached(&self.head, out) || cached(&self.recent, out) {
            return Ok(());
        }
        let is_head = offset == 0 && self.head.load().is_none();
        let ahead = if is_head { self.gap } else { self.gap.min(AHEAD) };
        let ahead = usize::try_from(ahead.min(self.len - offset)).unwrap_or(usize::MAX);
        if out.len() >= ahead {
            return self.request(out, offset);
        }
        let mut bytes = vec![0; ahead];
        self.request(&mut bytes, offset)?;
        out.copy_from_slice(&bytes[..out.len()]);
        let window = if is_head { &self.head } else { &self.recent };
        window.store(Some(Arc::new(Window { offset, bytes })));
        Ok(())
    }

    fn gap_worth_reading(&self) -> u64 {
        self.gap
    }

    fn preferred_piece(&self) -> usize {
        self.piece
    }
}
