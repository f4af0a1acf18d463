//! Trees that own their content. They can be built by hand, parsed from YAML text or copied from a file, and
//! then modified and written.
//!
//! ```text
//! yaml::YamlNode --Tree::from_node--> Tree --save::Writer--> file
//! YAML text  --Tree::parse------>  |   --Tree::write_yaml--> text
//! by hand    --Value, Mapping--->  |
//! ```
//!
//! A [`Value`] is the content of a single position in the tree. A node that occurs in several positions, or
//! inside itself, is stored in the [`Tree`] only once, and each position contains its [`SharedId`].
//!
//! If a file uses a notation other than the one this crate would write, such as `0x1F` or a list of numbers on
//! separate lines, the notation is remembered and, if possible, used again when the tree is written.

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

pub use array::{Array, ArrayStorage, Mask};
pub use collection::{Mapping, Sequence};
pub use edit::TreeText;
pub use model::Tagged;
pub use scalar::ScalarText;
#[cfg(feature = "serde")]
pub use serialize::{from_value, to_value};
pub use tree::SharedId;

pub(crate) use collection::{Form, kind_and_name};
pub(crate) use model::Value;
pub(crate) use tree::Tree;
