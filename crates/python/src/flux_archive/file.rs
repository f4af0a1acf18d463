//! Archives that are open for reading.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use flux_archive::diagnostic::Diagnostic;
use flux_archive::inspect::VerifyOptions;
use flux_archive::store::{BlobStore, MemoryStore};
use flux_archive::{Archive, Content, Entry, Limits, OpenOptions, Profile};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error::Failure;
use crate::limits::{Known, read_limits};
use crate::pool;
use crate::source::Input;

/// An archive, and the store from which its blobs are read.
pub(super) struct OpenArchive {
    pub(super) archive: Archive<'static>,
    pub(super) store: Box<dyn BlobStore>,
    pub(super) limits: Limits,
    /// The maximum number of bytes to read at a time. Without this limit, reading a sparse file
    /// could require more memory than is available.
    allocation: u64,
}

/// A Flux archive that is open for reading.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct FluxArchive {
    file: ArcSwapOption<OpenArchive>,
    path: Option<String>,
}

impl FluxArchive {
    /// Calls `call` with the archive, in the pool and detached from the interpreter. Fails if the
    /// archive was closed.
    pub(super) fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&OpenArchive) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let run = || {
            let file = self.file.load_full().ok_or_else(Failure::closed)?;
            pool::install(|| call(&file))
        };
        py.detach(run).map_err(|failure| failure.raise(py, self.path.as_deref()))
    }
}

#[pymethods]
impl FluxArchive {
    /// Opens a path, bytes-like data, or an object with `read_at` and a length.
    #[new]
    #[pyo3(signature = (source, *, store, profile, limits))]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        store: Option<PathBuf>,
        profile: &str,
        limits: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let defaults = (Limits::default(), binio::Limits::default().max_alloc);
        let (limits, allocation) = read_limits(limits, defaults, LIMITS)?;
        let options = OpenOptions::new().profile(read_profile(profile)?).limits(limits);
        let input = Input::new(source)?;
        let path = match &input {
            Input::Path(path) => Some(path.display().to_string()),
            _ => None,
        };
        let archive = py.detach(|| match input {
            Input::Path(path) => options.open(path),
            Input::Bytes(bytes) => options.from_source(bytes),
            Input::Source(source) => options.from_source(source),
        });
        let archive = archive.map_err(|error| Failure::from(error).raise(py, path.as_deref()))?;
        let name = store.as_ref().map(|store| store.display().to_string());
        let store: Result<Box<dyn BlobStore>, Failure> = py.detach(|| match store {
            Some(store) => Ok(flux_archive::store::open(store)?),
            None => Ok(Box::new(MemoryStore::new()) as Box<dyn BlobStore>),
        });
        let store = store.map_err(|failure| failure.raise(py, name.as_deref()))?;
        let file = OpenArchive { archive, store, limits, allocation };
        Ok(Self { file: ArcSwapOption::from(Some(Arc::new(file))), path })
    }

    /// Closes the archive. Its entries can no longer be read.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.file.swap(None)));
    }

    #[getter]
    fn closed(&self) -> bool {
        self.file.load().is_none()
    }

    /// Returns the entries, each as a dictionary.
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let file = self.file.load_full();
        let file = file.ok_or_else(|| Failure::closed().raise(py, None))?;
        file.archive.entries().iter().map(|entry| described(py, entry)).collect()
    }

    /// Returns the bytes of a regular file from `offset` to the end of the file, but at most
    /// `length` bytes.
    fn read<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        offset: u64,
        length: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let len = self.run(py, |file| {
            let available = entry(file, index)?.len().saturating_sub(offset);
            let len = length.map_or(available, |length| available.min(length as u64));
            binio::check_limit("bytes of a file", file.allocation, len)?;
            Ok(usize::try_from(len).unwrap_or(usize::MAX))
        })?;
        PyBytes::new_with(py, len, |out| {
            self.run(py, |file| {
                let reader = entry(file, index)?.reader(&*file.store)?;
                let mut filled = 0;
                while filled < out.len() {
                    match reader.read_at(&mut out[filled..], offset + filled as u64)? {
                        0 => break,
                        read => filled += read,
                    }
                }
                Ok(())
            })
        })
    }

    /// Returns the deviations from RFC 37 that the profile accepts, each as a dictionary.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let found = self.run(py, |file| Ok(file.archive.diagnostics().to_vec()))?;
        diagnostics(py, &found)
    }

    /// Checks all blobs. Returns a tuple of three: `True` if all blobs are intact, the number of
    /// blobs, and the diagnostics.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<(bool, u64, Bound<'py, PyList>)> {
        let report = self
            .run(py, |file| Ok(file.archive.verify(&VerifyOptions::new().store(&*file.store))))?;
        Ok((report.passed(), report.blobs, diagnostics(py, &report.diagnostics)?))
    }

    /// Extracts the entries with these paths, or all entries, into an existing directory. Returns a
    /// report as a dictionary.
    #[cfg(unix)]
    fn extract<'py>(
        &self,
        py: Python<'py>,
        directory: PathBuf,
        paths: Option<std::collections::HashSet<String>>,
        overwrite: bool,
        preserve_permissions: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        super::disk::extract(self, py, directory, paths, overwrite, preserve_permissions)
    }
}

