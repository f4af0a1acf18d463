//! Writing new files and changing existing ones.
//!
//! ```text
//! Tree --plan--> Tree without arrays   versions of tags, history, numbers of blocks
//!      --emitter--> text               the tree
//!      --encode--> stored bytes        each block, in pieces, over threads
//!      --file--> head, tree, blocks, index
//! ```
//!
//! The tree names blocks by number and holds no offsets, so it is written first. Sizes and checksum
//! of a block are written into its header when its data are. No more than some pieces of the data
//! are in memory at a time.
//!
//! ```
//! use asdf::value::Array;
//! use asdf::{Compression, Tree, WriteOptions, Writer};
//!
//! let mut tree = Tree::default();
//! tree.set("/meta/gain", 2.5)?;
//! tree.set("/image", Array::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?)?;
//! let options = WriteOptions::new().compression(Compression::Zlib(6));
//! let mut file = std::io::Cursor::new(Vec::new());
//! Writer::new(tree).options(options).write_to(&mut file)?;
//!
//! let file = asdf::Asdf::from_bytes(file.into_inner())?;
//! assert_eq!(file.tree()?.pointer("/image")?.ndarray()?.read::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), asdf::Error>(())
//! ```

pub(crate) mod blocks;
#[cfg(any(unix, windows))]
mod draft;
#[cfg(any(unix, windows))]
mod editor;
#[cfg(any(unix, windows))]
mod exploded;
#[cfg(any(unix, windows))]
mod in_place;
pub(crate) mod options;
mod plan;
pub mod repair;
#[cfg(any(unix, windows))]
mod rewrite;
#[cfg(any(unix, windows))]
mod rows;
pub(crate) mod writer;

#[cfg(any(unix, windows))]
pub use crate::file::journal::roll_back;
#[cfg(any(unix, windows))]
pub use editor::{EditOptions, EditReport, Editor, Method, is_read_only};
pub(crate) use options::WriteOptions;
#[cfg(any(unix, windows))]
pub use rows::RowWriter;
pub use writer::{STANDARDS, WriteReport};
