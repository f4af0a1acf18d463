//! The values of names, and the element and count of an array for these values.

use std::ops::Deref;

use crate::diagnostic::Code;
use crate::layout::{
    Binding, Data, Datatype, Dim, FilterId, FilterKind, Layout, MemberId, Order, ParamId,
    ParamValue, Primitive, TypeId,
};

/// The largest size or address.
pub(crate) const MAX: u64 = i64::MAX.unsigned_abs();

/// The value of a name in a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    Known(i64),
    /// This parameter has no value.
    Missing(ParamId),
}

impl Number {
    pub(crate) fn known(self) -> Option<i64> {
        match self {
            Self::Known(value) => Some(value),
            Self::Missing(_) => None,
        }
    }
}

/// Why an array has no size, or no address.
#[derive(Debug)]
pub(crate) enum Trouble {
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
pub(crate) type Result<T> = std::result::Result<T, Box<Trouble>>;

#[allow(clippy::unnecessary_box_returns, reason = "a result would be returned in memory")]
#[cold]
fn overflow(what: &str) -> Box<Trouble> {
    Trouble::Is(Code::Overflow, format!("{what} is above 2^63-1")).into()
}

#[inline]
pub(crate) fn add(a: u64, b: u64) -> Result<u64> {
    match a.checked_add(b) {
        Some(sum) if sum <= MAX => Ok(sum),
        _ => Err(overflow("the address")),
    }
}

#[inline]
pub(crate) fn multiply(a: u64, b: u64) -> Result<u64> {
    match a.checked_mul(b) {
        Some(product) if product <= MAX => Ok(product),
        _ => Err(overflow("the size")),
    }
}

/// The next multiple of a power of two.
#[inline]
pub(crate) fn round_up(address: u64, align: u64) -> Result<u64> {
    Ok(add(address, align - 1)? & !(align - 1))
}

/// The values of parameters, and of the free names of the current structs.
#[derive(Clone)]
pub(crate) struct Scope<P = Vec<Number>> {
    /// By number of the parameter.
    pub(crate) params: P,
    free: Vec<Number>,
}

/// Where the values of a struct's free names begin.
pub(crate) type Frame = usize;

/// The element of an array, typedefs resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    pub(crate) base: Base,
    /// The product of all dimensions; none if it depends on the unknown value of a parameter stored in a
    /// struct.
    pub(crate) count: Option<u64>,
    /// The outermost `->`, or else the outermost `<-`.
    pub(crate) filter: Option<FilterId>,
    /// Whether that is `->`.
    pub(crate) is_compressed: bool,
}

/// The dimensions and the filter of an array, typedefs included.
#[derive(Clone, Copy)]
struct Extent {
    /// The product of the dimensions. One that is too large stays at the largest number, or becomes 0.
    count: u64,
    is_known: bool,
    filter: Option<FilterId>,
    is_compressed: bool,
}

impl Default for Extent {
    fn default() -> Self {
        Self { count: 1, is_known: true, filter: None, is_compressed: false }
    }
}

impl Extent {
    #[inline]
    fn finish(self, base: Base) -> Result<Element> {
        let count = match self.count {
            0 => Some(0),
            _ if !self.is_known => None,
            1..=MAX => Some(self.count),
            _ => return Err(overflow("the size")),
        };
        Ok(Element { base, count, filter: self.filter, is_compressed: self.is_compressed })
    }
}

/// The type of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    Primitive(Primitive, Option<Order>),
    /// Not a typedef. The values of its free names begin at the frame.
    Struct(TypeId, Frame),
}

impl Scope {
    /// A scope with the values of fixed parameters.
    pub(crate) fn of(layout: &Layout) -> Self {
        let value = |id: ParamId| match layout.param(id).value {
            ParamValue::Fixed(value) => Number::Known(value),
            ParamValue::Stored { .. } => Number::Missing(id),
        };
        Self::new(layout.params().map(value).collect())
    }

    pub(crate) fn set(&mut self, id: ParamId, value: Option<i64>) {
        self.params[id.index()] = value.map_or(Number::Missing(id), Number::Known);
    }
}

impl<P: Deref<Target = [Number]>> Scope<P> {
    pub(crate) fn new(params: P) -> Self {
        Self { params, free: Vec::new() }
    }

    pub(crate) fn frame(&self) -> Frame {
        self.free.len()
    }

    /// Removes the values of free names from `frame` on.
    pub(crate) fn leave(&mut self, frame: Frame) {
        self.free.truncate(frame);
    }

    /// The values of free names from `frame` on.
    pub(crate) fn free(&self, frame: Frame, len: usize) -> &[Number] {
        &self.free[frame..frame + len]
    }

