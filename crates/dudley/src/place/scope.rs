//! Resolving the names in shapes. The values of parameters and free names determine the number of
//! elements of an array.

use std::ops::Deref;

use super::sizes::Numbers;
use crate::diagnostic::Code;
use crate::layout::{
    Binding, Data, Datatype, Dim, FilterId, FilterKind, Layout, Order, ParamId, ParamValue,
    Primitive, TypeId,
};

/// The largest valid size or address, 2^63-1.
pub(crate) const MAX: u64 = i64::MAX.unsigned_abs();

/// The value of a name in a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    Known(i64),
    /// The value of this parameter is not known.
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

/// The reason why the size or address of an array cannot be computed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A failure described by a code and a message.
    Is(Code, String),
    /// A parameter has no value, or its value is below -1.
    Param(Code, ParamId, String),
    Read(binio::Error),
    /// The callback stopped the walk.
    Stopped,
}

impl From<binio::Error> for Box<Trouble> {
    fn from(error: binio::Error) -> Self {
        Trouble::Read(error).into()
    }
}

/// A result with a boxed error. Boxing the error keeps the result small.
pub(crate) type Result<T> = std::result::Result<T, Box<Trouble>>;

#[allow(
    clippy::unnecessary_box_returns,
    reason = "with an unboxed error, results would be returned in memory"
)]
#[cold]
pub(crate) fn overflow(what: &str) -> Box<Trouble> {
    Trouble::Is(Code::Overflow, format!("{what} is above 2^63-1")).into()
}

/// The length of a dimension in an array.
pub(crate) enum Len<F> {
    /// The length is -1, which removes the dimension.
    Removed,
    /// The length depends on the contents of a struct.
    Unknown,
    Known(u64),
    /// The length is an unknown factor, which depends on a parameter.
    Factor(F),
}

/// The representation of dimensions whose parameters have no value.
pub(crate) trait Names {
    /// A dimension whose parameter has no value.
    type Factor;
    /// The unknown factors in an array's number of elements.
    type Factors: Clone + Default;

    fn push(factors: &mut Self::Factors, factor: Self::Factor);

    /// Returns the length of a dimension whose parameter has no value.
    fn missing(&self, layout: &Layout, param: ParamId, suffix: i32) -> Result<Len<Self::Factor>>;
}

/// The values of all parameters, and of the free names in the structs that are being walked.
#[derive(Clone)]
pub(crate) struct Scope<P = Vec<Number>> {
    /// The values of parameters, by parameter number.
    pub(crate) params: P,
    free: Vec<Number>,
}

/// The index in [`Scope`] at which the values of a struct's free names begin.
pub(crate) type Frame = usize;

/// The elements of an array, with typedefs resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<F = ()> {
    pub(crate) base: Base,
    /// The product of all dimensions except those in `factors`, or `None` if it depends on the unknown value of
    /// a parameter stored in a struct.
    pub(crate) count: Option<u64>,
    /// The dimensions of unknown length.
    pub(crate) factors: F,
    /// Whether the array has any dimensions.
    pub(crate) is_array: bool,
    /// The outermost `->` filter or, without one, the outermost `<-` filter.
    pub(crate) filter: Option<FilterId>,
    /// Whether `filter` is a `->` filter.
    pub(crate) is_compressed: bool,
}

/// The dimensions and the filter of an array, including the dimensions and filters of its typedefs.
struct Extent<F> {
    /// The product of the dimensions, which saturates at `u64::MAX`. It is 0 if any dimension is 0.
    count: u64,
    factors: F,
    is_array: bool,
    is_known: bool,
    filter: Option<FilterId>,
    is_compressed: bool,
}

impl<F: Default> Default for Extent<F> {
    fn default() -> Self {
        Self {
            count: 1,
            factors: F::default(),
            is_array: false,
            is_known: true,
            filter: None,
            is_compressed: false,
        }
    }
}

impl<F> Extent<F> {
    #[inline]
    fn finish(self, base: Base) -> Result<Element<F>> {
        let count = match self.count {
            0 => Some(0),
            _ if !self.is_known => None,
            1..=MAX => Some(self.count),
            _ => return Err(overflow("the size")),
        };
        let Self { factors, is_array, filter, is_compressed, .. } = self;
        Ok(Element { base, count, factors, is_array, filter, is_compressed })
    }
}

/// The type of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    Primitive(Primitive, Option<Order>),
    /// A struct that is not a typedef, and the frame at which the values of its free names begin.
    Struct(TypeId, Frame),
}

impl Scope {
    /// Creates a scope with the values of the fixed parameters.
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

    /// Removes the values of free names at and after `frame`.
    pub(crate) fn leave(&mut self, frame: Frame) {
        self.free.truncate(frame);
    }

    /// Returns the values of `len` free names, beginning at `frame`.
    pub(crate) fn free(&self, frame: Frame, len: usize) -> &[Number] {
        &self.free[frame..frame + len]
    }

