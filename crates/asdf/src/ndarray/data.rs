//! Where the bytes of an array are: in a block, or in memory.

use std::ops::Range;

use binio::array::{Access, ArrayError, Data};
use bytes::Bytes;

use crate::asdf::Asdf;
use crate::error::{Error, Result};
use crate::file::blocks::Block;

/// Where the bytes of an array are.
#[derive(Clone, Debug)]
pub(crate) enum ArrayData<'a> {
    /// In a block, of the file of the array or of another.
    Block { block: Block<'a>, other: Option<&'a Asdf> },
    /// In memory: an inline array, or a decoded block.
    Memory(Bytes),
}

/// Why elements cannot be read: what is wrong with the array, or with its block.
#[derive(Debug)]
pub(crate) enum Failure {
    Array(ArrayError),
    Block(Error),
}

impl From<ArrayError> for Failure {
    fn from(error: ArrayError) -> Self {
        Self::Array(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Block(error)
    }
}

impl ArrayData<'_> {
    /// Checks the checksum of a block of which parts will be read, if the options ask for it.
    pub(super) fn prepare(&self) -> Result<()> {
        match self {
            Self::Block { block, .. } if !block.is_compressed() => block.verified_range().map(drop),
            _ => Ok(()),
        }
    }

    /// Size of all the data, decoded.
    pub(super) fn len(&self) -> Result<u64> {
        match self {
            Self::Block { block, .. } => block.data_len(),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }
}

impl Data for ArrayData<'_> {
    type Error = Failure;

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<(), Failure> {
        let end = offset.saturating_add(out.len() as u64);
        match self {
            Self::Block { block, .. } if !block.is_compressed() => {
                let start = block.data_range()?.start.saturating_add(offset);
                block.source().read_exact_at(out, start).map_err(Error::from)?;
            }
            Self::Block { block, .. } if offset == 0 && end == block.data_len()? => {
                block.decode_into(out)?;
            }
            _ => out.copy_from_slice(&self.bytes_at(offset..end)?),
        }
        Ok(())
    }

    fn bytes_at(&self, range: Range<u64>) -> Result<Bytes, Failure> {
        match self {
            Self::Block { block, .. } => Ok(block.decode_part(range)?),
            Self::Memory(bytes) => {
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes.slice(place(range.start)..place(range.end)))
            }
        }
    }

    fn access(&self) -> Access {
        match self {
            Self::Memory(_) => Access::Memory,
            Self::Block { block, .. } if block.is_compressed() => {
                if block.is_cached() {
                    Access::Memory
                } else {
                    Access::Whole
                }
            }
            Self::Block { block, .. } => Access::of(block.source()),
        }
    }
}