    /// Adds the values of the free names of a struct.
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "for data only"))]
    pub(crate) fn enter(&mut self, free: &[Number]) -> Frame {
        let frame = self.frame();
        self.free.extend_from_slice(free);
        frame
    }

    #[inline]
    fn value(&self, binding: Binding, frame: Frame) -> Number {
        match binding {
            Binding::Param(id) => self.params[id.index()],
            Binding::Free(index) => self.free[frame + index as usize],
        }
    }

    /// The element of an array; `frame` has the values of the enclosing struct. `dim` is called with the
    /// dimensions, outermost first.
    #[inline]
    pub(crate) fn element(
        &mut self,
        layout: &Layout,
        data: &Data,
        frame: Frame,
        dim: impl FnMut(u64),
    ) -> Result<Element> {
        self.element_inlined(layout, data, frame, dim)
    }

    /// As [`element`](Self::element), where copying the result would take longer than computing it. It takes
    /// much of the stack: not for what recurses.
    #[allow(clippy::inline_always, reason = "see above")]
    #[inline(always)]
    pub(crate) fn element_inlined(
        &mut self,
        layout: &Layout,
        data: &Data,
        frame: Frame,
        mut dim: impl FnMut(u64),
    ) -> Result<Element> {
        let extent = self.multiply(Extent::default(), layout, data, frame, &mut dim)?;
        match data.datatype {
            Datatype::Primitive(primitive, order) => {
                extent.finish(Base::Primitive(primitive, order))
            }
            Datatype::Struct(id) => {
                let frame = self.bind(layout, data, frame);
                match layout.typedef_member(id) {
                    None => extent.finish(Base::Struct(id, frame)),
                    Some(member) => self.stands_for(extent, layout, member, frame, &mut dim),
                }
            }
        }
    }

    /// The element of a typedef, which may be another typedef.
    #[allow(clippy::inline_always, reason = "copying the result takes longer than computing it")]
    #[inline(always)]
    fn stands_for(
        &mut self,
        mut extent: Extent,
        layout: &Layout,
        mut member: MemberId,
        mut frame: Frame,
        dim: &mut impl FnMut(u64),
    ) -> Result<Element> {
        loop {
            let data = layout.data(layout.member(member).data);
            extent = self.multiply(extent, layout, data, frame, dim)?;
            let id = match data.datatype {
                Datatype::Primitive(primitive, order) => {
                    return extent.finish(Base::Primitive(primitive, order));
                }
                Datatype::Struct(id) => id,
            };
            frame = self.bind(layout, data, frame);
            match layout.typedef_member(id) {
                None => return extent.finish(Base::Struct(id, frame)),
                Some(next) => member = next,
            }
        }
    }

    /// Adds the values of the free names of a struct.
    #[inline]
    fn bind(&mut self, layout: &Layout, data: &Data, frame: Frame) -> Frame {
        let inner = self.frame();
        for &binding in layout.bindings(data) {
            let value = self.value(binding, frame);
            self.free.push(value);
        }
        inner
    }

    /// Adds the dimensions and the filter of a declaration.
    #[allow(clippy::inline_always, reason = "copying the result takes longer than computing it")]
    #[inline(always)]
    fn multiply(
        &self,
        mut extent: Extent,
        layout: &Layout,
        data: &Data,
        frame: Frame,
        dim: &mut impl FnMut(u64),
    ) -> Result<Extent> {
        for &stated in layout.shape(data) {
            let len = match stated {
                Dim::Fixed(-1) => Len::Removed,
                Dim::Fixed(len) => Len::Known(len.unsigned_abs()),
                Dim::Named(binding, suffix) => self.named(layout, binding, suffix, frame)?,
            };
            match len {
                Len::Removed => {}
                Len::Unknown => extent.is_known = false,
                Len::Known(len) => {
                    extent.count = extent.count.saturating_mul(len);
                    dim(len);
                }
            }
        }
        if let Some(id) = data.filter {
            let compresses = layout.filter_of(id).kind == FilterKind::Compress;
            if extent.filter.is_none() || compresses && !extent.is_compressed {
                (extent.filter, extent.is_compressed) = (Some(id), compresses);
            }
        }
        Ok(extent)
    }

    /// A named dimension.
    #[inline]
    fn named(&self, layout: &Layout, binding: Binding, suffix: i32, frame: Frame) -> Result<Len> {
        match self.value(binding, frame) {
            Number::Known(-1) => Ok(Len::Removed),
            Number::Known(0) => Ok(Len::Known(0)),
            Number::Known(value @ 1..) => match value.checked_add(suffix.into()) {
                Some(len) => Ok(Len::Known(len.max(0).unsigned_abs())),
                None => Err(overflow("a dimension")),
            },
            Number::Known(value) => Err(too_small(binding, value)),
            Number::Missing(id) => without_length(layout, id),
        }
    }
}

/// A dimension whose parameter has no value. Those of structs may be in a stream that is not given.
#[cold]
fn without_length(layout: &Layout, id: ParamId) -> Result<Len> {
    if matches!(layout.param(id).scope, crate::layout::Scope::Struct(_)) {
        return Ok(Len::Unknown);
    }
    let name = layout.param_name(id);
    let message = format!("the value of parameter `{name}` is not known");
    Err(Trouble::Param(Code::ValueUnknown, id, message).into())
}

#[allow(clippy::unnecessary_box_returns, reason = "a result would be returned in memory")]
#[cold]
fn too_small(binding: Binding, value: i64) -> Box<Trouble> {
    let message = format!("a dimension is {value}, expected at least -1");
    Box::new(match binding {
        Binding::Param(id) => Trouble::Param(Code::ParamTooSmall, id, message),
        Binding::Free(_) => Trouble::Is(Code::ParamTooSmall, message),
    })
}

enum Len {
    /// -1: the dimension does not exist.
    Removed,
    Unknown,
    Known(u64),
}
