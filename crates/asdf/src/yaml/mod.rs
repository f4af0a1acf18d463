//! Parsing the tree: from YAML 1.1 text to an arena of nodes.
//!
//! ```text
//! %YAML 1.1                          directives   the YAML version and the tag handles
//! %TAG ! tag:stsci.edu:asdf/
//! --- !core/asdf-1.1.0               document     a tag, then the root mapping
//! name: &id001 Abell 370             scalar       with an anchor
//! also: *id001                       alias        another reference to the same node
//! data: !core/ndarray-1.1.0          mapping      with a tag, here that of an array
//!   source: 0
//!   datatype: float64
//! ...                                end
//! ```
//!
//! The text is read as libyaml would read it: `scan` splits it into tokens, `parse` converts the
//! tokens to events, and `build` stores the nodes in the arena of the [`Document`].
//!
//! [`Document::parse`] needs only the bytes of the tree, and does not access files or blocks. The
//! document keeps each node's type, tag, anchor, style, text and position, and converts the text of
//! a scalar only when its [`value`](YamlNode::value) is requested. An alias refers to another node of the arena,
//! so a document may contain cycles. Code that walks a tree must therefore remember the nodes that
//! it has visited.
//!
//! [`ScalarRules`] selects the rules that determine the types of plain scalars, because libraries
//! disagree on them. The reference implementation, which writes most files, reads `1e3` as a string
//! and `1:30` as ninety.

mod binary;
mod build;
mod characters;
mod directives;
mod document;
pub(crate) mod edit;
pub(crate) mod emit;
mod equal;
mod integer;
mod mapping;
mod node;
pub mod notation;
mod number;
mod ordered;
mod parse;
mod pointer;
mod position;
mod scalar;
mod scan;
mod span;
mod timestamp;
mod walk;

pub(crate) use binary::encode as encode_base64;
#[cfg(test)]
pub(crate) use build::PARSED;
pub(crate) use build::{CONSTANT_TAG, kind_of};
pub use document::{Document, NodeId, ParseOptions};
pub use integer::Integer;
#[cfg(test)]
pub(crate) use integer::MAX_DECIMAL_DIGITS;
pub(crate) use mapping::key_name;
pub use node::{Content, YamlNode};
pub(crate) use node::{Mention, Numbers};
pub(crate) use number::integer as resolve_integer;
pub use position::Position;
pub(crate) use scalar::resolve;
pub use scalar::{NodeKind, NodeStyle, ScalarRules};
pub use span::{Comments, NodeComment};
pub use timestamp::{Date, DateTime};

pub use num_bigint::BigInt;
pub(crate) use walk::{Order, Step, Token, Walk};
