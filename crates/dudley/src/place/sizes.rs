//! Arithmetic on sizes and addresses, and the placement rules. The rules are generic over [`Sizes`], which is
//! implemented for plain numbers (to resolve a layout) and for sums of products (to generate code).

use std::convert::Infallible;

use super::scope::{Len, MAX, Names, Result, Trouble, overflow};
use crate::diagnostic::Code;
use crate::layout::{Layout, ParamId, Placement, Scope};

/// A representation of sizes and addresses, and its arithmetic.
pub(crate) trait Sizes: Names {
    type Size: Clone + PartialEq;

    fn constant(size: u64) -> Self::Size;

    fn add(&mut self, a: &Self::Size, b: &Self::Size) -> Result<Self::Size>;

    /// Returns the size of an array, which is the product of `count`, the unknown `factors`, and
    /// the `size` of an element. `count` is not 0.
    fn times(
        &mut self,
        count: u64,
        factors: &Self::Factors,
        size: &Self::Size,
    ) -> Result<Self::Size>;

    fn max(&mut self, a: Self::Size, b: Self::Size) -> Result<Self::Size>;

    /// Rounds a size up to a multiple of `align`, which is a power of two.
    fn round_up(&mut self, size: Self::Size, align: u64) -> Result<Self::Size>;

    /// Rounds a cursor up to a multiple of `align`, which is a power of two, unless the item at the cursor is
    /// empty.
    fn align(&mut self, cursor: Self::Size, align: u64, nbytes: &Self::Size) -> Result<Self::Size>;
}

/// Returns the offset of an item that follows `cursor`, according to the table in the documentation of
/// [`place`](super).
#[inline]
pub(crate) fn place<S: Sizes>(
    sizes: &mut S,
    placement: Option<Placement>,
    cursor: Option<S::Size>,
    nbytes: &S::Size,
    align: u64,
) -> Result<Option<S::Size>> {
    let align = match placement {
        Some(Placement::Address(address)) => return Ok(Some(S::constant(address))),
        Some(Placement::Align(align)) if align > 0 => align,
        _ => align,
    };
    match cursor {
        Some(cursor) => sizes.align(cursor, align, nbytes).map(Some),
        None => Ok(None),
    }
}

/// The offset and size of an item or field in bytes. Each is `None` if it cannot be computed without a
/// stream.
#[derive(Clone, Copy)]
pub(crate) struct Placed<S = u64> {
    pub(crate) offset: Option<S>,
    pub(crate) nbytes: Option<S>,
}

impl<S: Clone + PartialEq> Placed<S> {
    /// Returns the offset at which the item or field ends, or `None` if its offset or size is
    /// unknown.
    #[inline]
    pub(crate) fn end(&self, sizes: &mut impl Sizes<Size = S>) -> Result<Option<S>> {
        match (&self.offset, &self.nbytes) {
            (Some(offset), Some(nbytes)) => sizes.add(offset, nbytes).map(Some),
            _ => Ok(None),
        }
    }
}

/// Arithmetic with sizes that are numbers up to 2^63-1.
pub(crate) struct Numbers;

impl Names for Numbers {
    type Factor = Infallible;
    type Factors = ();

    fn push((): &mut (), factor: Infallible) {
        match factor {}
    }

    /// Returns `Len::Unknown` for a parameter of a struct, because its value may be stored in a
    /// stream. Fails for other parameters.
    fn missing(&self, layout: &Layout, param: ParamId, _: i32) -> Result<Len<Infallible>> {
        if matches!(layout.param(param).scope, Scope::Struct(_)) {
            return Ok(Len::Unknown);
        }
        Err(no_value(layout, param))
    }
}

#[allow(
    clippy::unnecessary_box_returns,
    reason = "with an unboxed error, results would be returned in memory"
)]
#[cold]
fn no_value(layout: &Layout, param: ParamId) -> Box<Trouble> {
    let name = layout.param_name(param);
    let message = format!("the value of parameter `{name}` is not known");
    Trouble::Param(Code::ValueUnknown, param, message).into()
}

impl Sizes for Numbers {
    type Size = u64;

    #[inline]
    fn constant(size: u64) -> u64 {
        size
    }

    #[inline]
    fn add(&mut self, a: &u64, b: &u64) -> Result<u64> {
        add(*a, *b)
    }

    #[inline]
    fn times(&mut self, count: u64, (): &(), size: &u64) -> Result<u64> {
        multiply(count, *size)
    }

    #[inline]
    fn max(&mut self, a: u64, b: u64) -> Result<u64> {
        Ok(a.max(b))
    }

    #[inline]
    fn round_up(&mut self, size: u64, align: u64) -> Result<u64> {
        Ok(add(size, align - 1)? & !(align - 1))
    }

    #[inline]
    fn align(&mut self, cursor: u64, align: u64, nbytes: &u64) -> Result<u64> {
        if *nbytes == 0 { Ok(cursor) } else { self.round_up(cursor, align) }
    }
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
