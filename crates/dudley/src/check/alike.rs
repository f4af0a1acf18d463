//! Arrays with equal declarations, which make up most of a large layout. They share one entry to keep the
//! arenas small.

use crate::layout::names::index;
use crate::layout::{Binding, Data, DataId, Datatype, Dim, Run};

/// The number of shapes and arrays that are remembered. Forgotten ones get another entry, which only costs
/// memory.
const SHAPES: usize = 64;
const ARRAYS: usize = 256;

/// Recently declared shapes and arrays, each in the slot given by a hash of its content.
pub(super) struct Alike {
    shapes: [Run; SHAPES],
    data: [DataId; ARRAYS],
}

impl Default for Alike {
    fn default() -> Self {
        Self { shapes: [Run::default(); SHAPES], data: [DataId::NONE; ARRAYS] }
    }
}

impl Alike {
    /// Returns the shape of the dimensions from index `start` on. If an equal shape is remembered, removes
    /// these dimensions.
    pub(super) fn shape(&mut self, dims: &mut Vec<Dim>, start: u32) -> Run {
        let shape = Run { start, len: index(dims.len()) - start };
        let mixed = shape.of(dims).iter().fold(0, |mixed, dim| mix(mixed, number_of(*dim)));
        let known = &mut self.shapes[mixed % SHAPES];
        if known.of(dims) == shape.of(dims) {
            dims.truncate(start as usize);
        } else {
            *known = shape;
        }
        *known
    }

    /// Returns the entry of an array, which is added unless an equal one is remembered.
    pub(super) fn data(&mut self, arena: &mut Vec<Data>, data: Data) -> DataId {
        let datatype = match data.datatype {
            Datatype::Primitive(primitive, _) => primitive.index(),
            Datatype::Struct(id) => id.index(),
        };
        let mixed = mix(mix(datatype, data.shape.start as usize), data.bindings.start as usize);
        let known = &mut self.data[mixed % ARRAYS];
        if arena.get(known.index()) != Some(&data) {
            *known = DataId(index(arena.len()));
            arena.push(data);
        }
        *known
    }
}

fn number_of(dim: Dim) -> usize {
    match dim {
        // This is only a hash, so any part of the length will do.
        Dim::Fixed(len) => usize::try_from(len).unwrap_or_default(),
        Dim::Named(Binding::Param(param), _) => param.index(),
        Dim::Named(Binding::Free(number), _) => number as usize,
    }
}

fn mix(one: usize, other: usize) -> usize {
    one.wrapping_mul(31).wrapping_add(other)
}
