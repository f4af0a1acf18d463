//! Finding nodes in a tree, comparing two trees, and checking a file and its tree.

mod compare;
mod pattern;
#[cfg(feature = "schema")]
pub mod schema;
mod search;
pub mod verify;

pub use compare::{Compare, Difference, DifferenceKind, Elements};
pub use pattern::Pattern;
pub use search::{Match, Search, Wanted};

use crate::tree::Node;
use crate::yaml::Token;

/// Returns the children of a node, which know its file.
fn children<'a>(parent: Node<'a>) -> impl Iterator<Item = (Token<'a>, Node<'a>)> {
    let children = parent.yaml().children();
    children.map(move |(token, child)| (token, Node::new(parent.files(), child)))
}
