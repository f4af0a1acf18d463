//! Sizes and addresses as sums: `8 * dim(N, 0) * dim(M, 1) + 24`.
//!
//! If the result of rounding up to an alignment depends on values, it becomes a *term* with a name:
//! `t1 = up(4 * dim(N, 0) + 16, 8)`. The address of each item is then a sum as short as one written by hand.

use std::collections::{BTreeMap, HashMap};

use crate::diagnostic::Code;
use crate::place::scope::{Result, Trouble};

/// Maximum number of products in a sum. A longer sum is replaced by a term.
const MAX_PRODUCTS: usize = 12;

/// Maximum number of terms that one function computes. A term that needs more terms gets its own
/// function.
const MAX_TERMS: u32 = 24;

/// Maximum number of nested `Place` terms to examine when deriving the alignment of a sum.
const MAX_PLACES: u32 = 8;

/// Maximum depth of calls between generated functions, so that they cannot overflow the stack.
const MAX_CALLS: u32 = 400;

/// A factor in a product. It depends on the values of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Factor {
    /// A dimension: the position of its parameter among the function arguments, and its suffix.
    Dim(usize, i32),
    /// A term, given by its number in [`Terms`].
    Term(u32),
}

/// A constant plus products. Each product consists of sorted factors and a numeric coefficient.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Sum {
    pub(super) constant: u64,
    pub(super) products: BTreeMap<Vec<Factor>, u64>,
}

/// The definition of a term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Term {
    /// A sum, rounded up to a multiple of a power of two.
    Up(Sum, u64),
    /// The first sum, rounded up to a multiple of a power of two unless the second sum is 0.
    Place(Sum, u64, Sum),
    /// The greater of two sums.
    Max(Sum, Sum),
    /// A sum that has too many products to be repeated wherever it is used.
    Value(Sum),
}

impl Term {
    fn sums(&self) -> impl Iterator<Item = &Sum> {
        let (first, second) = match self {
            Self::Up(sum, _) | Self::Value(sum) => (sum, None),
            Self::Place(first, _, second) | Self::Max(first, second) => (first, Some(second)),
        };
        std::iter::once(first).chain(second)
    }

    /// Returns the numbers of the terms that occur in the definition of this term.
    pub(super) fn terms(&self) -> impl Iterator<Item = u32> {
        self.sums().flat_map(Sum::terms)
    }
}

impl Sum {
    pub(super) fn constant(constant: u64) -> Self {
        Self { constant, products: BTreeMap::new() }
    }

    /// Returns the value of the sum, or `None` if it is not constant.
    pub(super) fn known(&self) -> Option<u64> {
        self.products.is_empty().then_some(self.constant)
    }

    /// Returns the numbers of the terms that occur in the sum.
    pub(super) fn terms(&self) -> impl Iterator<Item = u32> {
        let factors = self.products.keys().flatten();
        factors.filter_map(|factor| match *factor {
            Factor::Term(id) => Some(id),
            Factor::Dim(..) => None,
        })
    }

    /// Returns the factors that must be nonzero for the sum to be nonzero.
    fn nonzero(&self) -> Vec<Factor> {
        let mut products = self.products.keys();
        let Some(first) = products.next().filter(|_| self.constant == 0) else { return Vec::new() };
        let rest: Vec<&Vec<Factor>> = products.collect();
        let in_all = |factor: &&Factor| rest.iter().all(|factors| factors.contains(factor));
        first.iter().filter(in_all).copied().collect()
    }

    fn add(mut self, other: &Self) -> Result<Self> {
        self.constant = checked(self.constant.checked_add(other.constant))?;
        for (factors, &number) in &other.products {
            let sum = self.products.entry(factors.clone()).or_default();
            *sum = checked(sum.checked_add(number))?;
        }
        Ok(self)
    }

    /// Returns the sum multiplied by `number` and by all `factors`.
    fn times(&self, number: u64, factors: &[Factor]) -> Result<Self> {
        if number == 0 {
            return Ok(Self::default());
        }
        let mut out = Self::default();
        let constant = checked(self.constant.checked_mul(number))?;
        if factors.is_empty() {
            out.constant = constant;
        } else if constant > 0 {
            out.products.insert(factors.to_vec(), constant);
        }
        for (own, &count) in &self.products {
            let mut all = [own.as_slice(), factors].concat();
            all.sort_unstable();
            let sum = out.products.entry(all).or_default();
            let count = checked(count.checked_mul(number))?;
            *sum = checked(sum.checked_add(count))?;
        }
        Ok(out)
    }
}

fn checked(number: Option<u64>) -> Result<u64> {
    number
        .filter(|&number| i64::try_from(number).is_ok())
        .ok_or_else(|| Trouble::Is(Code::Overflow, "the address is above 2^63-1".to_owned()).into())
}

/// All terms, without duplicates.
#[derive(Default)]
pub(super) struct Terms {
    list: Vec<Known>,
    index: HashMap<Term, u32>,
}

struct Known {
    term: Term,
    /// The exponent of a power of two that divides the value of the term, whatever the arguments are.
    power: u32,
    /// The number of terms that a function needs for this term, including this term. A call counts as one term.
    weight: u32,
    /// The depth of function calls needed to compute the term.
    calls: u32,
    /// Whether the term has its own function.
    is_function: bool,
}

impl Terms {
    pub(super) fn get(&self, id: u32) -> &Term {
        &self.list[id as usize].term
    }

    pub(super) fn is_function(&self, id: u32) -> bool {
        self.list[id as usize].is_function
    }

