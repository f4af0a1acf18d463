//! Reading and writing numpy arrays that are described by the metadata of a file.
//!
//! ```text
//! metadata or .npy header ---> ArrayInfo   type, shape, order
//! ArrayInfo with the data ---> Array       a view: slices, fields, reads
//! ArrayInfo with options  ---> a file      written by any packing function
//! ```
//!
//! [`binio::array`] defines the types and slices, and copies the elements. This module maps the
//! metadata to arrays and decodes the data. Types that cannot be stored are rejected: Python
//! objects, which are pointers ([`ObjectDtype`](crate::ErrorKind::ObjectDtype)), and types whose
//! elements are not consecutive bytes, such as numpy's `T`.

mod blocks;
mod info;
mod npy;
mod pack;
mod read;

pub use binio::array::{
    ByteOrder, Datatype, Element, Field, Order, PrintStyle, Record, ScalarKind, ScalarType, Slice,
    TimeUnit, half, num_complex,
};
pub use info::ArrayInfo;
pub use pack::{pack_array, pack_elements, pack_npy};
pub use read::Array;

use binio::array::ElementsError;

use crate::error::{Error, ErrorKind};

impl From<ElementsError> for Error {
    fn from(error: ElementsError) -> Self {
        let message = error.to_string();
        match error {
            ElementsError::Shape(message) => ErrorKind::ShapeMismatch(message),
            ElementsError::Slice(message) => ErrorKind::InvalidOption { option: "slice", message },
            ElementsError::Datatype(message) => ErrorKind::InvalidDtype(message),
            ElementsError::Object => ErrorKind::ObjectDtype,
            ElementsError::Element { index, message } => {
                ErrorKind::InvalidElement { index, message }
            }
            ElementsError::Type { datatype: dtype, requested } => {
                ErrorKind::ElementType { dtype, requested }
            }
            ElementsError::Npy(_) => ErrorKind::NotNumpy(message),
            ElementsError::Output(_) => return Self::of_output(binio::Error::from(error)),
            ElementsError::Limit { .. } | ElementsError::Memory { .. } => {
                return binio::Error::from(error).into();
            }
            _ => ErrorKind::ShapeMismatch(message),
        }
        .into()
    }
}
