//! The walk that computes the sizes and offsets of arrays and of the fields of struct instances.
//!
//! With parameter values, sizes are numbers. Without any values, they are sums of products of parameters.
//! [`Facts`] abstracts over both representations.

use std::collections::HashMap;

use binio::diagnostic::count;

use super::align::Alignments;
use super::inputs::Inputs;
use super::scope::{Base, Element, Frame, Number, Result, Scope, Trouble};
use super::sizes::{Placed, Sizes, place};
use super::stream::Stream;
use crate::diagnostic::Code;
use crate::layout::{
    Data, Datatype, Field, ItemId, Layout, MemberId, ParamId, ParamValue, Placement, Subject,
    TypeId,
};

/// Maximum number of struct fields to visit when addresses are resolved. Each byte of a stream
/// allows `STEPS_PER_BYTE` more fields.
const STEPS: u64 = 1 << 22;
const STEPS_PER_BYTE: u64 = 16;

/// Maximum total number of cached sizes and of the free-name values stored with them.
const MAX_REMEMBERED: usize = 1 << 20;

/// The information that the layout does not contain: the representation of sizes, and the values of
/// stored parameters.
pub(crate) trait Facts<'r>: Sized {
    type Sizes: Sizes<Size = Self::Size, Factors = Self::Factors>;
    type Size: Clone + PartialEq;
    type Factors: Clone + Default;

    fn sizes(&self) -> &Self::Sizes;

    fn sizes_mut(&mut self) -> &mut Self::Sizes;

    /// Begins an item. `enter` and `leave` are called before and after each step into its data.
    fn begin(&mut self, _: ItemId) {}
    fn enter(&mut self, _: Step) {}
    fn leave(&mut self) {}

    /// Returns the size of a non-empty array at an offset from the address `base`, or `None` if the
    /// size is not known. Called only if the size does not follow from the layout and the known
    /// values of parameters.
    fn stored_size(
        _: &mut Measure<'r, Self>,
        _: Element<Self::Factors>,
        _base: Option<u64>,
        _offset: Option<&Self::Size>,
    ) -> Result<Option<Self::Size>> {
        Ok(None)
    }

    /// Determines and sets the value of a parameter stored at an offset from the address `base`.
    fn read_param(
        _: &mut Measure<'r, Self>,
        _: ParamId,
        _base: Option<u64>,
        _offset: Option<&Self::Size>,
    ) -> Result<()> {
        Ok(())
    }
}

/// A type, and the values of its free names.
type WithValues = (TypeId, Box<[Number]>);

/// A calculator for the sizes and offsets of arrays and instances.
pub(crate) struct Measure<'r, F: Facts<'r> = Stream<'r>> {
    pub(crate) layout: &'r Layout,
    pub(crate) scope: Scope,
    pub(crate) facts: F,
    pub(crate) alignments: Alignments<'r>,
    tail_padding: bool,
    /// The sizes of types without free names, by type number.
    sizes: Vec<Option<F::Size>>,
    /// The sizes of types with free names, by type and values.
    sizes_by_values: HashMap<WithValues, Option<F::Size>>,
    /// The total number of sizes and free-name values in `sizes_by_values`.
    remembered: usize,
    /// The number of values used so far that depend on the address or path of the array or instance
    /// being measured. A size is cached only if measuring it leaves this number unchanged.
    pub(crate) asked: u64,
    pub(crate) steps: u64,
    max_steps: u64,
}

/// A step into the data of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Member(MemberId),
    /// An instance, by its index in the flattened array.
    Instance(u64),
}

/// A field of an instance, with its offset and size.
pub(crate) struct Visited<S = u64, F = ()> {
    pub(crate) field: Field,
    /// The offset from the start of the instance, and the size of the field.
    pub(crate) placed: Placed<S>,
    /// The element of a member; `None` for a parameter.
    pub(crate) element: Option<Element<F>>,
}

/// A callback for each field of an instance.
pub(crate) type Visit<'v, 'r, F> = dyn FnMut(
        &mut Measure<'r, F>,
        Visited<<F as Facts<'r>>::Size, <F as Facts<'r>>::Factors>,
    ) -> Result<()>
    + 'v;

