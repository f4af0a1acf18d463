//! Converting nodes into Python objects.
//!
//! | node | object |
//! |---|---|
//! | null, boolean, string, float | `None`, `bool`, `str`, `float` |
//! | integer, `!core/integer` | `int` |
//! | `!core/complex` | `complex` |
//! | date, date and time | `datetime.date`, `datetime.datetime` |
//! | `!!binary` | `bytes` |
//! | sequence, mapping, `!!omap` | `list`, `dict`, `dict` |
//! | `!!set`, `!!pairs` | `set`, `list` of tuples |
//! | `!core/ndarray` | the object that the caller returns for it |
//!
//! Tags never cause code to be imported or run. Nesting is handled with an explicit stack. A node that occurs several
//! times becomes a single object, which may even contain itself.

use std::borrow::Cow;
use std::collections::HashMap;

use asdf::Node;
use asdf::tag::core_name;
use asdf::yaml::{BigInt, Content, DateTime, Integer, NodeId, NodeKind};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyList, PySet,
    PyString, PyTuple, PyTzInfo,
};

use crate::error::Failure;

/// The prefix of the tags that YAML defines.
const YAML: &str = "tag:yaml.org,2002:";

/// The kind of Python object to which a node is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Mapping,
    Sequence,
    Array,
    Set,
    Pairs,
    Scalar,
}

impl Form {
    pub(super) fn of(node: Node<'_>) -> Self {
        match (node.kind(), node.tag()) {
            (NodeKind::Mapping, Some("tag:yaml.org,2002:set")) => Self::Set,
            (NodeKind::Mapping | NodeKind::Sequence, Some(tag)) => match core_name(tag) {
                Some("ndarray") => Self::Array,
                Some("integer") if node.kind() == NodeKind::Mapping => Self::Scalar,
                _ if node.kind() == NodeKind::Mapping || node.is_ordered_mapping() => Self::Mapping,
                _ if is_pairs(node) => Self::Pairs,
                _ => Self::Sequence,
            },
            (NodeKind::Mapping, None) => Self::Mapping,
            (NodeKind::Sequence, None) => Self::Sequence,
            _ => Self::Scalar,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mapping => "mapping",
            Self::Sequence => "sequence",
            Self::Array => "array",
            Self::Set => "set",
            Self::Pairs => "pairs",
            Self::Scalar => "scalar",
        }
    }
}

/// Returns `true` for a sequence with the tag `!!pairs` whose items are mappings with one entry each.
fn is_pairs(node: Node<'_>) -> bool {
    node.tag() == Some("tag:yaml.org,2002:pairs")
        && node.items().all(|item| item.kind() == NodeKind::Mapping && item.len() == 1)
}

/// Returns `true` if a node has a tag that its plain Python object cannot represent. If the caller
/// wants tags, the object must then be wrapped together with the tag.
fn has_own_tag(node: Node<'_>) -> bool {
    node.tag().is_some_and(|tag| {
        let name = core_name(tag);
        !tag.starts_with(YAML) && !matches!(name, Some("asdf" | "ndarray" | "complex" | "integer"))
    })
}

/// Converts a scalar, including `!core/complex` and `!core/integer`.
pub(super) fn scalar<'py>(py: Python<'py>, node: Node<'_>) -> Result<Bound<'py, PyAny>, Failure> {
    match node.tag().and_then(core_name) {
        Some("complex") => {
            let number = node.complex()?;
            return Ok(PyComplex::from_doubles(py, number.re, number.im).into_any());
        }
        // Use the pool, because the words of the integer may be in a compressed block.
        Some("integer") => {
            let number = py.detach(|| crate::pool::install(|| node.integer()))?;
            return integer(py, &number);
        }
        _ => {}
    }
    Ok(match node.value()? {
        Content::Null => py.None().into_bound(py),
        Content::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Content::Int(Integer::Small(value)) => match i64::try_from(value) {
            Ok(small) => PyInt::new(py, small).into_any(),
            Err(_) => value.into_bound_py_any(py)?,
        },
        Content::Int(large) => integer(py, &large.to_big_int()?)?,
        Content::Float(value) => PyFloat::new(py, value).into_any(),
        Content::String(text) => PyString::new(py, text).into_any(),
        Content::Date(date) => PyDate::new(py, date.year.into(), date.month, date.day)?.into_any(),
        Content::DateTime(time) => date_time(py, &time)?,
        Content::Binary(bytes) => PyBytes::new(py, &bytes).into_any(),
        _ => return Err(node.error("expected a scalar").into()),
    })
}

