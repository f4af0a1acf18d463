//! Access to the bytes of arrays.

use std::ops::Range;

use bytes::Bytes;

use crate::array::ElementsError;
use crate::{Error, ErrorKind, ReadAt};

/// A source of the bytes that contain the elements of an array. Its methods return the format's own
/// errors.
///
/// Every [`ReadAt`] implements this trait. Formats only implement it themselves for data that is
/// not a plain source, such as a compressed block. Large reads may call its methods from several
/// threads at the same time.
///
/// This trait does not extend [`ReadAt`], because errors would then lose details that only the
/// format knows, such as which block is damaged and how.
///
/// ```
/// use std::ops::Range;
///
/// use binio::array::{Access, Array, Data, Datatype, ElementsError, Order, Strided};
/// use binio::{Bytes, Limits};
///
/// /// A block that is decoded by every read: here, each byte has its bits inverted.
/// struct Block(&'static [u8]);
///
/// impl Data for Block {
///     type Error = ElementsError;
///
///     fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<(), ElementsError> {
///         let bytes = self.bytes_at(offset..offset + out.len() as u64)?;
///         out.copy_from_slice(&bytes);
///         Ok(())
///     }
///
///     fn bytes_at(&self, range: Range<u64>) -> Result<Bytes, ElementsError> {
///         let part = self.0.get(range.start as usize..range.end as usize);
///         let part = part.ok_or_else(|| ElementsError::Shape("past the end".to_owned()))?;
///         Ok(part.iter().map(|byte| !byte).collect())
///     }
///
///     fn access(&self) -> Access {
///         Access::Whole
///     }
/// }
///
/// let layout = Strided::packed(vec![2], Order::C, 1, 1, 3)?;
/// let array = Array::new(Block(&[255, 254, 253]), Datatype::of::<u8>(), layout, Limits::default())?;
/// assert_eq!(array.read::<u8>()?, [1, 2]);
/// # Ok::<(), ElementsError>(())
/// ```
pub trait Data: Sync {
    /// The error type of the format.
    type Error: From<ElementsError> + Send;

    /// Fills `out` with the bytes of the data, starting at `offset`.
    ///
    /// # Errors
    ///
    /// Fails if the range extends past the end of the data, or if the data cannot be read or
    /// decoded. The content of `out` is then unspecified.
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<(), Self::Error>;

    /// Returns the bytes of a range, without copying them if they are in memory.
    ///
    /// # Errors
    ///
    /// Same as [`read_exact_at`](Self::read_exact_at). Also fails if there is not enough memory for
    /// the bytes.
    fn bytes_at(&self, range: Range<u64>) -> Result<Bytes, Self::Error>;

    /// Returns the most efficient way to read this data.
    fn access(&self) -> Access;
}

/// The most efficient way to read data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// The data is in memory, so [`bytes_at`](Data::bytes_at) returns a range of any size without
    /// copying.
    Memory,
    /// Each read has a fixed cost, as for a file or for data compressed in blocks.
    Ranges {
        /// If a gap between two elements is shorter than this number of bytes, it is read as well,
        /// because another read would cost more. For compressed data, this is the length of a
        /// block.
        gap: usize,
        /// Maximum size in bytes of the buffer into which elements and the small gaps between them
        /// are read.
        piece: usize,
    },
    /// Every read decodes all the data, so a whole array is read with a single call:
    /// [`read_exact_at`](Data::read_exact_at) if contiguous elements are read into a buffer, and
    /// [`bytes_at`](Data::bytes_at) otherwise.
    Whole,
}

impl Access {
    /// Returns the most efficient way to read a source, based on the costs that the source states.
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
        let what = "bytes to read into memory";
        let limit = usize::MAX as u64;
        let len = usize::try_from(len)
            .map_err(|_| Error::new(ErrorKind::Limit { what, limit, requested: len }))?;
        ReadAt::bytes_at(self, range.start, len)
    }

    fn access(&self) -> Access {
        Access::of(self)
    }
}
