//! The bytes of an array, which are in a block or in memory. Reading them also verifies the checksum
//! of the block if the options require it.

use std::ops::Range;
use std::sync::Arc;

use binio::Limits;
use binio::array::{Access, Array, Data, Datatype, ElementsError, Order, Slice, Strided};
use bytes::Bytes;

use crate::asdf::Asdf;
use crate::error::{Error, Result};
use crate::file::blocks::Block;

/// The location of an array's bytes.
#[derive(Clone, Debug)]
pub(crate) enum ArrayData<'a> {
    /// In a block, either of the file that contains the array or of an external file.
    Block { block: Block<'a>, other: Option<&'a Asdf> },
    /// In memory: the elements of an inline array.
    Memory(Bytes),
}

impl ArrayData<'_> {
    /// Returns the size of the decoded data in bytes.
    fn len(&self) -> Result<u64> {
        match self {
            Self::Block { block, .. } => block.data_len(),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }
}

/// An array together with the data that contains its elements.
///
/// The elements are read through [`read`](Self::read) and [`read_all`](Self::read_all), which verify
/// the checksum of the block if the options require it.
#[derive(Clone, Debug)]
pub(crate) struct StoredArray<'a>(Array<VerifiedData<'a>>);

impl<'a> StoredArray<'a> {
    /// Combines data with the type of the elements and their layout in the data. Does not read the
    /// data.
    pub(crate) fn new(
        data: ArrayData<'a>,
        datatype: impl Into<Arc<Datatype>>,
        layout: Strided,
        limits: Limits,
    ) -> Result<Self, ElementsError> {
        Array::new(VerifiedData(data), datatype, layout, limits).map(Self)
    }

    pub(super) fn data(&self) -> &ArrayData<'a> {
        &self.0.data().0
    }

    /// Returns the size in bytes of the data that contains the elements.
    pub(super) fn data_len(&self) -> Result<u64> {
        self.data().len()
    }

    pub(super) fn datatype(&self) -> &Datatype {
        self.0.datatype()
    }

    pub(super) fn layout(&self) -> &Strided {
        self.0.layout()
    }

    pub(super) fn limits(&self) -> &Limits {
        self.0.limits()
    }

    pub(super) fn slice(&self, slices: &[Slice]) -> Result<Self, ElementsError> {
        self.0.slice(slices).map(Self)
    }

    pub(super) fn field(&self, name: &str) -> Result<Self, ElementsError> {
        self.0.field(name).map(Self)
    }

    pub(super) fn broadcast(&self, shape: &[u64]) -> Result<Self, ElementsError> {
        self.0.broadcast(shape).map(Self)
    }

    pub(super) fn reshape(&self, shape: &[u64]) -> Result<Self, ElementsError> {
        self.0.reshape(shape).map(Self)
    }

    /// Fails if elements lie outside the data, which can happen in a salvaged file.
    pub(super) fn check_inside(&self) -> Result<(), Failure> {
        let (extent, len) = (self.layout().extent(), self.data_len()?);
        if extent.end <= len {
            return Ok(());
        }
        let (low, high) = (extent.start.into(), extent.end.into());
        Err(ElementsError::Outside { low, high, len }.into())
    }

    /// Reads elements, after verifying the checksum of the block if the options require it.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Array<VerifiedData<'a>>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if !self.0.is_empty() {
            self.check_inside()?;
            match self.data() {
                ArrayData::Block { block, .. } if !block.is_compressed() => {
                    block.verified_range()?;
                }
                // No separate verification is needed, because decoding a block verifies its checksum if
                // the options require it.
                _ => {}
            }
        }
        read(&self.0)
    }

    /// Calls `read`, which must read all elements into memory in the given order. If the options
    /// require it, verifies the checksum of the block first, as [`Self::read`] does. However, if the
    /// elements in this order make up the entire block, the checksum is verified during the read.
    pub(super) fn read_all<T>(
        &self,
        order: Order,
        read: impl FnOnce(&Array<VerifiedData<'a>>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let layout = self.layout();
        let is_entire = layout.is_contiguous(order) && layout.extent() == (0..self.data_len()?);
        if is_entire { read(&self.0) } else { self.read(read) }
    }
}

/// The data of an array. It is only accessible through [`StoredArray::read`] and
/// [`StoredArray::read_all`], which verify the checksum of the block if the options require it.
#[derive(Clone, Debug)]
pub(super) struct VerifiedData<'a>(ArrayData<'a>);

/// The reason why elements cannot be read: an error in the array or in its block.
#[derive(Debug)]
pub(crate) enum Failure {
    Array(ElementsError),
    Block(Error),
}

impl From<ElementsError> for Failure {
    fn from(error: ElementsError) -> Self {
        Self::Array(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Block(error)
    }
}

impl Data for VerifiedData<'_> {
    type Error = Failure;

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<(), Failure> {
        let end = offset.saturating_add(out.len() as u64);
        match &self.0 {
            ArrayData::Block { block, .. } if offset == 0 && end == block.data_len()? => {
                block.decode_into(out)?;
            }
            ArrayData::Block { block, .. } if !block.is_compressed() => {
                let start = block.data_range()?.start.saturating_add(offset);
                block.source().read_exact_at(out, start).map_err(Error::from)?;
            }
            _ => out.copy_from_slice(&self.bytes_at(offset..end)?),
        }
        Ok(())
    }

    fn bytes_at(&self, range: Range<u64>) -> Result<Bytes, Failure> {
        match &self.0 {
            ArrayData::Block { block, .. } => Ok(block.decode_part(range)?),
            ArrayData::Memory(bytes) => {
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes.slice(place(range.start)..place(range.end)))
            }
        }
    }

    fn access(&self) -> Access {
        match &self.0 {
            ArrayData::Memory(_) => Access::Memory,
            ArrayData::Block { block, .. } if block.is_compressed() => {
                if block.is_cached() {
                    Access::Memory
                } else {
                    Access::Whole
                }
            }
            // To verify the checksum, the first read includes the entire block.
            ArrayData::Block { block, .. } if block.is_unverified() => Access::Whole,
            ArrayData::Block { block, .. } => Access::of(block.source()),
        }
    }
}
