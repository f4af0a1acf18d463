//! A block as it was found: where it begins, and what is known of its header.

use crate::error::BlockError;
use crate::layout::BlockHeader;

/// A block: its place, and its header or why it has none.
#[derive(Clone, Debug)]
pub(crate) struct FoundBlock {
    pub(crate) offset: u64,
    pub(crate) header: HeaderState,
}

/// What is known of a header.
#[derive(Clone, Debug)]
pub(crate) enum HeaderState {
    /// The index names the place; nothing was read there yet.
    Unread,
    Good(BlockHeader),
    Bad(Box<BlockError>),
}

impl FoundBlock {
    /// Returns `true` if a byte of the file is data of this block, which lies inside the file.
    pub(crate) fn has_data_at(&self, offset: u64, file_len: u64) -> bool {
        self.header.good().is_some_and(|header| {
            header.fits(file_len) && header.claimed_range(file_len).contains(&offset)
        })
    }
}

impl HeaderState {
    /// The header, if it was read and is valid.
    pub(crate) fn good(&self) -> Option<&BlockHeader> {
        match self {
            Self::Good(header) => Some(header),
            Self::Unread | Self::Bad(_) => None,
        }
    }

    /// Whether no block begins there.
    pub(crate) fn has_no_magic(&self) -> bool {
        matches!(self, Self::Bad(error) if matches!(**error, BlockError::Magic { .. }))
    }
}