    /// Returns the numbers of the terms that have their own function.
    pub(super) fn functions(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.list).filter(|(_, known)| known.is_function).map(|(id, _)| id)
    }

    /// Returns the numbers of the terms that a function has to compute for `sums`. Each term
    /// follows the terms that it depends on.
    pub(super) fn needed(&self, sums: &[&Sum]) -> Vec<u32> {
        let mut found = std::collections::BTreeSet::new();
        let mut open: Vec<u32> = sums.iter().flat_map(|sum| sum.terms()).collect();
        while let Some(id) = open.pop() {
            if found.insert(id) && !self.is_function(id) {
                open.extend(self.get(id).terms());
            }
        }
        // A term has a higher number than all terms that it depends on, so the set is already in order.
        found.into_iter().collect()
    }

    fn term(&mut self, term: Term, power: u32) -> Result<Sum> {
        let id = match self.index.get(&term) {
            Some(&id) => id,
            None => self.add_term(term, power)?,
        };
        Ok(Sum { constant: 0, products: BTreeMap::from([(vec![Factor::Term(id)], 1)]) })
    }

    fn add_term(&mut self, term: Term, power: u32) -> Result<u32> {
        let (mut weight, mut calls) = (1_u32, 0);
        for id in term.terms() {
            let known = &self.list[id as usize];
            weight = weight.saturating_add(if known.is_function { 1 } else { known.weight });
            calls = calls.max(known.calls + u32::from(known.is_function));
        }
        if calls > MAX_CALLS {
            let message = format!(
                "the generated code would need more than {MAX_CALLS} nested function calls"
            );
            return Err(Trouble::Is(Code::BeyondLimit, message).into());
        }
        let id = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let is_function = weight > MAX_TERMS;
        self.list.push(Known { term: term.clone(), power, weight, calls, is_function });
        self.index.insert(term, id);
        Ok(id)
    }

    /// Returns the exponent of a power of two that divides the sum whenever none of the factors in `nonzero` is
    /// 0.
    fn power(&self, sum: &Sum, nonzero: &[Factor], depth: u32) -> u32 {
        let of_product = |(factors, &number): (&Vec<Factor>, &u64)| {
            let terms = factors.iter().map(|factor| match *factor {
                Factor::Term(id) => self.power_of_term(id, nonzero, depth),
                Factor::Dim(..) => 0,
            });
            terms.fold(number.trailing_zeros(), u32::saturating_add)
        };
        let products = sum.products.iter().map(of_product).min().unwrap_or(64);
        sum.constant.trailing_zeros().min(products)
    }

    fn power_of_term(&self, id: u32, nonzero: &[Factor], depth: u32) -> u32 {
        let known = &self.list[id as usize];
        let Term::Place(sum, align, nbytes) = &known.term else { return known.power };
        if nonzero.is_empty() || depth == 0 {
            return known.power;
        }
        let align = align.trailing_zeros();
        let is_there = nbytes.products.len() == 1
            && nbytes.products.keys().flatten().all(|factor| nonzero.contains(factor));
        // The term of an empty item equals the cursor, which is not rounded up. If the item may be
        // empty, the power of two must therefore divide the cursor as well.
        if is_there {
            align
        } else {
            align.min(self.power(sum, nonzero, depth - 1)).max(known.power)
        }
    }

    /// Replaces a sum that has too many products with a term.
    fn short(&mut self, sum: Sum) -> Result<Sum> {
        if sum.products.len() <= MAX_PRODUCTS {
            return Ok(sum);
        }
        let power = self.power(&sum, &[], 0);
        self.term(Term::Value(sum), power)
    }

    pub(super) fn add(&mut self, a: Sum, b: &Sum) -> Result<Sum> {
        let sum = a.add(b)?;
        self.short(sum)
    }

    /// Returns a sum multiplied by `number` and by all `factors`.
    pub(super) fn times(&mut self, sum: &Sum, (number, factors): (u64, &[Factor])) -> Result<Sum> {
        let product = sum.times(number, factors)?;
        self.short(product)
    }

    /// Rounds a sum up to a multiple of `align`.
    pub(super) fn up(&mut self, sum: Sum, align: u64) -> Result<Sum> {
        if let Some(known) = sum.known() {
            return Ok(Sum::constant(checked(known.checked_next_multiple_of(align))?));
        }
        let power = align.trailing_zeros();
        if self.power(&sum, &[], 0) >= power {
            return Ok(sum);
        }
        self.term(Term::Up(sum, align), power)
    }

    /// Rounds a cursor up to a multiple of `align`, unless the item at the cursor is empty.
    pub(super) fn place(&mut self, cursor: Sum, align: u64, nbytes: &Sum) -> Result<Sum> {
        let power = align.trailing_zeros();
        let own = self.power(&cursor, &[], 0);
        match nbytes.known() {
            Some(0) => Ok(cursor),
            _ if own >= power => Ok(cursor),
            _ if self.power(&cursor, &nbytes.nonzero(), MAX_PLACES) >= power => Ok(cursor),
            // The constant part of the size is above 0, so the item is never empty.
            _ if nbytes.constant > 0 => self.up(cursor, align),
            _ => self.term(Term::Place(cursor, align, nbytes.clone()), own),
        }
    }

    /// Returns the greater of two sums.
    pub(super) fn max(&mut self, a: Sum, b: Sum) -> Result<Sum> {
        match (a.known(), b.known()) {
            (Some(a), Some(b)) => Ok(Sum::constant(a.max(b))),
            (Some(0), _) => Ok(b),
            (_, Some(0)) => Ok(a),
            _ if a == b => Ok(a),
            _ => {
                let power = self.power(&a, &[], 0).min(self.power(&b, &[], 0));
                self.term(Term::Max(a, b), power)
            }
        }
    }
}
