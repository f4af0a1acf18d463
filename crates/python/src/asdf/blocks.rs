//! Writing new arrays from numpy, and the blocks that they share.

use std::collections::HashMap;
use std::sync::Arc;

use asdf::ndarray::{Datatype, Strided};
use asdf::value::{Array, Mask};
use asdf::{Compression, Limits, ReadAt, Value};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::Failure;

/// The bytes of a numpy array, which are copied piece by piece. The GIL is held while a piece is copied, so only code
/// that has released the GIL, such as a numpy function in another thread, can modify the piece in the meantime.
struct ArrayBytes {
    array: Py<PyArray1<u8>>,
    len: u64,
}

impl ReadAt for ArrayBytes {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> binio::Result<()> {
        binio::source::check_range(self.len, offset, out.len() as u64)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let copied = Python::attach(|py| {
            let array = self.array.bind(py).try_readonly().map_err(|error| error.to_string())?;
            let bytes = array.as_slice().map_err(|error| error.to_string())?;
            let piece = bytes.get(start..).and_then(|rest| rest.get(..out.len()));
            out.copy_from_slice(piece.ok_or("the array was resized")?);
            Ok::<(), String>(())
        });
        copied.map_err(|message| binio::Error::from(std::io::Error::other(message)))
    }
}

/// The new arrays, and the blocks that `scibin/asdf/_blocks.py` has assigned to them.
pub(super) struct NewArrays {
    /// The arrays, by the addresses of their Python objects. For an array that cannot be written,
    /// the value is an error message.
    arrays: HashMap<usize, Result<Stored, String>>,
    /// The compression for arrays whose pointer is not in `compressions`, or `None` to let the writer choose.
    compression: Option<Compression>,
    compressions: HashMap<String, Option<Compression>>,
    used: Vec<String>,
}

/// An array that is stored in a block.
struct Stored {
    block: Arc<dyn ReadAt>,
    descr: String,
    shape: Vec<u64>,
    strides: Vec<i64>,
    offset: u64,
    mask: Option<Box<Stored>>,
}

/// The value that `prepare` returns for an array that can be written: the block as an array of bytes, the dtype, the
/// shape, the strides in bytes, the offset in bytes, and another such tuple for the mask, or `None` if there is no
/// mask. For any other array, `prepare` returns a `TypeError`.
type Prepared<'py> =
    (Bound<'py, PyArray1<u8>>, String, Vec<u64>, Vec<i64>, u64, Option<Bound<'py, PyAny>>);

impl NewArrays {
    pub(super) fn new(
        prepare: &Bound<'_, PyAny>,
        arrays: &[Bound<'_, PyAny>],
        compression: Option<Compression>,
        compressions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = prepare.py();
        let mut blocks = HashMap::new();
        let prepared = prepare.call1((PyList::new(py, arrays)?,))?;
        let mut known = HashMap::new();
        for (array, prepared) in arrays.iter().zip(prepared.try_iter()?) {
            let prepared = prepared?;
            let stored = if prepared.is_instance_of::<PyTypeError>() {
                Err(prepared.str()?.to_string_lossy().into_owned())
            } else {
                Ok(Stored::new(&prepared, &mut blocks)?)
            };
            known.insert(array.as_ptr().addr(), stored);
        }
        let mut chosen = HashMap::new();
        for (pointer, name) in compressions.into_iter().flatten() {
            let (mut pointer, name): (String, Option<String>) =
                (pointer.extract()?, name.extract()?);
            if !pointer.is_empty() && !pointer.starts_with('/') {
                pointer.insert(0, '/');
            }
            chosen.insert(pointer, name.as_deref().map(parse_compression).transpose()?);
        }
        Ok(Self { arrays: known, compression, compressions: chosen, used: Vec::new() })
    }

    /// Returns the value to write for the array object at this address. `pointer` is the JSON
    /// Pointer of the array in the new tree.
    pub(super) fn value(&mut self, address: usize, pointer: &str) -> Result<Value, Failure> {
        let stored = self.arrays.get(&address);
        let stored = stored
            .ok_or_else(|| Failure::type_error("the object changed while it was being written"))?;
        let stored = stored.as_ref().map_err(|message| Failure::type_error(message.as_str()))?;
        let mut array = stored.array()?;
        let chosen = match self.compressions.get(pointer) {
            Some(chosen) => {
                self.used.push(pointer.to_owned());
                Some(chosen.unwrap_or_default())
            }
            None => self.compression,
        };
        if let Some(chosen) = chosen {
            array = array.compression(chosen);
        }
        Ok(array.into())
    }

    /// Fails if a compression was chosen for a pointer at which there is no new array.
    pub(super) fn check_compressions(&self) -> PyResult<()> {
        match self.compressions.keys().find(|pointer| !self.used.contains(pointer)) {
            None => Ok(()),
            Some(pointer) => Err(PyKeyError::new_err(format!(
                "`compression` contains {pointer}, but there is no new array at this pointer"
            ))),
        }
    }
}

impl Stored {
    fn new(
        prepared: &Bound<'_, PyAny>,
        blocks: &mut HashMap<usize, Arc<dyn ReadAt>>,
    ) -> PyResult<Self> {
        let (bytes, descr, shape, strides, offset, mask): Prepared<'_> = prepared.extract()?;
        let block = blocks.entry(bytes.as_ptr().addr()).or_insert_with(|| {
            let len = bytes.len() as u64;
            Arc::new(ArrayBytes { array: bytes.clone().unbind(), len })
        });
        let block = Arc::clone(block);
        let mask = mask.map(|mask| Self::new(&mask, blocks).map(Box::new)).transpose()?;
        Ok(Self { block, descr, shape, strides, offset, mask })
    }

    fn array(&self) -> Result<Array, Failure> {
        let invalid = |error: binio::array::ElementsError| Failure::type_error(error.to_string());
        let datatype = Datatype::parse(&self.descr).map_err(invalid)?;
        let (shape, strides) = (self.shape.clone(), self.strides.clone());
        let layout =
            Strided::new(shape, strides, self.offset, datatype.itemsize(), self.block.len());
        let layout = layout.map_err(invalid)?;
        let array = Array::new(Arc::clone(&self.block), datatype, layout, Limits::NONE);
        let mut array = array.map_err(|error| Failure::type_error(error.to_string()))?;
        if let Some(mask) = &self.mask {
            array = array.mask(Mask::Array(Box::new(mask.array()?)));
        }
        Ok(array)
    }
}

/// Parses a compression setting, such as `zlib` or `zlib:9`.
pub(super) fn parse_compression(name: &str) -> PyResult<Compression> {
    name.parse().map_err(|error| PyValueError::new_err(format!("compression: {error}")))
}
