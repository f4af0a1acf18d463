//! Writing files.
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
//! use asdf::value::{Array, Tree};
//! use asdf::write::{Compression, WriteOptions, Writer};
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

mod anchor;
mod blocks;
mod decoded;
mod elements;
mod emitter;
mod encode;
mod fragment;
mod options;
mod plan;
pub mod repair;
#[cfg(any(unix, windows))]
mod rows;
mod scalar;
mod writer;

pub use options::{Compression, ParseCompressionError, WriteOptions};
#[cfg(any(unix, windows))]
pub use rows::RowWriter;
pub use writer::{STANDARDS, WriteReport, Writer};

pub(crate) use anchor::is_made_up_anchor;
#[cfg(any(unix, windows))]
pub(crate) use blocks::{BlockData, Output, header as block_header, write as write_block};
pub(crate) use elements::COMPLEX_TAG;
pub(crate) use emitter::{ASDF_PREFIX, Arrays, NoArrays, YAML_PREFIX, emit, wants_brackets};
pub(crate) use fragment::Fragment;
#[cfg(any(unix, windows))]
pub(crate) use plan::{NewBlock, Plan};
pub(crate) use scalar::{Place, complex_text, default_style, plain_text};
#[cfg(any(unix, windows))]
pub(crate) use writer::index as index_text;

/// Whether the elements of an array can stand in the tree for all readers.
pub(crate) fn is_inline(array: &crate::tree::value::Array) -> bool {
    !array.shape().is_empty()
        && elements::Elements::new(array).is_ok_and(|elements| elements.are_literals())
}

/// Fails if the elements of an array cannot stand in the tree.
pub(crate) fn check_inline(array: &crate::tree::value::Array) -> crate::Result<()> {
    elements::Elements::new(array).map(drop)
}

/// The value of a date and time, or of another text.
pub(crate) fn time_value(text: &str) -> crate::tree::value::Value {
    use crate::tree::value::{Value, Written};
    use crate::yaml::{Kind, ScalarRules, resolve};

    match resolve(text, ScalarRules::Python).0 {
        Kind::Date | Kind::DateTime => Value::Written(Written::plain(text)),
        _ => text.into(),
    }
}
