//! Converting properties of blocks, and diagnostics, into dictionaries. The Python module converts
//! the dictionaries into its own classes.

use asdf::block::{Block, ChecksumVerdict};
use asdf::diagnostic::Diagnostic;
use asdf::inspect::CheckedBlock;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::Failure;

/// The properties of a block that are shown to users.
pub(super) struct BlockSummary {
    index: usize,
    offset: u64,
    compression: String,
    stored_size: u64,
    data_size: u64,
    checksum: [u8; 16],
}

impl BlockSummary {
    pub(super) fn new(block: &Block<'_>) -> Result<Self, Failure> {
        let header = block.header()?;
        let range = block.data_range()?;
        Ok(Self {
            index: block.index(),
            offset: block.offset(),
            compression: if block.is_compressed() {
                header.compression_name()
            } else {
                String::new()
            },
            stored_size: range.end - range.start,
            data_size: block.data_len()?,
            checksum: header.checksum,
        })
    }

    pub(super) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("index", self.index)?;
        dict.set_item("offset", self.offset)?;
        dict.set_item("compression", &self.compression)?;
        dict.set_item("stored_size", self.stored_size)?;
        dict.set_item("data_size", self.data_size)?;
        let checksum = (self.checksum != [0; 16]).then_some(&self.checksum[..]);
        dict.set_item("checksum", checksum.map(|bytes| pyo3::types::PyBytes::new(py, bytes)))?;
        Ok(dict)
    }
}

/// Converts the result of checking a block into a dictionary.
pub(super) fn checked_block<'py>(
    py: Python<'py>,
    block: &CheckedBlock,
) -> PyResult<Bound<'py, PyDict>> {
    let checksum = match &block.checksum {
        None => "unreadable",
        Some(ChecksumVerdict::Absent) => "absent",
        Some(ChecksumVerdict::Stored) => "good",
        Some(ChecksumVerdict::Decoded) => "legacy",
        Some(_) => "bad",
    };
    let dict = PyDict::new(py);
    dict.set_item("path", block.path.as_ref())?;
    dict.set_item("index", block.index)?;
    dict.set_item("stored_size", block.stored_len)?;
    dict.set_item("checksum", checksum)?;
    Ok(dict)
}

pub(super) fn diagnostics<'py>(
    py: Python<'py>,
    diagnostics: &[Diagnostic],
) -> PyResult<Bound<'py, PyList>> {
    let items = diagnostics.iter().map(|diagnostic| {
        let (place, dict) = (&diagnostic.place, PyDict::new(py));
        dict.set_item("code", diagnostic.code.as_str())?;
        dict.set_item("severity", diagnostic.severity.as_str())?;
        dict.set_item("message", &diagnostic.message)?;
        dict.set_item("help", diagnostic.help.join("\n"))?;
        dict.set_item("path", place.path.as_ref())?;
        dict.set_item("pointer", place.pointer.as_ref())?;
        dict.set_item("offset", place.offset)?;
        dict.set_item("line", place.line)?;
        dict.set_item("column", place.column)?;
        Ok(dict)
    });
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}
