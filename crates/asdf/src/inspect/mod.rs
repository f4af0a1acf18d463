//! Finding nodes in a tree, and comparing two trees.

mod compare;
mod pattern;
mod search;
pub mod verify;
mod walk;

pub use compare::{Compare, Difference, DifferenceKind, Elements};
pub use pattern::Pattern;
pub use search::{Match, Search, Wanted};
