//! The values of stored parameters, which are read from a file or supplied by the caller.

use binio::ReadAt;
use binio::diagnostic::count;

use super::align::COUNT_LEN;
use super::inputs::Inputs;
use super::integer::read;
use super::measure::{Facts, Measure, Step};
use super::scope::{Base, Element, Result, Trouble};
use super::sizes::{Numbers, add, multiply};
use super::values::Values;
use crate::diagnostic::Code;
use crate::layout::{
    ItemId, Layout, Order, ParamId, ParamValue, Primitive, Scope as Owner, push_name,
};
use crate::text::quote;

/// The source of the values from which sizes are computed: a stream, or values that the caller
/// supplied.
pub(crate) struct Stream<'r> {
    sizes: Numbers,
    source: Option<&'r dyn ReadAt>,
    values: &'r Values,
    order: Order,
    /// The item being measured.
    item: ItemId,
    trail: Vec<Step>,
}

impl<'r> Stream<'r> {
    pub(crate) fn new(layout: &Layout, inputs: &'r Inputs<'r>) -> Self {
        let (source, values) = (inputs.stream, &inputs.rules.values);
        let order = inputs.default_order(layout);
        Self { sizes: Numbers, source, values, order, item: ItemId::ROOT, trail: Vec::new() }
    }

    /// Sets the path of the array or instance being measured.
    #[cfg(feature = "read")]
    pub(crate) fn at(&mut self, item: ItemId, trail: &[Step]) {
        self.item = item;
        self.trail.clear();
        self.trail.extend_from_slice(trail);
    }

    /// Returns `true` if all instances that follow an empty instance must be empty too.
    #[cfg(feature = "read")]
    pub(crate) fn is_size_of_all(&self) -> bool {
        self.source.is_some() || !self.values.has_elements()
    }

    /// Returns `true` if the caller supplied a value for a single instance or list element.
    #[cfg(feature = "write")]
    pub(crate) fn has_values_for_instances(&self) -> bool {
        self.values.has_elements()
    }

    /// Reads the length of a compressed array, and returns its size in bytes, including the count. Fails if the
    /// compressed bytes do not fit into the stream.
    fn compressed_len(&self, stream: &dyn ReadAt, address: u64) -> Result<u64> {
        let signed = Primitive::from_name("i8");
        let Some(integer) = signed else { return Ok(0) };
        let len = read(stream, address, integer, self.order)?;
        let left = stream.len().saturating_sub(address).saturating_sub(COUNT_LEN);
        match u64::try_from(len) {
            Ok(len) if len <= left => add(COUNT_LEN, len),
            _ => {
                let left = count(left, "compressed byte");
                let message =
                    format!("the count at address {address} is {len}, expected 0 to {left}");
                Err(Trouble::Is(Code::CompressedLength, message).into())
            }
        }
    }
}

impl<'r> Facts<'r> for Stream<'r> {
    type Sizes = Numbers;
    type Size = u64;
    type Factors = ();

    #[inline]
    fn sizes(&self) -> &Numbers {
        &self.sizes
    }

    #[inline]
    fn sizes_mut(&mut self) -> &mut Numbers {
        &mut self.sizes
    }

    #[inline]
    fn begin(&mut self, item: ItemId) {
        self.item = item;
    }

    fn enter(&mut self, step: Step) {
        self.trail.push(step);
    }

    fn leave(&mut self) {
        self.trail.pop();
    }

    fn stored_size(
        measure: &mut Measure<'r>,
        element: Element,
        base: Option<u64>,
        offset: Option<&u64>,
    ) -> Result<Option<u64>> {
        let address = address(base, offset)?;
        let (stream, values) = (measure.facts.source, measure.facts.values);
        if element.is_compressed {
            let Some(stream) = stream else {
                return Ok(values.compressed_len(|| measure.trail_path()));
            };
            measure.asked += 1;
            let len = address.map(|address| measure.facts.compressed_len(stream, address));
            return len.transpose();
        }
        let (Some(count), Base::Struct(id, frame)) = (element.count, element.base) else {
            return Ok(None);
        };
        if !element.is_array || stream.is_none() && !values.has_elements() {
            let size = measure.instance_size(id, frame, address)?;
            return size.map(|size| multiply(count, size)).transpose();
        }
        let mut total = 0;
        for index in 0..count {
            let address = address.map(|address| add(address, total)).transpose()?;
            measure.step()?;
            measure.facts.enter(Step::Instance(index));
            let size = measure.instance_size(id, frame, address)?;
            measure.facts.leave();
            let Some(size) = size else { return Ok(None) };
            // An instance after an empty instance is read from the same bytes, so it is empty too.
            if size == 0 && stream.is_some() {
                break;
            }
            total = add(total, size)?;
        }
        Ok(Some(total))
    }

    fn read_param(
        measure: &mut Measure<'r>,
        id: ParamId,
        base: Option<u64>,
        offset: Option<&u64>,
    ) -> Result<()> {
        let param = measure.layout.param(id);
        let ParamValue::Stored { integer, order, .. } = param.value else { return Ok(()) };
        let value = match measure.facts.source {
            // Without a stream, the values of dict parameters have been set before this pass.
            None if matches!(param.scope, Owner::Dict(_)) => return Ok(()),
            None => measure.given(id),
            Some(stream) => {
                measure.asked += 1;
                let address = address(base, offset)?;
                let order = order.unwrap_or(measure.facts.order);
                let read = |address| read(stream, address, integer, order);
                let left = |at| stream.len().saturating_sub(at);
                let is_held = address.is_some_and(|at| left(at) >= integer.size());
                match if is_held { None } else { measure.given(id) } {
                    None => address.map(read).transpose()?,
                    given => given,
                }
            }
        };
        measure.scope.set(id, value);
        Ok(())
    }
}

