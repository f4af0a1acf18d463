//! Sizes and addresses as sums of products, computed by [`Measure`](crate::place::measure::Measure).

use super::expr::{Factor, Sum, Terms};
use crate::layout::{Layout, ParamId};
use crate::place::measure::Facts;
use crate::place::scope::{Len, Names, Result};
use crate::place::sizes::Sizes;

/// Arithmetic with sums of products. The factors depend on the stored parameters of dicts.
pub(super) struct Sums {
    pub(super) terms: Terms,
    /// The position of each parameter among the function arguments, or `None` for fixed parameters and
    /// parameters of structs.
    positions: Vec<Option<usize>>,
}

impl Sums {
    pub(super) fn new(layout: &Layout, given: &[ParamId]) -> Self {
        let position = |id| given.iter().position(|&other| other == id);
        Self { terms: Terms::default(), positions: layout.params().map(position).collect() }
    }

    /// Returns the position of a parameter among the function arguments, or `None` if it is not an argument.
    pub(super) fn position(&self, param: ParamId) -> Option<usize> {
        self.positions[param.index()]
    }
}

impl Names for Sums {
    type Factor = Factor;
    type Factors = Vec<Factor>;

    fn push(factors: &mut Vec<Factor>, factor: Factor) {
        factors.push(factor);
        factors.sort_unstable();
    }

    fn missing(&self, _: &Layout, param: ParamId, suffix: i32) -> Result<Len<Factor>> {
        let factor = self.position(param).map(|position| Factor::Dim(position, suffix));
        Ok(factor.map_or(Len::Unknown, Len::Factor))
    }
}

impl Sizes for Sums {
    type Size = Sum;

    fn constant(size: u64) -> Sum {
        Sum::constant(size)
    }

    fn add(&mut self, a: &Sum, b: &Sum) -> Result<Sum> {
        self.terms.add(a.clone(), b)
    }

    fn times(&mut self, count: u64, factors: &Vec<Factor>, size: &Sum) -> Result<Sum> {
        self.terms.times(size, (count, factors))
    }

    fn max(&mut self, a: Sum, b: Sum) -> Result<Sum> {
        self.terms.max(a, b)
    }

    fn round_up(&mut self, size: Sum, align: u64) -> Result<Sum> {
        self.terms.up(size, align)
    }

    fn align(&mut self, cursor: Sum, align: u64, nbytes: &Sum) -> Result<Sum> {
        self.terms.place(cursor, align, nbytes)
    }
}

/// Uses the default methods, which provide no values, because code is generated from the layout
/// alone.
impl Facts<'_> for Sums {
    type Sizes = Self;
    type Size = Sum;
    type Factors = Vec<Factor>;

    fn sizes(&self) -> &Self {
        self
    }

    fn sizes_mut(&mut self) -> &mut Self {
        self
    }
}
