//! Errors of the crates as Python exceptions.
//!
//! | what failed | exception |
//! |---|---|
//! | the bytes of a file are not as its format demands | `scibin.FormatError`, a `ValueError` |
//! | a checksum does not match | `scibin.ChecksumMismatch` |
//! | a limit was reached | `scibin.LimitError` |
//! | the operating system | the subclass of `OSError` for the error number |
//! | a source that is written in Python | the exception that it raised |
//! | memory | `MemoryError` |
//! | a pointer that leads nowhere | `KeyError` |
//! | an argument, or a closed file | `ValueError`, `TypeError` |
//!
//! The exception classes are written in Python (`scibin/_errors.py`).

use std::io;
use std::sync::Arc;

use pyo3::exceptions::{
    PyBlockingIOError, PyIndexError, PyKeyError, PyMemoryError, PyOSError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// The module with the exception classes.
const MODULE: &str = "scibin._errors";

/// An error that becomes an exception as soon as the interpreter is available.
#[derive(Clone, Debug)]
pub(crate) struct Failure(Box<Details>);

#[derive(Clone, Debug)]
struct Details {
    kind: Kind,
    message: String,
    place: Place,
}

/// The class of the exception.
#[derive(Clone, Debug)]
enum Kind {
    Format,
    Checksum,
    Limit,
    Memory,
    Blocked,
    Key,
    Index,
    Type,
    Value,
    System(Arc<io::Error>),
    Python(Arc<PyErr>),
}

/// The attributes of a `FormatError`, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// Offset in the file, in bytes.
    pub(crate) offset: Option<u64>,
    /// Line of a text, from 1.
    pub(crate) line: Option<u32>,
    /// Column of a text in characters, from 1.
    pub(crate) column: Option<u32>,
    /// Number of a block or a chunk, from 0.
    pub(crate) block: Option<u64>,
    /// JSON Pointer to a node.
    pub(crate) pointer: Option<String>,
    /// What is wrong, as one word for programs.
    pub(crate) code: Option<&'static str>,
}

impl Failure {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self::at_place(kind, message, Place::default())
    }

    fn at_place(kind: Kind, message: impl Into<String>, place: Place) -> Self {
        Self(Box::new(Details { kind, message: message.into(), place }))
    }

    /// Creates a `FormatError`: the bytes of a file are not as the format demands.
    pub(crate) fn format(message: impl Into<String>, place: Place) -> Self {
        Self::at_place(Kind::Format, message, place)
    }

    /// Creates a `ChecksumMismatch`.
    pub(crate) fn checksum(message: impl Into<String>, place: Place) -> Self {
        Self::at_place(Kind::Checksum, message, place)
    }

    /// Creates a `LimitError`.
    pub(crate) fn limit(message: impl Into<String>, place: Place) -> Self {
        Self::at_place(Kind::Limit, message, place)
    }

    /// Creates a `MemoryError`.
    pub(crate) fn memory(message: impl Into<String>) -> Self {
        Self::new(Kind::Memory, message)
    }

    /// Creates a `KeyError`.
    pub(crate) fn key(message: impl Into<String>) -> Self {
        Self::new(Kind::Key, message)
    }

    /// Creates an `IndexError`.
    pub(crate) fn index(message: impl Into<String>) -> Self {
        Self::new(Kind::Index, message)
    }

    /// Creates a `TypeError`: an argument has the wrong type, or a value cannot be written.
    pub(crate) fn type_error(message: impl Into<String>) -> Self {
        Self::new(Kind::Type, message)
    }

    /// Creates a `ValueError`: an argument has an invalid value.
    pub(crate) fn value(message: impl Into<String>) -> Self {
        Self::new(Kind::Value, message)
    }

    /// Creates the `ValueError` for a file that was closed.
    pub(crate) fn closed() -> Self {
        Self::value("file is closed")
    }

    /// Creates an `OSError`. If a source that is written in Python has raised an exception, the failure is that
    /// exception instead.
    pub(crate) fn system(error: &io::Error, message: impl Into<String>) -> Self {
        let python = error.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>());
        let kind = match python {
            Some(error) => Kind::Python(Arc::new(Python::attach(|py| error.clone_ref(py)))),
            None => Kind::System(Arc::new(copy_of(error))),
        };
        Self::new(kind, message)
    }

    /// Adds what is known about the node that needs the data that failed, if the failure does not know it.
    pub(crate) fn at(mut self, place: Place) -> Self {
        let inner = &mut self.0.place;
        inner.offset = inner.offset.or(place.offset);
        inner.line = inner.line.or(place.line);
        inner.column = inner.column.or(place.column);
        inner.pointer = inner.pointer.take().or(place.pointer);
        self
    }

    /// Prepends the place of an error in what is written.
    pub(crate) fn context(mut self, place: &str) -> Self {
        self.0.message = format!("{place}: {}", self.0.message);
        self
    }

    /// Returns the exception. `path` is the file that it is about, if it has a name.
    pub(crate) fn raise(self, py: Python<'_>, path: Option<&str>) -> PyErr {
        let Details { kind, message, place } = *self.0;
        // The exception names the path itself.
        let prefix = path.map(|path| format!("{path}: "));
        let message = match prefix.and_then(|prefix| message.strip_prefix(&prefix)) {
            Some(rest) => rest.to_owned(),
            None => message,
        };
        let class = match kind {
            Kind::Format => "FormatError",
            Kind::Checksum => "ChecksumMismatch",
            Kind::Limit => "LimitError",
            Kind::Blocked => {
                let number = py.import("errno").and_then(|errno| errno.getattr("EAGAIN"));
                return match number {
                    Ok(number) => PyBlockingIOError::new_err((
                        number.unbind(),
                        message,
                        path.map(str::to_owned),
                    )),
                    Err(error) => error,
                };
            }
            Kind::Memory => return PyMemoryError::new_err(message),
            Kind::Key => return PyKeyError::new_err(message),
            Kind::Index => return PyIndexError::new_err(message),
            Kind::Type => return PyTypeError::new_err(message),
            Kind::Value => return PyValueError::new_err(message),
            Kind::Python(error) => return error.clone_ref(py),
            Kind::System(error) => {
                // Python chooses the subclass by the number, and adds the number and the path to the text.
                let Some(number) = error.raw_os_error() else {
                    return PyOSError::new_err(message);
                };
                let text = strerror(py, number).unwrap_or(message);
                return match path {
                    Some(path) => PyOSError::new_err((number, text, path.to_owned())),
                    None => PyOSError::new_err((number, text)),
                };
            }
        };
        format_error(py, class, &message, place, path).unwrap_or_else(|error| error)
    }
}

