//! Finding the reason why the size of an item is not known without a stream.

use std::cell::Cell;
use std::convert::Infallible;

use super::measure::{Facts as _, Measure, Step, Visited};
use super::scope::{Base, Element, Frame, Len, Names, Result};
use crate::layout::{Data, Field, ItemId, Layout, ParamId, TypeId};

/// An array in a struct whose size is not known.
pub(crate) struct Unknown {
    /// The path of the array.
    pub(crate) path: String,
    /// A parameter without a value on which the shape depends, or `None` if the array is compressed.
    pub(crate) param: Option<ParamId>,
}

/// The last parameter without a value that occurred in a shape.
#[derive(Default)]
struct Missing(Cell<Option<ParamId>>);

impl Names for Missing {
    type Factor = Infallible;
    type Factors = ();

    fn push((): &mut (), factor: Infallible) {
        match factor {}
    }

    fn missing(&self, _: &Layout, param: ParamId, _: i32) -> Result<Len<Infallible>> {
        self.0.set(Some(param));
        Ok(Len::Unknown)
    }
}

impl<'r> Measure<'r> {
    /// Returns the first array in an item whose size is not known, or `None` if the size of the item is known.
    pub(crate) fn first_unknown(&mut self, item: ItemId) -> Result<Option<Unknown>> {
        let Some(data) = self.layout.data_of(item) else { return Ok(None) };
        self.facts.begin(item);
        in_array(self, data, 0)
    }

    /// Returns the element of an array, and a parameter without a value on which its shape depends. This is a
    /// separate function to keep the stack frames of the recursive functions small.
    #[inline(never)]
    fn element_and_missing(
        &mut self,
        data: &'r Data,
        frame: Frame,
    ) -> Result<(Element, Option<ParamId>)> {
        let missing = Missing::default();
        let element = self.scope.element_in(&missing, self.layout, data, frame, |_| ())?;
        Ok((element, missing.0.get()))
    }
}

/// Returns the first array of unknown size in an array, which may be the array itself. The values of the
/// enclosing struct's free names begin at `frame`. The recursion is bounded by the maximum nesting of types.
fn in_array<'r>(
    measure: &mut Measure<'r>,
    data: &'r Data,
    frame: Frame,
) -> Result<Option<Unknown>> {
    let outermost = measure.scope.frame();
    let (element, missing) = measure.element_and_missing(data, frame)?;
    let found = match (element.count, element.base) {
        (Some(0), _) => None,
        (None, _) => Some(Unknown { path: measure.trail_path(), param: missing }),
        _ if element.is_compressed => Some(Unknown { path: measure.trail_path(), param: None }),
        (Some(_), Base::Primitive(..)) => None,
        (Some(count), Base::Struct(id, frame)) => {
            // Without values for single instances, all instances are alike.
            let differ = element.is_array && measure.facts.has_values_for_instances();
            in_instances(measure, id, frame, differ.then_some(count))?
        }
    };
    measure.scope.leave(outermost);
    Ok(found)
}

/// Returns the first array of unknown size in `count` instances or, if `count` is `None`, in any instance.
fn in_instances(
    measure: &mut Measure<'_>,
    id: TypeId,
    frame: Frame,
    count: Option<u64>,
) -> Result<Option<Unknown>> {
    let Some(count) = count else { return in_instance(measure, id, frame) };
    for index in 0..count {
        measure.facts.enter(Step::Instance(index));
        let found = in_instance(measure, id, frame)?;
        measure.facts.leave();
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn in_instance<'r>(measure: &mut Measure<'r>, id: TypeId, frame: Frame) -> Result<Option<Unknown>> {
    let mut found = None;
    let visit = &mut |measure: &mut Measure<'r>, visited: Visited| {
        let Field::Member(member) = visited.field else { return Ok(()) };
        if found.is_none() && visited.placed.nbytes.is_none() {
            let data = measure.layout.data(measure.layout.member(member).data);
            found = in_array(measure, data, frame)?;
        }
        Ok(())
    };
    measure.fields(id, frame, None, Some(visit))?;
    Ok(found)
}
