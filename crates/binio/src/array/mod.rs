//! Arrays of typed elements, based on the concepts of numpy.
//!
//! ```text
//! format's metadata ──► Datatype   the type of an element, with its byte orders
//!                   ──► Strided    the checked positions of the elements in the data
//!                   ──► Data       the source of the bytes
//!                            └──► Array   combines the three, and can be sliced and read
//! ```
//!
//! # Mapping the metadata of a format
//!
//! 1. Map the name of an element type to a [`ScalarType`] with a [`ScalarKind`], a size and a byte
//!    order. If the array has a single byte order, use it for every scalar; if each field has its
//!    own byte order, use that order for the field. Map fields to a [`Record`]:
//!    [packed](Record::packed), [aligned](Record::aligned) or with [offsets](Record::new).
//! 2. Map shape, strides and offset to a [`Strided`]. The offset is relative to the start of the
//!    array's data, and the length of the data is also needed. The layout is checked, so no later
//!    step can reach outside the data. If the metadata contains no strides, use
//!    [`Strided::packed`] in C or Fortran order.
//! 3. Provide the data: [`Bytes`], any other [`ReadAt`](crate::ReadAt) such as a
//!    [`Span`](crate::Span), or an implementation of [`Data`] that returns the format's own errors.
//! 4. Call [`Array::new`] with the caller's limits. Wrap the [`Array`], and map [`ElementsError`]
//!    to the format's own errors, adding the position in the file.
//!
//! | format | datatype | strided | data |
//! |---|---|---|---|
//! | ASDF | `datatype`, `byteorder` | `shape`, `strides`, `offset` | a block, or packed inline elements |
//! | Bloscpack | `dtype` with [`Datatype::from_json`] | `shape`, `order`: packed | the decompressed file |
//! | `.npy` | `descr` with [`npy::Header`] | `shape`, `fortran_order`: packed | a span of the file |
//! | Dudley | primitive and byte order, or struct | address, dimensions | the stream |
//!
//! In Dudley, a struct becomes a record whose fields have the offsets of the struct's members. To
//! read a member of all instances of the struct as one array, use the strides between the
//! instances, followed by the strides of the member's own dimensions.
//!
//! The rest is left to each format: the syntax of its metadata, masks and inline data, and the
//! wording of its messages.
//!
//! # Reading
//!
//! [`Array::view`] borrows memory if possible. If elements are copied, their byte order is changed
//! in the same pass. If the source is not in memory, only the ranges that contain elements are
//! read, with as few reads as possible ([`Access`]). With the feature `rayon`, the threads of the
//! current rayon pool may share the work of reading more than 1 MiB. To choose the pool, call the
//! reading method inside `pool.install`.
//!
//! [`Bytes`]: crate::Bytes

mod append;
mod buffer;
mod copy;
mod data;
mod datatype;
mod date;
mod descr;
mod element;
pub mod json;
mod literal;
pub mod npy;
mod number;
mod plan;
mod print;
mod read;
mod record;
mod scalar;
mod slice;
mod strided;
mod strings;
mod swap;
mod view;
mod write;

pub use crate::error::elements::ElementsError;
pub use data::{Access, Data};
pub use datatype::{ByteOrder, Datatype};
pub use element::{Element, Elements, ElementsIntoIter, as_bytes, into_bytes};
pub use number::Number;
pub use print::{PrintStyle, csv_cell, escape_controls, write_json};
pub use record::{Field, MAX_RECORD_DEPTH, Record};
pub use scalar::{ScalarKind, ScalarType, TimeUnit};
pub use slice::Slice;
pub use strided::{MAX_DIMENSIONS, Order, Strided, byte_size, c_strides, count};
pub use view::Array;
pub use write::{write_bytes, write_ranges};

pub use half;
pub use num_complex;
