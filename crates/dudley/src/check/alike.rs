//! Sharing equal shapes, and equal declarations of arrays. This keeps the arenas small, because most arrays
//! in large layouts are declared alike.

use crate::layout::names::index;
use crate::layout::{Binding, Data, DataId, Datatype, Dim, Run};

/// The maximum number of shapes, and of arrays, to remember. Forgetting one only costs memory,
/// because an equal shape or array is then stored again.
const SHAPES: usize = 64;
const ARRAYS: usize = 256;

/// Recently declared shapes and arrays. A hash of the content determines the slot of each.
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
    /// Returns the shape formed by the dimensions from index `start` to the end of `dims`. If an
    /// equal shape is remembered, removes these dimensions and returns the remembered shape
    /// instead.
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

    /// Returns the id of an array. Adds the array to the arena unless an equal array is remembered.
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
        // The result is only a hash, so it may be 0 for a length that does not fit into `usize`.
        Dim::Fixed(len) => usize::try_from(len).unwrap_or_default(),
        Dim::Named(Binding::Param(param), _) => param.index(),
        Dim::Named(Binding::Free(number), _) => number as usize,
    }
}

fn mix(one: usize, other: usize) -> usize {
    one.wrapping_mul(31).wrapping_add(other)
}
