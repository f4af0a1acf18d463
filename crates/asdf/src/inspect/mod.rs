//! Finding nodes in a tree, comparing two trees, and checking a file and its tree.

mod compare;
mod pattern;
#[cfg(feature = "schema")]
pub mod schema;
mod search;
pub mod verify;
mod walk;

pub use compare::{Compare, Difference, DifferenceKind, Elements};
pub use pattern::Pattern;
pub use search::{Match, Search, Wanted};
