//! Arrays: the typed elements of `!core/ndarray` nodes and plain sequences.
//!
//! The steps from the tree to the numbers:
//!
//! ```text
//! node --parse--> ArrayHeader    the declaration: datatype, shape, strides, source
//!              -> Strided        the positions of the elements in the block, checked
//!              -> NdArray        the positions and the block: slices, fields, reads
//! ```
//!
//! An [`NdArray`] is a view: creating it, slicing it or accessing a field does not read elements
//! from blocks. Everything that is not specific to ASDF is in [`binio::array`]: datatypes, strides,
//! slices and reading elements.

pub(crate) mod data;
mod datatype;
pub(crate) mod inline;
pub(crate) mod mask;
mod number;
pub(crate) mod parse;
pub(crate) mod source;
pub(crate) mod view;

pub use binio::array::{
    ByteOrder, Datatype, Element, Elements, ElementsIntoIter, Field, Order, PrintStyle, Record,
    ScalarKind, ScalarType, Slice, Strided,
};
pub use datatype::datatype_name;
pub(crate) use datatype::scalar_name;
pub(crate) use view::NdArray;
pub use view::{Masked, Origin};

pub use crate::error::ArrayError;
pub use binio::Endian;
pub use half::f16;
pub use num_complex::Complex;

use crate::error::{Error, ErrorKind};
use crate::yaml::YamlNode;

/// Creating errors about arrays, with the position of the affected node.
impl YamlNode<'_> {
    pub(crate) fn array_error(self, kind: ArrayError) -> Error {
        let position = self.position();
        let (line, column, pointer) = (position.line, position.column, self.to_pointer());
        ErrorKind::Array { pointer, line, column, kind }.into()
    }

    pub(crate) fn invalid(self, key: &'static str, message: impl Into<String>) -> Error {
        self.array_error(ArrayError::Invalid { key, message: message.into() })
    }

    /// Converts an error about the elements of an array. If the elements have the wrong type, the error names
    /// `datatype` in the notation of the tree. If `datatype` is `None`, it names the type as in numpy.
    pub(crate) fn elements_error(
        self,
        error: binio::array::ElementsError,
        datatype: Option<&Datatype>,
    ) -> Error {
        use binio::array::ElementsError as Kind;
        self.array_error(match error {
            Kind::Shape(message) => return self.invalid("shape", message),
            Kind::Strides(message) => return self.invalid("strides", message),
            Kind::Datatype(message) => return self.invalid("datatype", message),
            Kind::Limit { .. } | Kind::Memory { .. } | Kind::Output(_) => {
                return binio::Error::from(error).into();
            }
            Kind::Outside { low, high, len } => ArrayError::OutsideBlock { low, high, len },
            Kind::Type { datatype: numpy, requested } => {
                ArrayError::Type { dtype: datatype.map_or(numpy, datatype_name), requested }
            }
            Kind::BufferSize { expected, found } => ArrayError::BufferSize { expected, found },
            Kind::Slice(message) => ArrayError::Slice(message),
            Kind::Element { index, message } => ArrayError::Element { index, message },
            other => return self.invalid("datatype", other.to_string()),
        })
    }
}
