//! Searching a tree, comparing two trees, and checking a file and its tree.

mod compare;
mod pattern;
#[cfg(feature = "schema")]
pub mod schema;
mod search;
mod unopened_files;
mod verify;

pub use compare::{Compare, Difference, DifferenceKind, ElementsDifference};
pub use pattern::Pattern;
pub use search::{Match, Relation, Search, ValueTest};
pub use verify::{CheckedBlock, Progress, VerifyOptions, VerifyReport};

use crate::tree::Node;
use crate::yaml::Token;

/// Iterates over the children of a node, each with its key or index.
fn children(parent: Node<'_>) -> impl Iterator<Item = (Token<'_>, Node<'_>)> {
    let children = parent.yaml().children();
    children.map(move |(token, child)| (token, Node::new(parent.files(), child)))
}
