//! numpy arrays: a convention inside of the metadata.
//!
//! ```text
//! metadata or .npy header ---> ArrayInfo   type, shape, order
//! ArrayInfo with the data ---> Array       a view: slices, fields, reads
//! ArrayInfo with options  ---> a file      by whatever packs bytes
//! ```
//!
//! What cannot be held is refused: Python objects, which are pointers
//! ([`ObjectDtype`](crate::ErrorKind::ObjectDtype)), and types that are no bytes side by side, such
//! as numpy's `T`.

mod dtype;
mod element;
mod gather;
mod info;
mod literal;
mod npy;
mod pack;
mod read;
mod record;
mod scalar;
mod view;

pub use dtype::Dtype;
pub use element::Element;
pub use info::{ArrayInfo, ArrayOrder};
pub use pack::{pack_array, pack_npy};
pub use read::Array;
pub use record::{Field, Record};
pub use scalar::{Kind, Scalar, TimeUnit};
