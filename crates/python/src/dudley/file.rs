//! Files that are open for reading.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use dudley::{File, OpenOptions, Order};
use pyo3::prelude::*;

use super::array::FileArray;
use super::layout::{DudleyLayout, rules};
use crate::array::Array;
use crate::error::Failure;
use crate::pool;
use crate::source::Input;

/// A file that is shared by its arrays. Closing the file closes it for all of them.
pub(super) struct OpenFile {
    file: ArcSwapOption<File>,
    path: Option<String>,
}

impl OpenFile {
    /// Returns the file. Fails if the file was closed.
    pub(super) fn get(&self) -> Result<Arc<File>, Failure> {
        self.file.load_full().ok_or_else(Failure::closed)
    }

    /// The path of the file for messages, or `None` if the file has no path.
    pub(super) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Calls `call` with the file, detached from the interpreter.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&File) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        py.detach(|| call(&*self.get()?)).map_err(|failure| failure.raise(py, self.path()))
    }
}

/// A file that is described by a layout and open for reading.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct DudleyFile(Arc<OpenFile>);

#[pymethods]
impl DudleyFile {
    /// Opens a path, bytes-like data, or an object with `read_at` and a length. Without a layout, the file must
    /// contain one.
    #[new]
    #[pyo3(signature = (source, layout, *, order, parameters, memmap))]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        layout: Option<PyRef<'_, DudleyLayout>>,
        order: Option<&str>,
        parameters: BTreeMap<String, i64>,
        memmap: bool,
    ) -> PyResult<Self> {
        let layout = layout.map(|layout| Arc::clone(&layout.0));
        let options = OpenOptions::new().layout(layout).rules(rules(order, parameters)?);
        let options = options.mmap(memmap);
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
        Ok(Self(Arc::new(OpenFile { file: ArcSwapOption::from_pointee(file), path })))
    }

    /// Closes the file. Data that was read remains valid.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.file.swap(None)));
    }

    #[getter]
    fn closed(&self) -> bool {
        self.0.file.load().is_none()
    }

    /// Returns the layout that describes the file.
    fn layout(&self, py: Python<'_>) -> PyResult<DudleyLayout> {
        self.0.run(py, |file| Ok(DudleyLayout(Arc::clone(file.layout()))))
    }

    /// Returns the default byte order, which applies to types that do not specify one: `<` or `>`.
    fn order(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.0.run(py, |file| {
            Ok(match file.order() {
                Order::Little => "<",
                Order::Big => ">",
            })
        })
    }

    /// Returns the paths of all stored items, in the order of the layout. Fails if an address cannot be determined.
    fn paths(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.run(py, |file| match file.stopped() {
            Some(error) => Err(error.clone().into()),
            None => Ok(file.table().iter().map(|row| row.path()).collect()),
        })
    }

    /// Opens the array or scalar at a path.
    fn array(&self, py: Python<'_>, path: &str) -> PyResult<Array> {
        // Use the pool, because opening a compressed array decodes it.
        let array = self.0.run(py, |file| pool::install(|| file.get(path)))?;
        Ok(Array::new(FileArray::new(&self.0, array)))
    }
}