    /// Adds the values of the free names of a struct, and returns the frame at which they begin.
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "used only for reading data"))]
    pub(crate) fn enter(&mut self, free: &[Number]) -> Frame {
        let frame = self.frame();
        self.free.extend_from_slice(free);
        frame
    }

    #[inline]
    pub(crate) fn value(&self, binding: Binding, frame: Frame) -> Number {
        match binding {
            Binding::Param(id) => self.params[id.index()],
            Binding::Free(index) => self.free[frame + index as usize],
        }
    }

    /// Returns the element of an array. The values of the enclosing struct's free names begin at
    /// `frame`. Calls `dim` with each known dimension, outermost first. The values of the element's
    /// own free names remain in the scope.
    #[inline]
    pub(crate) fn element<'l>(
        &mut self,
        layout: &'l Layout,
        data: &'l Data,
        frame: Frame,
        mut dim: impl FnMut(u64),
    ) -> Result<Element> {
        self.element_in(&Numbers, layout, data, frame, |len| {
            if let Len::Known(len) = *len {
                dim(len);
            }
        })
    }

    /// Like [`element`](Self::element), but supports any representation of sizes, and calls `dim`
    /// with all dimensions. This function is inlined and needs a lot of stack space, so do not call
    /// it from a recursive function.
    #[allow(clippy::inline_always, reason = "copying the result takes longer than computing it")]
    #[inline(always)]
    pub(crate) fn element_in<'l, N: Names>(
        &mut self,
        names: &N,
        layout: &'l Layout,
        mut data: &'l Data,
        mut frame: Frame,
        mut dim: impl FnMut(&Len<N::Factor>),
    ) -> Result<Element<N::Factors>> {
        let mut extent = Extent::default();
        loop {
            self.multiply(&mut extent, names, layout, data, frame, &mut dim)?;
            let id = match data.datatype {
                Datatype::Primitive(primitive, order) => {
                    return extent.finish(Base::Primitive(primitive, order));
                }
                Datatype::Struct(id) => id,
            };
            frame = self.bind(layout, data, frame);
            match layout.typedef_member(id) {
                None => return extent.finish(Base::Struct(id, frame)),
                Some(member) => data = layout.data(layout.member(member).data),
            }
        }
    }

    /// Adds the values of the free names of a struct, and returns the frame at which they begin.
    #[inline]
    fn bind(&mut self, layout: &Layout, data: &Data, frame: Frame) -> Frame {
        let inner = self.frame();
        for &binding in layout.bindings(data) {
            let value = self.value(binding, frame);
            self.free.push(value);
        }
        inner
    }

    /// Multiplies `extent` by the dimensions of a declaration, and adds its filter.
    #[allow(clippy::inline_always, reason = "copying the result takes longer than computing it")]
    #[inline(always)]
    fn multiply<N: Names>(
        &self,
        extent: &mut Extent<N::Factors>,
        names: &N,
        layout: &Layout,
        data: &Data,
        frame: Frame,
        dim: &mut impl FnMut(&Len<N::Factor>),
    ) -> Result<()> {
        for &stated in layout.shape(data) {
            let len = match stated {
                Dim::Fixed(-1) => Len::Removed,
                Dim::Fixed(len) => Len::Known(len.unsigned_abs()),
                Dim::Named(binding, suffix) => match self.value(binding, frame) {
                    Number::Known(value) => {
                        len_of(value, suffix).map_err(|error| error.of(binding))?
                    }
                    Number::Missing(id) => names.missing(layout, id, suffix)?,
                },
            };
            dim(&len);
            match len {
                Len::Removed => continue,
                Len::Unknown => extent.is_known = false,
                Len::Known(len) => extent.count = extent.count.saturating_mul(len),
                Len::Factor(factor) => N::push(&mut extent.factors, factor),
            }
            extent.is_array = true;
        }
        if let Some(id) = data.filter {
            let compresses = layout.filter_of(id).kind == FilterKind::Compress;
            if extent.filter.is_none() || compresses && !extent.is_compressed {
                (extent.filter, extent.is_compressed) = (Some(id), compresses);
            }
        }
        Ok(())
    }
}

/// The reason why a value cannot be the length of a dimension.
pub(crate) enum NoLen {
    /// The value is below -1.
    TooSmall(i64),
    /// The value plus the suffix is above 2^63-1.
    Overflow,
}

impl NoLen {
    #[allow(
        clippy::unnecessary_box_returns,
        reason = "with an unboxed error, results would be returned in memory"
    )]
    #[cold]
    fn of(self, binding: Binding) -> Box<Trouble> {
        let value = match self {
            Self::TooSmall(value) => value,
            Self::Overflow => return overflow("a dimension"),
        };
        let message = format!("a dimension is {value}, expected at least -1");
        Box::new(match binding {
            Binding::Param(id) => Trouble::Param(Code::ParamTooSmall, id, message),
            Binding::Free(_) => Trouble::Is(Code::ParamTooSmall, message),
        })
    }
}

/// Returns the length of a dimension for a value of its parameter. A value of -1 removes the dimension. The
/// suffix is added only to positive values.
#[inline]
pub(crate) fn len_of<F>(value: i64, suffix: i32) -> std::result::Result<Len<F>, NoLen> {
    match value {
        -1 => Ok(Len::Removed),
        0 => Ok(Len::Known(0)),
        1.. => match value.checked_add(suffix.into()) {
            Some(len) => Ok(Len::Known(len.max(0).unsigned_abs())),
            None => Err(NoLen::Overflow),
        },
        _ => Err(NoLen::TooSmall(value)),
    }
}
