//! Accessing the instances and members in the data of an item, at any depth.

use std::borrow::Cow;

use binio::array;

use super::inputs::Inputs;
#[cfg(feature = "write")]
use super::integer::integer_bytes;
use super::location::Location;
use super::measure::{Facts as _, Measure, Step, Visited};
use super::pass::to_error;
use super::scope::{Base, Element, Number, Result, Scope, Trouble};
use super::sizes::{add, multiply};
use super::strided::{of_base, scalar};
use super::table::{Entry, dtype};
use crate::diagnostic::Code;
use crate::error::{Error, ErrorKind};
use crate::layout::{
    Data, Datatype, Field, FilterId, Inside, ItemId, Layout, Order, ParamValue, Primitive, Subject,
    TypeId,
};

/// An array, a member or an instance. It includes the parameter values that its shapes depend on, so it can be
/// used without the enclosing structs.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    item: ItemId,
    /// The steps from the item to this array, member or instance. They form the path under which
    /// the caller may supply the value of a parameter.
    trail: Vec<Step>,
    base: Closed,
    /// The enclosing arrays of instances. Each pair contains the length of the array and the
    /// distance in bytes between its instances.
    outer: Vec<(u64, u64)>,
    /// The dimensions, not including those of enclosing arrays of instances. `None` if a dimension
    /// depends on unknown values.
    shape: Option<Vec<u64>>,
    /// The address of the first element in the first instance.
    address: Option<u64>,
    filter: Option<FilterId>,
    is_compressed: bool,
}

/// An element type that is independent of the enclosing structs.
#[derive(Clone, Debug)]
enum Closed {
    Primitive(Primitive, Order),
    /// A struct and the values of its free names.
    Struct(TypeId, Box<[Number]>),
}

/// The reason why an array cannot be described by strides.
pub(crate) type Reason = &'static str;

/// Access to the instances and members in the data of items, given the values of the dict
/// parameters.
pub(crate) struct Inner<'r> {
    pub(crate) measure: Measure<'r>,
    order: Order,
}

/// A member or stored parameter of an instance.
pub(crate) struct Part {
    pub(crate) field: Field,
    pub(crate) stored: Stored,
    pub(crate) nbytes: Option<u64>,
    /// The value of a parameter; `None` for a member.
    pub(crate) value: Option<i64>,
}

impl Stored {
    pub(crate) fn address(&self) -> Option<u64> {
        self.address
    }

    /// Returns the dimensions, not including those of enclosing arrays of instances, or `None` if a
    /// dimension depends on unknown values.
    pub(crate) fn shape(&self) -> Option<&[u64]> {
        self.shape.as_deref()
    }

    pub(crate) fn count(&self) -> Option<u64> {
        array::count(self.shape.as_deref()?)
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    pub(crate) fn filter(&self) -> Option<FilterId> {
        self.filter
    }

    pub(crate) fn struct_type(&self) -> Option<TypeId> {
        match self.base {
            Closed::Primitive(..) => None,
            Closed::Struct(id, _) => Some(id),
        }
    }

    /// Returns `true` if the instances may differ in size.
    pub(crate) fn is_ragged(&self, layout: &Layout) -> bool {
        let id = self.struct_type().filter(|_| !self.is_compressed);
        id.is_some_and(|id| layout.struct_type(id).is_indeterminate)
    }

    /// Returns `true` if no array of instances encloses this value.
    pub(crate) fn is_alone(&self) -> bool {
        self.outer.is_empty()
    }

    /// Returns `true` for a single instance or element.
    pub(crate) fn is_single(&self) -> bool {
        self.outer.is_empty() && self.shape.as_ref().is_some_and(Vec::is_empty)
    }

    /// Sets the index of the instance in the last step.
    fn number(&mut self, number: u64) {
        if let Some(last) = self.trail.last_mut() {
            *last = Step::Instance(number);
        }
    }

    /// Returns a copy that is treated as uncompressed.
    pub(crate) fn without_filter(&self) -> Self {
        Self { is_compressed: false, ..self.clone() }
    }

    /// If the struct has exactly one member, and this member is unnamed, returns the step to this
    /// member, which then represents the whole struct. Stored parameters, such as the length of
    /// counted text, may precede the member.
    pub(crate) fn only_member(&self, layout: &Layout) -> Option<Inside> {
        let fields = layout.fields(self.struct_type()?);
        let mut members = fields.iter().filter_map(|&field| match field {
            Field::Member(id) => Some(id),
            Field::Param(_) => None,
        });
        let only = members.next().filter(|&id| layout.member_name(id).is_empty())?;
        members.next().is_none().then_some(Inside::Field(Field::Member(only)))
    }

    /// Returns a single instance of this struct type at the given address.
    pub(crate) fn instance_at(&self, address: Option<u64>) -> Self {
        Self { outer: Vec::new(), shape: Some(Vec::new()), address, ..self.clone() }
    }
}

impl<'r> Inner<'r> {
    pub(crate) fn new(layout: &'r Layout, inputs: &'r Inputs<'r>, values: &[Number]) -> Self {
        let measure = Measure::new(layout, inputs, Scope::new(values.to_vec()));
        Self { measure, order: inputs.default_order(layout) }
    }

