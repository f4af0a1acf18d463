//! Writing new files.

use std::io::Cursor;
use std::path::PathBuf;

use asdf::{WriteOptions, Writer};
use binio::write::AtomicFile;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::blocks::parse_compression;
use super::build::{BuiltTree, build};
use crate::error::Failure;
use crate::pool;

/// Returns the bytes of a file with a tree.
#[pyfunction]
#[pyo3(signature = (tree, prepare, *, compression, compressions, align, standard))]
pub(crate) fn asdf_dumps<'py>(
    py: Python<'py>,
    tree: &Bound<'py, PyAny>,
    prepare: &Bound<'py, PyAny>,
    compression: Option<&str>,
    compressions: Option<&Bound<'py, PyDict>>,
    align: Option<u64>,
    standard: Option<&str>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = options(compression, align, standard)?;
    let built = build(tree, prepare, None, compressions, true)?;
    let bytes = py.detach(|| {
        with_writer(built, options, |writer| {
            let mut out = Cursor::new(Vec::new());
            writer.write_to(&mut out)?;
            Ok(out.into_inner())
        })
    });
    Ok(PyBytes::new(py, &bytes.map_err(|failure| failure.raise(py, None))?))
}

/// Writes a file with a tree. The file appears at `path` only when it is complete and has been
/// written to disk.
#[pyfunction]
#[pyo3(signature = (path, tree, prepare, *, compression, compressions, align, standard, overwrite))]
#[allow(
    clippy::too_many_arguments,
    reason = "the function is called from Python with keyword arguments"
)]
pub(crate) fn asdf_write(
    py: Python<'_>,
    path: PathBuf,
    tree: &Bound<'_, PyAny>,
    prepare: &Bound<'_, PyAny>,
    compression: Option<&str>,
    compressions: Option<&Bound<'_, PyDict>>,
    align: Option<u64>,
    standard: Option<&str>,
    overwrite: bool,
) -> PyResult<()> {
    let options = options(compression, align, standard)?;
    let built = build(tree, prepare, None, compressions, true)?;
    let name = path.display().to_string();
    let written = py.detach(|| {
        with_writer(built, options, |writer| {
            let mut file = AtomicFile::create(&path)?;
            writer.write_to(&mut file)?;
            Ok(if overwrite { file.commit() } else { file.commit_new() }?)
        })
    });
    written.map_err(|failure| failure.raise(py, Some(&name)))
}

/// Creates a writer for a tree, and runs `call` with it in the pool.
fn with_writer<T: Send>(
    built: BuiltTree,
    options: WriteOptions,
    call: impl FnOnce(&Writer<'_>) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let origin = built.origin.map(|origin| origin.get()).transpose()?;
    // Copy blocks from external files as well, so that the new file does not depend on other files.
    let mut writer = Writer::new(built.tree).options(options).implode(true);
    if let Some(origin) = &origin {
        writer = writer.blocks_of(origin);
    }
    pool::install(|| call(&writer))
}

fn options(
    name: Option<&str>,
    align: Option<u64>,
    standard: Option<&str>,
) -> PyResult<WriteOptions> {
    let mut options = WriteOptions::new();
    if let Some(name) = name {
        options = options.compression(parse_compression(name)?);
    }
    if let Some(align) = align {
        if !align.is_power_of_two() || align > 1 << 15 {
            let message = format!("align={align}: expected a power of two up to 32768");
            return Err(PyValueError::new_err(message));
        }
        options = options.align(align);
    }
    if let Some(standard) = standard {
        let version = standard.parse().ok().filter(|it| asdf::save::STANDARDS.contains(it));
        options = options.standard(version.ok_or_else(|| {
            PyValueError::new_err(format!("standard={standard:?}: expected \"1.0.0\" to \"1.6.0\""))
        })?);
    }
    Ok(options)
}
