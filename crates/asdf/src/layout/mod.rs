//! A model of the parts of a file, with functions that convert between bytes and the model. Nothing here reads
//! or writes files: every parser takes a slice. If a parser needs more bytes of the file, its result says so.
//!
//! ```text
//! #ASDF 1.0.0                 header      `head`
//! #ASDF_STANDARD 1.6.0        comments    `head`
//! %YAML 1.1                   tree        `tree_end` finds where it ends
//! ...                                     (its content is read by [`crate::yaml`])
//!                             padding     anything without a block magic
//! d3 42 4c 4b ...             blocks      [`BlockHeader`]
//! #ASDF BLOCK INDEX           index       `index`
//! 00 00 00                    NUL bytes
//! ```
//!
//! See the ASDF standard, "Low-level file layout".

pub(crate) mod block_header;
pub(crate) mod head;
pub(crate) mod index;
pub(crate) mod tree_end;

use std::ops::Range;

pub use block_header::{BLOCK_HEADER_LEN, BLOCK_MAGIC, BlockHeader, FLAG_STREAMED};

use crate::tag::Version;

/// A comment line between the header and the tree or the first block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comment {
    /// Offset of the `#` in the file, in bytes.
    pub offset: u64,
    /// The line without the `#` and the line ending. Bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// The text of a block index, found at the end of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexText {
    /// Offset of `#ASDF BLOCK INDEX` in the file, in bytes.
    pub offset: u64,
    /// The number of offsets in the index. `None` if the index is not a list of offsets, or if it has more than
    /// [`Limits::max_items`](crate::Limits::max_items) offsets.
    pub entries: Option<usize>,
    /// Whether the index agreed with the first and the last block when the file was opened. Otherwise, blocks
    /// are found by their headers.
    pub accepted: bool,
}

/// The positions of the parts of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// Length of the file in bytes.
    pub file_len: u64,
    /// Version of the file format, from the header line.
    pub format_version: Version,
    /// Version of the standard, from the `#ASDF_STANDARD` comment.
    pub standard_version: Option<Version>,
    /// The comments other than `#ASDF_STANDARD`.
    pub comments: Vec<Comment>,
    /// The byte range of the tree in the file, usually from `%YAML` to the end of the `...` line.
    pub tree: Option<Range<u64>>,
    /// Number of the tree's first line in the file, counted from 1.
    pub tree_line: u32,
    /// Offset of the first block in the file, in bytes.
    pub first_block: Option<u64>,
    /// The block index, if there is one at the end of the file.
    pub index: Option<IndexText>,
}
