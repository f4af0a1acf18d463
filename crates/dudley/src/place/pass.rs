//! The pass that computes the addresses of all items and parameters, in order of declaration.

use std::ops::{Deref, Range};

use super::diagnose::short_path;
use super::inputs::Inputs;
use super::measure::Measure;
use super::scope::{self, Scope, Trouble};
use super::sizes::{Numbers, Placed, add};
use super::table::{AddressTable, Row};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::error::Error;
use crate::layout::Scope as ParamScope;
use crate::layout::{Declaration, ItemId, Layout, Param, Subject};

/// The state of a pass over the declarations: the cursor, and the rows collected so far.
pub(crate) struct Pass<'r> {
    measure: Measure<'r>,
    layout: &'r Layout,
    inputs: &'r Inputs<'r>,
    /// The address of the origin, to which the cursor is relative.
    base: u64,
    cursor: Option<u64>,
    rows: Vec<Row>,
}

impl<'r> Pass<'r> {
    pub(crate) fn new(layout: &'r Layout, inputs: &'r Inputs<'r>) -> Self {
        let mut scope = Scope::of(layout);
        if inputs.stream.is_none() {
            let values = &inputs.rules.values;
            for id in layout.params() {
                let param = layout.param(id);
                let is_dicts = matches!(param.scope, ParamScope::Dict(_));
                if is_dicts && param.value.is_stored() {
                    scope.set(id, values.get(layout.param_name(id)));
                }
            }
            for path in values.keys().filter(|key| key.starts_with('/')) {
                let Some(named) = layout.param_at(path).map(|id| layout.param(id)) else {
                    continue;
                };
                // Several parameters may have the same path if redeclaration is allowed.
                for id in layout.params() {
                    let Param { name, scope: owner, value } = *layout.param(id);
                    if (name, owner) == (named.name, named.scope) && value.is_stored() {
                        scope.set(id, values.get(path));
                    }
                }
            }
        }
        let measure = Measure::new(layout, inputs, scope);
        let (base, start) = inputs.begin();
        Self { measure, layout, inputs, base, cursor: Some(start), rows: Vec::new() }
    }

    /// Returns the range of declarations that determine the address of an item, or `None` if the
    /// item is not data. The range ends with the declaration of the item.
    pub(crate) fn needed_for(&self, item: ItemId) -> Option<Range<usize>> {
        self.layout.data_of(item)?;
        let declarations = self.layout.declarations();
        let is_it = |found: &Declaration| *found == Declaration::Item(item);
        let at = declarations.iter().position(is_it)?;
        if self.inputs.stream.is_some() {
            return Some(0..at + 1);
        }
        let is_placed = |found: &Declaration| {
            found.subject().is_some_and(|subject| self.layout.has_explicit_address(subject))
        };
        let start = declarations[..=at].iter().rposition(is_placed).unwrap_or(0);
        Some(start..at + 1)
    }

    pub(crate) fn run(&mut self, range: Range<usize>) -> Result<(), Error> {
        self.rows.reserve(range.len());
        binio::memory::prefer_huge_pages(&mut self.rows);
        for &declaration in &self.layout.declarations()[range] {
            self.run_one(declaration)?;
        }
        Ok(())
    }

    #[inline]
    fn run_one(&mut self, declaration: Declaration) -> Result<(), Error> {
        let Some(subject) = declaration.subject() else { return Ok(()) };
        self.declare(subject).map_err(|trouble| to_error(self.layout, *trouble, subject))
    }

    #[inline]
    fn declare(&mut self, subject: Subject) -> scope::Result<()> {
        let placed = self.measure.declare(subject, self.cursor, Some(self.base))?;
        let Some(placed) = placed else { return Ok(()) };
        let Placed { offset, nbytes } = placed;
        let address = offset.map(|offset| offset + self.base);
        if let Some(address) = address {
            add(address, nbytes.unwrap_or(0))?;
        }
        self.cursor = placed.end(&mut Numbers)?;
        self.rows.push(Row::new(subject, address, nbytes));
        Ok(())
    }

    /// Sets the values of the first `numbers.len()` parameters.
    #[cfg(feature = "write")]
    pub(crate) fn set_numbers(&mut self, numbers: &[scope::Number]) {
        self.measure.scope.params[..numbers.len()].copy_from_slice(numbers);
    }

    /// Continues after rows that are already known. The last of these rows ends at the address
    /// `end`.
    #[cfg(feature = "write")]
    pub(crate) fn continue_after(&mut self, rows: &[Row], end: Option<u64>) {
        self.rows = rows.to_vec();
        self.cursor = end.map(|end| end.saturating_sub(self.base));
    }