fn entry(file: &OpenArchive, index: usize) -> Result<&Entry<'static>, Failure> {
    let entry = file.archive.entries().get(index);
    entry.ok_or_else(|| PyIndexError::new_err(format!("the archive has no entry {index}")).into())
}

fn described<'py>(py: Python<'py>, entry: &Entry<'_>) -> PyResult<Bound<'py, PyDict>> {
    let target = match entry.content() {
        Content::Symlink(target) => Some(target.as_ref()),
        _ => None,
    };
    let kind = match entry.content() {
        Content::Directory => "directory",
        Content::Symlink(_) => "symlink",
        _ => "file",
    };
    let dict = PyDict::new(py);
    dict.set_item("path", entry.path().as_str())?;
    dict.set_item("type", kind)?;
    dict.set_item("mode", entry.mode().as_u32())?;
    dict.set_item("target", target)?;
    dict.set_item("size", entry.len())?;
    dict.set_item("mtime", entry.mtime())?;
    Ok(dict)
}

fn read_profile(name: &str) -> PyResult<Profile> {
    match name {
        "strict" => Ok(Profile::Strict),
        "flux" => Ok(Profile::Flux),
        "legacy" => Ok(Profile::Legacy),
        _ => Err(PyValueError::new_err(format!(
            "profile is {name:?}: expected \"strict\", \"flux\" or \"legacy\""
        ))),
    }
}

/// The limits for archives, by their names in Python. The `u64` is the limit `allocation`, the
/// maximum size of a buffer in bytes.
const LIMITS: &[Known<(Limits, u64)>] = &[
    ("allocation", |(limits, _), number| (limits, number)),
    ("document", |(limits, allocation), number| (limits.max_json_bytes(number), allocation)),
    ("entries", |(limits, allocation), number| (limits.max_entries(number), allocation)),
    ("file", |(limits, allocation), number| (limits.max_file_size(number), allocation)),
    ("total", |(limits, allocation), number| (limits.max_total_size(number), allocation)),
];

/// Converts diagnostics into dictionaries.
fn diagnostics<'py>(py: Python<'py>, diagnostics: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let items = diagnostics.iter().map(|diagnostic| {
        let (place, dict) = (&diagnostic.place, PyDict::new(py));
        dict.set_item("code", diagnostic.code.as_str())?;
        dict.set_item("severity", diagnostic.severity.as_str())?;
        dict.set_item("message", &diagnostic.message)?;
        dict.set_item("path", &place.path)?;
        dict.set_item("pointer", &place.pointer)?;
        Ok(dict)
    });
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}
