//! Arrays: `!core/ndarray` and plain sequences as typed elements.
//!
//! From the tree to the numbers:
//!
//! ```text
//! node --parse--> ArrayHeader    what is declared: datatype, shape, strides, source
//!      --extent-> Strided        where in the block the elements lie, checked
//!              -> NdArray        the two with the block: slices, fields, reads
//! ```
//!
//! An [`NdArray`] is a view: making one, slicing it and taking a field reads no elements.
//! [`NdArray::view`] borrows the block's memory where it can; all other reads are one pass over
//! the elements, with their byte order changed on the way.

mod append;
pub mod dtype;
pub mod element;
pub mod extent;
mod gather;
pub(crate) mod inline;
pub(crate) mod mask;
mod number;
pub mod parse;
pub mod slice;
mod strings;
mod swap;
mod tile;
pub(crate) mod view;

pub use dtype::{Datatype, Field, Record, ScalarType};
pub use element::{Element, Elements};
pub use extent::Strided;
pub use parse::{ArrayHeader, Shape, Source};
pub use slice::Slice;
pub use swap::Order;
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

    pub(crate) fn diagnostic(self, code: Code, message: impl Into<String>) -> Diagnostic {
        self.0.diagnostic(code, message)
    }
}