fn integer<'py>(py: Python<'py>, number: &BigInt) -> Result<Bound<'py, PyAny>, Failure> {
    Ok(number.into_bound_py_any(py)?)
}

fn date_time<'py>(py: Python<'py>, time: &DateTime) -> Result<Bound<'py, PyAny>, Failure> {
    let zone = match time.offset_minutes {
        None => None,
        Some(0) => Some(PyTzInfo::utc(py)?.to_owned()),
        Some(minutes) => {
            let offset = PyDelta::new(py, 0, i32::from(minutes) * 60, 0, true)?;
            Some(PyTzInfo::fixed_offset(py, offset)?)
        }
    };
    let (date, clock) = (time.date, (time.hour, time.minute, time.second));
    let time = PyDateTime::new(
        py,
        date.year.into(),
        date.month,
        date.day,
        clock.0,
        clock.1,
        clock.2,
        time.microsecond,
        zone.as_ref(),
    )?;
    Ok(time.into_any())
}

/// Returns the JSON form of a key that is a string, an integer, a boolean or `None`. Returns `None` for any other key,
/// and for a string that no file can contain.
pub(super) fn key_text<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<Option<Cow<'a, str>>> {
    if let Ok(text) = key.cast::<PyString>() {
        // No file can contain a string with a lone surrogate.
        return Ok(text.to_cow().ok());
    }
    if key.is_none() {
        return Ok(Some("null".into()));
    }
    if let Ok(value) = key.cast::<PyBool>() {
        return Ok(Some(if value.is_true() { "true" } else { "false" }.into()));
    }
    if key.is_instance_of::<PyInt>() {
        return Ok(Some(key.str()?.to_cow()?.into_owned().into()));
    }
    Ok(None)
}

/// Specifies how arrays are converted.
pub(super) struct Arrays<'a, 'py> {
    /// The function that returns the Python object for an array node.
    pub(super) open: &'a dyn Fn(NodeId) -> PyResult<Bound<'py, PyAny>>,
    /// Whether an exception raised for an array replaces the array in the result.
    pub(super) keep_errors: bool,
}

/// Converts a node and everything below it.
pub(super) struct Conversion<'a, 'py> {
    py: Python<'py>,
    path: Option<&'a str>,
    arrays: &'a Arrays<'a, 'py>,
    tagged: Option<&'a Bound<'py, PyAny>>,
    /// The Python objects of nodes that have an anchor. An object is used again if its node occurs
    /// again.
    seen: HashMap<NodeId, Bound<'py, PyAny>>,
}

/// A collection whose items are being converted.
struct Open<'a, 'py> {
    into: Into<'py>,
    children: Box<dyn Iterator<Item = (Option<Node<'a>>, Node<'a>)> + 'a>,
    /// The key of the child that is being converted.
    key: Option<Bound<'py, PyAny>>,
}

