//! Trees that own their content: made by hand, from a YAML text, or from a file, to be changed and
//! written.
//!
//! ```text
//! yaml::YamlNode --Tree::from_node--> Tree --save::Writer--> file
//! YAML text  --Tree::parse------>  |   --Tree::write_yaml--> text
//! by hand    --Value, Mapping--->  |
//! ```
//!
//! A [`Value`] is what is at one place. A node that is at several places, or inside itself,
//! is kept by the [`Tree`], and each place has its [`SharedId`].
//!
//! What a file wrote in a manner of its own, such as `0x1F` or a list in lines that would fit in
//! brackets, is remembered; what it wrote as this crate would is not. So a tree that is read from
//! what was written equals the tree that was written.

mod array;
mod build;
mod collection;
mod convert;
pub(crate) mod edit;
pub(crate) mod emit;
mod file;
pub(crate) mod model;
mod parents;
pub(crate) mod relocate;
mod scalar;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
pub(crate) mod tree;
pub(crate) mod walk;

pub use array::{Array, Mask, Storage};
pub use collection::{Mapping, Sequence};
pub use edit::TreeText;
pub use model::Tagged;
pub use scalar::ScalarText;
#[cfg(feature = "serde")]
pub use serialize::{from_value, to_value};
pub use tree::SharedId;

pub(crate) use collection::Form;
pub(crate) use model::Value;
pub(crate) use tree::Tree;
