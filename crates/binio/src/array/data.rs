//! Where the bytes of arrays are.

use std::ops::Range;

use bytes::Bytes;

use crate::array::ElementsError;
use crate::{Error, ErrorKind, ReadAt};

/// The bytes that the elements of an array lie in, with the format's own errors.
///
/// Every [`ReadAt`] is such data. A format implements this trait only for what is not a plain
/// source, such as a compressed block. Large reads call it from several threads at once.
///
/// It is not a sub-trait of [`ReadAt`] since errors would lose what the format knows of them:
/// which block, and what is wrong with its data.
pub trait Data: Sync {
    /// The format's error, or one that becomes it.
    type Error: From<ElementsError> + Send;

    /// Fills `out` with the bytes from `offset` on.
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<(), Self::Error>;

    /// The bytes of a range, shared where they are in memory.
    fn bytes_at(&self, range: Range<u64>) -> Result<Bytes, Self::Error>;

    /// How these bytes are best read.
    fn access(&self) -> Access;
}

/// How data are best read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// They are in memory: [`bytes_at`](Data::bytes_at) shares it, however large the range.
    Memory,
    /// Each range read has a cost, as in a file or in data that are compressed in blocks.
    Ranges {
        /// Gaps between elements are read too, if they are shorter than this: where a read costs
        /// more than these bytes. For compressed data, the length of a block.
        gap: usize,
        /// The largest buffer that elements with small gaps between them are read through.
        piece: usize,
    },
    /// Any read decodes all the data: elements that lie side by side are read by one call of
    /// [`read_exact_at`](Data::read_exact_at), all others from the result of one call of
    /// [`bytes_at`](Data::bytes_at).
    Whole,
}

impl Access {
    /// How a source is best read, by what it says of itself.
    pub fn of(source: &(impl ReadAt + ?Sized)) -> Self {
        if source.is_memory() {
            return Self::Memory;
        }
        let gap = usize::try_from(source.gap_worth_reading()).unwrap_or(usize::MAX);
        Self::Ranges { gap, piece: source.preferred_piece() }
    }
}

impl<R: ReadAt> Data for R {
    type Error = Error;

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<(), Error> {
        ReadAt::read_exact_at(self, out, offset)
    }

    fn bytes_at(&self, range: Range<u64>) -> Result<Bytes, Error> {
        let len = range.end.saturating_sub(range.start);
        let what = "bytes of memory";
        let limit = usize::MAX as u64;
        let len = usize::try_from(len)
            .map_err(|_| Error::new(ErrorKind::Limit { what, limit, requested: len }))?;
        ReadAt::bytes_at(self, range.start, len)
    }

    fn access(&self) -> Access {
        Access::of(self)
    }
}
