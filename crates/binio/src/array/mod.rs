//! Arrays of typed elements, in numpy's terms.
//!
//! ```text
//! format's metadata ──► Datatype   what one element is, with its byte orders
//!                   ──► Strided    where in the data the elements lie, checked
//!                   ──► Data       where the bytes come from
//!                            └──► Array   the three together: slices, fields, all ways of reading
//! ```
//!
//! # How a format maps its metadata
//!
//! 1. Its name of an element type becomes a [`ScalarType`] of a [`ScalarKind`], a size and a byte order. If
//!    the array has one byte order, every scalar gets it; if fields have their own, each gets its own.
//!    Fields become a [`Record`]: [packed](Record::packed), [aligned](Record::aligned) or with
//!    [offsets](Record::new).
//! 2. Shape, strides and offset become a [`Strided`], relative to the data of the array, and with the
//!    length of the data: nothing after this step can reach outside of them. Without strides,
//!    [`Strided::packed`] in C or Fortran order.
//! 3. The data are a [`ReadAt`](crate::ReadAt), perhaps a [`Span`](crate::Span) of one, or [`Bytes`],
//!    or the format's own [`Data`] with its own errors.
//! 4. [`Array::new`] with the limits of the caller. The format wraps the [`Array`] and maps
//!    [`ElementsError`] to its own errors, with the place in the file.
//!
//! | format | datatype | strided | data |
//! |---|---|---|---|
//! | ASDF | `datatype`, `byteorder` | `shape`, `strides`, `offset` | a block, perhaps compressed; inline: packed bytes of its own |
//! | Bloscpack | `dtype` by [`Datatype::from_json`] | `shape`, `order`: packed | the decompressed file |
//! | `.npy` | `descr` by [`npy::Header`] | `shape`, `fortran_order`: packed | a span of the file |
//! | Dudley | primitive and order; struct: a record of its members' offsets | address, dimensions; of a member: strides of the instances, then those of its own dimensions | the stream |
//!
//! What a format keeps for itself: how its metadata are spelled, masks, inline data, messages.
//!
//! # Reading
//!
//! [`Array::view`] borrows memory where it can; all other reads are one pass over the elements, which
//! changes their byte order on the way. Of sources that are not in memory only the ranges with
//! elements are read, in few reads ([`Access`]). From 1 MiB on the work is shared by the threads of
//! the caller's rayon pool (feature `rayon`): run a read in `pool.install` to choose the pool.
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
pub use element::{Element, Elements, ElementsIntoIter, to_bytes};
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
