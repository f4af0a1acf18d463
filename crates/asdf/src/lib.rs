#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod error;
mod tag;
pub mod yaml;

pub use diagnostic::{Code, Diagnostic, Severity};
pub use error::{ArrayError, BlockError, CodecError, Error, ReferenceError, Result};
