//! Converting the errors of the crates into Python exceptions.
//!
//! | cause | exception |
//! |---|---|
//! | a file does not conform to its format | `scibin.FormatError`, a `ValueError` |
//! | a block or chunk does not match its checksum | `scibin.ChecksumMismatch` |
//! | a limit was exceeded | `scibin.LimitError` |
//! | the operating system failed | the subclass of `OSError` for the error number |
//! | the file is already being changed | `BlockingIOError` |
//! | a source written in Python failed | the exception that it raised |
//! | memory could not be allocated | `MemoryError` |
//! | a pointer or key does not exist | `KeyError` |
//! | an index is out of range | `IndexError` |
//! | an argument is invalid, or a file is closed | `ValueError`, `TypeError` |
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

/// The module that defines the exception classes.
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

/// The class of the exception to raise.
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

/// The attributes of a `FormatError`. Unknown attributes are `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The offset in the file in bytes.
    pub(crate) offset: Option<u64>,
    /// The line in the text, counted from 1.
    pub(crate) line: Option<u32>,
    /// The column in characters, counted from 1.
    pub(crate) column: Option<u32>,
    /// The index of the block or chunk.
    pub(crate) block: Option<u64>,
    /// The JSON Pointer of the node.
    pub(crate) pointer: Option<String>,
    /// A word that identifies the kind of error, for use by programs.
    pub(crate) code: Option<&'static str>,
}

impl Failure {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self::at_place(kind, message, Place::default())
    }

    fn at_place(kind: Kind, message: impl Into<String>, place: Place) -> Self {
        Self(Box::new(Details { kind, message: message.into(), place }))
    }

    /// Creates a `FormatError`, for a file that does not conform to its format.
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

    /// Creates a `TypeError`, for an argument, node or array of the wrong type, or a value that cannot be written.
    pub(crate) fn type_error(message: impl Into<String>) -> Self {
        Self::new(Kind::Type, message)
    }

    /// Creates a `ValueError`, for an argument with an invalid value.
    pub(crate) fn value(message: impl Into<String>) -> Self {
        Self::new(Kind::Value, message)
    }

    /// Creates the `ValueError` for a closed file.
    pub(crate) fn closed() -> Self {
        Self::value("file is closed")
    }

    /// Creates an `OSError`. If the error comes from an exception raised by a source written in Python, that exception
    /// is used instead.
    pub(crate) fn system(error: &io::Error, message: impl Into<String>) -> Self {
        let python = error.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>());
        let kind = match python {
            Some(error) => Kind::Python(Arc::new(Python::attach(|py| error.clone_ref(py)))),
            None => Kind::System(Arc::new(copy_of(error))),
        };
        Self::new(kind, message)
    }

    /// Sets the offset, line, column and pointer, if they are still unknown.
    pub(crate) fn at(mut self, place: Place) -> Self {
        let inner = &mut self.0.place;
        inner.offset = inner.offset.or(place.offset);
        inner.line = inner.line.or(place.line);
        inner.column = inner.column.or(place.column);
        inner.pointer = inner.pointer.take().or(place.pointer);
        self
    }

    /// Prepends `place`, the location of the error, to the message.
    pub(crate) fn context(mut self, place: &str) -> Self {
        self.0.message = format!("{place}: {}", self.0.message);
        self
    }

    /// Converts the failure into an exception. `path` is the path of the file, or `None` if the file
    /// has no path.
    pub(crate) fn raise(self, py: Python<'_>, path: Option<&str>) -> PyErr {
        let Details { kind, message, place } = *self.0;
        // Remove the path from the message, because the exception adds it.
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
                return match error_number(py, "EAGAIN") {
                    Ok(number) => {
                        PyBlockingIOError::new_err((number, message, path.map(str::to_owned)))
                    }
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
                // Python chooses the subclass of `OSError` based on the error number, and adds the
                // number and the path to the message.
                let number = match error.kind() {
                    io::ErrorKind::IsADirectory => error_number(py, "EISDIR").ok(),
                    _ => error.raw_os_error(),
                };
                let Some(number) = number else {
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

/// Returns the error number that has this name in Python's module `errno`.
fn error_number(py: Python<'_>, name: &str) -> PyResult<i32> {
    py.import("errno")?.getattr(name)?.extract()
}

/// Returns Python's message for an error number.
fn strerror(py: Python<'_>, number: i32) -> PyResult<String> {
    py.import("os")?.call_method1("strerror", (number,))?.extract()
}

/// Creates an exception of the class named `class` in [`MODULE`].
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

/// Creates a copy of an I/O error, because `io::Error` cannot be cloned.
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
    /// Converts an error of `binio`. If it is contained in an error of another crate, `message` is
    /// the message of the outer error.
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
