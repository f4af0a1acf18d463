//! A block found in the file, with the state of its header.

use crate::error::BlockError;
use crate::layout::BlockHeader;

/// The offset and the header of a block.
#[derive(Clone, Debug)]
pub(crate) struct FoundBlock {
    pub(crate) offset: u64,
    pub(crate) header: HeaderState,
}

/// The state of a block header.
#[derive(Clone, Debug)]
pub(crate) enum HeaderState {
    /// The offset is listed in the index, but the header has not been read.
    Unread,
    Good(BlockHeader),
    Bad(Box<BlockError>),
}

impl FoundBlock {
    /// Returns `true` if the block is complete and the byte at `offset` is part of its data.
    pub(crate) fn has_data_at(&self, offset: u64, file_len: u64) -> bool {
        self.header.good().is_some_and(|header| {
            header.fits(file_len) && header.claimed_range(file_len).contains(&offset)
        })
    }
}

impl HeaderState {
    /// Returns the header, if it has been read and is valid.
    pub(crate) fn good(&self) -> Option<&BlockHeader> {
        match self {
            Self::Good(header) => Some(header),
            Self::Unread | Self::Bad(_) => None,
        }
    }

    /// Returns `true` if there is no block magic at the offset.
    pub(crate) fn has_no_magic(&self) -> bool {
        matches!(self, Self::Bad(error) if matches!(**error, BlockError::Magic { .. }))
    }
}
