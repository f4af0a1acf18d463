//! Lazy arrays, which all formats share.
//!
//! A format implements [`LazyArray`]. The class [`Array`] makes it available to Python, where
//! `scibin._array.NDArray` adds indexing as in numpy. Elements are read into memory that numpy has
//! allocated, so numpy itself handles every type, shape and byte order.

use binio::array::{ByteOrder, Datatype, Slice, Strided};
use bytes::Bytes;
use numpy::{PyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};

use crate::error::Failure;
use crate::memory::Memory;
use crate::pool::{LARGE, install_if};

/// A view of an array in a file. Selecting a part of a view does not read any elements.
///
/// Methods that return a `Result` may read the file, so they are called detached from the
/// interpreter. All other methods only return properties.
pub(crate) trait LazyArray: Send + Sync {
    /// The type of the elements.
    fn datatype(&self) -> &Datatype;

    /// The lengths of the dimensions, outermost first.
    fn shape(&self) -> &[u64];

    /// Returns `true` if the array has a mask, even if it masks no elements.
    fn is_masked(&self) -> bool {
        false
    }

    /// Returns `true` if even small reads may use rayon, because the data may be compressed.
    fn needs_pool(&self) -> bool;

    /// The path of the file for messages, or `None` if the file has no path.
    fn path(&self) -> Option<&str>;

    /// The maximum size in bytes of an array that may be read, according to the limits of the file.
    fn max_size(&self) -> u64;

    /// Returns a view of a part of the array.
    fn part(&self, part: Part) -> Result<Box<dyn LazyArray>, Failure>;

    /// Fills `out` with the elements in C order and in the given byte order. `out` must have exactly
    /// the size of the array.
    fn read_into(&self, out: &mut [u8], byte_order: ByteOrder) -> Result<(), Failure>;

    /// Returns the bytes from the first to the last element, and the layout of the elements within these bytes. If
    /// possible, the bytes are shared with a mapped file or a decoded block instead of being copied.
    fn shared_bytes(&self) -> Result<(Bytes, Strided), Failure>;

    /// Returns the mask in C order: `true` marks a masked element. Returns `None` if the array has
    /// no mask.
    fn mask(&self) -> Result<Option<Vec<bool>>, Failure> {
        Ok(None)
    }

    /// Returns the unit of stored data in which the array should be read. Reading smaller parts may
    /// decode the same data several times.
    fn unit(&self) -> Result<Unit, Failure>;
}

/// A part of an array.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// The elements selected by the slices.
    Slice(Vec<Slice>),
    /// A field of an array of records, by name.
    Field(String),
}

/// The unit of stored data in which an array should be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// Any range of bytes.
    Byte,
    /// A chunk. The value is its decoded size in bytes.
    Chunk(u64),
    /// All the data.
    Whole,
}

/// An array in a file.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct Array(Box<dyn LazyArray>);

impl Array {
    pub(crate) fn new(array: impl LazyArray + 'static) -> Self {
        Self(Box::new(array))
    }

    /// Calls `call` with the array, detached from the interpreter. Uses the pool if `in_pool` is
    /// `true`, or if the array needs the pool.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        in_pool: bool,
        call: impl FnOnce(&dyn LazyArray) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let array = &*self.0;
        py.detach(|| install_if(in_pool || array.needs_pool(), || call(array)))
            .map_err(|failure| failure.raise(py, array.path()))
    }

    /// The total size of the elements in bytes.
    fn size(&self) -> u64 {
        let size = binio::array::byte_size(self.0.shape(), self.0.datatype().itemsize());
        size.unwrap_or(u64::MAX)
    }

    fn is_large(&self) -> bool {
        self.size() >= LARGE
    }
}

