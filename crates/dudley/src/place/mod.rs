//! Computing the addresses of all items and parameters that a layout stores.
//!
//! A *cursor* moves through the declarations in source order, through all dicts and lists. It starts at 0, or
//! at 16 in a native file, after the signature. The placement of each array or stored parameter determines
//! its address:
//!
//! | placement | address |
//! |---|---|
//! | `@A` | A, counted from the start of the stream or, in a struct, from the start of the instance |
//! | none or `%`, if the item is empty | the cursor |
//! | `%a` with a above 0 | the next multiple of a |
//! | none, or `%0` | the next multiple of the type's alignment |
//!
//! The cursor then moves to the end of the item. The size of a compressed array is stored in the stream, and
//! the size of a struct may depend on its own stored parameters. Without a stream, the cursor is therefore
//! unknown after a compressed array, up to the next `@A`. It is also unknown after such a struct, unless the
//! caller supplies the values of these parameters.
//!
//! The size of a struct depends on the values of its free names, which are often the same for many items.
//! Sizes are therefore cached by type and values. [`max_steps`](crate::Limits::max_steps) limits the work
//! that a hostile layout can cause.
//!
//! | module | contents |
//! |---|---|
//! | `rules`, `values`, `inputs` | the rules, the values that a caller supplies, and the properties of a file |
//! | `sizes` | the rules in the table above, for sizes that are numbers or sums of products |
//! | `scope` | the values of names, and the element and dimensions of an array |
//! | `align` | the alignments of types |
//! | `measure` | the walk that computes offsets and sizes of items and struct fields |
//! | `stream`, `integer` | parameter values, read from a file or supplied by the caller |
//! | `pass`, `resolver`, `table` | the pass over all declarations, and the resulting addresses |
//! | `member`, `inside` | walking the members of structs; accessing parts of an item's data |
//! | `location`, `strided` | the positions of array elements, for [`binio::array`] |
//! | `diagnose`, `unknown`, `diff` | reporting irregular addresses; explaining unknown sizes; comparing two layouts |

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
#[cfg(feature = "write")]
mod unknown;
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
pub(crate) use diagnose::{alignment, shortened};
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
#[cfg(feature = "write")]
pub(crate) use unknown::Unknown;
#[cfg(feature = "read")]
pub(crate) use values::Values;
