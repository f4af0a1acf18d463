#![doc = include_str!("../README.md")]
//!
#![doc = include_str!("../DESIGN.md")]
#![forbid(unsafe_code)]

mod check;
pub mod codegen;
pub mod diagnostic;
mod error;
pub mod file;
#[cfg(feature = "read")]
pub mod filter;
pub mod import;
#[cfg(feature = "read")]
pub mod index;
pub mod layout;
mod options;
pub mod place;
mod signature;
mod source;
pub mod text;
#[cfg(feature = "write")]
pub mod write;

pub use error::{Error, ErrorKind};
#[cfg(feature = "read")]
pub use file::open::OpenOptions;
#[cfg(feature = "read")]
pub use file::value::{Array, File};
pub use layout::arena::Layout;
pub use layout::builder::Builder;
pub use layout::model::ItemId;
pub use layout::primitive::Order;
pub use options::{Limits, ParseOptions};
pub use place::resolver::Resolver;
pub use place::rules::Rules;
pub use place::table::AddressTable;
pub use place::values::Values;
pub use signature::Signature;
pub use source::Source;
#[cfg(feature = "write")]
pub use write::options::WriteOptions;
#[cfg(feature = "write")]
pub use write::writer::Writer;

#[cfg(feature = "read")]
pub use binio::array;
pub use binio::{Bytes, ReadAt};

pub mod language {
    #![allow(
        rustdoc::invalid_codeblock_attributes,
        reason = "the attributes of a code block state how to test it, as in `dudley,N=3`"
    )]
    #![doc = include_str!("../LANGUAGE.md")]
}
