//! Reading the arrays of a file.

use std::sync::Arc;

use asdf::ndarray::{Datatype, Order, Origin, Strided};
use asdf::yaml::NodeId;
use asdf::{Asdf, NdArray};
use binio::array::ByteOrder;
use bytes::Bytes;

use super::file::OpenFile;
use crate::array::{LazyArray, Part, Unit};
use crate::error::{Failure, Place};

/// A view of an array. The view type of the crate, [`NdArray`], borrows the file. This type
/// therefore stores the node and the selected parts instead, and creates an [`NdArray`] for each call.
pub(super) struct FileArray {
    file: Arc<OpenFile>,
    node: NodeId,
    parts: Vec<Part>,
    datatype: Datatype,
    shape: Vec<u64>,
    is_masked: bool,
    is_compressed: bool,
    max_size: u64,
}

impl FileArray {
    /// Opens the array of a node, without reading elements.
    pub(super) fn open(file: &Arc<OpenFile>, node: NodeId) -> Result<Self, Failure> {
        Self::with_parts(file, node, Vec::new())
    }

    fn with_parts(file: &Arc<OpenFile>, node: NodeId, parts: Vec<Part>) -> Result<Self, Failure> {
        let asdf = file.get()?;
        let array = find(&asdf, node, &parts)?;
        let is_compressed = match array.source() {
            Origin::Block(block) | Origin::External(_, block) => block.is_compressed(),
            _ => false,
        };
        Ok(Self {
            file: Arc::clone(file),
            node,
            datatype: array.datatype().clone(),
            shape: array.shape().to_vec(),
            is_masked: array.is_masked(),
            is_compressed,
            max_size: file.limits().max_alloc,
            parts,
        })
    }

    fn with<T>(&self, call: impl FnOnce(&NdArray<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let asdf = self.file.get()?;
        let result = find(&asdf, self.node, &self.parts).and_then(|array| call(&array));
        result.map_err(|failure| {
            let pointer = asdf.node(self.node).ok().and_then(|node| node.to_pointer());
            failure.at(Place { pointer, ..Place::default() })
        })
    }
}

fn find<'a>(asdf: &'a Asdf, node: NodeId, parts: &[Part]) -> Result<NdArray<'a>, Failure> {
    let mut array = asdf.node(node)?.ndarray()?;
    for part in parts {
        array = match part {
            Part::Slice(slices) => array.slice(slices)?,
            Part::Field(name) => array.field(name)?,
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

    fn is_masked(&self) -> bool {
        self.is_masked
    }

    fn needs_pool(&self) -> bool {
        self.is_compressed
    }

    fn path(&self) -> Option<&str> {
        self.file.path()
    }

    fn max_size(&self) -> u64 {
        self.max_size
    }

    fn part(&self, part: Part) -> Result<Box<dyn LazyArray>, Failure> {
        let mut parts = self.parts.clone();
        parts.push(part);
        Ok(Box::new(Self::with_parts(&self.file, self.node, parts)?))
    }

    fn read_into(&self, out: &mut [u8], byte_order: ByteOrder) -> Result<(), Failure> {
        self.with(|array| Ok(array.read_bytes_into(out, Order::C, byte_order)?))
    }

    fn shared_bytes(&self) -> Result<(Bytes, Strided), Failure> {
        self.with(|array| Ok(array.shared_bytes()?))
    }

    fn mask(&self) -> Result<Option<Vec<bool>>, Failure> {
        self.with(|array| Ok(array.mask()?))
    }

    fn unit(&self) -> Result<Unit, Failure> {
        self.with(|array| match array.source() {
            Origin::Block(block) | Origin::External(_, block) if block.is_compressed() => {
                let chunks = block.chunks()?;
                let first = chunks.as_deref().and_then(<[_]>::first);
                Ok(match first {
                    Some(chunk) => Unit::Chunk(chunk.decoded.end - chunk.decoded.start),
                    None => Unit::Whole,
                })
            }
            Origin::Inline => Ok(Unit::Whole),
            _ => Ok(Unit::Byte),
        })
    }
}
