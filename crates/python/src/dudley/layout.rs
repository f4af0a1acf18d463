//! Layouts, and the addresses of the items that they describe.

use std::collections::BTreeMap;
use std::sync::Arc;

use dudley::diagnostic::Diagnostic;
use dudley::file::FileBytes;
use dudley::{Layout, Order, Resolver, Rules, Values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::Failure;
use crate::source::Input;

/// The path, address, shape, type and size in bytes of a stored item.
type Row = (String, Option<u64>, Vec<u64>, String, Option<u64>);

/// A layout that was parsed without errors.
#[pyclass(frozen, module = "scibin._scibin")]
pub(crate) struct DudleyLayout(pub(super) Arc<Layout>);

#[pymethods]
impl DudleyLayout {
    /// Parses the text of a layout.
    #[new]
    fn new(py: Python<'_>, text: &[u8]) -> PyResult<Self> {
        let layout = py.detach(|| Layout::parse(text));
        let layout = layout.map_err(|error| Failure::from(error).raise(py, None))?;
        Ok(Self(Arc::new(layout)))
    }

    /// The text of the layout.
    #[getter]
    fn text(&self) -> &str {
        self.0.source().text()
    }

    /// Returns the warnings and notes about the layout, each as a dictionary.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        diagnostics(py, self.0.diagnostics())
    }

    /// Returns the locations of all items that the layout describes.
    #[pyo3(signature = (stream, native, order, parameters))]
    fn addresses(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        native: bool,
        order: Option<&str>,
        parameters: BTreeMap<String, i64>,
    ) -> PyResult<Vec<Row>> {
        let input = stream.map(Input::new).transpose()?;
        let path = match &input {
            Some(Input::Path(path)) => Some(path.display().to_string()),
            _ => None,
        };
        let rules = rules(order, parameters)?;
        let rows = py.detach(|| {
            let source = input.map(bytes_of).transpose()?;
            let mut resolver = Resolver::new(&*self.0).rules(rules).native(native);
            if let Some(source) = &source {
                resolver = resolver.stream(source)?;
            }
            let table = resolver.table()?;
            let row = |row: dudley::place::Entry<'_>| {
                (row.path(), row.address(), row.shape().to_vec(), row.dtype(), row.nbytes())
            };
            Ok(table.iter().map(row).collect())
        });
        rows.map_err(|failure: Failure| failure.raise(py, path.as_deref()))
    }
}

/// Opens the stream (the file) that a layout describes.
fn bytes_of(input: Input) -> Result<FileBytes, Failure> {
    Ok(match input {
        Input::Path(path) => FileBytes::open(path)?,
        Input::Bytes(bytes) => FileBytes::new(bytes),
        Input::Source(source) => FileBytes::new(source),
    })
}

/// Converts the arguments that `DudleyLayout` and `DudleyFile` have in common.
pub(super) fn rules(order: Option<&str>, parameters: BTreeMap<String, i64>) -> PyResult<Rules> {
    let values = parameters
        .into_iter()
        .fold(Values::new(), |values, (name, value)| values.with(name, value));
    let rules = Rules::new().values(values);
    Ok(match order {
        None => rules,
        Some("<") => rules.order(Order::Little),
        Some(">") => rules.order(Order::Big),
        Some(other) => {
            return Err(PyValueError::new_err(format!(
                "order is {other:?}: expected \"<\" or \">\""
            )));
        }
    })
}

/// Converts diagnostics into dictionaries.
pub(super) fn diagnostics<'py>(
    py: Python<'py>,
    diagnostics: &[Diagnostic],
) -> PyResult<Bound<'py, PyList>> {
    let items = diagnostics.iter().map(|diagnostic| {
        let (place, dict) = (&diagnostic.place, PyDict::new(py));
        dict.set_item("code", diagnostic.code.as_str())?;
        dict.set_item("severity", diagnostic.severity.as_str())?;
        dict.set_item("message", &diagnostic.message)?;
        dict.set_item("line", place.line)?;
        dict.set_item("column", place.column)?;
        Ok(dict)
    });
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}
