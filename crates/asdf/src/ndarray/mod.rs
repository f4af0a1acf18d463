//! Arrays: `!core/ndarray` and plain sequences as typed elements.
//!
//! From the tree to the numbers:
//!
//! ```text
//! node --parse--> ArrayHeader    what is declared: datatype, shape, strides, source
//!              -> Strided        where in the block the elements lie, checked
//!              -> NdArray        the two with the block: slices, fields, reads
//! ```
//!
//! An [`NdArray`] is a view: making one, slicing it and taking a field reads no elements. What is
//! not about ASDF is in [`binio::array`]: datatypes, strides, slices and all reading of elements.

pub(crate) mod data;
mod datatype;
pub(crate) mod inline;
pub(crate) mod mask;
mod number;
pub(crate) mod parse;
pub(crate) mod view;

pub use binio::array::{
    ByteOrder, Datatype, Element, Elements, Field, Kind, Order, Record, ScalarType, Slice, Strided,
    Style,
};
pub use datatype::datatype_name;
pub use view::{Masked, NdArray, Origin};

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{ArrayError, Error, ErrorKind};
use crate::yaml;

/// Where in the file an array or one of its keys is, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(yaml::Position);

impl Place {
    pub(crate) fn of(node: yaml::Node<'_>) -> Self {
        Self(node.position())
    }

    pub(crate) fn error(self, kind: ArrayError) -> Error {
        ErrorKind::Array { line: self.0.line, column: self.0.column, kind }.into()
    }

    pub(crate) fn invalid(self, key: &'static str, message: impl Into<String>) -> Error {
        self.error(ArrayError::Invalid { key, message: message.into() })
    }

    /// An error of an array at this place, whose elements are of a type if that is known.
    pub(crate) fn array_error(
        self,
        error: binio::array::ArrayError,
        datatype: Option<&Datatype>,
    ) -> Error {
        use binio::array::ArrayError as Kind;
        match error {
            Kind::Shape(message) => self.invalid("shape", message),
            Kind::Strides(message) => self.invalid("strides", message),
            Kind::Outside { low, high, len } => {
                self.error(ArrayError::OutsideBlock { low, high, len })
            }
            Kind::Type { datatype: numpy, asked } => {
                let dtype = datatype.map_or(numpy, datatype_name);
                self.error(ArrayError::Type { dtype, asked })
            }
            Kind::BufferSize { want, got } => self.error(ArrayError::BufferSize { want, got }),
            Kind::Slice(message) => self.error(ArrayError::Slice(message)),
            Kind::Element { index, message } => self.error(ArrayError::Element { index, message }),
            Kind::Limit { .. } | Kind::Memory { .. } | Kind::Output(_) => {
                binio::Error::from(error).into()
            }
            Kind::Datatype(message) => self.invalid("datatype", message),
            other => self.invalid("datatype", other.to_string()),
        }
    }

    pub(crate) fn diagnostic(self, code: Code, message: impl Into<String>) -> Diagnostic {
        self.0.diagnostic(code, message)
    }
}
