//! Bytes that Python receives without a copy.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Read-only bytes that a numpy array can share: memory of a mapped file, of a decoded block, or of a file
/// that was opened from `bytes`.
///
/// `numpy.asarray(memory)` is an array of bytes. It keeps this object alive, and this object keeps the bytes
/// alive, even after the file has been closed.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct Memory(Bytes);

impl Memory {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

#[pymethods]
impl Memory {
    /// numpy's description of the bytes (version 3 of its array interface).
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
