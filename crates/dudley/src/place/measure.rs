//! Sizes of arrays and of struct instances, with the values of their parameters.

use std::collections::HashMap;

use binio::ReadAt;

use super::align::{Alignments, COUNT_LEN};
use super::inputs::Inputs;
use super::integer::read;
use super::scope::{Base, Element, Frame, Number, Result, Scope, Trouble, add, multiply, round_up};
use super::values::Values;
use crate::diagnostic::Code;
use crate::layout::{
    Data, Datatype, Field, ItemId, Layout, MemberId, Order, ParamId, ParamValue, Placement,
    Primitive, Scope as Owner, TypeId,
};

/// Fields of structs that resolving may visit, and how many more for each byte of a stream.
const STEPS: u64 = 1 << 22;
const STEPS_PER_BYTE: u64 = 16;

/// Remembered values of free names, and sizes for them.
const MAX_REMEMBERED: usize = 1 << 20;

/// The size of a type that is not computed yet.
const UNMEASURED: u64 = u64::MAX;

/// Measures arrays and instances.
pub(crate) struct Measure<'r> {
    pub(crate) layout: &'r Layout,
    pub(crate) scope: Scope,
    pub(crate) alignments: Alignments<'r>,
    stream: Option<&'r dyn ReadAt>,
    values: &'r Values,
    order: Order,
    tail_padding: bool,
    /// Sizes of types without free names.
    sizes: Vec<u64>,
    /// Sizes of types for values of their free names.
    sizes_by_values: HashMap<(TypeId, Box<[Number]>), Option<u64>>,
    /// The number of remembered values.
    remembered: usize,
    /// How often a value depended on the place of something.
    asked: u64,
    steps: u64,
    max_steps: u64,
    /// The path of what is measured: an item, and the steps from there inwards.
    item: ItemId,
    trail: Vec<Step>,
}

/// A step from an item to what lies in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Member(MemberId),
    /// An instance of an array, counted through all its dimensions.
    Instance(u64),
}

/// Where something lies; none where it depends on the stream.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) offset: Option<u64>,
    pub(crate) nbytes: Option<u64>,
}

impl Placed {
    /// The offset after it.
    pub(crate) fn end(self) -> Result<Option<u64>> {
        match (self.offset, self.nbytes) {
            (Some(offset), Some(nbytes)) => add(offset, nbytes).map(Some),
            _ => Ok(None),
        }
    }
}

/// A field of an instance: the parameter or member, and where it lies.
pub(crate) struct Visited {
    pub(crate) field: Field,
    /// From the beginning of the instance.
    pub(crate) placed: Placed,
    /// Of a member.
    pub(crate) element: Option<Element>,
}

