//! Walking the members of structs.

use std::ops::{ControlFlow, Deref};

use super::measure::{Facts as _, Measure, Step, Visited};
use super::pass::to_error;
use super::resolver::Resolver;
use super::scope::{Base, Element, Frame, Result, Scope, Trouble};
use super::sizes::{add, multiply};
use super::table::{AddressTable, Row, dtype};
use crate::error::Error;
use crate::layout::{Datatype, Field, Filter, Layout, Order, ParamValue, Subject};

/// A member or stored parameter of a struct, in a single instance or in all instances of an array.
#[derive(Clone)]
#[non_exhaustive]
pub struct MemberRow<'a> {
    /// The path: `/item.member`, or `/item[2].member` if the instances may differ in size.
    pub path: String,
    /// The address of the member in the first instance, in bytes from the start of the stream.
    /// `None` if the address cannot be computed without a stream.
    pub address: Option<u64>,
    /// The dimensions of the enclosing arrays of instances, followed by the dimensions of the member.
    pub shape: Vec<u64>,
    /// The distance in bytes between instances, for each dimension of the enclosing arrays.
    pub strides: Vec<u64>,
    /// The type of the elements, including the byte order.
    pub datatype: Datatype,
    /// The size in bytes of the member in one instance, or `None` if the size cannot be computed
    /// without a stream.
    pub nbytes: Option<u64>,
    pub(crate) layout: &'a Layout,
    pub(crate) element: Option<Element>,
    /// The number of leading dimensions that belong to the item, not to a nested struct.
    #[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "used only for JSON"))]
    pub(crate) outer: usize,
}

impl<'a> MemberRow<'a> {
    /// Returns the name of the type, as in [`Entry::dtype`](super::Entry::dtype).
    pub fn dtype(&self) -> String {
        dtype(self.layout, self.datatype).into_owned()
    }

    /// Returns the filter, or `None` if there is no filter. If typedefs add filters, the outermost
    /// `->` filter takes precedence.
    pub fn filter(&self) -> Option<&'a Filter> {
        self.element.and_then(|element| element.filter(self.layout))
    }
}

/// The arrays of instances that enclose a member.
#[derive(Clone, Default)]
struct Around {
    address: Option<u64>,
    shape: Vec<u64>,
    strides: Vec<u64>,
    outer: usize,
}

impl<L: Deref<Target = Layout> + Clone> Resolver<'_, L> {
    /// Calls `visit` with each of `rows`, followed by the members of its struct and their own members, until
    /// `visit` returns `Break`. Members are not collected, because there may be too many: their number doubles
    /// with each type that has two members of another struct type.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use dudley::{Layout, Resolver};
    ///
    /// let layout = Layout::parse("x = {a = i1  b = f8[2]}[3]")?;
    /// let resolver = Resolver::new(&layout);
    /// let table = resolver.table()?;
    /// let mut rows = Vec::new();
    /// resolver.walk(&table, table.rows(), |_, member| {
    ///     rows.extend(member.map(|it| (it.path, it.address, it.shape, it.strides)));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(rows[1], ("/x.b".to_owned(), Some(8), vec![3, 2], vec![24]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`table`](Self::table).
    pub fn walk<'r>(
        &'r self,
        table: &AddressTable<L>,
        rows: &[Row],
        mut visit: impl FnMut(Row, Option<MemberRow<'r>>) -> ControlFlow<()>,
    ) -> std::result::Result<(), Error> {
        let scope = Scope::new(table.values.clone());
        let mut measure = Measure::to_list(&self.layout, &self.inputs, scope);
        for &row in rows {
            if visit(row, None).is_break() {
                return Ok(());
            }
            let mut sink = |member| match visit(row, Some(member)) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Trouble::Stopped.into()),
            };
            match of_row(&mut measure, row, table.order(), &mut sink) {
                Ok(()) => {}
                Err(trouble) if matches!(*trouble, Trouble::Stopped) => return Ok(()),
                Err(trouble) => return Err(to_error(&self.layout, *trouble, row.subject())),
            }
        }
        Ok(())
    }
}

type Sink<'s, 'a> = dyn FnMut(MemberRow<'a>) -> Result<()> + 's;

fn of_row<'a>(
    measure: &mut Measure<'a>,
    row: Row,
    order: Order,
    sink: &mut Sink<'_, 'a>,
) -> Result<()> {
    let Subject::Item(id) = row.subject() else { return Ok(()) };
    let Some(data) = measure.layout.data_of(id) else { return Ok(()) };
    let mut shape = Vec::new();
    let element = measure.scope.element(measure.layout, data, 0, |len| shape.push(len))?;
    let outer = shape.len();
    measure.facts.begin(id);
    let around = Around { address: row.address(), outer, ..Around::default() };
    of_array(measure, &element, shape, &around, order, sink)?;
    measure.scope.leave(0);
    Ok(())
}

