//! Reading the arrays of a file.

use std::sync::Arc;

use binio::array::{ByteOrder, Datatype, Order, Strided};
use bytes::Bytes;
use dudley::Array;

use super::error::of_elements;
use super::file::OpenFile;
use crate::array::{LazyArray, Part, Unit};
use crate::error::Failure;

/// A view of an array, which shares the bytes of its file.
pub(super) struct FileArray {
    file: Arc<OpenFile>,
    array: Array,
}

impl FileArray {
    pub(super) fn new(file: &Arc<OpenFile>, array: Array) -> Self {
        Self { file: Arc::clone(file), array }
    }
}

impl LazyArray for FileArray {
    fn datatype(&self) -> &Datatype {
        self.array.datatype()
    }

    fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    fn needs_pool(&self) -> bool {
        false
    }

    fn path(&self) -> Option<&str> {
        self.file.path()
    }

    fn max_size(&self) -> u64 {
        self.array.limits().max_alloc
    }

    fn part(&self, part: Part) -> Result<Box<dyn LazyArray>, Failure> {
        let array = match part {
            Part::Slice(slices) => self.array.slice(&slices),
            Part::Field(name) => self.array.field(&name),
        };
        Ok(Box::new(Self::new(&self.file, array.map_err(of_elements)?)))
    }

    fn read_into(&self, out: &mut [u8], byte_order: ByteOrder) -> Result<(), Failure> {
        self.file.get()?;
        Ok(self.array.read_bytes_into(out, Order::C, byte_order)?)
    }

    fn shared_bytes(&self) -> Result<(Bytes, Strided), Failure> {
        self.file.get()?;
        let (layout, shape) = (self.array.layout(), self.array.shape().to_vec());
        let itemsize = layout.itemsize();
        let shared = self.array.shared_bytes()?;
        let (bytes, layout) = if let Some(bytes) = shared {
            let offset = layout.offset().saturating_sub(layout.extent().start);
            let (strides, len) = (layout.strides().to_vec(), bytes.len() as u64);
            (bytes, Strided::new(shape, strides, offset, itemsize, len))
        } else {
            let bytes = Bytes::from(self.array.read_bytes(Order::C, ByteOrder::Stored)?);
            let len = bytes.len() as u64;
            (bytes, Strided::packed(shape, Order::C, 0, itemsize, len))
        };
        Ok((bytes, layout.map_err(of_elements)?))
    }

    fn unit(&self) -> Result<Unit, Failure> {
        Ok(Unit::Byte)
    }
}
