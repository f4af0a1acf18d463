//! The sizes of arrays and structs as sums: [`measure`](crate::place::measure) without values.

use std::collections::HashMap;

use super::expr::{Factor, Sum, Terms};
use crate::diagnostic::Code;
use crate::layout::{
    Binding, Data, Datatype, Dim, Field, FilterKind, Layout, MemberId, ParamId, ParamValue,
    Placement, Primitive, TypeId,
};
use crate::place::align::Alignments;
use crate::place::scope::{Result, Trouble};

/// Fields of structs that are visited.
const MAX_STEPS: u32 = 1 << 22;

/// What a name in a shape stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Known(i64),
    /// A parameter, by its position in the list.
    Given(usize),
    /// A parameter that a struct stores.
    Stored,
}

/// The values of the free names of a struct.
pub(super) type Frame = Vec<Name>;

/// The element of an array, typedefs resolved.
pub(super) struct Element {
    /// The product of the dimensions; none if it depends on what is stored in a struct.
    pub(super) count: Option<(u64, Vec<Factor>)>,
    pub(super) base: Base,
    is_compressed: bool,
}

pub(super) enum Base {
    Primitive(Primitive),
    Struct(TypeId, Frame),
}

/// Where something lies, as far as values tell.
#[derive(Clone)]
pub(super) struct Placed {
    pub(super) offset: Option<Sum>,
    pub(super) nbytes: Option<Sum>,
}

/// Measures arrays and instances.
pub(super) struct Measure<'l> {
    pub(super) layout: &'l Layout,
    pub(super) terms: Terms,
    alignments: Alignments<'l>,
    tail_padding: bool,
    /// By number of the parameter.
    params: Vec<Name>,
    sizes: HashMap<(TypeId, Frame), Sum>,
    steps: u32,
}

impl<'l> Measure<'l> {
    pub(super) fn new(
        layout: &'l Layout,
        alignments: Alignments<'l>,
        tail_padding: bool,
        given: &[ParamId],
    ) -> Self {
        let name = |id: ParamId| match layout.param(id).value {
            ParamValue::Fixed(value) => Name::Known(value),
            ParamValue::Stored { .. } => {
                given.iter().position(|&other| other == id).map_or(Name::Stored, Name::Given)
            }
        };
        let params = layout.params().map(name).collect();
        let (terms, sizes) = (Terms::default(), HashMap::new());
        Self { layout, terms, alignments, tail_padding, params, sizes, steps: 0 }
    }

    pub(super) fn name(&self, binding: Binding, frame: &[Name]) -> Name {
        match binding {
            Binding::Param(id) => self.params[id.index()],
            Binding::Free(index) => frame[index as usize],
        }
    }

    /// The element of an array in a struct with these free names.
    pub(super) fn element(&self, data: &Data, frame: &[Name]) -> Result<Element> {
        let mut count = Some((1_u64, Vec::new()));
        let mut is_compressed = false;
        let (mut data, mut frame) = (data, frame.to_vec());
        loop {
            is_compressed |=
                self.layout.filter(data).is_some_and(|filter| filter.kind == FilterKind::Compress);
            for &dim in self.layout.shape(data) {
                count = self.multiply(count, dim, &frame)?;
            }
            let id = match data.datatype {
                Datatype::Primitive(primitive, _) => {
                    return Ok(Element { count, base: Base::Primitive(primitive), is_compressed });
                }
                Datatype::Struct(id) => id,
            };
            let bindings = self.layout.bindings(data).iter();
            frame = bindings.map(|&binding| self.name(binding, &frame)).collect();
            match self.layout.typedef_member(id) {
                Some(member) => data = self.layout.data(self.layout.member(member).data),
                None => return Ok(Element { count, base: Base::Struct(id, frame), is_compressed }),
            }
        }
    }

    fn multiply(
        &self,
        count: Option<(u64, Vec<Factor>)>,
        dim: Dim,
        frame: &[Name],
    ) -> Result<Option<(u64, Vec<Factor>)>> {
        let overflow =
            || Box::new(Trouble::Is(Code::Overflow, "the size is above 2^63-1".to_owned()));
        let known = match dim {
            Dim::Fixed(-1) => return Ok(count),
            Dim::Fixed(len) => len,
            Dim::Named(binding, suffix) => match self.name(binding, frame) {
                Name::Known(-1) => return Ok(count),
                Name::Known(0) => 0,
                Name::Known(value) => value.saturating_add(suffix.into()).max(0),
                Name::Given(param) => {
                    return Ok(count.map(|(number, mut factors)| {
                        factors.push(Factor::Dim(param, suffix));
                        factors.sort_unstable();
                        (number, factors)
                    }));
                }
                Name::Stored => return Ok(None),
            },
        };
        match count {
            _ if known == 0 => Ok(Some((0, Vec::new()))),
            None => Ok(None),
            Some((number, factors)) => {
                let number = number.checked_mul(known.unsigned_abs());
                Ok(Some((number.ok_or_else(overflow)?, factors)))
            }
        }
    }

