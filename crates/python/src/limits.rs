//! Reading limits, which Python passes as a mapping from names to integers.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A limit of a format: its name in Python, and a function that sets it.
pub(crate) type Known<L> = (&'static str, fn(L, u64) -> L);

/// Returns `limits` with the values from `mapping`. `known` lists the limits of the format. Raises
/// `TypeError` for an unknown name, and `ValueError` for a value that is not an integer from 0 to
/// 2⁶⁴ - 1.
pub(crate) fn read_limits<L>(
    mapping: Option<&Bound<'_, PyDict>>,
    mut limits: L,
    known: &[Known<L>],
) -> PyResult<L> {
    for (name, value) in mapping.into_iter().flatten() {
        let name: String = name.extract()?;
        let number: u64 = value.extract().map_err(|_| {
            PyValueError::new_err(format!(
                "limit {name:?}: expected an integer from 0 to 2**64 - 1"
            ))
        })?;
        let Some((_, set)) = known.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
            let known = known.join(", ");
            let message = format!("unknown limit {name:?}: expected one of {known}");
            return Err(PyTypeError::new_err(message));
        };
        limits = set(limits, number);
    }
    Ok(limits)
}
