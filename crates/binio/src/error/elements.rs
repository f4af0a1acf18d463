//! Errors in describing, reading and writing arrays.

use std::io;
use std::sync::Arc;
use std::{error, fmt};

use crate::error::count::count;

/// The reason why an array cannot be described, read or written.
///
/// Formats map the variants to their own errors and add the position, because the messages do not
/// mention a key or a file.
///
/// ```
/// use binio::array::{ElementsError, Order, Strided};
///
/// let error = Strided::packed(vec![3], Order::C, 8, 8, 24).unwrap_err();
/// assert!(matches!(error, ElementsError::Outside { low: 8, high: 32, len: 24 }));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ElementsError {
    /// The shape is invalid, or it cannot be used for the operation.
    Shape(String),
    /// The strides do not fit the shape, or no strides can describe the new shape.
    Strides(String),
    /// The datatype is invalid, too large or too deeply nested, or it does not suit the operation.
    Datatype(String),
    /// The datatype contains Python objects, which are pointers.
    Object,
    /// Some elements are outside the data.
    Outside {
        /// Offset in the data of the lowest byte of any element. It may be negative.
        low: i128,
        /// Offset in the data after the highest byte of any element.
        high: i128,
        /// Size of the data in bytes.
        len: u64,
    },
    /// The elements cannot be read as the requested type.
    Type {
        /// The datatype of the array, in numpy's notation.
        datatype: String,
        /// The type that was requested.
        requested: &'static str,
    },
    /// The size of the buffer is not the total size of the elements.
    BufferSize {
        /// Required number of elements in the buffer. The elements of a byte buffer are bytes.
        expected: u64,
        /// Actual number of elements in the buffer.
        found: u64,
    },
    /// A slice is invalid, or it does not fit the shape.
    Slice(String),
    /// An element is not a valid value of its type.
    Element {
        /// Index of the element in C order.
        index: u64,
        /// The reason why the element is invalid.
        message: String,
    },
    /// Some elements may share bytes, so the array cannot be written.
    Overlap,
    /// An amount exceeds a limit, usually one of the caller's [`Limits`](crate::Limits).
    Limit {
        /// Description of the limited quantity.
        what: &'static str,
        /// The limit, in the unit of the quantity.
        limit: u64,
        /// The requested amount, in the unit of the quantity.
        requested: u64,
    },
    /// There is not enough memory for the elements.
    Memory {
        /// Number of bytes requested.
        bytes: u64,
    },
    /// The header of a `.npy` file is invalid.
    Npy(String),
    /// Writing to the caller's output failed.
    Output(Arc<io::Error>),
}

impl fmt::Display for ElementsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(message) => write!(f, "shape: {message}"),
            Self::Strides(message) => write!(f, "strides: {message}"),
            Self::Datatype(message) => write!(f, "datatype: {message}"),
            Self::Object => {
                f.write_str("the datatype contains Python objects, which cannot be stored as bytes")
            }
            Self::Outside { low, high, len } => {
                write!(
                    f,
                    "elements are at bytes {low}..{high}, but the data has only {}",
                    count(*len, "byte")
                )
            }
            Self::Type { datatype, requested } => {
                write!(f, "elements are {datatype}, not {requested}")
            }
            Self::BufferSize { expected, found } => {
                write!(f, "the buffer has {}, expected {expected}", count(*found, "element"))
            }
            Self::Slice(message) => write!(f, "slice: {message}"),
            Self::Element { index, message } => write!(f, "element {index}: {message}"),
            Self::Overlap => f.write_str("elements that overlap cannot be written"),
            Self::Limit { what, limit, requested } => {
                write!(f, "{what}: {requested} is above the limit of {limit}")
            }
            Self::Memory { bytes } => {
                write!(f, "cannot allocate {} for an array", count(*bytes, "byte"))
            }
            Self::Npy(message) => write!(f, ".npy header: {message}"),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl error::Error for ElementsError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Output(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for ElementsError {
    fn from(error: io::Error) -> Self {
        Self::Output(Arc::new(error))
    }
}

pub(crate) fn shape(message: impl Into<String>) -> ElementsError {
    ElementsError::Shape(message.into())
}

pub(crate) fn datatype(message: impl Into<String>) -> ElementsError {
    ElementsError::Datatype(message.into())
}
