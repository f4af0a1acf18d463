#![doc = include_str!("../README.md")]
//!
#![doc = include_str!("../DESIGN.md")]
#![forbid(unsafe_code)]

mod attributes;
mod builder;
mod check;
mod diagnostic;
mod diff;
mod format;
mod layout;
mod limits;
mod options;
mod outline;
mod quote;
mod resolve;
mod signature;
mod source;
pub mod syntax;

pub use builder::{ArrayBuilder, Builder, ListBuilder, StructBuilder};
pub use diagnostic::{Code, Diagnostic, Diagnostics, Fix, Label, Severity};
pub use diff::{Change, ChangeKind, Comparison, diff};
pub use format::format;
pub use layout::{
    Argument, Attribute, Binding, Data, DataId, Datatype, Declaration, Dim, Field, Filter,
    FilterId, FilterKind, Found, Item, ItemId, ItemKind, Kind, Layout, Member, MemberId, NameId,
    Order, Param, ParamId, ParamValue, PathError, Placement, Primitive, Scope, StructType, Subject,
    Summary, TypeId, Value,
};
pub use limits::Limits;
pub use options::ParseOptions;
pub use resolve::{
    AddressTable, Array, ComplexAlign, MemberRow, Origin, ResolveError, Resolver, Row, Values,
};
pub use signature::{SIGNATURE_LEN, Signature, SignatureError};
pub use source::{Encoding, Source, Span};

pub mod language {
    #![allow(
        rustdoc::invalid_codeblock_attributes,
        reason = "behind the language of an example are the values that its test takes"
    )]
    #![doc = include_str!("../LANGUAGE.md")]
}
