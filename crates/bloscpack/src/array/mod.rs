//! numpy arrays: a convention inside of the metadata.

mod dtype;
mod info;
mod literal;
mod npy;

pub use dtype::{Dtype, Field, Kind, Record, Scalar, TimeUnit};
pub use info::{ArrayInfo, ArrayOrder};