impl<'r> Measure<'r> {
    /// Creates a measure for resolving addresses. It limits the number of steps, so that hostile layouts are
    /// rejected quickly.
    pub(crate) fn new(layout: &'r Layout, inputs: &'r Inputs<'r>, scope: Scope) -> Self {
        let read = inputs.stream.map_or(0, |stream| stream.len().saturating_mul(STEPS_PER_BYTE));
        let steps = STEPS.saturating_add(read).min(inputs.rules.limits.max_steps.into());
        Self::with_facts(layout, inputs, scope, Stream::new(layout, inputs), steps)
    }

    /// Creates a measure for listing members. Each listed member counts as one step, so only
    /// `max_steps` limits their number.
    pub(crate) fn to_list(layout: &'r Layout, inputs: &'r Inputs<'r>, scope: Scope) -> Self {
        let steps = inputs.rules.limits.max_steps.into();
        Self::with_facts(layout, inputs, scope, Stream::new(layout, inputs), steps)
    }
}

impl<'r, F: Facts<'r>> Measure<'r, F> {
    /// Creates a measure for any representation of sizes. It uses the rules, but neither supplied values nor a
    /// stream.
    pub(crate) fn without_values(
        layout: &'r Layout,
        inputs: &Inputs<'_>,
        scope: Scope,
        facts: F,
    ) -> Self {
        Self::with_facts(layout, inputs, scope, facts, STEPS)
    }

    fn with_facts(
        layout: &'r Layout,
        inputs: &Inputs<'_>,
        scope: Scope,
        facts: F,
        max_steps: u64,
    ) -> Self {
        Self {
            layout,
            scope,
            facts,
            alignments: Alignments::of(layout, inputs.rules.complex_align),
            tail_padding: inputs.rules.tail_padding,
            sizes: vec![None; layout.type_count()],
            sizes_by_values: HashMap::new(),
            remembered: 0,
            asked: 0,
            steps: 0,
            max_steps,
        }
    }

    #[inline]
    pub(crate) fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps > self.max_steps { self.too_many_steps() } else { Ok(()) }
    }

    #[cold]
    fn too_many_steps(&self) -> Result<()> {
        let fields = count(self.max_steps, "struct field");
        let message = format!("computing the addresses would visit more than {fields}");
        Err(Trouble::Is(Code::BeyondLimit, message).into())
    }

    /// Returns the offset and size of an item or dict parameter that follows `cursor`. Returns
    /// `None` if nothing is stored for the item or parameter. The offset and `cursor` are relative to
    /// `base`.
    #[inline]
    pub(crate) fn declare(
        &mut self,
        subject: Subject,
        cursor: Option<F::Size>,
        base: Option<u64>,
    ) -> Result<Option<Placed<F::Size>>> {
        match subject {
            Subject::Param(id) => self.param(id, cursor, base),
            Subject::Item(id) => match self.layout.data_of(id) {
                Some(data) => self.item(id, data, cursor, base).map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Returns the offset and size of an item that follows `cursor`. The offset and `cursor` are
    /// relative to `base`.
    #[inline]
    fn item(
        &mut self,
        id: ItemId,
        data: &'r Data,
        cursor: Option<F::Size>,
        base: Option<u64>,
    ) -> Result<Placed<F::Size>> {
        self.facts.begin(id);
        let element = self.scope.element_in(self.facts.sizes(), self.layout, data, 0, |_| ())?;
        let placed = self.place(data, &element, cursor, base)?;
        self.scope.leave(0);
        Ok(placed)
    }

    /// Returns the element of an array that is a member of a struct. The values of the struct's free names
    /// begin at `frame`.
    pub(crate) fn element(&mut self, data: &'r Data, frame: Frame) -> Result<Element<F::Factors>> {
        self.scope.element_in(self.facts.sizes(), self.layout, data, frame, |_| ())
    }

    /// Returns the offset and size of a member that follows `cursor`. Both `cursor` and the returned
    /// offset are relative to `base`, the address of the instance. The values of the struct's free
    /// names begin at `frame`. Calls `visit` with the member.
    fn member(
        &mut self,
        id: MemberId,
        frame: Frame,
        cursor: Option<F::Size>,
        base: Option<u64>,
        visit: Option<&mut Visit<'_, 'r, F>>,
    ) -> Result<Placed<F::Size>> {
        let inner = self.scope.frame();
        self.facts.enter(Step::Member(id));
        let data = self.layout.data(self.layout.member(id).data);
        let element = self.element(data, frame)?;
        let placed = self.place(data, &element, cursor, base)?;
        if let Some(visit) = visit {
            let (field, placed) = (Field::Member(id), placed.clone());
            visit(self, Visited { field, placed, element: Some(element) })?;
        }
        self.facts.leave();
        self.scope.leave(inner);
        Ok(placed)
    }

    #[allow(clippy::inline_always, reason = "copying the result takes longer than computing it")]
    #[inline(always)]
    fn place(
        &mut self,
        data: &Data,
        element: &Element<F::Factors>,
        cursor: Option<F::Size>,
        base: Option<u64>,
    ) -> Result<Placed<F::Size>> {
        let align = self.alignments.of_data(data);
        let Some(nbytes) = self.size(element)? else {
            return self.place_unsized(data.placement, element.clone(), cursor, base, align);
        };
        let offset = place(self.facts.sizes_mut(), data.placement, cursor, &nbytes, align)?;
        Ok(Placed { offset, nbytes: Some(nbytes) })
    }

    /// Returns the offset and size of an array whose size depends on the address of the array or on
    /// the stream.
    #[inline(never)]
    fn place_unsized(
        &mut self,
        placement: Option<Placement>,
        element: Element<F::Factors>,
        cursor: Option<F::Size>,
        base: Option<u64>,
        align: u64,
    ) -> Result<Placed<F::Size>> {
        let sizes = self.facts.sizes_mut();
        // The offset depends only on whether the array is empty, so assume one byte per element.
        let one = F::Sizes::constant(1);
        let there = match element.count {
            Some(count) => sizes.times(count, &element.factors, &one)?,
            None => one,
        };
        let offset = place(sizes, placement, cursor.clone(), &there, align)?;
        let nbytes = F::stored_size(self, element, base, offset.as_ref())?;
        let is_placed = matches!(placement, Some(Placement::Address(_)));
        let is_empty = nbytes == Some(F::Sizes::constant(0));
        Ok(Placed { offset: if is_empty && !is_placed { cursor } else { offset }, nbytes })
    }

    /// Returns the size of an array, or `None` if the size depends on the address of the array or on
    /// the stream.
    #[allow(clippy::inline_always, reason = "copying the result takes longer than computing it")]
    #[inline(always)]
    fn size(&mut self, element: &Element<F::Factors>) -> Result<Option<F::Size>> {
        let Some(count) = element.count else { return Ok(None) };
        if count == 0 {
            return Ok(Some(F::Sizes::constant(0)));
        }
        if element.is_compressed {
            return Ok(None);
        }
        let size = match element.base {
            Base::Primitive(primitive, _) => F::Sizes::constant(primitive.size()),
            Base::Struct(id, _) if self.layout.struct_type(id).is_indeterminate => return Ok(None),
            Base::Struct(id, frame) => match self.struct_size(id, frame)? {
                Some(size) => size,
                None => return Ok(None),
            },
        };
        self.facts.sizes_mut().times(count, &element.factors, &size).map(Some)
    }

    /// Returns the size of an instance, or `None` if it depends on a free name whose value is not known. The
    /// size must not depend on the contents of the instance.
    #[inline]
    pub(crate) fn struct_size(&mut self, id: TypeId, frame: Frame) -> Result<Option<F::Size>> {
        match &self.sizes[id.index()] {
            Some(known) => Ok(Some(known.clone())),
            None => self.measure_struct(id, frame),
        }
    }

    fn measure_struct(&mut self, id: TypeId, frame: Frame) -> Result<Option<F::Size>> {
        if self.layout.free_names(id).len() > 0 {
            return self.size_by_values(id, frame, None);
        }
        let size = self.fields(id, frame, None, None)?;
        self.sizes[id.index()].clone_from(&size);
        Ok(size)
    }

    /// Returns the size of an instance, which may depend on its contents. Uses the cache only for
    /// structs that contain structs, because caching does not pay off for other structs.
    pub(crate) fn instance_size(
        &mut self,
        id: TypeId,
        frame: Frame,
        address: Option<u64>,
    ) -> Result<Option<F::Size>> {
        if self.layout.struct_type(id).depth > 1 {
            return self.size_by_values(id, frame, address);
        }
        self.fields(id, frame, address, None)
    }

    /// Returns the size of an instance. Caches the size unless it depends on the address or path of
    /// the instance.
    fn size_by_values(
        &mut self,
        id: TypeId,
        frame: Frame,
        address: Option<u64>,
    ) -> Result<Option<F::Size>> {
        let count = self.layout.free_names(id).len();
        let key = (id, Box::from(self.scope.free(frame, count)));
        if let Some(known) = self.sizes_by_values.get(&key) {
            return Ok(known.clone());
        }
        let asked = self.asked;
        let size = self.fields(id, frame, address, None)?;
        if self.asked == asked {
            self.remembered += count + 1;
            if self.remembered > MAX_REMEMBERED {
                self.sizes_by_values.clear();
                self.remembered = count + 1;
            }
            self.sizes_by_values.insert(key, size.clone());
        }
        Ok(size)
    }

    /// Walks the fields of an instance, and returns its size, including any tail padding. The
    /// values of its free names begin at `frame`. `base` is the address of the instance, which is
    /// needed only for reading the stream. Calls `visit` with each field.
    pub(crate) fn fields(
        &mut self,
        id: TypeId,
        frame: Frame,
        base: Option<u64>,
        mut visit: Option<&mut Visit<'_, 'r, F>>,
    ) -> Result<Option<F::Size>> {
        let none = || Some(F::Sizes::constant(0));
        let (mut cursor, mut end) = (none(), none());
        for &field in self.layout.fields(id) {
            self.step()?;
            let placement;
            let placed = match field {
                Field::Param(param) => {
                    let placed = self.param(param, cursor.clone(), base)?;
                    let Some(placed) = placed else { continue };
                    placement = self.layout.param(param).value.placement();
                    if let Some(visit) = &mut visit {
                        visit(self, Visited { field, placed: placed.clone(), element: None })?;
                    }
                    placed
                }
                Field::Member(id) => {
                    placement = self.layout.data(self.layout.member(id).data).placement;
                    let visit = visit.as_deref_mut();
                    self.member(id, frame, cursor.clone(), base, visit)?
                }
            };
            let next = placed.end(self.facts.sizes_mut())?;
            let is_placed = matches!(placement, Some(Placement::Address(_)));
            end = match (end, &next) {
                // The field begins at or after the highest end so far, so its own end is the new highest end.
                (end @ Some(_), Some(_)) if !is_placed && end == cursor => next.clone(),
                (Some(end), Some(next)) => Some(self.facts.sizes_mut().max(end, next.clone())?),
                _ => None,
            };
            cursor = next;
        }
        let Some(end) = end else { return Ok(None) };
        if !self.tail_padding {
            return Ok(Some(end));
        }
        let align = self.alignments.of_datatype(Datatype::Struct(id));
        self.facts.sizes_mut().round_up(end, align).map(Some)
    }

    /// Returns the offset and size of a parameter that follows `cursor`, or `None` if the parameter is fixed.
    /// Sets the value of the parameter for all later fields.
    fn param(
        &mut self,
        id: ParamId,
        cursor: Option<F::Size>,
        base: Option<u64>,
    ) -> Result<Option<Placed<F::Size>>> {
        let ParamValue::Stored { datatype, integer, placement, .. } = self.layout.param(id).value
        else {
            return Ok(None);
        };
        let nbytes = F::Sizes::constant(integer.size());
        let align = self.alignments.of_datatype(datatype);
        let offset = place(self.facts.sizes_mut(), placement, cursor, &nbytes, align)?;
        F::read_param(self, id, base, offset.as_ref())?;
        Ok(Some(Placed { offset, nbytes: Some(nbytes) }))
    }
}