    pub(crate) fn into_table<L: Deref<Target = Layout>>(self, layout: L) -> AddressTable<L> {
        let end = self.cursor.map(|cursor| cursor + self.base);
        AddressTable::new(layout, self.inputs, self.rows, end, self.measure.scope.params)
    }
}

#[cfg(feature = "write")]
impl Inputs<'_> {
    /// Returns the address table of a layout. `numbers` contains the values of the first
    /// parameters. The tuple describes the declarations whose addresses are already known: their
    /// rows, the number of declarations, and the address at which the last row ends.
    pub(crate) fn table<L: Deref<Target = Layout> + Clone>(
        &self,
        layout: L,
        numbers: &[scope::Number],
        (rows, declarations, end): (&[Row], usize, Option<u64>),
    ) -> Result<AddressTable<L>, Error> {
        let mut pass = Pass::new(&layout, self);
        pass.set_numbers(numbers);
        if declarations > 0 {
            pass.continue_after(rows, end);
        }
        pass.run(declarations..layout.declarations().len())?;
        Ok(pass.into_table(layout.clone()))
    }
}

/// A pass that advances one row at a time.
#[cfg(feature = "read")]
pub(crate) struct Steps<'r> {
    pass: Pass<'r>,
    next: usize,
    /// The state before the last step: the index of the next declaration, and the cursor.
    before: (usize, Option<u64>),
}

#[cfg(feature = "read")]
impl<'r> Steps<'r> {
    pub(crate) fn new(layout: &'r Layout, inputs: &'r Inputs<'r>) -> Self {
        let pass = Pass::new(layout, inputs);
        let before = (0, pass.cursor);
        Self { pass, next: 0, before }
    }

    /// Repeats the last step.
    pub(crate) fn again(&mut self) -> Option<Result<Row, Error>> {
        (self.next, self.pass.cursor) = self.before;
        self.step()
    }

    /// Computes and returns the next row, or `None` if none of the remaining declarations has a
    /// row.
    pub(crate) fn step(&mut self) -> Option<Result<Row, Error>> {
        self.pass.rows.clear();
        self.before = (self.next, self.pass.cursor);
        while let Some(&declaration) = self.pass.layout.declarations().get(self.next) {
            if let Err(error) = self.pass.run_one(declaration) {
                return Some(Err(error));
            }
            self.next += 1;
            if let Some(&row) = self.pass.rows.first() {
                return Some(Ok(row));
            }
        }
        None
    }

    /// Returns the address at which the last row ends, or `None` if the address is not known.
    pub(crate) fn end(&self) -> Option<u64> {
        self.pass.cursor.map(|cursor| cursor + self.pass.base)
    }

    /// Moves the last row and the values of parameters into a table. The table must be returned with
    /// `take_back` before the next step.
    pub(crate) fn lend<L: Deref<Target = Layout>>(&mut self, layout: L) -> AddressTable<L> {
        let rows = std::mem::take(&mut self.pass.rows);
        let values = std::mem::take(&mut self.pass.measure.scope.params);
        AddressTable::new(layout, self.pass.inputs, rows, self.end(), values)
    }

    pub(crate) fn take_back<L>(&mut self, table: AddressTable<L>) {
        (self.pass.rows, self.pass.measure.scope.params) = table.into_parts();
    }
}

/// Converts a failure to compute the address or size of `subject` into an error.
pub(crate) fn to_error(layout: &Layout, trouble: Trouble, subject: Subject) -> Error {
    let path = short_path(layout, subject);
    let (code, message, param) = match trouble {
        Trouble::Is(code, message) => (code, message, None),
        Trouble::Param(code, id, message) => (code, message, Some(id)),
        Trouble::Read(error) => return error.into(),
        Trouble::Stopped => (Code::BeyondLimit, "stopped".to_owned(), None),
    };
    let diagnostic = Diagnostic::new(code, layout.span(subject), format!("`{path}`: {message}"));
    let diagnostic = match code {
        Code::ValueUnknown => {
            diagnostic.help("provide a value for the parameter, or a stream that contains it")
        }
        _ => diagnostic,
    };
    let diagnostic = match param {
        Some(id) => diagnostic.label_at(layout.span(id.into()), "this parameter"),
        None => diagnostic,
    };
    Diagnostics::new(vec![diagnostic], layout.source().clone()).into()
}