    /// Returns the name of the element type.
    pub(crate) fn dtype(&self, stored: &Stored) -> Cow<'static, str> {
        let datatype = match stored.base {
            Closed::Primitive(primitive, order) => Datatype::Primitive(primitive, Some(order)),
            Closed::Struct(id, _) => Datatype::Struct(id),
        };
        dtype(self.measure.layout, datatype)
    }

    /// Returns the index of the instance that contains an address, and the instance itself. Returns
    /// `None` if there is no such instance.
    pub(crate) fn instance_with(
        &mut self,
        stored: &Stored,
        address: u64,
    ) -> Result<Option<(u64, Stored)>> {
        let Some((start, count)) = stored.address.zip(stored.count()) else { return Ok(None) };
        let offset = address.saturating_sub(start);
        let mut at = stored.instance_at(stored.address);
        if !stored.is_ragged(self.measure.layout) {
            let size = self.size(&at)?.unwrap_or_default();
            let Some(number) = offset.checked_div(size).filter(|&number| number < count) else {
                return Ok(None);
            };
            at.address = Some(add(start, multiply(number, size)?)?);
            return Ok(Some((number, at)));
        }
        for number in 0..count {
            let Some(size) = self.size(&at)? else { return Ok(None) };
            let begin = at.address.unwrap_or_default();
            if address - begin < size {
                return Ok(Some((number, at)));
            }
            if size == 0 {
                break;
            }
            at.address = Some(add(begin, size)?);
        }
        Ok(None)
    }

