//! The model of a layout: arenas of small values that refer to one another by index.
//!
//! ```text
//! declarations   everything that the text declares, in source order: items, parameters, types
//!   items        dicts, lists, data; item 0 is the root, the others are numbered in order of declaration
//!     data       datatype, shape, bindings, filter, placement; members of structs have the same
//!       dims     numbers, or names with suffixes
//!   params       fixed or stored; of a dict or of a struct
//!   types        structs: fields (parameters and members, in order), free names
//! ```
//!
//! Names are resolved. A name in the shape of a data item is the [`Binding`] of a parameter. A
//! struct type is closed: names that it uses but has not declared before are its *free names*,
//! which are numbered. Each use of the type has one [`Binding`] for each free name, in the same
//! order ([`Layout::bindings`]). An anonymous struct is a type that is used once. To resolve an
//! instance of a type, evaluate the bindings at the point of use, and walk the fields with these
//! values.
//!
//! Declarations are in source order, regardless of the dict or list to which they belong. This
//! order determines the addresses. Declarations in the summary block belong to the root.

pub(crate) mod arena;
pub(crate) mod attributes;
pub(crate) mod builder;
pub(crate) mod model;
pub(crate) mod names;
mod path;
pub(crate) mod primitive;
mod print;
#[cfg(feature = "serde")]
mod serialize;
mod template;

pub(crate) use arena::{GLOBAL, Layout};
pub use builder::{ArrayBuilder, ListBuilder};
pub use model::{
    Argument, Attribute, Binding, Data, DataId, Datatype, Declaration, Dim, Field, Filter,
    FilterId, FilterKind, Item, ItemKind, Member, MemberId, NameId, Param, ParamId, ParamValue,
    Placement, Scope, StructType, Subject, Summary, TypeId, Value,
};
pub(crate) use model::{Body, ItemId, Run};
pub use path::Found;
#[cfg(feature = "read")]
pub(crate) use path::Inside;
pub(crate) use path::push_name;
pub(crate) use primitive::Order;
pub use primitive::{Kind, Primitive};
