//! What lies in the data of an item: members, instances, and their members.

use binio::array::{self, Strided, c_strides};

use super::Rules;
use super::measure::{Measure, Visited};
use super::scope::{Base, Element, Number, Result, Scope, Trouble, add, multiply};
use super::strided::{of_base, scalar};
use super::table::{Entry, dtype};
use crate::diagnostic::Code;
use crate::layout::{
    Data, Datatype, Field, FilterId, Inside, Layout, Order, ParamValue, Primitive, Subject, TypeId,
};

/// What is stored somewhere, with the numbers that its shapes need. It needs nothing else of what encloses
/// it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    base: Closed,
    /// Of the arrays of instances that enclose it: lengths, and bytes from one instance to the next.
    outer: Vec<(u64, u64)>,
    /// Its own dimensions; none if they depend on what is not known.
    shape: Option<Vec<u64>>,
    /// Of the first.
    address: Option<u64>,
    filter: Option<FilterId>,
    is_compressed: bool,
}

/// The type of its elements.
#[derive(Clone, Debug)]
enum Closed {
    Primitive(Primitive, Order),
    /// With the values of its free names.
    Struct(TypeId, Box<[Number]>),
}

/// Why something has no strides.
pub(crate) type Reason = &'static str;

/// Looks into data, with the values of the parameters of dicts.
pub(crate) struct Inner<'r> {
    pub(super) measure: Measure<'r>,
    order: Order,
}

/// A field of an instance.
pub(crate) struct Part {
    pub(crate) field: Field,
    pub(crate) stored: Stored,
    pub(crate) nbytes: Option<u64>,
    /// Of a parameter.
    pub(crate) value: Option<i64>,
}

impl Stored {
    pub(crate) fn address(&self) -> Option<u64> {
        self.address
    }

    /// Its dimensions without those of the instances that enclose it.
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

    /// Whether its instances may differ in size.
    pub(crate) fn is_ragged(&self, layout: &Layout) -> bool {
        let id = self.struct_type().filter(|_| !self.is_compressed);
        id.is_some_and(|id| layout.struct_type(id).is_indeterminate)
    }

    /// Whether no array of instances encloses it.
    pub(crate) fn is_alone(&self) -> bool {
        self.outer.is_empty()
    }

    /// Whether it is one instance or one element.
    pub(crate) fn is_single(&self) -> bool {
        self.outer.is_empty() && self.shape.as_ref().is_some_and(Vec::is_empty)
    }

    /// The same as if it were not compressed.
    pub(crate) fn without_filter(&self) -> Self {
        Self { is_compressed: false, ..self.clone() }
    }

    /// One of its instances, which lies at an address.
    pub(crate) fn instance_at(&self, address: Option<u64>) -> Self {
        Self { outer: Vec::new(), shape: Some(Vec::new()), address, ..self.clone() }
    }
}

impl<'r> Inner<'r> {
    pub(crate) fn new(layout: &'r Layout, rules: &'r Rules<'r>, values: &[Number]) -> Self {
        let measure = Measure::new(layout, rules, Scope::new(values.to_vec()));
        Self { measure, order: rules.default_order(layout) }
    }

    /// The name of the type of its elements.
    pub(crate) fn dtype(&self, stored: &Stored) -> String {
        let datatype = match stored.base {
            Closed::Primitive(primitive, order) => Datatype::Primitive(primitive, Some(order)),
            Closed::Struct(id, _) => Datatype::Struct(id),
        };
        dtype(self.measure.layout, datatype)
    }

    /// The number of the instance that holds an address, and that instance.
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

    /// What a row stores.
    pub(crate) fn of_row(&mut self, entry: &Entry<'_>) -> Result<Stored> {
        let (layout, address) = (self.measure.layout, entry.address());
        match entry.row().subject() {
            Subject::Param(id) => Ok(self.of_param(layout.param(id).value, address)),
            Subject::Item(id) => match layout.data_of(id) {
                Some(data) => {
                    self.measure.begin(id);
                    self.of_data(data, 0, address)
                }
                None => Err(internal()),
            },
            _ => Err(internal()),
        }
    }

