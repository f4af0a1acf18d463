//! The nodes of a tree.

use std::sync::Arc;

use asdf::yaml::{NodeId, NodeKind};
use asdf::{Asdf, Node};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};

use super::array::FileArray;
use super::convert::{self, Arrays, Conversion, Form};
use super::error::of_pointer;
use super::file::OpenFile;
use crate::array::Array;
use crate::error::Failure;

/// A node in the tree of an ASDF file.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct AsdfNode {
    file: Arc<OpenFile>,
    id: NodeId,
    /// The result of [`values_by_key`](Self::values_by_key), or empty before it is first needed.
    by_key: PyOnceLock<Py<PyDict>>,
}

impl AsdfNode {
    pub(super) fn new(file: &Arc<OpenFile>, id: NodeId) -> Self {
        Self { file: Arc::clone(file), id, by_key: PyOnceLock::new() }
    }

    pub(super) fn file(&self) -> &Arc<OpenFile> {
        &self.file
    }

    fn sibling(&self, id: NodeId) -> Self {
        Self::new(&self.file, id)
    }

    /// Calls `call` with the node, without detaching from the interpreter. This is safe: the tree
    /// has already been parsed, so `call` neither reads the file nor waits.
    pub(super) fn with<T>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(Node<'_>) -> Result<T, Failure>,
    ) -> PyResult<T> {
        let asdf = self.open(py)?;
        asdf.node(self.id)
            .map_err(Failure::from)
            .and_then(call)
            .map_err(|failure| self.raise(py, failure))
    }

    fn open(&self, py: Python<'_>) -> PyResult<Arc<Asdf>> {
        self.file.get().map_err(|failure| self.raise(py, failure))
    }

    fn raise(&self, py: Python<'_>, failure: Failure) -> PyErr {
        failure.raise(py, self.file.path())
    }

    /// Returns a dictionary that maps the keys of a mapping to the nodes of their values. Omits keys that cannot be
    /// converted to Python objects, such as sequences.
    fn values_by_key(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let asdf = self.open(py)?;
        let node = asdf.node(self.id).map_err(|error| self.raise(py, error.into()))?;
        let values = PyDict::new(py);
        for (key, value) in node.members() {
            if let Ok(key) = convert::scalar(py, key) {
                values.set_item(key, self.sibling(value.id()))?;
            }
        }
        Ok(values.unbind())
    }
}

#[pymethods]
impl AsdfNode {
    /// The form of the node: `mapping`, `sequence`, `array`, `set`, `pairs` or `scalar`.
    #[getter]
    fn form(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |node| Ok(Form::of(node).name()))
    }

    /// The complete tag of the node, or `None`.
    #[getter]
    fn tag(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |node| Ok(node.tag().map(str::to_owned)))
    }

    /// The JSON Pointer of the node, or `None` if the node is part of a key or the pointer is
    /// longer than 1 KiB.
    #[getter]
    fn pointer(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |node| Ok(node.to_pointer()))
    }

    /// The line and column at which the content of the node starts, counted from 1.
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<(u32, u32)> {
        self.with(py, |node| Ok((node.position().line, node.position().column)))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |node| match Form::of(node) {
            Form::Mapping => Ok(node.members().count()),
            _ => Ok(node.len()),
        })
    }

    /// Returns the value of a key in a mapping, or `None` if there is no such key. Strings, integers, booleans and
    /// `None` are looked up by their JSON form, and all other keys by hash and equality, as in a `dict`. Raises
    /// `TypeError` if a key cannot be hashed.
    fn get(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Some(text) = convert::key_text(key)? {
            return self
                .with(py, |node| Ok(node.member(&text).map(|value| self.sibling(value.id()))));
        }
        let values = self.by_key.get_or_try_init(py, || self.values_by_key(py))?.bind(py);
        let Some(value) = values.get_item(key)? else { return Ok(None) };
        Ok(Some(self.sibling(value.cast::<Self>()?.get().id)))
    }

    /// Returns the item of a sequence at `index`, or `None` if the index is out of range.
    fn at(&self, py: Python<'_>, index: usize) -> PyResult<Option<Self>> {
        self.with(py, |node| Ok(node.at(index).map(|item| self.sibling(item.id()))))
    }

    /// Returns the keys of a mapping.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let asdf = self.open(py)?;
        let node = asdf.node(self.id).map_err(|error| self.raise(py, error.into()))?;
        let keys = node.members().map(|(key, _)| {
            convert::scalar(py, key).map_err(|error| error.raise(py, self.file.path()))
        });
        PyList::new(py, keys.collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns the node at a JSON Pointer relative to this node. Raises `KeyError` if there is no
    /// such node.
    fn find(&self, py: Python<'_>, pointer: &str) -> PyResult<Self> {
        self.with(py, |node| {
            let found = node.pointer(pointer).map_err(of_pointer)?;
            Ok(self.sibling(found.id()))
        })
    }

    /// Returns the value of a scalar.
    fn scalar<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let asdf = self.open(py)?;
        let node = asdf.node(self.id).map_err(|error| self.raise(py, error.into()))?;
        convert::scalar(py, node).map_err(|failure| self.raise(py, failure))
    }

    /// Opens the array of the node, without reading elements.
    fn array(&self, py: Python<'_>) -> PyResult<Array> {
        let array = py.detach(|| FileArray::open(&self.file, self.id));
        array.map(Array::new).map_err(|failure| self.raise(py, failure))
    }

    /// Converts the node and everything below it into plain objects. Calls `array` with the node of
    /// each array. If `keep_errors` is `True`, an exception that `array` raises replaces the array
    /// in the result. If `tagged` is not `None`, it is called with the tag and the value of each
    /// node whose tag a plain object cannot represent, and its result replaces the value.
    #[pyo3(signature = (array, *, keep_errors = false, tagged = None))]
    fn to_python<'py>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyAny>,
        keep_errors: bool,
        tagged: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let asdf = self.open(py)?;
        let node = asdf.node(self.id).map_err(|error| self.raise(py, error.into()))?;
        let open = |id: NodeId| array.call1((self.sibling(id),));
        let arrays = Arrays { open: &open, keep_errors };
        let mut conversion = Conversion::new(py, self.file.path(), &arrays, tagged);
        conversion.run(node)
    }

    /// The text of a scalar, without quotes and with escapes decoded, but not converted to a number
    /// or any other type (`0x1f` remains `0x1f`). `None` for a mapping or sequence.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.with(py, |node| {
            let is_scalar = !matches!(node.kind(), NodeKind::Sequence | NodeKind::Mapping);
            Ok(node.text().filter(|_| is_scalar).map(|text| PyString::new(py, text)))
        })
    }
}