/// Walks the members of an array of structs.
fn of_array<'a>(
    measure: &mut Measure<'a>,
    element: &Element,
    shape: Vec<u64>,
    around: &Around,
    order: Order,
    sink: &mut Sink<'_, 'a>,
) -> Result<()> {
    let Base::Struct(id, frame) = element.base else { return Ok(()) };
    if element.is_compressed {
        return Ok(());
    }
    let is_indeterminate = measure.layout.struct_type(id).is_indeterminate;
    let size = if is_indeterminate { None } else { measure.struct_size(id, frame)? };
    if let Some(mut stride) = size {
        let mut inside = around.clone();
        let start = inside.strides.len();
        for &len in shape.iter().rev() {
            inside.strides.insert(start, stride);
            stride = multiply(stride, len)?;
        }
        inside.shape.extend(shape);
        return of_instance(measure, element, frame, &inside, order, sink).map(|_| ());
    }
    if shape.is_empty() {
        return of_instance(measure, element, frame, around, order, sink).map(|_| ());
    }
    let mut inside = Around { outer: 0, ..around.clone() };
    for index in 0..element.count.unwrap_or_default() {
        measure.facts.enter(Step::Instance(index));
        let size = of_instance(measure, element, frame, &inside, order, sink)?;
        measure.facts.leave();
        if size == Some(0) {
            break;
        }
        inside.address = match (inside.address, size) {
            (Some(address), Some(size)) => Some(add(address, size)?),
            _ => None,
        };
    }
    Ok(())
}

/// Walks the members of one instance, or of several instances that do not differ in size. Returns the size of
/// one instance.
fn of_instance<'a>(
    measure: &mut Measure<'a>,
    element: &Element,
    frame: Frame,
    around: &Around,
    order: Order,
    sink: &mut Sink<'_, 'a>,
) -> Result<Option<u64>> {
    let Base::Struct(id, _) = element.base else { return Ok(None) };
    let visit = &mut |measure: &mut Measure<'a>, visited: Visited| {
        let address = match (around.address, visited.placed.offset) {
            (Some(base), Some(offset)) => Some(add(base, offset)?),
            _ => None,
        };
        of_field(measure, &visited, frame, &Around { address, ..around.clone() }, order, sink)
    };
    measure.fields(id, frame, around.address, Some(visit))
}

fn of_field<'a>(
    measure: &mut Measure<'a>,
    visited: &Visited,
    frame: Frame,
    around: &Around,
    order: Order,
    sink: &mut Sink<'_, 'a>,
) -> Result<()> {
    match visit_field(measure, visited, frame, around, order, sink)? {
        Some((element, own)) => of_array(measure, &element, own, around, order, sink),
        None => Ok(()),
    }
}

/// Calls `sink` with a field. If the field is a member, returns its element and dimensions. This is
/// a separate function to keep the stack frames of the recursive functions small.
fn visit_field<'a>(
    measure: &mut Measure<'a>,
    visited: &Visited,
    frame: Frame,
    around: &Around,
    order: Order,
    sink: &mut Sink<'_, 'a>,
) -> Result<Option<(Element, Vec<u64>)>> {
    let layout = measure.layout;
    let mut path = measure.trail_path();
    let mut own = Vec::new();
    let (datatype, element) = match visited.field {
        Field::Param(id) => {
            path.push('.');
            crate::layout::push_name(&mut path, layout.param_name(id));
            let ParamValue::Stored { integer, order: stated, .. } = layout.param(id).value else {
                return Ok(None);
            };
            (Datatype::Primitive(integer, stated.or(Some(order))), None)
        }
        Field::Member(id) => {
            let data = layout.data(layout.member(id).data);
            let inner = measure.scope.frame();
            let element = measure.scope.element(layout, data, frame, |len| own.push(len))?;
            measure.scope.leave(inner);
            (element.datatype(order), visited.element)
        }
    };
    let mut shape = around.shape.clone();
    shape.extend(&own);
    sink(MemberRow {
        layout,
        path,
        address: around.address,
        shape,
        strides: around.strides.clone(),
        datatype,
        nbytes: visited.placed.nbytes,
        element,
        outer: around.outer,
    })?;
    Ok(element.map(|element| (element, own)))
}
