//! Computing the alignments of types. Empty members also count, so alignments do not depend on the
//! values of parameters.

use super::rules::ComplexAlign;
use crate::layout::{
    Data, Datatype, Field, FilterKind, Kind, Layout, ParamValue, Placement, Primitive, TypeId,
};

/// The size and alignment in bytes of the count that precedes compressed data.
pub(crate) const COUNT_LEN: u64 = 8;

/// The alignments of the types in a layout. Each alignment is computed when it is first used.
pub(crate) struct Alignments<'a> {
    layout: &'a Layout,
    primitives: [u8; Primitive::COUNT],
    /// The alignments of struct types, by type number. 0 stands for an alignment that has not been
    /// computed yet.
    types: Vec<u64>,
}

impl<'a> Alignments<'a> {
    pub(crate) fn of(layout: &'a Layout, complex: ComplexAlign) -> Self {
        let mut primitives = [1; Primitive::COUNT];
        for primitive in Primitive::all() {
            // A primitive type takes at most 16 bytes, so the conversion cannot fail.
            let size = u8::try_from(primitive.size()).unwrap_or(1);
            primitives[primitive.index()] = match (primitive.kind(), complex) {
                (Kind::Complex, ComplexAlign::Part) => size / 2,
                (Kind::Complex, ComplexAlign::Size) => size.min(8),
                _ => size,
            };
        }
        Self { layout, primitives, types: vec![0; layout.type_count()] }
    }

    /// Returns the alignment of an array, regardless of its placement.
    #[inline]
    pub(crate) fn of_data(&mut self, data: &Data) -> u64 {
        if is_compressed(self.layout, data) { COUNT_LEN } else { self.of_datatype(data.datatype) }
    }

    #[inline]
    pub(crate) fn of_datatype(&mut self, datatype: Datatype) -> u64 {
        match datatype {
            Datatype::Primitive(primitive, _) => u64::from(self.primitives[primitive.index()]),
            Datatype::Struct(id) => match self.types[id.index()] {
                0 => self.find(id),
                known => known,
            },
        }
    }

    /// Computes and caches the alignment of a struct. The recursion is bounded by the maximum nesting of types.
    #[cold]
    fn find(&mut self, id: TypeId) -> u64 {
        let align = match self.layout.struct_type(id).align {
            Some(align) if align > 0 => align,
            _ => self.of_fields(id),
        };
        self.types[id.index()] = align;
        align
    }

    fn of_fields(&mut self, id: TypeId) -> u64 {
        let layout = self.layout;
        let fields = layout.fields(id).iter().map(|field| match *field {
            Field::Param(param) => match layout.param(param).value {
                ParamValue::Fixed(_) => 1,
                ParamValue::Stored { datatype, placement, .. } => {
                    of_field(placement, self.of_datatype(datatype))
                }
            },
            Field::Member(member) => {
                let data = layout.data(layout.member(member).data);
                of_field(data.placement, self.of_data(data))
            }
        });
        fields.max().unwrap_or(1)
    }
}

fn is_compressed(layout: &Layout, data: &Data) -> bool {
    layout.filter(data).is_some_and(|filter| filter.kind == FilterKind::Compress)
}

fn of_field(placement: Option<Placement>, align: u64) -> u64 {
    match placement {
        Some(Placement::Address(_)) => 1,
        Some(Placement::Align(align)) if align > 0 => align,
        _ => align,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::diagnose::TAIL_ALIGN;

    #[test]
    fn no_primitive_type_has_an_alignment_above_eight() {
        // "The default alignment for all the primitive data types is their size, except the complex `c16`
        // primitive, which has a default alignment of 8."
        let layout = Layout::default();
        for complex in [ComplexAlign::Size, ComplexAlign::Part] {
            let alignments = Alignments::of(&layout, complex);
            assert_eq!(
                alignments.primitives.iter().max().copied().map(u64::from),
                Some(TAIL_ALIGN)
            );
        }
    }
}
