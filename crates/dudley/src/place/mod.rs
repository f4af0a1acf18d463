//! The addresses of everything.
//!
//! A *cursor* runs over the declarations in order of the text, through all dicts and lists. It starts
//! at 0, or at 16 after the signature of a native file. Each array and stored parameter is placed:
//!
//! | placement | address |
//! |---|---|
//! | `@A` | A, from the start of the stream, or of the instance in a struct |
//! | other, and it has no bytes | the cursor |
//! | `%a`, a above 0 | the next multiple of a |
//! | none, or `%0` | the next multiple of the alignment of the type |
//!
//! The cursor then moves to the end of it. After something whose size depends on the stream (a compressed
//! array, a struct with parameters that its own shapes use) the cursor is unknown until the next `@A`,
//! unless a stream is given.
//!
//! The size of a struct depends on the values of its free names, which are the same for many uses. So it is
//! computed once for each type and set of values, without listing members. [`max_steps`](crate::Limits::max_steps) bounds the
//! work for hostile layouts.
//!
//! | module | what it does |
//! |---|---|
//! | `rules`, `values`, `inputs` | the rules, given values, and what a file adds to them |
//! | `sizes` | the table above, for numbers and for sums of products |
//! | `scope` | the values of names, and the element and dimensions of an array |
//! | `align` | the alignment of types |
//! | `measure` | the walk: offsets and sizes of items and of the fields of structs |
//! | `stream`, `integer` | values that are read from a file or given |
//! | `pass`, `resolver`, `table` | all declarations, and the addresses that result |
//! | `member`, `inside` | members of structs, one by one; what lies in the data of an item |
//! | `location`, `strided` | where the elements of an array are, for [`binio::array`] |
//! | `diagnose`, `diff` | irregular addresses; the differences of two layouts |

pub(crate) mod align;
pub(crate) mod diagnose;
mod diff;
pub(crate) mod inputs;
#[cfg(feature = "read")]
pub(crate) mod inside;
pub(crate) mod integer;
#[cfg(feature = "read")]
mod location;
pub(crate) mod measure;
mod member;
pub(crate) mod pass;
pub(crate) mod resolver;
pub(crate) mod rules;
pub(crate) mod scope;
#[cfg(feature = "serde")]
mod serialize;
pub(crate) mod sizes;
mod stream;
#[cfg(feature = "read")]
pub(crate) mod strided;
pub(crate) mod table;
pub(crate) mod values;

pub use diff::{Change, ChangeKind, Comparison, diff};
#[cfg(feature = "read")]
pub use location::Location;
pub use member::MemberRow;
pub use rules::{ComplexAlign, Origin};
pub use table::{Entry, Row, Shape};

#[cfg(feature = "read")]
pub(crate) use diagnose::TAIL_ALIGN;
#[cfg(feature = "write")]
pub(crate) use diagnose::alignment;
#[cfg(feature = "read")]
pub(crate) use diff::contradiction;
#[cfg(feature = "read")]
pub(crate) use inputs::Inputs;
#[cfg(feature = "read")]
pub(crate) use inside::{Inner, Part, Stored};
#[cfg(feature = "write")]
pub(crate) use integer::integer_bytes;
#[cfg(feature = "read")]
pub(crate) use pass::{Steps, to_error};
pub(crate) use resolver::Resolver;
#[cfg(feature = "read")]
pub(crate) use rules::Rules;
#[cfg(feature = "write")]
pub(crate) use scope::{Result as Outcome, Trouble};
#[cfg(feature = "read")]
pub(crate) use table::AddressTable;
#[cfg(feature = "read")]
pub(crate) use values::Values;
