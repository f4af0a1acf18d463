#![doc = include_str!("../README.md")]
//!
#![doc = include_str!("../DESIGN.md")]
#![forbid(unsafe_code)]

mod check;
mod diagnostic;
mod error;
mod file;
mod layout;
mod options;
mod parse;
mod resolve;
mod signature;
mod source;
pub mod syntax;
mod write;

pub use diagnostic::{Code, Diagnostic, Diagnostics, Fix, Label, Place, Severity};
pub use error::{Error, ErrorKind};
#[cfg(feature = "array")]
pub use file::{
    Array, Compress, Declared, Explanation, Family, File, FileBytes, FilterError, FilterRegistry,
    Instance, Instances, List, OpenOptions, Reference, Referenced, References, Summaries, Template,
    file_names, for_numpy,
};
#[cfg(feature = "write")]
pub use file::{ExtendMode, Extension, Patch, WriteOptions, WriteReport, Writer};
pub use file::{VerifyOptions, VerifyReport, appended_layout, verify};
pub use layout::{
    Argument, Attribute, Binding, Data, DataId, Datatype, Declaration, Dim, Field, Filter,
    FilterId, FilterKind, Found, Item, ItemId, ItemKind, Kind, Layout, Member, MemberId, NameId,
    Order, Param, ParamId, ParamValue, Placement, Primitive, Scope, StructType, Subject, Summary,
    TypeId, Value,
};
pub use options::{Limits, ParseOptions};
pub use resolve::{
    AddressTable, Change, ChangeKind, Comparison, ComplexAlign, Entry, Language, MemberRow, Origin,
    Resolver, Row, Shape, Values, diff,
};
#[cfg(feature = "array")]
pub use resolve::{CompiledLayout, CompiledRow, Location};
pub use signature::{SIGNATURE_LEN, Signature};
pub use source::{Encoding, Source, Span};
#[cfg(feature = "hdf5")]
pub use write::from_hdf5;
pub use write::{ArrayBuilder, Builder, ListBuilder, format, from_c};
#[cfg(feature = "array")]
pub use write::{Imported, from_netcdf, from_npy, from_npz, from_numpy, import};

#[cfg(feature = "array")]
pub use binio::array;
pub use binio::{Bytes, ReadAt};

pub mod language {
    #![allow(
        rustdoc::invalid_codeblock_attributes,
        reason = "after the language of an example come the values that its test takes"
    )]
    #![doc = include_str!("../LANGUAGE.md")]
}
