//! Packing files, appending to them, and recovering damaged ones.

use std::path::PathBuf;
use std::sync::Arc;

use binio::write::AtomicFile;
use binio::{FileSource, ReadAt};
use bloscpack::change::{AppendOptions, append};
use bloscpack::format::{MetadataOptions, exact_json};
use bloscpack::repair::{RecoverOptions, recover};
use bloscpack::{
    Checksum, ChunkSize, Compressor, Shuffle, WriteOptions, pack_file, pack_to_file, pack_to_vec,
};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::file::diagnostics;
use crate::error::Failure;
use crate::pool;
use crate::source::Input;

/// Packs an array of bytes to a file, or returns the packed bytes if `path` is `None`.
#[pyfunction]
#[pyo3(signature = (data, path, options))]
pub(crate) fn bloscpack_pack<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    path: Option<PathBuf>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let options = write_options(options)?;
    let data = data.as_slice().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let name = path.as_ref().map(|path| path.display().to_string());
    let packed = py.detach(|| {
        pool::install(|| match &path {
            Some(path) => pack_to_file(data, path, &options, None).map(|()| None),
            None => pack_to_vec(data, &options).map(Some),
        })
    });
    let packed = packed.map_err(|failure| failure.raise(py, name.as_deref()))?;
    Ok(packed.map(|packed| PyBytes::new(py, &packed)))
}

/// Packs the content of a file into another file.
#[pyfunction]
#[pyo3(signature = (input, output, options))]
pub(crate) fn bloscpack_pack_file(
    py: Python<'_>,
    input: PathBuf,
    output: PathBuf,
    options: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let options = write_options(options)?;
    let name = input.display().to_string();
    let packed = py.detach(|| pool::install(|| pack_file(&input, &output, &options, None)));
    packed.map_err(|failure| failure.raise(py, Some(&name)))
}

/// Appends the content of the file `new` to a Bloscpack file. Returns the number of new chunks.
#[pyfunction]
#[pyo3(signature = (path, new, options))]
pub(crate) fn bloscpack_append(
    py: Python<'_>,
    path: PathBuf,
    new: PathBuf,
    options: &Bound<'_, PyDict>,
) -> PyResult<u64> {
    let options = append_options(options)?;
    let name = path.display().to_string();
    let appended = py.detach(|| {
        let source = FileSource::open(&new)?;
        pool::install(|| append(&path, &source, &options, None))
    });
    Ok(appended.map_err(|failure: Failure| failure.raise(py, Some(&name)))?.new_chunks)
}

/// Copies the intact chunks of a damaged file to a new file. Returns a report as a dictionary.
#[pyfunction]
#[pyo3(signature = (source, output, skip_bad, fill_zeros))]
pub(crate) fn bloscpack_recover<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: PathBuf,
    skip_bad: bool,
    fill_zeros: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let input = Input::new(source)?;
    let options = RecoverOptions::new().skip_bad(skip_bad).fill_zeros(fill_zeros);
    let name = match &input {
        Input::Path(path) => Some(path.display().to_string()),
        _ => None,
    };
    let report = py.detach(|| {
        let source: Arc<dyn ReadAt> = match input {
            Input::Path(path) => Arc::new(FileSource::open(path)?),
            Input::Bytes(bytes) => Arc::new(bytes),
            Input::Source(source) => Arc::new(source),
        };
        let mut file = AtomicFile::create(&output)?;
        let report = pool::install(|| recover(&source, &mut file, &options))?;
        file.commit()?;
        Ok::<_, Failure>(report)
    });
    let report = report.map_err(|failure| failure.raise(py, name.as_deref()))?;
    let dict = PyDict::new(py);
    dict.set_item("kept", report.kept)?;
    dict.set_item("nbytes", report.plain_len)?;
    let lost = report
        .lost
        .iter()
        .map(|loss| (loss.chunks.start, loss.chunks.end, loss.zeros, loss.reason.to_string()));
    dict.set_item("lost", lost.collect::<Vec<_>>())?;
    dict.set_item("diagnostics", diagnostics(py, &report.diagnostics)?)?;
    Ok(dict)
}

/// Converts a dictionary to options for packing. The Python module has already checked the names.
fn write_options(dict: &Bound<'_, PyDict>) -> PyResult<WriteOptions> {
    let (mut options, mut metadata) = (WriteOptions::new(), MetadataOptions::new());
    for (key, value) in dict {
        let key: String = key.extract()?;
        options = match key.as_str() {
            "compressor" => options.compressor(compressor(&value)?),
            "level" => options.level(value.extract()?),
            "shuffle" => options.shuffle(shuffle(&value)?),
            "typesize" => options.typesize(value.extract()?),
            "chunk_size" => options.chunk_size(ChunkSize::Bytes(value.extract()?)),
            "checksum" => options.checksum(checksum(&value)?),
            "offsets" => options.offsets(value.extract()?),
            "max_app_chunks" => options.max_app_chunks(value.extract()?),
            "threads" => options.threads(value.extract()?),
            "metadata" => {
                let text: String = value.extract()?;
                let json = exact_json(text.as_bytes());
                options.metadata(&json.map_err(|error| PyValueError::new_err(error.to_string()))?)
            }
            "meta_checksum" => {
                metadata = metadata.checksum(checksum(&value)?);
                options
            }
            "meta_compress" => {
                metadata = metadata.compress(value.extract()?);
                options
            }
            "meta_level" => {
                metadata = metadata.level(value.extract()?);
                options
            }
            "max_meta_size" => {
                metadata = metadata.max_size(value.extract()?);
                options
            }
            _ => return Err(unknown(&key)),
        };
    }
    Ok(options.metadata_options(metadata))
}

/// Converts a dictionary to options for appending. The Python module has already checked the names.
fn append_options(dict: &Bound<'_, PyDict>) -> PyResult<AppendOptions> {
    let mut options = AppendOptions::new();
    for (key, value) in dict {
        let key: String = key.extract()?;
        options = match key.as_str() {
            "compressor" => options.compressor(compressor(&value)?),
            "level" => options.level(value.extract()?),
            "shuffle" => options.shuffle(shuffle(&value)?),
            "typesize" => options.typesize(value.extract()?),
            "threads" => options.threads(value.extract()?),
            "in_place" => options.in_place(value.extract()?),
            "axis0" => options.axis0(value.extract()?),
            _ => return Err(unknown(&key)),
        };
    }
    Ok(options)
}

fn unknown(key: &str) -> PyErr {
    PyTypeError::new_err(format!("unknown option {key:?}"))
}

fn compressor(value: &Bound<'_, PyAny>) -> PyResult<Compressor> {
    let name: String = value.extract()?;
    Compressor::from_name(&name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "unknown compressor {name:?}: expected blosclz, lz4, lz4hc, snappy, zlib or zstd"
        ))
    })
}

fn shuffle(value: &Bound<'_, PyAny>) -> PyResult<Shuffle> {
    match value.extract::<u8>()? {
        0 => Ok(Shuffle::None),
        1 => Ok(Shuffle::Byte),
        2 => Ok(Shuffle::Bit),
        other => Err(PyValueError::new_err(format!("shuffle is {other}: expected 0, 1 or 2"))),
    }
}

fn checksum(value: &Bound<'_, PyAny>) -> PyResult<Checksum> {
    let name: String = value.extract()?;
    Checksum::from_name(&name)
        .ok_or_else(|| PyValueError::new_err(format!("unknown checksum {name:?}")))
}
