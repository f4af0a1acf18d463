//! Extracting and creating archives.

use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use binio::write::AtomicFile;
use flux_archive::disk::{Creator, Existing, Extractor};
use flux_archive::store::BlobStoreMut;
use flux_archive::{Failure as EntryFailure, Form, Writer};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::file::FluxArchive;
use crate::error::Failure;
use crate::pool;

/// Extracts the entries with these paths, or all entries, into an existing directory. Returns a
/// report as a dictionary.
pub(super) fn extract<'py>(
    archive: &FluxArchive,
    py: Python<'py>,
    directory: PathBuf,
    paths: Option<HashSet<String>>,
    overwrite: bool,
    preserve_permissions: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let existing = if overwrite { Existing::Overwrite } else { Existing::Error };
    let report = archive.run(py, |file| {
        let select = |entry: &flux_archive::Entry<'_>| {
            paths.as_ref().is_none_or(|paths| paths.contains(entry.path().as_str()))
        };
        let extractor = Extractor::new(&directory)?
            .store(&*file.store)
            .existing(existing)
            .limits(file.limits)
            .select(&select)
            .preserve_permissions(preserve_permissions);
        Ok(extractor.run(&file.archive)?)
    })?;
    let dict = PyDict::new(py);
    dict.set_item("files", report.files)?;
    dict.set_item("directories", report.directories)?;
    dict.set_item("links", report.links)?;
    dict.set_item("nbytes", report.bytes)?;
    dict.set_item("failures", failures(py, report.failures)?)?;
    Ok(dict)
}

/// Archives files and directories below `base`. If one of them cannot be read, the archive is not written. Returns a
/// report as a dictionary.
#[pyfunction]
#[pyo3(signature = (path, names, base, store))]
pub(crate) fn flux_create(
    py: Python<'_>,
    path: PathBuf,
    names: Vec<PathBuf>,
    base: PathBuf,
    store: Option<PathBuf>,
) -> PyResult<Bound<'_, PyDict>> {
    let name = path.display().to_string();
    let created = py.detach(|| {
        pool::install(|| {
            let store: Option<Box<dyn BlobStoreMut>> =
                store.map(flux_archive::store::create).transpose()?;
            let mut file = AtomicFile::create(&path)?;
            let mut creator = Creator::new(&base)?.leave_out(file.file()?)?;
            if let Some(store) = &store {
                creator = creator.store(&**store);
            }
            let mut writer = Writer::new(BufWriter::new(&mut file), Form::Array);
            let report = creator.write(&names, &mut writer)?;
            writer.finish()?.flush()?;
            if report.failures.is_empty() {
                file.commit()?;
            }
            Ok::<_, Failure>(report)
        })
    });
    let report = created.map_err(|failure| failure.raise(py, Some(&name)))?;
    let dict = PyDict::new(py);
    dict.set_item("entries", report.entries)?;
    dict.set_item("changed", report.changed)?;
    dict.set_item("failures", failures(py, report.failures)?)?;
    Ok(dict)
}

/// Converts failed entries into pairs of a path and an exception.
fn failures(py: Python<'_>, failures: Vec<EntryFailure>) -> PyResult<Vec<(String, Py<PyAny>)>> {
    let pair = |EntryFailure { path, error, .. }| {
        let exception = Failure::from(error).raise(py, Some(&path));
        Ok((path, exception.into_value(py).into_any()))
    };
    failures.into_iter().map(pair).collect()
}