#[pymethods]
impl Array {
    /// The type of the elements as a Python literal that `numpy.lib.format.descr_to_dtype` understands.
    #[getter]
    fn descr(&self) -> String {
        self.0.datatype().descr()
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    #[getter]
    fn is_masked(&self) -> bool {
        self.0.is_masked()
    }

    /// Raises `LimitError` if the array is larger than the limits allow. Call this before allocating memory.
    fn check_size(&self, py: Python<'_>) -> PyResult<()> {
        let limits = binio::Limits::default().max_alloc(self.0.max_size());
        let checked = limits.check_alloc("bytes of an array", self.size());
        checked.map_err(|error| Failure::from(error).raise(py, self.0.path()))
    }

    /// Returns the part of the array selected by an index, which may contain integers, slices,
    /// `...` and `None`.
    fn slice(&self, index: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let slices = index.iter().map(|item| slice(&item)).collect::<PyResult<Vec<_>>>()?;
        Ok(Self(self.run(index.py(), false, |array| array.part(Part::Slice(slices)))?))
    }

    /// Returns a field of an array of records.
    fn field(&self, py: Python<'_>, name: String) -> PyResult<Self> {
        Ok(Self(self.run(py, false, |array| array.part(Part::Field(name)))?))
    }

    /// Reads the elements in C order into an array of bytes, which must have exactly the size of
    /// the elements. If `native` is `true`, converts numbers to the byte order of this machine.
    fn read_into(
        &self,
        py: Python<'_>,
        mut out: PyReadwriteArray1<'_, u8>,
        native: bool,
    ) -> PyResult<()> {
        let byte_order = if native { ByteOrder::Native } else { ByteOrder::Stored };
        let bytes = out.as_slice_mut().map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.run(py, self.is_large(), |array| array.read_into(bytes, byte_order))
    }

    /// Returns the bytes from the first to the last element, and the offset and strides of the elements within these
    /// bytes.
    fn shared<'py>(&self, py: Python<'py>) -> PyResult<(Memory, u64, Bound<'py, PyTuple>)> {
        let (bytes, layout) = self.run(py, self.is_large(), |array| array.shared_bytes())?;
        Ok((Memory::new(bytes), layout.offset(), PyTuple::new(py, layout.strides())?))
    }

    /// Returns the mask in C order: `true` marks a masked element. Returns `None` if the array has
    /// no mask.
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<bool>>>> {
        if !self.0.is_masked() {
            return Ok(None);
        }
        let mask = self.run(py, true, |array| array.mask())?;
        Ok(mask.map(|mask| PyArray1::from_vec(py, mask)))
    }

    /// Returns the number of rows that should be read together, so that no unit of stored data is
    /// decoded more often than necessary. The number is at least 1. A row consists of all elements
    /// with the same index along the first axis.
    fn rows_per_chunk(&self, py: Python<'_>) -> PyResult<u64> {
        let unit = self.run(py, false, |array| array.unit())?;
        let rows = self.0.shape().first().copied().unwrap_or(1).max(1);
        let row = self.size() / rows;
        Ok(match unit {
            Unit::Byte => 1,
            Unit::Chunk(size) => size.div_ceil(row.max(1)).clamp(1, rows),
            Unit::Whole => rows,
        })
    }

    /// Returns the number of bytes that must be decoded together: 1 for raw data, or the decoded
    /// size of a chunk. Returns `None` if all the data must be decoded together.
    fn unit_nbytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(match self.run(py, false, |array| array.unit())? {
            Unit::Byte => Some(1),
            Unit::Chunk(size) => Some(size),
            Unit::Whole => None,
        })
    }
}

/// Converts a single item of a Python index, such as an integer or a slice.
fn slice(item: &Bound<'_, PyAny>) -> PyResult<Slice> {
    if item.is_none() {
        return Ok(Slice::NewAxis);
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Slice::Ellipsis);
    }
    if item.is_instance_of::<PySlice>() {
        let step = bound(&item.getattr("step")?)?.unwrap_or(1);
        if step == 0 {
            return Err(PyValueError::new_err("slice step cannot be zero"));
        }
        let [start, stop] = ["start", "stop"].map(|name| bound(&item.getattr(name)?));
        return Ok(Slice::Range { start: start?, stop: stop?, step });
    }
    let index = integer(item)?;
    index
        .extract()
        .map(Slice::Index)
        .map_err(|_| PyIndexError::new_err(format!("index {index} is out of range")))
}

/// Converts a bound or the step of a slice, or returns `None` if it is absent. Numbers that do not fit into 64 bits are
/// clamped. This does not change the selection, because no axis is that long.
fn bound(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if value.is_none() {
        return Ok(None);
    }
    let value = integer(value)?;
    match value.extract() {
        Ok(value) => Ok(Some(value)),
        Err(_) if value.lt(0)? => Ok(Some(i64::MIN)),
        Err(_) => Ok(Some(i64::MAX)),
    }
}

/// Converts an integer of any type, such as a numpy integer, to an `int`.
fn integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    value.call_method0("__index__").map_err(|_| {
        let name =
            value.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
        PyTypeError::new_err(format!("expected an integer, a slice, `...` or None, found {name}"))
    })
}
