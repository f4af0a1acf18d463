//! numpy arrays: a convention inside of the metadata.
//!
//! ```text
//! metadata --info--> ArrayInfo   type, shape, order
//! with the data ---> Array       a view: slices, fields, reads
//! ```

mod dtype;
mod element;
mod gather;
mod info;
mod literal;
mod npy;
mod pack;
mod read;
mod view;

pub use dtype::{Dtype, Field, Kind, Record, Scalar, TimeUnit};
pub use element::Element;
pub use info::{ArrayInfo, ArrayOrder};
pub use pack::{pack_array, pack_npy};
pub use read::Array;
