//! The tree of a file, and the metadata in the tree: the history, and the software that wrote the
//! file. Nodes give access to arrays, references and integers of any size.
//!
//! In contrast to [`crate::yaml`], this module depends on files and blocks. Its [`Node`] combines a
//! [`yaml::YamlNode`](crate::yaml::YamlNode) with the file that contains it.

mod array;
#[cfg(feature = "serde")]
pub mod deserialize;
mod external;
mod find;
mod integer;
pub mod json;
pub mod metadata;
pub(crate) mod node;
mod refs;
mod table;

pub use crate::error::ReferenceError;
#[cfg(any(unix, windows))]
pub(crate) use external::folder_of;
pub(crate) use external::open_external;
pub use find::Target;
pub(crate) use node::Node;
pub use table::{Column, Table};