/// Returns Python's text for an error number.
fn strerror(py: Python<'_>, number: i32) -> PyResult<String> {
    py.import("os")?.call_method1("strerror", (number,))?.extract()
}

/// Creates an exception of one of our classes.
fn format_error(
    py: Python<'_>,
    class: &str,
    message: &str,
    place: Place,
    path: Option<&str>,
) -> PyResult<PyErr> {
    static MODULE_OBJECT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = MODULE_OBJECT
        .get_or_try_init(py, || py.import(MODULE).map(|module| module.into_any().unbind()))?;
    let class = module.bind(py).getattr(class)?.cast_into::<PyType>()?;
    let attributes = PyDict::new(py);
    attributes.set_item("path", path)?;
    attributes.set_item("offset", place.offset)?;
    attributes.set_item("line", place.line)?;
    attributes.set_item("column", place.column)?;
    attributes.set_item("block", place.block)?;
    attributes.set_item("pointer", place.pointer)?;
    attributes.set_item("code", place.code)?;
    Ok(PyErr::from_value(class.call((message,), Some(&attributes))?))
}

/// Copies an error of the system, which cannot be cloned.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::system(&error, error.to_string())
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        let message = error.to_string();
        Self::new(Kind::Python(Arc::new(error)), message)
    }
}

impl From<binio::Error> for Failure {
    fn from(error: binio::Error) -> Self {
        Self::binio(&error, error.to_string())
    }
}

impl Failure {
    /// Converts an error, which may be inside another one that has the complete `message`.
    pub(crate) fn binio(error: &binio::Error, message: String) -> Self {
        use binio::ErrorKind;
        let place = Place { offset: error.offset(), ..Place::default() };
        match error.kind() {
            ErrorKind::Io(io) => Self::system(io, message),
            ErrorKind::Limit { .. } => Self::limit(message, Place { code: Some("limit"), ..place }),
            ErrorKind::OutOfMemory { .. } => Self::memory(message),
            ErrorKind::Locked => Self::new(Kind::Blocked, message),
            ErrorKind::Truncated { .. } => {
                Self::format(message, Place { code: Some("truncated"), ..place })
            }
            _ => Self::format(message, Place { code: Some("invalid"), ..place }),
        }
    }
}