/// The object to which items are added.
enum Into<'py> {
    List(Bound<'py, PyList>),
    Dict(Bound<'py, PyDict>),
    Pairs(Bound<'py, PyList>),
}

impl<'a, 'py> Conversion<'a, 'py> {
    pub(super) fn new(
        py: Python<'py>,
        path: Option<&'a str>,
        arrays: &'a Arrays<'a, 'py>,
        tagged: Option<&'a Bound<'py, PyAny>>,
    ) -> Self {
        Self { py, path, arrays, tagged, seen: HashMap::new() }
    }

    /// Converts a node and everything below it.
    pub(super) fn run<'n>(&mut self, root: Node<'n>) -> PyResult<Bound<'py, PyAny>> {
        let mut stack: Vec<Open<'n, 'py>> = Vec::new();
        let result = self.begin(root, &mut stack)?;
        while let Some(open) = stack.last_mut() {
            let Some((key, child)) = open.children.next() else {
                stack.pop();
                continue;
            };
            if let Some(key) = key {
                open.key = Some(self.key(key)?);
            }
            let at = stack.len() - 1;
            let value = self.begin(child, &mut stack)?;
            let open = &mut stack[at];
            match (&open.into, open.key.take()) {
                (Into::Dict(dict), Some(key)) => dict.set_item(key, value)?,
                (Into::Pairs(list), Some(key)) => {
                    list.append(PyTuple::new(self.py, [key, value])?)?;
                }
                (Into::List(list) | Into::Pairs(list), _) => list.append(value)?,
                (Into::Dict(_), None) => {}
            }
        }
        Ok(result)
    }

    fn key(&self, key: Node<'_>) -> PyResult<Bound<'py, PyAny>> {
        if matches!(key.kind(), NodeKind::Mapping | NodeKind::Sequence) {
            let failure =
                key.error("expected a scalar as a key: a collection cannot be a key of a dict");
            return Err(self.raise(failure));
        }
        scalar(self.py, key).map_err(|failure| failure.raise(self.py, self.path))
    }

    fn raise(&self, error: asdf::Error) -> PyErr {
        Failure::from(error).raise(self.py, self.path)
    }

    /// Returns the object of a node. A new list or dict is empty, and is pushed onto the stack, so
    /// that its items are added later.
    fn begin<'n>(
        &mut self,
        node: Node<'n>,
        stack: &mut Vec<Open<'n, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Only a node with an anchor can occur more than once.
        let is_shared = node.anchor().is_some();
        if is_shared {
            if let Some(object) = self.seen.get(&node.id()) {
                return Ok(object.clone());
            }
        }
        let plain = self.plain(node, stack)?;
        let object = match self.tagged.filter(|_| has_own_tag(node)) {
            Some(tagged) => tagged.call1((node.tag(), plain))?,
            None => plain,
        };
        if is_shared {
            self.seen.insert(node.id(), object.clone());
        }
        Ok(object)
    }

    fn plain<'n>(
        &self,
        node: Node<'n>,
        stack: &mut Vec<Open<'n, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let (object, into, children): (_, _, Box<dyn Iterator<Item = _> + 'n>) =
            match Form::of(node) {
                Form::Scalar => {
                    return scalar(py, node).map_err(|failure| failure.raise(py, self.path));
                }
                Form::Array => return self.array(node),
                Form::Set => {
                    let set = PySet::empty(py)?;
                    for item in node.keys() {
                        set.add(self.key(item)?)?;
                    }
                    return Ok(set.into_any());
                }
                Form::Mapping => {
                    let dict = PyDict::new(py);
                    let entries = node.members().map(|(key, value)| (Some(key), value));
                    (dict.clone().into_any(), Into::Dict(dict), Box::new(entries))
                }
                Form::Sequence => {
                    let list = PyList::empty(py);
                    let items = node.items().map(|item| (None, item));
                    (list.clone().into_any(), Into::List(list), Box::new(items))
                }
                Form::Pairs => {
                    let list = PyList::empty(py);
                    let items = node.items().flat_map(Node::entries);
                    let items = items.map(|(key, value)| (Some(key), value));
                    (list.clone().into_any(), Into::Pairs(list), Box::new(items))
                }
            };
        stack.push(Open { into, children, key: None });
        Ok(object)
    }

    fn array(&self, node: Node<'_>) -> PyResult<Bound<'py, PyAny>> {
        match (self.arrays.open)(node.id()) {
            Err(error)
                if self.arrays.keep_errors
                    && error.is_instance_of::<pyo3::exceptions::PyException>(self.py) =>
            {
                Ok(error.into_value(self.py).into_bound(self.py).into_any())
            }
            result => result,
        }
    }
}
