//! The values of names, and the element and count of an array for these values.

use std::ops::Deref;

use crate::diagnostic::Code;
use crate::layout::{
    Binding, Data, Datatype, Dim, FilterId, FilterKind, Layout, Order, ParamId, ParamValue,
    Primitive, TypeId,
};

/// The largest size or address.
pub(super) const MAX: u64 = i64::MAX.unsigned_abs();

/// Numbers below this are not values: the rest is the number of a parameter without value.
const UNKNOWN: i64 = i64::MIN >> 1;

/// Why an array has no size, or no address.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A code and a message.
    Is(Code, String),
    /// A parameter has no value, or one below -1.
    Param(Code, ParamId, String),
    Read(binio::Error),
    /// The visitor of members has stopped.
    Stopped,
}

impl From<binio::Error> for Box<Trouble> {
    fn from(error: binio::Error) -> Self {
        Trouble::Read(error).into()
    }
}

/// The error is boxed, so that results are small.
pub(super) type Result<T> = std::result::Result<T, Box<Trouble>>;

#[cold]
fn overflow(what: &str) -> Trouble {
    Trouble::Is(Code::Overflow, format!("{what} is above 2^63-1"))
}

#[inline]
pub(super) fn add(a: u64, b: u64) -> Result<u64> {
    match a.checked_add(b) {
        Some(sum) if sum <= MAX => Ok(sum),
        _ => Err(overflow("the address").into()),
    }
}

#[inline]
pub(super) fn multiply(a: u64, b: u64) -> Result<u64> {
    match a.checked_mul(b) {
        Some(product) if product <= MAX => Ok(product),
        _ => Err(overflow("the size").into()),
    }
}

/// The next multiple of a power of two.
#[inline]
pub(super) fn round_up(address: u64, align: u64) -> Result<u64> {
    Ok(add(address, align - 1)? & !(align - 1))
}

/// The values of parameters, and of the free names of the current structs.
#[derive(Clone)]
pub(super) struct Scope<P = Vec<i64>> {
    /// By number of the parameter.
    pub(super) params: P,
    free: Vec<i64>,
}

/// Where the values of a struct's free names begin.
pub(super) type Frame = usize;

/// The element of an array, typedefs resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) base: Base,
    /// The product of all dimensions; none if it depends on the unknown value of a parameter stored in a
    /// struct.
    pub(super) count: Option<u64>,
    /// The outermost `->`.
    pub(super) compress: Option<FilterId>,
    /// The outermost `<-`.
    pub(super) reference: Option<FilterId>,
}

/// The type of an element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base {
    Primitive(Primitive, Option<Order>),
    /// Not a typedef. The values of its free names begin at the frame.
    Struct(TypeId, Frame),
}

impl Scope {
    /// A scope with the values of fixed parameters.
    pub(super) fn of(layout: &Layout) -> Self {
        let value = |(index, id): (usize, ParamId)| match layout.param(id).value {
            ParamValue::Fixed(value) => value,
            ParamValue::Stored { .. } => unknown(index),
        };
        let params = layout.params().enumerate().map(value).collect();
        Self::new(params)
    }

    pub(super) fn set(&mut self, id: ParamId, value: Option<i64>) {
        // All values that are far too small are treated alike.
        self.params[id.index()] = value.map_or(unknown(id.index()), |value| value.max(UNKNOWN));
    }
}

impl<P: Deref<Target = [i64]>> Scope<P> {
    pub(super) fn new(params: P) -> Self {
        Self { params, free: Vec::new() }
    }

    pub(super) fn frame(&self) -> Frame {
        self.free.len()
    }

    /// Removes the values of free names from `frame` on.
    pub(super) fn leave(&mut self, frame: Frame) {
        self.free.truncate(frame);
    }

    /// The values of free names from `frame` on.
    pub(super) fn free(&self, frame: Frame, len: usize) -> &[i64] {
        &self.free[frame..frame + len]
    }

    fn value(&self, binding: Binding, frame: Frame) -> i64 {
        match binding {
            Binding::Param(id) => self.params[id.index()],
            Binding::Free(index) => self.free[frame + index as usize],
        }
    }

