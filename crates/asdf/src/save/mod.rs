//! Writing new files and editing existing ones.
//!
//! ```text
//! Tree --numbered_tree--> tree with block numbers, tags and history --+
//! Editor --edited--> text, blocks to copy, to add and to replace -----+--> plan --> new file
//! damaged file --repair--> what is intact ----------------------------+         --> in place
//! ```
//!
//! New, edited and repaired files are written from a plan: a list of the parts of the file, such as bytes,
//! ranges to copy from the existing file, the tree, blocks to encode, and the index. The plan is written either
//! to a new file or, protected by a journal, to the existing one.
//!
//! The tree refers to blocks by number and contains no offsets, so it is written first. The sizes and the
//! checksum of a large block are added to its header once they are known. Usually, only a few pieces of the
//! data are in memory at a time.
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

mod block;
#[cfg(any(unix, windows))]
mod edited;
#[cfg(any(unix, windows))]
mod editor;
#[cfg(any(unix, windows))]
mod exploded;
#[cfg(any(unix, windows))]
mod history;
#[cfg(any(unix, windows))]
mod in_place;
#[cfg(any(unix, windows))]
mod locked;
mod metadata;
mod numbered_tree;
#[cfg(any(unix, windows))]
mod one_page;
pub(crate) mod options;
mod output;
mod plan;
pub mod repair;
#[cfg(any(unix, windows))]
mod rows;
pub(crate) mod writer;

#[cfg(any(unix, windows))]
pub use crate::file::journal::roll_back;
#[cfg(any(unix, windows))]
pub use editor::{EditReport, Editor, Method};
#[cfg(any(unix, windows))]
pub use locked::is_read_only;
#[cfg(any(unix, windows))]
pub use options::EditOptions;
pub(crate) use options::WriteOptions;
#[cfg(any(unix, windows))]
pub use rows::RowWriter;
pub use writer::{STANDARDS, WriteReport};
