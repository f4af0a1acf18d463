//! numpy arrays: a convention inside of the metadata.

mod dtype;
mod literal;

pub use dtype::{Dtype, Field, Kind, Record, Scalar, TimeUnit};
