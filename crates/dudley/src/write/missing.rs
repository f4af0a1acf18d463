//! Recording which data has been passed to `put` methods, and finding missing data and missing values of
//! parameters.

use std::collections::BTreeMap;
use std::ops::Range;

use super::params::{instances, without_value};
use super::writer::Writer;
use crate::error::Error;
use crate::layout::{Field, Inside, push_name};
use crate::place::{Inner, Outcome, Row, Stored, to_error};

/// The data in a row that has already been passed to a `put` method: all of the row, or some of its
/// instances and members.
#[derive(Clone, Debug, Default)]
pub(super) struct Put {
    is_all: bool,
    /// For each instance or member that was passed to a `put` method, the steps that lead to it.
    parts: Vec<Vec<Inside>>,
}

impl Put {
    /// Records that an instance, a member or the whole row has been put. `inside` contains the
    /// steps that lead to the instance or member, and is empty for the whole row.
    pub(super) fn add(&mut self, inside: Vec<Inside>) {
        if inside.is_empty() {
            (self.is_all, self.parts) = (true, Vec::new());
        } else if !self.is_all {
            self.parts.push(inside);
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        !self.is_all && self.parts.is_empty()
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }
}

/// Returns the paths of data that has not been passed to a `put` method, and of parameters without a value.
/// Examines the rows from index `first` on.
pub(super) fn missing(
    writer: &Writer<'_>,
    put: &[Put],
    first: usize,
) -> Result<Vec<String>, Error> {
    let layout = &*writer.layout;
    let mut inner = Inner::new(layout, &writer.inputs, writer.table.numbers());
    let mut missing = Vec::new();
    for (row, put) in writer.table.rows().iter().zip(put).skip(first) {
        let entry = writer.table.entry(*row);
        let is_empty = match row.nbytes() {
            Some(nbytes) => nbytes == 0,
            None => entry.shape().contains(&0),
        };
        if is_empty {
            continue;
        }
        if put.is_nothing() {
            missing.push(entry.path());
        } else if !put.is_all {
            let parts: Vec<&[Inside]> = put.parts.iter().map(Vec::as_slice).collect();
            let found = inner.of_row_at(&entry, Some(0)).and_then(|stored| {
                missing_in(&mut inner, &stored, &parts, &entry.path(), &mut missing)
            });
            found.map_err(|trouble| to_error(layout, *trouble, row.subject()))?;
        }
        if lacks_values(writer, *row) {
            params_without_value(writer, *row, &mut missing)?;
        }
    }
    Ok(missing)
}

/// Returns `true` if a struct in a row may store a parameter without a value. This is the case unless there is a
/// value for the name of each parameter.
fn lacks_values(writer: &Writer<'_>, row: Row) -> bool {
    let values = &writer.inputs.rules.values;
    let params = writer.struct_params(row);
    params.into_iter().any(|id| values.get(writer.layout.param_name(id)).is_none())
}

/// Adds the paths of parameters without a value in the structs of a row to `missing`.
fn params_without_value(
    writer: &Writer<'_>,
    row: Row,
    missing: &mut Vec<String>,
) -> Result<(), Error> {
    // Use a separate walk for each row, so that the limit on its steps applies to each row, as in `Writer::take`.
    let mut inner = Inner::new(&writer.layout, &writer.inputs, writer.table.numbers());
    let entry = writer.table.entry(row);
    let found = inner
        .of_row_at(&entry, Some(0))
        .and_then(|stored| without_value(&mut inner, &stored.without_filter()));
    let found = found.map_err(|trouble| to_error(&writer.layout, *trouble, row.subject()))?;
    missing.extend(found.into_iter().map(|path| entry.path() + &path));
    Ok(())
}

/// Adds the paths of missing data in a stored value to `missing`. For each instance or member that
/// has already been passed to a `put` method, `parts` contains the steps that lead to it. The
/// recursion is bounded by the maximum nesting of types.
fn missing_in(
    inner: &mut Inner<'_>,
    stored: &Stored,
    parts: &[&[Inside]],
    path: &str,
    missing: &mut Vec<String>,
) -> Outcome<()> {
    if parts.iter().any(|part| part.is_empty()) {
        return Ok(());
    }
    if parts.is_empty() {
        missing.push(path.to_owned());
        return Ok(());
    }
    let mut instances: BTreeMap<u64, Vec<&[Inside]>> = BTreeMap::new();
    let mut fields = Vec::new();
    for part in parts {
        match part.split_first() {
            Some((&Inside::Instance(index), rest)) => {
                instances.entry(index).or_default().push(rest);
            }
            _ => fields.push(*part),
        }
    }
    if !instances.is_empty() {
        let mut next = 0;
        for (index, mut parts) in instances {
            missing_between(inner, stored, next..index, &fields, path, missing)?;
            parts.extend(&fields);
            let instance = inner.step(stored, Inside::Instance(index))?;
            if let Some(instance) = instance {
                missing_in(inner, &instance, &parts, &format!("{path}[{index}]"), missing)?;
            }
            next = index + 1;
        }
        let end = stored.count().unwrap_or(next);
        return missing_between(inner, stored, next..end, &fields, path, missing);
    }
    for part in inner.members(stored)? {
        let Field::Member(id) = part.field else { continue };
        if part.nbytes == Some(0) {
            continue;
        }
        let inside = |found: &&[Inside]| match found.split_first() {
            Some((&Inside::Field(field), _)) => field == part.field,
            _ => false,
        };
        let parts: Vec<&[Inside]> =
            fields.iter().copied().filter(inside).map(|found| &found[1..]).collect();
        let mut path = format!("{path}.");
        push_name(&mut path, inner.layout().member_name(id));
        missing_in(inner, &part.stored, &parts, &path, missing)?;
    }
    Ok(())
}

/// Adds the paths of missing data in a range of instances to `missing`. `fields` contains the steps
/// to members that have been put in all instances. No instance in the range has been put by its
/// index.
fn missing_between(
    inner: &mut Inner<'_>,
    stored: &Stored,
    range: Range<u64>,
    fields: &[&[Inside]],
    path: &str,
    missing: &mut Vec<String>,
) -> Outcome<()> {
    if range.is_empty() {
        return Ok(());
    }
    let instance = inner.step(stored, Inside::Instance(range.start))?;
    let Some(instance) = instance else { return Ok(()) };
    let path = format!("{path}{}", instances(&range));
    missing_in(inner, &instance, fields, &path, missing)
}