    /// Returns the layout.
    #[cfg(feature = "write")]
    pub(crate) fn layout(&self) -> &'r Layout {
        self.measure.layout
    }

    /// Follows the steps `inside` from a row into its data. Returns the array, member or instance to
    /// which they lead, assuming that the row is at `address`. `path` is used only in messages.
    pub(crate) fn follow(
        &mut self,
        entry: &Entry<'_>,
        address: Option<u64>,
        inside: &[Inside],
        path: &str,
    ) -> std::result::Result<Stored, Error> {
        let layout = self.measure.layout;
        let fail = |trouble: Box<Trouble>| to_error(layout, *trouble, entry.row().subject());
        let mut stored = self.of_row_at(entry, address).map_err(fail)?;
        for &step in inside {
            stored = self.step(&stored, step).map_err(fail)?.ok_or_else(|| {
                let reason = match step {
                    _ if stored.is_compressed() => "it is compressed",
                    Inside::Instance(_) => "no such instance",
                    Inside::Field(_) if stored.is_ragged(layout) => {
                        "the instances of its struct differ in size: choose one, as in `/item[0].member`"
                    }
                    Inside::Field(_) => "no such member",
                };
                ErrorKind::NotStrided { path: path.to_owned(), reason }
            })?;
        }
        Ok(stored)
    }

    /// Returns the data of a row, assuming that the row is at `address`.
    pub(crate) fn of_row_at(&mut self, entry: &Entry<'_>, address: Option<u64>) -> Result<Stored> {
        let (layout, order) = (self.measure.layout, self.order);
        match entry.row().subject() {
            Subject::Param(id) => {
                let value = layout.param(id).value;
                param(value, order, ItemId::ROOT, address).ok_or_else(internal)
            }
            Subject::Item(id) => {
                let data = layout.data_of(id).ok_or_else(internal)?;
                self.measure.facts.begin(id);
                stored(&mut self.measure, order, data, 0, (id, address))
            }
            _ => Err(internal()),
        }
    }

    /// Returns the members and stored parameters of an instance. Also returns the size of the
    /// instance in bytes, or `None` if it is not known.
    pub(crate) fn parts(&mut self, instance: &Stored) -> Result<(Vec<Part>, Option<u64>)> {
        let Closed::Struct(id, free) = &instance.base else { return Ok((Vec::new(), Some(0))) };
        let mut parts = Vec::new();
        let (order, address, item) = (self.order, instance.address, instance.item);
        self.measure.facts.at(item, &instance.trail);
        let frame = self.measure.scope.enter(free);
        let visit = &mut |measure: &mut Measure<'r>, visited: Visited| {
            let layout = measure.layout;
            let at = match (address, visited.placed.offset) {
                (Some(base), Some(offset)) => Some(add(base, offset)?),
                _ => None,
            };
            let (stored, value) = match visited.field {
                Field::Param(id) => {
                    let value = layout.param(id).value;
                    let Some(stored) = param(value, order, item, at) else { return Ok(()) };
                    (stored, measure.scope.params[id.index()].known())
                }
                Field::Member(id) => {
                    let data = layout.data(layout.member(id).data);
                    let inner = measure.scope.frame();
                    let mut stored = stored(measure, order, data, frame, (item, at))?;
                    measure.scope.leave(inner);
                    stored.trail.clone_from(&instance.trail);
                    stored.trail.push(Step::Member(id));
                    (stored, None)
                }
            };
            let nbytes = visited.placed.nbytes;
            parts.push(Part { field: visited.field, stored, nbytes, value });
            Ok(())
        };
        let size = self.measure.fields(*id, frame, address, Some(visit))?;
        self.measure.scope.leave(frame);
        for part in &mut parts {
            // The arrays that enclose the instance also enclose each of its fields.
            part.stored.outer.clone_from(&instance.outer);
        }
        Ok((parts, size))
    }

    /// Returns the size of one element in bytes, or `None` if it is not known.
    pub(crate) fn size(&mut self, stored: &Stored) -> Result<Option<u64>> {
        match &stored.base {
            Closed::Primitive(primitive, _) => Ok(Some(primitive.size())),
            Closed::Struct(id, free) => {
                self.measure.facts.at(stored.item, &stored.trail);
                let frame = self.measure.scope.enter(free);
                let is_ragged = self.measure.layout.struct_type(*id).is_indeterminate;
                let size = if is_ragged {
                    self.measure.fields(*id, frame, stored.address, None)?
                } else {
                    self.measure.struct_size(*id, frame)?
                };
                self.measure.scope.leave(frame);
                Ok(size)
            }
        }
    }

    /// Follows one step into the data. Returns `None` if the instance or field does not exist, if the data is
    /// compressed, if the shape or a size is not known, or if the field belongs to several instances that
    /// differ in size.
    pub(crate) fn step(&mut self, stored: &Stored, step: Inside) -> Result<Option<Stored>> {
        match step {
            Inside::Instance(index) => self.instance(stored, index),
            Inside::Field(field) => {
                let is_ragged = stored.is_ragged(self.measure.layout);
                if is_ragged && !stored.is_single()
                    || stored.is_compressed
                    || stored.shape.is_none()
                {
                    return Ok(None);
                }
                let parts = self.members(stored)?;
                let found = parts.into_iter().find(|part| part.field == field);
                Ok(found.map(|part| part.stored))
            }
        }
    }

    /// Returns the members and stored parameters of a single instance or, if the instances cannot
    /// differ in size, of all instances together.
    pub(crate) fn members(&mut self, stored: &Stored) -> Result<Vec<Part>> {
        let mut of_all = stored.clone();
        if !stored.is_ragged(self.measure.layout) {
            let shape = stored.shape().unwrap_or_default();
            let mut stride = match self.size(stored)? {
                Some(size) => size,
                None if shape.is_empty() => 0,
                None => return Ok(Vec::new()),
            };
            let start = of_all.outer.len();
            for &len in shape.iter().rev() {
                of_all.outer.insert(start, (len, stride));
                stride = multiply(stride, len)?;
            }
            of_all.shape = Some(Vec::new());
        }
        Ok(self.parts(&of_all)?.0)
    }

    /// Returns an instance by its index in the flattened array. Returns `None` if there is no such instance,
    /// if the data is compressed, or if the size of a preceding instance is not known.
    fn instance(&mut self, stored: &Stored, index: u64) -> Result<Option<Stored>> {
        if stored.count().is_none_or(|count| index >= count) || stored.is_compressed {
            return Ok(None);
        }
        let is_array = stored.shape().is_some_and(|shape| !shape.is_empty());
        let mut one = Stored { shape: Some(Vec::new()), ..stored.clone() };
        if is_array {
            one.trail.push(Step::Instance(index));
        }
        if !stored.is_ragged(self.measure.layout) {
            let Some(size) = self.size(stored)? else { return Ok(None) };
            let offset = multiply(size, index)?;
            let address = stored.address.map(|address| add(address, offset)).transpose()?;
            return Ok(Some(Stored { address, ..one }));
        }
        let mut at = one;
        for number in 0..index {
            at.number(number);
            match self.size(&at)? {
                Some(0) if self.measure.facts.is_size_of_all() => break,
                Some(size) => {
                    at.address = at.address.map(|address| add(address, size)).transpose()?;
                }
                None => return Ok(None),
            }
        }
        if index > 0 {
            at.number(index);
        }
        Ok(Some(at))
    }

    /// Returns `true` if the caller supplied a value for a parameter in a single instance of this array.
    #[cfg(feature = "write")]
    pub(crate) fn has_values_for_instances(&mut self, stored: &Stored) -> bool {
        let Some(id) = stored.struct_type() else { return false };
        if !self.measure.facts.has_values_for_instances() {
            return false;
        }
        self.measure.facts.at(stored.item, &stored.trail);
        self.measure.has_values_for_instances()
            && !self.measure.layout.stored_params(Datatype::Struct(id)).is_empty()
    }

    /// Calls `visit` with each instance in order. The instances may differ in size. Stops after an empty
    /// instance if all later instances must be empty too, and after an instance of unknown size.
    #[cfg(feature = "write")]
    pub(crate) fn each_instance(
        &mut self,
        stored: &Stored,
        mut visit: impl FnMut(&mut Self, &Stored) -> Result<()>,
    ) -> Result<()> {
        let mut at = Stored { shape: Some(Vec::new()), ..stored.clone() };
        at.trail.push(Step::Instance(0));
        for number in 0..stored.count().unwrap_or_default() {
            at.number(number);
            visit(self, &at)?;
            match self.size(&at)? {
                Some(0) if self.measure.facts.is_size_of_all() => break,
                Some(size) => {
                    at.address = at.address.map(|address| add(address, size)).transpose()?;
                }
                None => break,
            }
        }
        Ok(())
    }

    /// Writes the value of a stored parameter into every instance.
    #[cfg(feature = "write")]
    pub(crate) fn put_integer(
        &mut self,
        stored: &Stored,
        id: crate::layout::ParamId,
        value: i64,
        bytes: &mut [u8],
    ) -> Result<()> {
        let Closed::Primitive(integer, order) = stored.base else { return Ok(()) };
        let invalid = || {
            let name = self.measure.layout.param_name(id);
            let message = format!("{value} is not a valid {integer} for parameter `{name}`");
            Box::new(Trouble::Param(Code::Overflow, id, message))
        };
        let value = integer_bytes(value, integer, order).ok_or_else(invalid)?;
        let Ok(location) = self.location(stored)? else { return Err(internal()) };
        let strided = location.into_strided(bytes.len() as u64);
        let (datatype, strided) = strided.map_err(|_| internal())?;
        let count = usize::try_from(strided.len()).unwrap_or(usize::MAX);
        let packed = value.repeat(count);
        let (order, kept) = (array::Order::C, array::ByteOrder::Stored);
        let written = array::write_bytes(&strided, &datatype, &packed, order, kept, bytes);
        Ok(written.map_err(binio::Error::from)?)
    }

    /// As long as the value is a single struct of varying size whose only member is unnamed,
    /// replaces the value with this member. Calls `visit` with each step.
    pub(crate) fn enter_only_members(
        &mut self,
        mut stored: Stored,
        mut visit: impl FnMut(Inside),
    ) -> Result<Stored> {
        let layout = self.measure.layout;
        while stored.is_ragged(layout) && stored.is_single() {
            let Some(only) = stored.only_member(layout) else { break };
            let Some(member) = self.step(&stored, only)? else { break };
            visit(only);
            stored = member;
        }
        Ok(stored)
    }

    /// Returns the location of all elements, or the reason why strides cannot describe them.
    pub(crate) fn location(
        &mut self,
        stored: &Stored,
    ) -> Result<std::result::Result<Location, Reason>> {
        let Some(address) = stored.address else {
            return Ok(Err("its address depends on the stream"));
        };
        if stored.is_compressed {
            return Ok(Err("it is compressed"));
        }
        let (datatype, own) = match self.array_type(stored)? {
            Ok(found) => found,
            Err(reason) => return Ok(Err(reason)),
        };
        let shape = stored.shape().unwrap_or_default();
        let dtype = self.dtype(stored);
        Ok(Ok(Location::new(address, &stored.outer, shape, dtype, (datatype, &own))?))
    }

    /// Returns the element type and the dimensions without the length of strings, or the reason why there is
    /// no such type.
    pub(crate) fn array_type(
        &mut self,
        stored: &Stored,
    ) -> Result<std::result::Result<(array::Datatype, Vec<u64>), Reason>> {
        let Some(mut shape) = stored.shape.clone() else {
            return Ok(Err("its shape depends on the stream"));
        };
        let layout = self.measure.layout;
        let datatype = match &stored.base {
            Closed::Primitive(primitive, order) => {
                let (datatype, own) = scalar(*primitive, Some(*order), &shape)?;
                let dimensions = own.len();
                shape.truncate(dimensions);
                datatype
            }
            Closed::Struct(id, _) if layout.struct_type(*id).is_indeterminate => {
                return Ok(Err("the instances of its struct differ in size"));
            }
            Closed::Struct(id, _) if layout.struct_type(*id).depth > array::MAX_RECORD_DEPTH => {
                let message = "structs nest deeper than numpy records can".to_owned();
                return Err(Trouble::Is(Code::BeyondLimit, message).into());
            }
            Closed::Struct(..) if self.size(stored)?.is_none() => {
                return Ok(Err("its size depends on the stream"));
            }
            Closed::Struct(id, free) => {
                let frame = self.measure.scope.enter(free);
                let base = Base::Struct(*id, frame);
                let order = self.order;
                let made = of_base(&mut self.measure, base, order, &mut Vec::new(), &mut 0)?;
                self.measure.scope.leave(frame);
                made
            }
        };
        Ok(Ok((datatype, shape)))
    }
}