impl Measure<'_> {
    /// Returns the value that the caller supplied for a parameter of a dict or of the current
    /// struct, or `None` if there is no such value.
    fn given(&mut self, id: ParamId) -> Option<i64> {
        let values = self.facts.values;
        let by_name = values.get(self.layout.param_name(id));
        if !values.has_paths() {
            return by_name;
        }
        self.asked += 1;
        let scope = self.layout.param(id).scope;
        let is_instance = |step: &&Step| matches!(step, Step::Instance(_));
        let indices = match scope {
            Owner::Dict(_) => 0,
            Owner::Struct(_) => self.facts.trail.iter().filter(is_instance).count(),
        };
        let mut path = String::new();
        // A value for a path without an index applies to all instances, so drop the indices one by one,
        // beginning with the innermost.
        for indices in (0..=indices).rev() {
            path = match scope {
                Owner::Dict(_) => self.layout.subject_path(id.into()),
                Owner::Struct(_) => self.field_path(id, indices),
            };
            // Count long paths as extra steps, because names may be as long as the layout text.
            self.steps += path.len() as u64 / 64;
            if let Some(value) = values.get(&path) {
                return Some(value);
            }
        }
        values.get(&without_elements(&path)).or(by_name)
    }

    /// Returns `true` if the caller supplied a value for a single instance of the array being measured.
    #[cfg(feature = "write")]
    pub(crate) fn has_values_for_instances(&self) -> bool {
        self.facts.values.has_index_after(&self.trail_path())
    }

    /// Returns the path of a parameter in the instance being measured. The path contains only the first
    /// `indices` indices of instances.
    fn field_path(&self, id: ParamId, indices: usize) -> String {
        let mut path = self.path(indices);
        path.push('.');
        push_name(&mut path, self.layout.param_name(id));
        path
    }

    /// Returns the path of the array or instance being measured.
    pub(crate) fn trail_path(&self) -> String {
        self.path(usize::MAX)
    }

    fn path(&self, mut indices: usize) -> String {
        use std::fmt::Write as _;

        let mut path = self.layout.path(self.facts.item);
        for step in &self.facts.trail {
            match *step {
                Step::Member(id) => {
                    path.push('.');
                    push_name(&mut path, self.layout.member_name(id));
                }
                Step::Instance(index) if indices > 0 => {
                    indices -= 1;
                    let _ = write!(path, "[{index}]");
                }
                Step::Instance(_) => {}
            }
        }
        path
    }
}

fn address(base: Option<u64>, offset: Option<&u64>) -> Result<Option<u64>> {
    base.zip(offset).map(|(base, offset)| add(base, *offset)).transpose()
}

/// Removes the indices of instances and list elements from a path. A value for a path without indices applies
/// to all instances and list elements.
fn without_elements(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find(['[', '"']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        if from.starts_with('"') {
            let len = quote::quoted_len(from.as_bytes()).unwrap_or(from.len());
            let (name, after) = from.split_at(len);
            plain.push_str(name);
            rest = after;
        } else {
            rest = from.split_once(']').map_or("", |(_, after)| after);
        }
    }
    plain + rest
}
