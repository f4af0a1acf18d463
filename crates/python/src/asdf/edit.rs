//! Editing existing files.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use asdf::save::{EditOptions, EditReport, Editor, Method};
use asdf::{Compression, Value};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::blocks::parse_compression;
use super::build::build;
use super::error::of_pointer;
use crate::error::Failure;
use crate::pool;

/// A file that is open for editing. It is locked until the editor is closed.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct AsdfEditor {
    /// The editor, or `None` after it has been closed.
    editor: Mutex<Option<Editor>>,
    path: String,
    /// The compression for arrays that the editor sets, or `None` to let the writer choose.
    compression: Option<Compression>,
}

impl AsdfEditor {
    /// Calls `call` with the editor, in the pool and detached from the interpreter. Fails if the
    /// editor was closed.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Editor) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        self.take(py, |editor| call(editor.as_mut().ok_or_else(Failure::closed)?))
    }

    fn take<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Option<Editor>) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let result = py.detach(|| {
            let mut guard = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
            let editor = &mut *guard;
            pool::install(|| call(editor))
        });
        result.map_err(|failure| failure.raise(py, Some(&self.path)))
    }
}

#[pymethods]
impl AsdfEditor {
    #[new]
    #[pyo3(signature = (path, *, in_place, compression))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        in_place: bool,
        compression: Option<&str>,
    ) -> PyResult<Self> {
        let compression = compression.map(parse_compression).transpose()?;
        let name = path.display().to_string();
        let options = EditOptions::new().in_place(in_place);
        let editor = py.detach(|| options.open(path));
        match editor {
            Ok(editor) => Ok(Self { editor: Mutex::new(Some(editor)), path: name, compression }),
            Err(error) => Err(Failure::from(error).raise(py, Some(&name))),
        }
    }

    /// Sets the value at a JSON Pointer. `prepare` assigns new arrays to blocks (see
    /// `scibin/asdf/_blocks.py`).
    fn set(
        &self,
        py: Python<'_>,
        pointer: &str,
        value: &Bound<'_, PyAny>,
        prepare: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let tree = build(value, prepare, self.compression, None, false)?.tree;
        self.run(py, |editor| {
            let set = match tree.root() {
                Value::Array(array) => editor.set_array(pointer, (**array).clone()),
                _ => editor.set(pointer, &tree),
            };
            set.map_err(of_pointer)
        })
    }

    /// Removes the entry or item at a JSON Pointer.
    fn remove(&self, py: Python<'_>, pointer: &str) -> PyResult<()> {
        self.run(py, |editor| editor.remove(pointer).map_err(of_pointer))
    }

    /// Changes the key of the entry at a JSON Pointer.
    fn rename(&self, py: Python<'_>, pointer: &str, key: &str) -> PyResult<()> {
        self.run(py, |editor| editor.rename(pointer, key).map_err(of_pointer))
    }

    /// Returns the text of the tree with all edits so far.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.run(py, |editor| Ok(editor.tree()?.text().to_owned()))
    }

    /// Returns a report of what a commit would do, as a dictionary.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let planned = self.run(py, |editor| Ok(editor.plan()?))?;
        report(py, &planned)
    }

    /// Writes the changes, and closes the editor. Returns a report as a dictionary.
    fn commit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let written = self.take(py, |editor| {
            let editor = editor.take().ok_or_else(Failure::closed)?;
            Ok(editor.commit()?)
        })?;
        report(py, &written)
    }

    /// Closes the editor and unlocks the file, without writing changes.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.take(py, |editor| {
            *editor = None;
            Ok(())
        })
    }
}

fn report<'py>(py: Python<'py>, report: &EditReport) -> PyResult<Bound<'py, PyDict>> {
    let method = match report.method {
        Method::Unchanged => "unchanged",
        Method::Patched => "patched",
        Method::InPlace => "in place",
        _ => "new file",
    };
    let dict = PyDict::new(py);
    dict.set_item("method", method)?;
    dict.set_item("size", report.len)?;
    dict.set_item("blocks", report.blocks)?;
    dict.set_item("unused_blocks", report.unused.clone())?;
    dict.set_item("rolled_back", report.rolled_back)?;
    Ok(dict)
}
