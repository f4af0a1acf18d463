//! Passing bytes to Python without copying them.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Read-only bytes that a numpy array can share. They may belong to a mapped file, a decoded block,
/// or a file opened from `bytes`.
///
/// `numpy.asarray(memory)` returns an array of bytes. The array keeps this object alive, and this object keeps the
/// bytes alive, even after the file has been closed.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct Memory(Bytes);

impl Memory {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

#[pymethods]
impl Memory {
    /// Describes the bytes to numpy, in version 3 of the array interface.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", "|u1")?;
        interface.set_item("shape", (self.0.len(),))?;
        interface.set_item("data", (self.0.as_ptr().addr(), true))?;
        Ok(interface)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}