/// Returns the description of an array at an address. The values of the enclosing struct's free
/// names begin at `frame`.
fn stored(
    measure: &mut Measure<'_>,
    order: Order,
    data: &Data,
    frame: usize,
    (item, address): (ItemId, Option<u64>),
) -> Result<Stored> {
    let layout = measure.layout;
    let outermost = measure.scope.frame();
    let mut shape = Vec::new();
    let Element { base, count, filter, is_compressed, .. } =
        measure.scope.element(layout, data, frame, |len| shape.push(len))?;
    let base = match base {
        Base::Primitive(primitive, stated) => Closed::Primitive(primitive, stated.unwrap_or(order)),
        Base::Struct(id, frame) => {
            let len = layout.free_names(id).len();
            Closed::Struct(id, measure.scope.free(frame, len).into())
        }
    };
    measure.scope.leave(outermost);
    let (outer, trail, shape) = (Vec::new(), Vec::new(), count.map(|_| shape));
    Ok(Stored { item, trail, base, outer, shape, address, filter, is_compressed })
}

/// Returns the description of a stored parameter at an address, or `None` if the parameter is
/// fixed.
fn param(value: ParamValue, order: Order, item: ItemId, address: Option<u64>) -> Option<Stored> {
    let ParamValue::Stored { integer, order: stated, .. } = value else { return None };
    let base = Closed::Primitive(integer, stated.unwrap_or(order));
    let (outer, trail, shape) = (Vec::new(), Vec::new(), Some(Vec::new()));
    Some(Stored { item, trail, base, outer, shape, address, filter: None, is_compressed: false })
}

#[allow(clippy::unnecessary_box_returns, reason = "errors in results are boxed")]
fn internal() -> Box<Trouble> {
    Trouble::Stopped.into()
}
