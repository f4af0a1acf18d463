//! What can be wrong with an array.

use std::io;
use std::sync::Arc;
use std::{error, fmt};

/// Why an array cannot be described, read or written.
///
/// A format maps the variants to its own errors, and adds the place: the messages name no key and no
/// file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ElementsError {
    /// A shape that no array has, or that does not fit.
    Shape(String),
    /// Strides that do not fit the shape.
    Strides(String),
    /// A datatype that is unknown, too large or nested too deep.
    Datatype(String),
    /// The datatype holds Python objects, which are pointers.
    Object,
    /// Elements lie outside the data.
    Outside {
        /// Lowest byte of any element.
        low: i128,
        /// End of the highest element.
        high: i128,
        /// Size of the data.
        len: u64,
    },
    /// The element type asked for is not the array's.
    Type {
        /// The datatype of the array, as numpy spells it.
        datatype: String,
        /// The type asked for.
        asked: &'static str,
    },
    /// A buffer handed in does not have the size of the elements.
    BufferSize {
        /// How many elements or bytes there are.
        want: u64,
        /// How many the buffer holds.
        got: u64,
    },
    /// A slice that does not fit the shape, or is not a slice.
    Slice(String),
    /// An element is not a value of its type.
    Element {
        /// Position in C order.
        index: u64,
        /// What was expected and what was found.
        message: String,
    },
    /// Two elements share bytes, so that they cannot be written.
    Overlap,
    /// The file asks for more than the caller's limits allow.
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What the file asks for.
        requested: u64,
    },
    /// The machine has no memory for the elements.
    Memory {
        /// How many bytes were asked for.
        bytes: u64,
    },
    /// The header of a `.npy` file that is not valid.
    Npy(String),
    /// The elements could not be written to where the caller wants them.
    Output(Arc<io::Error>),
}

impl fmt::Display for ElementsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(message) => write!(f, "shape: {message}"),
            Self::Strides(message) => write!(f, "strides: {message}"),
            Self::Datatype(message) => write!(f, "datatype: {message}"),
            Self::Object => f.write_str("the datatype holds Python objects, which are not bytes"),
            Self::Outside { low, high, len } => {
                write!(f, "elements lie at bytes {low}..{high} of {len} bytes of data")
            }
            Self::Type { datatype, asked } => write!(f, "elements are {datatype}, not {asked}"),
            Self::BufferSize { want, got } => write!(f, "buffer of {got} elements for {want}"),
            Self::Slice(message) => write!(f, "slice: {message}"),
            Self::Element { index, message } => write!(f, "element {index}: {message}"),
            Self::Overlap => f.write_str("elements that share bytes cannot be written"),
            Self::Limit { what, limit, requested } => {
                write!(f, "{what}: {requested} is above the limit of {limit}")
            }
            Self::Memory { bytes } => write!(f, "cannot allocate {bytes} bytes for an array"),
            Self::Npy(message) => write!(f, "header of a .npy file: {message}"),
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