    /// Where an array lies that follows `cursor`.
    pub(super) fn data(
        &mut self,
        data: &Data,
        frame: &[Name],
        cursor: Option<&Sum>,
    ) -> Result<Placed> {
        let element = self.element(data, frame)?;
        let align = self.alignments.of_data(data);
        let nbytes = self.nbytes(&element)?;
        // What has no size yet has one unless there are no elements.
        let is_there = match (&nbytes, &element.count) {
            (Some(nbytes), _) => nbytes.clone(),
            (None, Some(count)) => self.terms.times(&Sum::constant(1), (count.0, &count.1))?,
            (None, None) => Sum::constant(1),
        };
        let offset = self.place(data.placement, cursor, &is_there, align)?;
        Ok(Placed { offset, nbytes })
    }

    /// The bytes of an array; none if they depend on the stream.
    fn nbytes(&mut self, element: &Element) -> Result<Option<Sum>> {
        let Some((number, factors)) = &element.count else { return Ok(None) };
        if *number == 0 {
            return Ok(Some(Sum::default()));
        }
        if element.is_compressed {
            return Ok(None);
        }
        let size = match &element.base {
            Base::Primitive(primitive) => Sum::constant(primitive.size()),
            Base::Struct(id, _) if self.layout.struct_type(*id).is_indeterminate => {
                return Ok(None);
            }
            Base::Struct(id, frame) => self.struct_size(*id, frame)?,
        };
        self.terms.times(&size, (*number, factors)).map(Some)
    }

    /// The size of an instance. The nesting of types is limited, so the recursion is too.
    fn struct_size(&mut self, id: TypeId, frame: &Frame) -> Result<Sum> {
        let key = (id, frame.clone());
        if let Some(known) = self.sizes.get(&key) {
            return Ok(known.clone());
        }
        let size = self.fields(id, frame, &mut |_, _, _| Ok(()))?.unwrap_or_default();
        self.sizes.insert(key, size.clone());
        Ok(size)
    }

    /// Walks the fields of an instance, and returns its size with tail padding. `visit` is called with the
    /// members, whose offsets count from the instance.
    pub(super) fn fields(
        &mut self,
        id: TypeId,
        frame: &Frame,
        visit: &mut dyn FnMut(&mut Self, MemberId, &Placed) -> Result<()>,
    ) -> Result<Option<Sum>> {
        let (mut cursor, mut end) = (Some(Sum::default()), Some(Sum::default()));
        for &field in self.layout.fields(id) {
            self.step()?;
            let (placed, is_placed) = match field {
                Field::Param(param) => {
                    let Some(placed) = self.param(param, cursor.as_ref())? else { continue };
                    let ParamValue::Stored { placement, .. } = self.layout.param(param).value
                    else {
                        continue;
                    };
                    (placed, is_address(placement))
                }
                Field::Member(member) => {
                    let data = self.layout.data(self.layout.member(member).data);
                    let placed = self.data(data, frame, cursor.as_ref())?;
                    visit(self, member, &placed)?;
                    (placed, is_address(data.placement))
                }
            };
            let next = self.end(&placed)?;
            end = match (end, &next) {
                // It follows what is the end so far.
                (Some(end), Some(next)) if !is_placed && Some(&end) == cursor.as_ref() => {
                    Some(next.clone())
                }
                (Some(end), Some(next)) => Some(self.terms.max(end, next.clone())?),
                _ => None,
            };
            cursor = next;
        }
        let Some(end) = end else { return Ok(None) };
        if !self.tail_padding {
            return Ok(Some(end));
        }
        let align = self.alignments.of_datatype(Datatype::Struct(id));
        self.terms.up(end, align).map(Some)
    }

    fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps <= MAX_STEPS {
            return Ok(());
        }
        let message = format!("more than {MAX_STEPS} fields of structs are visited");
        Err(Trouble::Is(Code::BeyondLimit, message).into())
    }

    /// Where a parameter lies that follows `cursor`; none if it is fixed.
    pub(super) fn param(&mut self, id: ParamId, cursor: Option<&Sum>) -> Result<Option<Placed>> {
        let ParamValue::Stored { datatype, integer, placement, .. } = self.layout.param(id).value
        else {
            return Ok(None);
        };
        let align = self.alignments.of_datatype(datatype);
        let nbytes = Sum::constant(integer.size());
        let offset = self.place(placement, cursor, &nbytes, align)?;
        Ok(Some(Placed { offset, nbytes: Some(nbytes) }))
    }

    /// The offset after something.
    pub(super) fn end(&mut self, placed: &Placed) -> Result<Option<Sum>> {
        match (&placed.offset, &placed.nbytes) {
            (Some(offset), Some(nbytes)) => self.terms.add(offset.clone(), nbytes).map(Some),
            _ => Ok(None),
        }
    }

    fn place(
        &mut self,
        placement: Option<Placement>,
        cursor: Option<&Sum>,
        nbytes: &Sum,
        align: u64,
    ) -> Result<Option<Sum>> {
        let align = match (placement, cursor) {
            (Some(Placement::Address(address)), _) => return Ok(Some(Sum::constant(address))),
            (_, None) => return Ok(None),
            (Some(Placement::Align(stated)), _) if stated > 0 => stated,
            _ => align,
        };
        cursor.map(|cursor| self.terms.place(cursor.clone(), align, nbytes)).transpose()
    }
}

fn is_address(placement: Option<Placement>) -> bool {
    matches!(placement, Some(Placement::Address(_)))
}
