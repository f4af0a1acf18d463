//! Prints the elements of an array.

use std::io;
use std::path::Path;

use asdf::NdArray;
use asdf::ndarray::Order;
use serde_json::Value;

use super::values::element;
use crate::failure::Failure;
use crate::print::{Elements, for_each_piece};

/// Why printing ended: the array or standard output.
pub(super) enum PrintError {
    Array(asdf::Error),
    Io(io::Error),
}

impl PrintError {
    pub(super) fn of(self, file: &Path) -> Failure {
        match self {
            Self::Array(error) => Failure::asdf(file, error),
            Self::Io(error) => Failure::from(error),
        }
    }
}

impl From<asdf::Error> for PrintError {
    fn from(error: asdf::Error) -> Self {
        Self::Array(error)
    }
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Prints an array to standard output; masked elements are missing ones.
pub(super) fn array(array: &NdArray<'_>, json: bool) -> Result<(), PrintError> {
    let mask = array.mask()?;
    let masked = |index: usize| mask.as_ref().is_some_and(|mask| mask.get(index) == Some(&true));
    let (dtype, shape) = (array.dtype(), array.shape());
    let mut elements =
        Elements::begin(&dtype.descr_json(array.byteorder()), dtype.size(), shape, json)?;
    let size = usize::try_from(dtype.size()).unwrap_or(usize::MAX);
    let decoded = array.to_decoded()?;
    let mut index = 0;
    for_each_piece(shape, dtype.size(), |slices| {
        let piece = decoded.slice(slices)?;
        let mut bytes = &piece.read_bytes(Order::Little)?[..];
        // Counted, since elements such as texts of length 0 have no bytes.
        for _ in 0..piece.len() {
            let (item, rest) = bytes.split_at(size.min(bytes.len()));
            bytes = rest;
            elements.put(&if masked(index) { Value::Null } else { element(dtype, item) })?;
            index += 1;
        }
        Ok::<_, PrintError>(())
    })?;
    Ok(elements.end()?)
}
