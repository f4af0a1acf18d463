//! Writing the values of parameters stored in structs, and finding the parameters that have no value.

use std::ops::Range;

use crate::layout::{Field, Inside, push_name};
use crate::place::{Inner, Outcome, Stored};

/// Writes the values of stored parameters into all instances of a struct. `bytes` contains the row.
pub(super) fn put_struct_params(
    inner: &mut Inner<'_>,
    stored: &Stored,
    bytes: &mut [u8],
) -> Outcome<()> {
    if stored.struct_type().is_none() || stored.is_compressed() {
        return Ok(());
    }
    let is_array = !stored.is_single();
    if is_array && (stored.is_ragged(inner.layout()) || inner.has_values_for_instances(stored)) {
        return inner
            .each_instance(stored, |inner, instance| put_struct_params(inner, instance, bytes));
    }
    for part in inner.members(stored)? {
        if part.nbytes == Some(0) {
            continue;
        }
        match part.field {
            Field::Member(_) => put_struct_params(inner, &part.stored, bytes)?,
            Field::Param(id) => {
                let Some(value) = part.value else { continue };
                inner.put_integer(&part.stored, id, value, bytes)?;
            }
        }
    }
    Ok(())
}

/// Returns the paths of stored parameters without a value, relative to the path of a struct. A path contains the
/// index of an instance, or a range of indices, only if other instances have a value. The recursion is bounded by
/// the maximum nesting of types.
pub(super) fn without_value(inner: &mut Inner<'_>, stored: &Stored) -> Outcome<Vec<String>> {
    if stored.struct_type().is_none() || stored.is_compressed() {
        return Ok(Vec::new());
    }
    if !stored.is_single() {
        if inner.has_values_for_instances(stored) {
            return without_value_by_instance(inner, stored);
        }
        if stored.is_ragged(inner.layout()) {
            // All instances have the same values.
            let first = inner.step(stored, Inside::Instance(0))?;
            return first.map_or(Ok(Vec::new()), |first| without_value(inner, &first));
        }
    }
    let mut found = Vec::new();
    for part in inner.members(stored)? {
        let (name, inside) = match part.field {
            _ if part.nbytes == Some(0) => continue,
            Field::Param(_) if part.value.is_some() => continue,
            Field::Param(id) => (inner.layout().param_name(id), vec![String::new()]),
            Field::Member(id) => {
                (inner.layout().member_name(id), without_value(inner, &part.stored)?)
            }
        };
        for rest in inside {
            let mut path = ".".to_owned();
            push_name(&mut path, name);
            found.push(path + &rest);
        }
    }
    Ok(found)
}

/// Like [`without_value`], but looks at every instance. Successive instances with the same paths share an entry.
fn without_value_by_instance(inner: &mut Inner<'_>, stored: &Stored) -> Outcome<Vec<String>> {
    let mut runs: Vec<(Range<u64>, Vec<String>)> = Vec::new();
    let mut index = 0;
    inner.each_instance(stored, |inner, instance| {
        let paths = without_value(inner, instance)?;
        match runs.last_mut().filter(|(_, last)| *last == paths) {
            Some((range, _)) => range.end = index + 1,
            None => runs.push((index..index + 1, paths)),
        }
        index += 1;
        Ok(())
    })?;
    let is_whole = runs.len() == 1;
    let with_index = |(range, paths): (Range<u64>, Vec<String>)| {
        let prefix = if is_whole { String::new() } else { instances(&range) };
        paths.into_iter().map(move |path| format!("{prefix}{path}"))
    };
    Ok(runs.into_iter().flat_map(with_index).collect())
}

/// Returns the part of a path that stands for a range of instances: `[2]` or `[2..5]`.
pub(super) fn instances(range: &Range<u64>) -> String {
    match range {
        Range { start, end } if end - start == 1 => format!("[{start}]"),
        Range { start, end } => format!("[{start}..{end}]"),
    }
}
