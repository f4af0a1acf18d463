//! Files that are open for reading.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use asdf::{Asdf, Limits, OpenOptions, Strictness, Verify};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::node::AsdfNode;
use super::report;
use crate::error::Failure;
use crate::limits::{Known, read_limits};
use crate::pool;
use crate::source::Input;

/// A file that is shared by its nodes and arrays. Closing the file closes it for all of them.
pub(crate) struct OpenFile {
    file: ArcSwapOption<Asdf>,
    path: Option<String>,
    limits: Limits,
}

impl OpenFile {
    /// Returns the file. Fails if the file was closed.
    pub(crate) fn get(&self) -> Result<Arc<Asdf>, Failure> {
        self.file.load_full().ok_or_else(Failure::closed)
    }

    /// The path of the file for messages, or `None` if the file has no path.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The limits with which the file was opened.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Calls `call` with the file, detached from the interpreter.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&Asdf) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        py.detach(|| call(&*self.get()?)).map_err(|failure| failure.raise(py, self.path()))
    }
}

/// An ASDF file that is open for reading.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct AsdfFile(pub(crate) Arc<OpenFile>);

#[pymethods]
impl AsdfFile {
    /// Opens a path, bytes-like data, or an object with `read_at` and a length.
    #[new]
    #[pyo3(signature = (source, *, memmap = false, verify = None, strict = false, limits = None))]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        memmap: bool,
        verify: Option<bool>,
        strict: bool,
        limits: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let limits = read_limits(limits, Limits::default(), LIMITS)?;
        let mut options = OpenOptions::new().mmap(memmap).limits(limits);
        if let Some(verify) = verify {
            options = options.verify(if verify { Verify::OnRead } else { Verify::Never });
        }
        if strict {
            options = options.strictness(Strictness::Strict);
        }
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
        // Detach from the interpreter, because dropping the last reference unmaps and closes the
        // file.
        py.detach(|| drop(self.0.file.swap(None)));
    }

    #[getter]
    fn closed(&self) -> bool {
        self.0.file.load().is_none()
    }

    /// Returns the root of the tree, or `None` if the file has no tree.
    fn root(&self, py: Python<'_>) -> PyResult<Option<AsdfNode>> {
        let id = self.0.run(py, |file| {
            if file.layout().tree.is_none() {
                return Ok(None);
            }
            Ok(Some(file.tree()?.id()))
        })?;
        Ok(id.map(|id| AsdfNode::new(&self.0, id)))
    }

    /// The version of the ASDF standard declared in the first lines of the file, or `None`.
    #[getter]
    fn standard(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.0.run(py, |file| Ok(file.layout().standard_version.map(|version| version.to_string())))
    }

    /// Returns the number of blocks.
    fn block_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.run(py, |file| Ok(file.blocks().len()?))
    }

    /// Returns the properties of a block as a dictionary.
    fn block<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let block = self.0.run(py, |file| report::BlockSummary::new(&file.blocks().get(index)?))?;
        block.to_dict(py)
    }

    /// Decodes a block, and returns its data.
    fn read_block(&self, py: Python<'_>, index: usize) -> PyResult<crate::memory::Memory> {
        let bytes = self.0.run(py, |file| {
            let block = file.blocks().get(index)?;
            pool::install(|| block.decode())
        })?;
        Ok(crate::memory::Memory::new(bytes))
    }

    /// Returns the irregularities found so far, each as a dictionary.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let found = self.0.run(py, |file| Ok(file.diagnostics()))?;
        report::diagnostics(py, &found)
    }

    /// Checks the whole file. Returns a tuple of three: `True` if the file is valid, the checked
    /// blocks, and the diagnostics.
    fn verify<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(bool, Bound<'py, PyList>, Bound<'py, PyList>)> {
        let checked = self
            .0
            .run(py, |file| pool::install(|| file.verify(&asdf::inspect::VerifyOptions::new())))?;
        let blocks = checked.blocks.iter().map(|block| report::checked_block(py, block));
        let blocks = PyList::new(py, blocks.collect::<PyResult<Vec<_>>>()?)?;
        Ok((checked.passed(), blocks, report::diagnostics(py, &checked.diagnostics)?))
    }
}

/// The limits for ASDF files, by their names in Python.
const LIMITS: &[Known<Limits>] = &[
    ("allocation", |limits, number| limits.max_alloc(number)),
    ("decoded", |limits, number| limits.max_decoded(number)),
    ("depth", |limits, number| limits.max_depth(u32::try_from(number).unwrap_or(u32::MAX))),
    ("items", |limits, number| limits.max_items(number)),
];
