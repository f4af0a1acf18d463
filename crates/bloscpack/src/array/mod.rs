//! numpy arrays: a convention inside of the metadata.
//!
//! ```text
//! metadata or .npy header ---> ArrayInfo   type, shape, order
//! ArrayInfo with the data ---> Array       a view: slices, fields, reads
//! ArrayInfo with options  ---> a file      by whatever packs bytes
//! ```
//!
//! Types, slices and the copying of elements are those of [`binio::array`]; here is how the metadata
//! describe an array, and how its elements are decoded. What cannot be stored is refused: Python
//! objects, which are pointers ([`ObjectDtype`](crate::ErrorKind::ObjectDtype)), and types that are
//! not bytes side by side, such as numpy's `T`.

mod blocks;
mod info;
mod npy;
mod pack;
mod read;

pub use binio::array::{
    ByteOrder, Datatype, Element, Field, Kind, Order, Record, ScalarType, Slice, Style, TimeUnit,
    half, num_complex,
};
pub use info::ArrayInfo;
pub use pack::{pack_array, pack_npy};
pub use read::Array;

use binio::array::ArrayError;

use crate::error::{Error, ErrorKind};

impl From<ArrayError> for Error {
    fn from(error: ArrayError) -> Self {
        let message = error.to_string();
        match error {
            ArrayError::Shape(message) => ErrorKind::ShapeMismatch(message),
            ArrayError::Slice(message) => ErrorKind::InvalidOption { option: "slice", message },
            ArrayError::Datatype(message) => ErrorKind::InvalidDtype(message),
            ArrayError::Object => ErrorKind::ObjectDtype,
            ArrayError::Type { datatype: dtype, asked } => ErrorKind::ElementType { dtype, asked },
            ArrayError::Npy(_) => ErrorKind::NotNumpy(message),
            ArrayError::Limit { .. } | ArrayError::Memory { .. } | ArrayError::Output(_) => {
                return binio::Error::from(error).into();
            }
            _ => ErrorKind::ShapeMismatch(message),
        }
        .into()
    }
}
