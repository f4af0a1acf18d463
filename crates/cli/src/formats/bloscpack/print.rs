//! Prints the elements of an array.

use std::io;
use std::path::Path;

use bloscpack::Array;

use super::values::{dtype_json, element};
use crate::failure::Failure;
use crate::print::{Elements, for_each_piece};

/// Why printing ended: the array or standard output.
pub(super) enum PrintError {
    Array(bloscpack::Error),
    Io(io::Error),
}

impl PrintError {
    pub(super) fn of(self, file: &Path) -> Failure {
        match self {
            Self::Array(error) => Failure::bloscpack(file, error),
            Self::Io(error) => Failure::from(error),
        }
    }
}

impl From<bloscpack::Error> for PrintError {
    fn from(error: bloscpack::Error) -> Self {
        Self::Array(error)
    }
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Prints an array to standard output.
pub(super) fn array(array: &Array<'_>, json: bool) -> Result<(), PrintError> {
    let (dtype, shape) = (array.dtype(), array.shape());
    let mut elements =
        Elements::begin(&dtype_json(dtype).to_string(), dtype.itemsize(), shape, json)?;
    let size = usize::try_from(dtype.itemsize()).unwrap_or(usize::MAX);
    for_each_piece(shape, dtype.itemsize(), |slices| {
        let piece = array.slice(slices)?;
        let mut bytes = &piece.read_bytes()?[..];
        // Counted, since elements such as texts of length 0 have no bytes.
        for _ in 0..piece.shape().iter().product::<u64>() {
            let (item, rest) = bytes.split_at(size.min(bytes.len()));
            bytes = rest;
            elements.put(&element(dtype, item))?;
        }
        Ok::<_, PrintError>(())
    })?;
    Ok(elements.end()?)
}
