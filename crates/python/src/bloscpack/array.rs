//! Reading the array in a file.

use std::sync::Arc;

use binio::array::{ByteOrder, Datatype, Order, Strided};
use bloscpack::Reader;
use bloscpack::array::Array;
use bytes::Bytes;

use super::file::OpenFile;
use crate::array::{LazyArray, Part, Unit};
use crate::error::Failure;

/// A view of the array in a file. The view type of `bloscpack`, [`Array`], borrows the reader, so a
/// Python object cannot contain it. This type stores the selected slices and fields instead, and
/// creates an [`Array`] from them for each call.
pub(super) struct FileArray {
    file: Arc<OpenFile>,
    parts: Vec<Part>,
    datatype: Datatype,
    shape: Vec<u64>,
}

impl FileArray {
    /// Opens the array and applies the selections in `parts`, without reading elements.
    pub(super) fn open(file: &Arc<OpenFile>, parts: Vec<Part>) -> Result<Self, Failure> {
        let reader = file.get()?;
        let array = find(&reader, &parts)?;
        let (datatype, shape) = (array.datatype().clone(), array.shape().to_vec());
        Ok(Self { file: Arc::clone(file), parts, datatype, shape })
    }
}

fn find<'r>(reader: &'r Reader, parts: &[Part]) -> Result<Array<'r>, Failure> {
    let mut array = reader.array()?;
    for part in parts {
        array = match part {
            Part::Slice(slices) => array.slice(slices)?,
            Part::Field(name) => {
                array.field(name).map_err(|error| Failure::key(error.to_string()))?
            }
        };
    }
    Ok(array)
}

impl LazyArray for FileArray {
    fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn needs_pool(&self) -> bool {
        true
    }

    fn path(&self) -> Option<&str> {
        self.file.path()
    }

    fn max_size(&self) -> u64 {
        self.file.limits().max_decoded
    }

    fn part(&self, part: Part) -> Result<Box<dyn LazyArray>, Failure> {
        let mut parts = self.parts.clone();
        parts.push(part);
        Ok(Box::new(Self::open(&self.file, parts)?))
    }

    fn read_into(&self, out: &mut [u8], byte_order: ByteOrder) -> Result<(), Failure> {
        let reader = self.file.get()?;
        Ok(find(&reader, &self.parts)?.read_bytes_into(out, Order::C, byte_order)?)
    }

    fn shared_bytes(&self) -> Result<(Bytes, Strided), Failure> {
        let reader = self.file.get()?;
        let bytes = Bytes::from(find(&reader, &self.parts)?.read_bytes()?);
        let (itemsize, len) = (self.datatype.itemsize(), bytes.len() as u64);
        let layout = Strided::packed(self.shape.clone(), Order::C, 0, itemsize, len);
        Ok((bytes, layout.map_err(binio::Error::from)?))
    }

    fn unit(&self) -> Result<Unit, Failure> {
        let reader = self.file.get()?;
        let size = reader.chunks().iter().map(|chunk| u64::from(chunk.nbytes)).max();
        // In Fortran order, every chunk contains elements of many rows, so individual rows cannot
        // be read without decoding the whole array.
        let is_row_major = reader.array()?.order() == Order::C || self.shape.len() < 2;
        Ok(match size.filter(|_| is_row_major && self.parts.is_empty()) {
            Some(size) => Unit::Chunk(size),
            None => Unit::Whole,
        })
    }
}