    /// The element of an array; `frame` has the values of the enclosing struct. `dim` is called with the
    /// dimensions, outermost first. Inlined, since copying the result takes longer than computing it.
    #[inline]
    pub(super) fn element(
        &mut self,
        layout: &Layout,
        data: &Data,
        frame: Frame,
        mut dim: impl FnMut(u64),
    ) -> Result<Element> {
        let (mut data, mut frame) = (data, frame);
        // A product that is too large stays at the largest number, or becomes 0.
        let (mut count, mut is_known) = (1_u64, true);
        let (mut compress, mut reference) = (None, None);
        let base = loop {
            for &stated in layout.shape(data) {
                let extent = match stated {
                    Dim::Fixed(-1) => Extent::Removed,
                    Dim::Fixed(len) => Extent::Known(len.unsigned_abs()),
                    Dim::Named(binding, suffix) => self.named(layout, binding, suffix, frame)?,
                };
                match extent {
                    Extent::Removed => {}
                    Extent::Unknown => is_known = false,
                    Extent::Known(len) => {
                        count = count.saturating_mul(len);
                        dim(len);
                    }
                }
            }
            if let Some(id) = data.filter {
                let slot = match layout.filter(data).map(|filter| filter.kind) {
                    Some(FilterKind::Reference) => &mut reference,
                    _ => &mut compress,
                };
                slot.get_or_insert(id);
            }
            let id = match data.datatype {
                Datatype::Primitive(primitive, order) => break Base::Primitive(primitive, order),
                Datatype::Struct(id) => id,
            };
            let inner = self.frame();
            for &binding in layout.bindings(data) {
                let value = self.value(binding, frame);
                self.free.push(value);
            }
            frame = inner;
            match layout.typedef_member(id) {
                Some(member) => data = layout.data(layout.member(member).data),
                None => break Base::Struct(id, frame),
            }
        };
        let count = match count {
            0 => Some(0),
            _ if !is_known => None,
            1..=MAX => Some(count),
            _ => return Err(overflow("the size").into()),
        };
        Ok(Element { base, count, compress, reference })
    }

    /// A named dimension.
    #[inline]
    fn named(
        &self,
        layout: &Layout,
        binding: Binding,
        suffix: i32,
        frame: Frame,
    ) -> Result<Extent> {
        let value = self.value(binding, frame);
        match value {
            -1 => Ok(Extent::Removed),
            0 => Ok(Extent::Known(0)),
            1.. => match value.checked_add(suffix.into()) {
                Some(len) => Ok(Extent::Known(len.max(0).unsigned_abs())),
                None => Err(overflow("a dimension").into()),
            },
            UNKNOWN..=-2 => {
                let id = match binding {
                    Binding::Param(id) => Some(id),
                    Binding::Free(_) => None,
                };
                let message = if value == UNKNOWN {
                    "a dimension is far below -1".to_owned()
                } else {
                    format!("a dimension is {value}, expected at least -1")
                };
                Err(Box::new(match id {
                    Some(id) => Trouble::Param(Code::ParamTooSmall, id, message),
                    None => Trouble::Is(Code::ParamTooSmall, message),
                }))
            }
            _ => {
                let Some(id) = known_as(layout, value) else { return Ok(Extent::Unknown) };
                let name = layout.param_name(id);
                let message = format!("the value of parameter `{name}` is not known");
                Err(Trouble::Param(Code::ValueUnknown, id, message).into())
            }
        }
    }
}

enum Extent {
    /// -1: the dimension does not exist.
    Removed,
    Unknown,
    Known(u64),
}

/// Stands for the value of a parameter that has none.
fn unknown(index: usize) -> i64 {
    // There are fewer than 2^32.
    i64::MIN + i64::try_from(index).unwrap_or_default()
}

/// The parameter without value, if it belongs to a dict. Those of structs may be in a stream that is not
/// given.
fn known_as(layout: &Layout, value: i64) -> Option<ParamId> {
    let id = ParamId(u32::try_from(value.wrapping_sub(i64::MIN)).ok()?);
    let is_of_dict = || matches!(layout.param(id).scope, crate::layout::Scope::Dict(_));
    (id.index() < layout.param_count() && is_of_dict()).then_some(id)
}
