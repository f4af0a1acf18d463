//! Alignments. They depend on types alone: a member that happens to be empty counts too.

use super::ComplexAlign;
use crate::layout::{
    Data, Datatype, Field, FilterKind, Kind, Layout, ParamValue, Placement, Primitive, TypeId,
};

/// Bytes of the count before compressed bytes, and its alignment.
pub(super) const COUNT_LEN: u64 = 8;

/// The alignments of all types of a layout.
pub(super) struct Alignments {
    primitives: [u8; Primitive::COUNT],
    types: Vec<u64>,
}

impl Alignments {
    pub(super) fn of(layout: &Layout, complex: ComplexAlign) -> Self {
        let mut primitives = [1; Primitive::COUNT];
        for primitive in Primitive::all() {
            // At most 16.
            let size = u8::try_from(primitive.size()).unwrap_or(1);
            primitives[primitive.index()] = match (primitive.kind(), complex) {
                (Kind::Complex, ComplexAlign::Part) => size / 2,
                (Kind::Complex, ComplexAlign::Size) => size.min(8),
                _ => size,
            };
        }
        let mut all = Self { primitives, types: vec![0; layout.type_count()] };
        for id in layout.types() {
            all.find(layout, id);
        }
        all
    }

    /// The alignment of a type, after those that it uses: their nesting is bounded.
    fn find(&mut self, layout: &Layout, id: TypeId) -> u64 {
        if self.types[id.index()] == 0 {
            self.types[id.index()] = match layout.struct_type(id).align {
                Some(align) if align > 0 => align,
                _ => self.of_fields(layout, id),
            };
        }
        self.types[id.index()]
    }

    fn of_fields(&mut self, layout: &Layout, id: TypeId) -> u64 {
        let fields = layout.fields(id).iter().map(|field| match *field {
            Field::Param(param) => match layout.param(param).value {
                ParamValue::Fixed(_) => 1,
                ParamValue::Stored { datatype, placement, .. } => {
                    let align = self.find_datatype(layout, datatype);
                    of_field(placement, align)
                }
            },
            Field::Member(member) => {
                let data = layout.data(layout.member(member).data);
                let align = self.find_datatype(layout, data.datatype);
                of_field(
                    data.placement,
                    if is_compressed(layout, data) { COUNT_LEN } else { align },
                )
            }
        });
        fields.max().unwrap_or(1)
    }

    fn find_datatype(&mut self, layout: &Layout, datatype: Datatype) -> u64 {
        match datatype {
            Datatype::Primitive(..) => self.of_datatype(datatype),
            Datatype::Struct(id) => self.find(layout, id),
        }
    }

    /// Of an array that says nothing of it.
    pub(super) fn of_data(&self, layout: &Layout, data: &Data) -> u64 {
        if is_compressed(layout, data) { COUNT_LEN } else { self.of_datatype(data.datatype) }
    }

    pub(super) fn of_datatype(&self, datatype: Datatype) -> u64 {
        match datatype {
            Datatype::Primitive(primitive, _) => u64::from(self.primitives[primitive.index()]),
            Datatype::Struct(id) => self.types[id.index()],
        }
    }
}

fn is_compressed(layout: &Layout, data: &Data) -> bool {
    layout.filter(data).is_some_and(|filter| filter.kind == FilterKind::Compress)
}

fn of_field(placement: Option<Placement>, align: u64) -> u64 {
    match placement {
        Some(Placement::Address(_)) => 1,
        Some(Placement::Align(stated)) if stated > 0 => stated,
        _ => align,
    }
}