    fn of_param(&self, value: ParamValue, address: Option<u64>) -> Stored {
        let (integer, order) = match value {
            ParamValue::Stored { integer, order, .. } => (integer, order),
            ParamValue::Fixed(_) => (Primitive::BYTE, None),
        };
        Stored {
            base: Closed::Primitive(integer, order.unwrap_or(self.order)),
            outer: Vec::new(),
            shape: Some(Vec::new()),
            address,
            filter: None,
            is_compressed: false,
        }
    }

    /// What an array stores whose enclosing struct has its free names at `frame`.
    fn of_data(&mut self, data: &Data, frame: usize, address: Option<u64>) -> Result<Stored> {
        let order = self.order;
        stored(&mut self.measure, order, data, frame, address)
    }

    /// The fields of an instance, and its size.
    pub(crate) fn parts(&mut self, instance: &Stored) -> Result<(Vec<Part>, Option<u64>)> {
        let Closed::Struct(id, free) = &instance.base else { return Ok((Vec::new(), Some(0))) };
        let mut parts = Vec::new();
        let (order, address) = (self.order, instance.address);
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
                    let ParamValue::Stored { integer, order: stated, .. } = value else {
                        return Ok(());
                    };
                    let stored = Stored {
                        base: Closed::Primitive(integer, stated.unwrap_or(order)),
                        outer: Vec::new(),
                        shape: Some(Vec::new()),
                        address: at,
                        filter: None,
                        is_compressed: false,
                    };
                    (stored, measure.scope.params[id.index()].known())
                }
                Field::Member(id) => {
                    let data = layout.data(layout.member(id).data);
                    let inner = measure.scope.frame();
                    let stored = stored(measure, order, data, frame, at)?;
                    measure.scope.leave(inner);
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
            // Instances that are alike.
            part.stored.outer.clone_from(&instance.outer);
        }
        Ok((parts, size))
    }

    /// The size of one element.
    pub(crate) fn size(&mut self, stored: &Stored) -> Result<Option<u64>> {
        match &stored.base {
            Closed::Primitive(primitive, _) => Ok(Some(primitive.size())),
            Closed::Struct(id, free) => {
                let frame = self.measure.scope.enter(free);
                let is_ragged = self.measure.layout.struct_type(*id).is_indeterminate;
                let size = if is_ragged {
                    self.measure.fields(*id, frame, stored.address, None)?
                } else {
                    Some(self.measure.struct_size(*id, frame)?)
                };
                self.measure.scope.leave(frame);
                Ok(size)
            }
        }
    }

    /// A step inwards: `None` if there is no such instance, or if a member is of many instances that differ
    /// in size.
    pub(crate) fn step(&mut self, stored: &Stored, step: Inside) -> Result<Option<Stored>> {
        match step {
            Inside::Instance(index) => self.instance(stored, index),
            Inside::Field(field) => {
                let is_ragged = stored.is_ragged(self.measure.layout);
                let Some(shape) = &stored.shape else { return Ok(None) };
                if is_ragged && !stored.is_single() || stored.is_compressed {
                    return Ok(None);
                }
                let mut of_all = stored.clone();
                if !is_ragged {
                    let mut stride = self.size(stored)?.unwrap_or_default();
                    let start = of_all.outer.len();
                    for &len in shape.iter().rev() {
                        of_all.outer.insert(start, (len, stride));
                        stride = multiply(stride, len)?;
                    }
                    of_all.shape = Some(Vec::new());
                }
                let (parts, _) = self.parts(&of_all)?;
                let found = parts.into_iter().find(|part| part.field == field);
                Ok(found.map(|part| part.stored))
            }
        }
    }

    /// One of the instances, counted through all dimensions.
    fn instance(&mut self, stored: &Stored, index: u64) -> Result<Option<Stored>> {
        if stored.count().is_none_or(|count| index >= count) || stored.is_compressed {
            return Ok(None);
        }
        let one = Stored { shape: Some(Vec::new()), ..stored.clone() };
        if !stored.is_ragged(self.measure.layout) {
            let offset = multiply(self.size(stored)?.unwrap_or_default(), index)?;
            let address = stored.address.map(|address| add(address, offset)).transpose()?;
            return Ok(Some(Stored { address, ..one }));
        }
        let mut at = one;
        for _ in 0..index {
            match self.size(&at)? {
                Some(0) => break,
                Some(size) => {
                    at.address = at.address.map(|address| add(address, size)).transpose()?;
                }
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The type for [`binio::array`] and the place of all elements in `len` bytes, or why it has none.
    pub(crate) fn strided(
        &mut self,
        stored: &Stored,
        len: u64,
    ) -> Result<std::result::Result<(array::Datatype, Strided), Reason>> {
        let Some(address) = stored.address else {
            return Ok(Err("its address depends on the stream"));
        };
        if stored.is_compressed {
            return Ok(Err("it is compressed"));
        }
        let Some((datatype, shape)) = self.array_type(stored)? else {
            return Ok(Err("the instances of its struct differ in size"));
        };
        let outer = || stored.outer.iter();
        let signed = |&(_, stride): &(u64, u64)| i64::try_from(stride).unwrap_or(i64::MAX);
        let mut strides: Vec<i64> = outer().map(signed).collect();
        let itemsize = datatype.itemsize();
        strides.extend(c_strides(&shape, itemsize).map_err(binio::Error::from)?);
        let shape = outer().map(|&(len, _)| len).chain(shape).collect();
        let strided = Strided::new(shape, strides, address, itemsize, len);
        Ok(Ok((datatype, strided.map_err(binio::Error::from)?)))
    }

    /// The type of the elements and their own dimensions, without the length of text; none for instances that
    /// differ in size, and for a shape that is not known.
    pub(crate) fn array_type(
        &mut self,
        stored: &Stored,
    ) -> Result<Option<(array::Datatype, Vec<u64>)>> {
        let Some(mut shape) = stored.shape.clone() else { return Ok(None) };
        let layout = self.measure.layout;
        let datatype = match &stored.base {
            Closed::Primitive(primitive, order) => scalar(*primitive, Some(*order), &mut shape)?,
            Closed::Struct(id, _) if layout.struct_type(*id).is_indeterminate => return Ok(None),
            Closed::Struct(id, _) if layout.struct_type(*id).depth > array::MAX_RECORD_DEPTH => {
                let message = "structs nest deeper than records of numpy".to_owned();
                return Err(Trouble::Is(Code::BeyondLimit, message).into());
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
        Ok(Some((datatype, shape)))
    }
}

/// What an array stores.
fn stored(
    measure: &mut Measure<'_>,
    order: Order,
    data: &Data,
    frame: usize,
    address: Option<u64>,
) -> Result<Stored> {
    let layout = measure.layout;
    let outermost = measure.scope.frame();
    let mut shape = Vec::new();
    let Element { base, count, filter, is_compressed } =
        measure.scope.element(layout, data, frame, |len| shape.push(len))?;
    let base = match base {
        Base::Primitive(primitive, stated) => Closed::Primitive(primitive, stated.unwrap_or(order)),
        Base::Struct(id, frame) => {
            let len = layout.free_names(id).len();
            Closed::Struct(id, measure.scope.free(frame, len).into())
        }
    };
    measure.scope.leave(outermost);
    let shape = count.map(|_| shape);
    Ok(Stored { base, outer: Vec::new(), shape, address, filter, is_compressed })
}

#[allow(clippy::unnecessary_box_returns, reason = "results have boxed errors")]
fn internal() -> Box<Trouble> {
    Trouble::Stopped.into()
}
