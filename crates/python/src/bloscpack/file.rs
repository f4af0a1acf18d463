//! Files that are open for reading.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use binio::write::AtomicFile;
use bloscpack::array::Order;
use bloscpack::diagnostic::Diagnostic;
use bloscpack::{Limits, OpenOptions, Reader, UnpackOptions, VerifyOptions, verify};
use numpy::PyReadwriteArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::array::FileArray;
use crate::array::Array;
use crate::error::Failure;
use crate::limits::{Known, read_limits};
use crate::pool;
use crate::source::Input;

/// A file that is shared by its arrays. Closing the file closes it for all of them.
pub(super) struct OpenFile {
    file: ArcSwapOption<Reader>,
    path: Option<String>,
    limits: Limits,
}

impl OpenFile {
    /// Returns the file. Fails if the file was closed.
    pub(super) fn get(&self) -> Result<Arc<Reader>, Failure> {
        self.file.load_full().ok_or_else(Failure::closed)
    }

    /// The path of the file for messages, or `None` if the file has no path.
    pub(super) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The limits with which the file was opened.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Calls `call` with the file, detached from the interpreter.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&Reader) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        py.detach(|| call(&*self.get()?)).map_err(|failure| failure.raise(py, self.path()))
    }
}

/// A Bloscpack file that is open for reading.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct BloscpackFile(Arc<OpenFile>);

#[pymethods]
impl BloscpackFile {
    /// Opens a path, bytes-like data, or an object with `read_at` and a length.
    #[new]
    #[pyo3(signature = (source, *, limits = None))]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        limits: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        // Limit decoded data to 16 GiB by default, as `bloscpack::OpenOptions` does.
        let limits = read_limits(limits, Limits::default().max_decoded(16 << 30), LIMITS)?;
        let options = OpenOptions::new().limits(limits).ignore_metadata(true);
        let input = Input::new(source)?;
        let path = match &input {
            Input::Path(path) => Some(path.display().to_string()),
            _ => None,
        };
        let file = py.detach(|| match input {
            Input::Path(path) => options.open(path),
            Input::Bytes(bytes) => options.from_bytes(bytes),
            Input::Source(source) => options.from_source(source),
        });
        let file = file.map_err(|error| Failure::from(error).raise(py, path.as_deref()))?;
        Ok(Self(Arc::new(OpenFile { file: ArcSwapOption::from_pointee(file), path, limits })))
    }

    /// Closes the file. Data that was read remains valid.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.file.swap(None)));
    }

    #[getter]
    fn closed(&self) -> bool {
        self.0.file.load().is_none()
    }

    /// The length of the decoded data in bytes.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.run(py, |file| Ok(file.len()))
    }

    /// Returns the typesize and the name of the checksum in the header.
    fn header(&self, py: Python<'_>) -> PyResult<(u8, &'static str)> {
        self.0.run(py, |file| Ok((file.header().typesize, file.header().checksum.name())))
    }

    /// Returns the text of the metadata, or `None` if the file has no metadata.
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let text = self.0.run(py, |file| {
            let metadata = file.metadata()?;
            Ok(metadata.map(|metadata| metadata.text().clone()))
        })?;
        Ok(text.map(|text| PyBytes::new(py, &text)))
    }

    /// Returns the offset, the decoded length and the stored length of each chunk, in bytes.
    fn chunks(&self, py: Python<'_>) -> PyResult<Vec<(u64, u32, u32)>> {
        self.0.run(py, |file| {
            let chunk =
                |chunk: &bloscpack::format::ChunkEntry| (chunk.offset, chunk.nbytes, chunk.ctbytes);
            Ok(file.chunks().iter().map(chunk).collect())
        })
    }

    /// Opens the array in the file, without reading elements.
    fn array(&self, py: Python<'_>) -> PyResult<Array> {
        let array = py.detach(|| FileArray::open(&self.0, Vec::new()));
        array.map(Array::new).map_err(|failure| failure.raise(py, self.0.path()))
    }

    /// Returns `True` if the elements of the array are stored in Fortran order.
    fn is_fortran(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.run(py, |file| Ok(file.array()?.order() == Order::F))
    }

    /// Raises `LimitError` if the data is larger than the limits allow. Call this before allocating
    /// memory.
    fn check_size(&self, py: Python<'_>) -> PyResult<()> {
        self.0.run(py, |file| Ok(self.0.limits.check_decoded("bytes of data", file.len())?))
    }

    /// Fills `out` with the decoded data that starts at `offset`.
    #[pyo3(signature = (out, offset, threads))]
    fn read_into(
        &self,
        py: Python<'_>,
        mut out: PyReadwriteArray1<'_, u8>,
        offset: u64,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let bytes = out.as_slice_mut().map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.0.run(py, |file| pool::install(|| file.read_into(bytes, offset, &unpacking(threads))))
    }

    /// Returns all decoded data.
    fn read<'py>(&self, py: Python<'py>, threads: Option<usize>) -> PyResult<Bound<'py, PyBytes>> {
        self.check_size(py)?;
        let len = usize::try_from(self.nbytes(py)?).unwrap_or(usize::MAX);
        PyBytes::new_with(py, len, |out| {
            self.0.run(py, |file| pool::install(|| file.read_into(out, 0, &unpacking(threads))))
        })
    }

    /// Writes all decoded data to a new file. An existing file is replaced only when the new one is
    /// complete.
    fn unpack(&self, py: Python<'_>, path: PathBuf, threads: Option<usize>) -> PyResult<()> {
        self.0.run(py, |file| {
            let mut output = AtomicFile::create(path)?;
            pool::install(|| file.unpack_to_file(output.file()?, &unpacking(threads)))?;
            Ok(output.commit()?)
        })
    }

    /// Checks the whole file. Returns three values: `True` if no diagnostic is worse than a
    /// note, the number of checked chunks, and the diagnostics.
    fn verify<'py>(
        &self,
        py: Python<'py>,
        threads: Option<usize>,
    ) -> PyResult<(bool, u64, Bound<'py, PyList>)> {
        let mut options = VerifyOptions::new();
        if let Some(threads) = threads {
            options = options.threads(threads);
        }
        let report = self.0.run(py, |file| pool::install(|| verify(file, &options)))?;
        Ok((report.passed(), report.chunks, diagnostics(py, &report.diagnostics)?))
    }
}

fn unpacking(threads: Option<usize>) -> UnpackOptions<'static> {
    let options = UnpackOptions::new();
    match threads {
        Some(threads) => options.threads(threads),
        None => options,
    }
}

/// The limits for Bloscpack files, by their names in Python.
const LIMITS: &[Known<Limits>] = &[
    ("allocation", |limits, number| limits.max_alloc(number)),
    ("decoded", |limits, number| limits.max_decoded(number)),
    ("items", |limits, number| limits.max_items(number)),
];

/// Converts diagnostics into dictionaries.
pub(super) fn diagnostics<'py>(
    py: Python<'py>,
    diagnostics: &[Diagnostic],
) -> PyResult<Bound<'py, PyList>> {
    let items = diagnostics.iter().map(|diagnostic| {
        let dict = PyDict::new(py);
        dict.set_item("code", diagnostic.code.as_str())?;
        dict.set_item("severity", diagnostic.severity.as_str())?;
        dict.set_item("message", &diagnostic.message)?;
        dict.set_item("offset", diagnostic.place.offset)?;
        Ok(dict)
    });
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}
