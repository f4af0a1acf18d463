//! A block as it was found: where it begins, and what is known of its header.

use crate::error::BlockError;
use crate::layout::BlockHeader;

/// A block: its place, and its header or why it has none.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) header: Header,
}

/// What is known of a header.
#[derive(Clone, Debug)]
pub(crate) enum Header {
    /// The index names the place; nothing was read there yet.
    Unread,
    Good(BlockHeader),
    Bad(Box<BlockError>),
}

impl Header {
    /// Whether no block begins there.
    pub(crate) fn has_no_magic(&self) -> bool {
        matches!(self, Self::Bad(error) if matches!(**error, BlockError::Magic { .. }))
    }
}