/// Called with the fields of an instance.
pub(crate) type Visit<'v, 'r> = dyn FnMut(&mut Measure<'r>, Visited) -> Result<()> + 'v;

impl<'r> Measure<'r> {
    /// For resolving: few steps, so that a hostile layout is rejected soon.
    pub(crate) fn new(layout: &'r Layout, inputs: &'r Inputs<'r>, scope: Scope) -> Self {
        let read = inputs.stream.map_or(0, |stream| stream.len().saturating_mul(STEPS_PER_BYTE));
        let steps = STEPS.saturating_add(read);
        Self::with_steps(layout, inputs, scope, steps.min(inputs.rules.limits.max_steps.into()))
    }

    /// For listing members, each of which is a step.
    pub(crate) fn to_list(layout: &'r Layout, inputs: &'r Inputs<'r>, scope: Scope) -> Self {
        Self::with_steps(layout, inputs, scope, inputs.rules.limits.max_steps.into())
    }

    fn with_steps(
        layout: &'r Layout,
        inputs: &'r Inputs<'r>,
        scope: Scope,
        max_steps: u64,
    ) -> Self {
        Self {
            layout,
            scope,
            alignments: Alignments::of(layout, inputs.rules.complex_align),
            stream: inputs.stream,
            values: &inputs.rules.values,
            order: inputs.default_order(layout),
            tail_padding: inputs.rules.tail_padding,
            sizes: vec![UNMEASURED; layout.type_count()],
            sizes_by_values: HashMap::new(),
            remembered: 0,
            asked: 0,
            steps: 0,
            max_steps,
            item: ItemId::ROOT,
            trail: Vec::new(),
        }
    }

    /// Sets the item whose path the others continue.
    pub(crate) fn begin(&mut self, item: ItemId) {
        self.item = item;
    }

    /// Sets the path of what is measured.
    #[cfg(feature = "read")]
    pub(crate) fn at(&mut self, item: ItemId, trail: &[Step]) {
        self.item = item;
        self.trail.clear();
        self.trail.extend_from_slice(trail);
    }

    /// Whether an instance without bytes is followed by others like it.
    #[cfg(feature = "read")]
    pub(crate) fn is_size_of_all(&self) -> bool {
        self.stream.is_some() || !self.values.has_elements()
    }

    pub(crate) fn enter(&mut self, step: Step) {
        self.trail.push(step);
    }

    pub(crate) fn leave(&mut self) {
        self.trail.pop();
    }

    #[inline]
    fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps > self.max_steps { self.too_many_steps() } else { Ok(()) }
    }

    #[cold]
    fn too_many_steps(&self) -> Result<()> {
        let message = format!("more than {} fields of structs are visited", self.max_steps);
        Err(Trouble::Is(Code::BeyondLimit, message).into())
    }

    /// The offset and size of an item that follows `cursor`; the offset counts from `base`.
    pub(crate) fn item(
        &mut self,
        id: ItemId,
        data: &Data,
        cursor: Option<u64>,
        base: u64,
    ) -> Result<Placed> {
        self.begin(id);
        let element = self.scope.element_inlined(self.layout, data, 0, |_| ())?;
        let placed = self.place(data, &element, cursor, Some(base))?;
        self.scope.leave(0);
        Ok(placed)
    }

    /// The offset and size of a member that follows `cursor`; both offsets count from `base`, the address
    /// of the instance. `frame` has the free names of the struct. `visit` is called with the member.
    fn member(
        &mut self,
        id: MemberId,
        frame: Frame,
        cursor: Option<u64>,
        base: Option<u64>,
        visit: Option<&mut Visit<'_, 'r>>,
    ) -> Result<Placed> {
        let inner = self.scope.frame();
        self.enter(Step::Member(id));
        let data = self.layout.data(self.layout.member(id).data);
        let element = self.scope.element(self.layout, data, frame, |_| ())?;
        let placed = self.place(data, &element, cursor, base)?;
        if let Some(visit) = visit {
            visit(self, Visited { field: Field::Member(id), placed, element: Some(element) })?;
        }
        self.leave();
        self.scope.leave(inner);
        Ok(placed)
    }

    #[allow(clippy::inline_always, reason = "copying the result takes longer than computing it")]
    #[inline(always)]
    fn place(
        &mut self,
        data: &Data,
        element: &Element,
        cursor: Option<u64>,
        base: Option<u64>,
    ) -> Result<Placed> {
        let align = self.alignments.of_data(data);
        let Some(nbytes) = self.size(element)? else {
            return self.place_unsized(data.placement, *element, cursor, base, align);
        };
        let offset = place(data.placement, cursor, nbytes, align)?;
        Ok(Placed { offset, nbytes: Some(nbytes) })
    }

    /// The offset and size of an array whose size depends on its address or on the stream.
    #[inline(never)]
    fn place_unsized(
        &mut self,
        placement: Option<Placement>,
        element: Element,
        cursor: Option<u64>,
        base: Option<u64>,
        align: u64,
    ) -> Result<Placed> {
        let offset = place(placement, cursor, 1, align)?;
        let address = base.zip(offset).map(|(base, offset)| add(base, offset)).transpose()?;
        let nbytes = self.stored_size(element, address)?;
        let is_placed = matches!(placement, Some(Placement::Address(_)));
        Ok(Placed { offset: if nbytes == Some(0) && !is_placed { cursor } else { offset }, nbytes })
    }

    /// The size of an array, if it depends neither on an address nor on the stream.
    #[allow(clippy::inline_always, reason = "copying the result takes longer than computing it")]
    #[inline(always)]
    fn size(&mut self, element: &Element) -> Result<Option<u64>> {
        let Some(count) = element.count else { return Ok(None) };
        if count == 0 {
            return Ok(Some(0));
        }
        if element.is_compressed {
            return Ok(None);
        }
        let size = match element.base {
            Base::Primitive(primitive, _) => primitive.size(),
            Base::Struct(id, _) if self.layout.struct_type(id).is_indeterminate => return Ok(None),
            Base::Struct(id, frame) => self.struct_size(id, frame)?,
        };
        multiply(count, size).map(Some)
    }

    /// The size of an instance of a type that does not depend on what is stored in it.
    #[inline]
    pub(crate) fn struct_size(&mut self, id: TypeId, frame: Frame) -> Result<u64> {
        match self.sizes[id.index()] {
            UNMEASURED => self.measure_struct(id, frame),
            known => Ok(known),
        }
    }

    fn measure_struct(&mut self, id: TypeId, frame: Frame) -> Result<u64> {
        let count = self.layout.free_names(id).len();
        if count == 0 {
            let size = self.fields(id, frame, None, None)?.unwrap_or_default();
            self.sizes[id.index()] = size;
            return Ok(size);
        }
        Ok(self.size_by_values(id, frame, None)?.unwrap_or_default())
    }

    /// The size of an instance of a type that may depend on what is stored in it. Remembering it helps only
    /// for nested structs.
    fn instance_size(
        &mut self,
        id: TypeId,
        frame: Frame,
        address: Option<u64>,
    ) -> Result<Option<u64>> {
        if self.layout.struct_type(id).depth > 1 {
            return self.size_by_values(id, frame, address);
        }
        self.fields(id, frame, address, None)
    }

    /// The size of an instance, which is remembered unless it depends on the place of the instance.
    fn size_by_values(
        &mut self,
        id: TypeId,
        frame: Frame,
        address: Option<u64>,
    ) -> Result<Option<u64>> {
        let count = self.layout.free_names(id).len();
        let key = (id, Box::from(self.scope.free(frame, count)));
        if let Some(&known) = self.sizes_by_values.get(&key) {
            return Ok(known);
        }
        let asked = self.asked;
        let size = self.fields(id, frame, address, None)?;
        if self.asked == asked {
            self.remembered += count + 1;
            if self.remembered > MAX_REMEMBERED {
                self.sizes_by_values.clear();
                self.remembered = count + 1;
            }
            self.sizes_by_values.insert(key, size);
        }
        Ok(size)
    }

    /// The size of a non-empty array at an address, from the stream or the given values; none if it is
    /// not known.
    fn stored_size(&mut self, element: Element, address: Option<u64>) -> Result<Option<u64>> {
        if element.is_compressed {
            let Some(stream) = self.stream else {
                let len = self.values.compressed_len(|| self.trail_path());
                return Ok(len);
            };
            self.asked += 1;
            let len = address.map(|address| self.compressed_len(stream, address));
            return len.transpose();
        }
        let (Some(count), Base::Struct(id, frame)) = (element.count, element.base) else {
            return Ok(None);
        };
        if self.stream.is_none() && !self.values.has_elements() {
            let size = self.instance_size(id, frame, address)?;
            return size.map(|size| multiply(count, size)).transpose();
        }
        let mut total = 0;
        for index in 0..count {
            let address = address.map(|address| add(address, total)).transpose()?;
            self.step()?;
            self.enter(Step::Instance(index));
            let size = self.instance_size(id, frame, address)?;
            self.leave();
            let Some(size) = size else { return Ok(None) };
            // An instance without bytes is followed by others like it.
            if size == 0 && self.stream.is_some() {
                break;
            }
            total = add(total, size)?;
        }
        Ok(Some(total))
    }

    /// Walks the fields of an instance whose free names have their values at `frame`, and returns its
    /// size with tail padding. `base` is its address, which is needed only to read the stream.
    /// `visit` is called with each field.
    pub(crate) fn fields(
        &mut self,
        id: TypeId,
        frame: Frame,
        base: Option<u64>,
        mut visit: Option<&mut Visit<'_, 'r>>,
    ) -> Result<Option<u64>> {
        let (mut cursor, mut end) = (Some(0), Some(0));
        for &field in self.layout.fields(id) {
            self.step()?;
            let placed = match field {
                Field::Param(param) => {
                    let Some(placed) = self.param(param, cursor, base)? else { continue };
                    if let Some(visit) = &mut visit {
                        visit(self, Visited { field, placed, element: None })?;
                    }
                    placed
                }
                Field::Member(id) => self.member(id, frame, cursor, base, visit.as_deref_mut())?,
            };
            cursor = placed.end()?;
            end = end.zip(cursor).map(|(end, cursor)| end.max(cursor));
        }
        if !self.tail_padding {
            return Ok(end);
        }
        let align = self.alignments.of_datatype(Datatype::Struct(id));
        end.map(|end| round_up(end, align)).transpose()
    }

    /// The offset and size of a parameter that follows `cursor`; none if it is fixed. Its value is used
    /// from there on.
    pub(crate) fn param(
        &mut self,
        id: ParamId,
        cursor: Option<u64>,
        base: Option<u64>,
    ) -> Result<Option<Placed>> {
        let ParamValue::Stored { datatype, integer, order, placement } =
            self.layout.param(id).value
        else {
            return Ok(None);
        };
        let nbytes = integer.size();
        let align = self.alignments.of_datatype(datatype);
        let offset = place(placement, cursor, nbytes, align)?;
        let placed = Placed { offset, nbytes: Some(nbytes) };
        let value = match self.stream {
            // Parameters of dicts have their values from the beginning.
            None if matches!(self.layout.param(id).scope, Owner::Dict(_)) => {
                return Ok(Some(placed));
            }
            None => self.given(id),
            Some(stream) => {
                self.asked += 1;
                let address =
                    base.zip(offset).map(|(base, offset)| add(base, offset)).transpose()?;
                let order = order.unwrap_or(self.order);
                let read = |address| read(stream, address, integer, order);
                let is_held = address.is_some_and(|at| stream.len().saturating_sub(at) >= nbytes);
                match if is_held { None } else { self.given(id) } {
                    None => address.map(read).transpose()?,
                    given => given,
                }
            }
        };
        self.scope.set(id, value);
        Ok(Some(placed))
    }

    /// The value that the caller gave for a parameter of a dict or of the current struct.
    fn given(&mut self, id: ParamId) -> Option<i64> {
        let values = self.values;
        let by_name = values.get(self.layout.param_name(id));
        if !values.has_paths() {
            return by_name;
        }
        self.asked += 1;
        let path = match self.layout.param(id).scope {
            Owner::Dict(_) => self.layout.subject_path(id.into()),
            Owner::Struct(_) => {
                let mut path = self.trail_path();
                path.push('.');
                crate::layout::push_name(&mut path, self.layout.param_name(id));
                path
            }
        };
        // Names may be as long as the text.
        self.steps += path.len() as u64 / 64;
        values.get(&path).or_else(|| values.get(&without_elements(&path))).or(by_name)
    }

    /// The path of what is measured.
    pub(crate) fn trail_path(&self) -> String {
        use std::fmt::Write as _;

        let mut path = self.layout.path(self.item);
        for step in &self.trail {
            match *step {
                Step::Member(id) => {
                    path.push('.');
                    crate::layout::push_name(&mut path, self.layout.member_name(id));
                }
                Step::Instance(index) => {
                    let _ = write!(path, "[{index}]");
                }
            }
        }
        path
    }

    /// The size of a compressed array, with the count before its bytes.
    fn compressed_len(&self, stream: &dyn ReadAt, address: u64) -> Result<u64> {
        let signed = Primitive::from_name("i8");
        let Some(integer) = signed else { return Ok(0) };
        let len = read(stream, address, integer, self.order)?;
        let left = stream.len().saturating_sub(address).saturating_sub(COUNT_LEN);
        match u64::try_from(len) {
            Ok(len) if len <= left => add(COUNT_LEN, len),
            _ => {
                let message = format!(
                    "at address {address}: expected 0 to {left} compressed bytes, found {len}"
                );
                Err(Trouble::Is(Code::CompressedLength, message).into())
            }
        }
    }
}

/// The offset of something that follows `cursor`.
#[inline]
fn place(
    placement: Option<Placement>,
    cursor: Option<u64>,
    nbytes: u64,
    align: u64,
) -> Result<Option<u64>> {
    match (placement, cursor) {
        (Some(Placement::Address(address)), _) => Ok(Some(address)),
        (_, None) => Ok(None),
        (_, Some(_)) if nbytes == 0 => Ok(cursor),
        (Some(Placement::Align(stated)), Some(cursor)) if stated > 0 => {
            round_up(cursor, stated).map(Some)
        }
        (_, Some(cursor)) => round_up(cursor, align).map(Some),
    }
}

/// A path without indices of instances, which means all instances.
fn without_elements(path: &str) -> String {
    let mut parts = path.split('[');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once(']').map_or(part, |split| split.1));
    }
    plain
}
