//! Converting Python objects into a tree that can be written, which is the reverse of
//! [`super::convert`].
//!
//! There are two passes. The first pass finds all arrays, and all containers that occur several times. The second pass
//! builds the tree, in which views of the same memory can share a block, and repeated containers become anchors and
//! aliases.

use std::collections::HashMap;
use std::sync::Arc;

use asdf::ndarray::Complex;
use asdf::value::{Mapping, Sequence, SharedId};
use asdf::yaml::{BigInt, Date, DateTime, Integer};
use asdf::{Compression, Tree, Value};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDate, PyDateTime, PyDict, PyFloat, PyFrozenSet, PyInt, PyList,
    PyMapping, PySet, PyString, PyTuple, PyType,
};

use super::blocks::NewArrays;
use super::file::OpenFile;
use super::node::AsdfNode;
use crate::error::Failure;

/// The maximum nesting depth, which is the same as in the `asdf` crate. Building a tree is
/// recursive, so without a limit, the stack could overflow.
const MAX_DEPTH: usize = 1000;

/// A tree, and the file from which blocks are copied, if any.
pub(super) struct BuiltTree {
    pub(super) tree: Tree,
    pub(super) origin: Option<Arc<OpenFile>>,
}

/// Converts an object and everything below it. `prepare` assigns arrays to blocks (see
/// `scibin/asdf/_blocks.py`). An array is compressed as `compressions` specifies for its pointer,
/// and otherwise with `compression`. If `compression` is `None`, the writer chooses the
/// compression.
///
/// If `copy_blocks` is `true`, the nodes of one file are copied together with their blocks. This is
/// the file of the first node that the search finds, but the search does not follow the order of
/// the tree. The nodes of all other files are converted to plain objects, and their arrays are read.
pub(super) fn build(
    root: &Bound<'_, PyAny>,
    prepare: &Bound<'_, PyAny>,
    compression: Option<Compression>,
    compressions: Option<&Bound<'_, PyDict>>,
    copy_blocks: bool,
) -> PyResult<BuiltTree> {
    let mut found = Found { copy_blocks, ..Found::default() };
    found.collect(root)?;
    let arrays = NewArrays::new(prepare, &found.arrays, compression, compressions)?;
    let mut builder = Builder {
        py: root.py(),
        tree: Tree::default(),
        handles: HashMap::new(),
        path: Vec::new(),
        arrays,
        found,
    };
    let value = builder.value(root)?;
    *builder.tree.root_mut() = value;
    builder.arrays.check_compressions()?;
    Ok(BuiltTree { tree: builder.tree, origin: builder.found.origin })
}

/// The kind of an object, which determines how it is converted.
enum Kind<'py> {
    Scalar,
    Dict(Bound<'py, PyMapping>),
    List(Bound<'py, PyAny>),
    Set(Bound<'py, PyAny>),
    Tagged(Bound<'py, PyAny>),
    /// A node, a whole file, or the complete lazy array of a node (not a slice or field).
    Node(Bound<'py, PyAny>),
    /// A numpy array, or a lazy array whose elements must be read.
    Array,
    /// A numpy scalar.
    NumpyScalar,
}

/// Returns `Ok(true)` if an object is an instance of the class with this name in this Python module.
macro_rules! is_class {
    ($object:expr, $module:literal, $name:literal) => {{
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        CLASS.import($object.py(), $module, $name).and_then(|class| $object.is_instance(class))
    }};
}

impl<'py> Kind<'py> {
    fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        // Check the most common types first.
        if object.is_exact_instance_of::<PyString>()
            || object.is_exact_instance_of::<PyInt>()
            || object.is_exact_instance_of::<PyFloat>()
            || object.is_none()
        {
            return Ok(Self::Scalar);
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            return Ok(Self::Dict(dict.as_mapping().clone()));
        }
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            return Ok(Self::List(object.clone()));
        }
        // Check this before scalars in general, because some numpy scalars are also floats or
        // strings.
        if is_class!(object, "numpy", "generic")? {
            return Ok(Self::NumpyScalar);
        }
        if is_class!(object, "numpy", "ndarray")? {
            return Ok(Self::Array);
        }
        if is_class!(object, "scibin._array", "NDArray")? {
            let node = object.call_method0("_node")?;
            let is_node = node.is_instance_of::<AsdfNode>();
            return Ok(if is_node { Self::Node(node) } else { Self::Array });
        }
        if is_class!(object, "scibin.asdf._node", "Node")? {
            return Ok(Self::Node(object.getattr("_raw")?));
        }
        if is_class!(object, "scibin.asdf._file", "File")? {
            return Ok(Self::Node(object.call_method0("node")?.getattr("_raw")?));
        }
        if is_class!(object, "scibin.asdf._tagged", "Tagged")? {
            return Ok(Self::Tagged(object.clone()));
        }
        if object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>() {
            return Ok(Self::Set(object.clone()));
        }
        if let Ok(mapping) = object.cast::<PyMapping>() {
            return Ok(Self::Dict(mapping.clone()));
        }
        Ok(Self::Scalar)
    }
}

/// The result of the first pass.
#[derive(Default)]
struct Found<'py> {
    copy_blocks: bool,
    /// Maps the address of each object, except scalars, to the number of its occurrences.
    counts: HashMap<usize, usize>,
    arrays: Vec<Bound<'py, PyAny>>,
    /// The plain objects that replace nodes whose blocks are not copied, by the addresses of the node objects.
    read: HashMap<usize, Bound<'py, PyAny>>,
    /// The objects in `counts`. They are kept alive, so that no other object can have the same address.
    alive: Vec<Bound<'py, PyAny>>,
    /// The file from which blocks are copied.
    origin: Option<Arc<OpenFile>>,
}

fn address(object: &Bound<'_, PyAny>) -> usize {
    object.as_ptr().addr()
}

impl<'py> Found<'py> {
    fn collect(&mut self, root: &Bound<'py, PyAny>) -> PyResult<()> {
        let mut stack = vec![root.clone()];
        while let Some(object) = stack.pop() {
            let kind = Kind::of(&object)?;
            if matches!(kind, Kind::Scalar | Kind::NumpyScalar) {
                continue;
            }
            let count = self.counts.entry(address(&object)).or_default();
            *count += 1;
            if *count > 1 {
                continue;
            }
            match kind {
                Kind::Dict(mapping) => {
                    for value in mapping.values()? {
                        stack.push(value);
                    }
                }
                Kind::List(list) => {
                    for item in list.try_iter()? {
                        stack.push(item?);
                    }
                }
                Kind::Tagged(tagged) => stack.push(tagged.getattr("value")?),
                Kind::Node(node) => stack.extend(self.node(&object, &node)?),
                Kind::Array => self.arrays.push(object.clone()),
                Kind::Set(_) | Kind::Scalar | Kind::NumpyScalar => {}
            }
            // Keep the object alive, because an attribute or iterator may have created it just now.
            self.alive.push(object);
        }
        Ok(())
    }

    /// Converts a node to a plain object and returns it. Returns `None` if the node belongs to the
    /// file from which blocks are copied, because such a node is not converted.
    fn node(
        &mut self,
        object: &Bound<'py, PyAny>,
        node: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = node.py();
        let node = node.cast::<AsdfNode>()?.get();
        if self.copy_blocks && self.origin.is_none() {
            self.origin = Some(Arc::clone(node.file()));
        }
        if self.origin.as_ref().is_some_and(|origin| Arc::ptr_eq(origin, node.file())) {
            return Ok(None);
        }
        let read = py.import("scibin.asdf._node")?.call_method1("plain", (object,))?;
        self.read.insert(address(object), read.clone());
        Ok(Some(read))
    }
}

/// The state of the second pass.
struct Builder<'py> {
    py: Python<'py>,
    tree: Tree,
    /// The handles of containers that occur several times, by the address of the object.
    handles: HashMap<usize, SharedId>,
    /// The keys and indices on the path to the current object.
    path: Vec<String>,
    arrays: NewArrays,
    found: Found<'py>,
}

impl<'py> Builder<'py> {
    /// Converts an object to a value. If a container occurs several times, each occurrence becomes
    /// a handle.
    fn value(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        let kind = Kind::of(object)?;
        let is_container =
            matches!(kind, Kind::Dict(_) | Kind::List(_) | Kind::Set(_) | Kind::Tagged(_));
        let count = self.found.counts.get(&address(object)).copied().unwrap_or_default();
        if !is_container || count < 2 {
            return self.unshared(object, kind);
        }
        if let Some(handle) = self.handles.get(&address(object)) {
            return Ok((*handle).into());
        }
        let handle = self.tree.share(());
        self.handles.insert(address(object), handle);
        let value = self.unshared(object, kind)?;
        if let Some(place) = self.tree.resolve_mut(handle) {
            *place = value;
        }
        Ok(handle.into())
    }

    fn unshared(&mut self, object: &Bound<'py, PyAny>, kind: Kind<'py>) -> PyResult<Value> {
        if self.path.len() > MAX_DEPTH {
            return Err(
                self.error(&format!("the value is nested more than {MAX_DEPTH} levels deep"))
            );
        }
        match kind {
            Kind::Scalar => self.scalar(object),
            Kind::NumpyScalar => {
                let item = object.call_method0("item")?;
                if is_class!(item, "numpy", "generic")? || item.is_instance_of::<PyTuple>() {
                    return Err(self.unknown(object));
                }
                self.scalar(&item)
            }
            Kind::Dict(mapping) => self.mapping(&mapping),
            Kind::List(list) => {
                let mut items = Sequence::new();
                for (index, item) in list.try_iter()?.enumerate() {
                    items.push(self.below(index.to_string(), &item?)?);
                }
                Ok(items.into())
            }
            Kind::Set(set) => {
                let mut entries = Vec::new();
                for item in set.try_iter()? {
                    entries.push((self.key(&item?)?, Value::Null));
                }
                Ok(Value::from(entries.into_iter().collect::<Mapping>())
                    .tagged("tag:yaml.org,2002:set"))
            }
            Kind::Tagged(tagged) => {
                let tag: String = tagged.getattr("tag")?.extract()?;
                let inner = tagged.getattr("value")?;
                // Do not descend into nested tags, because they would not count as levels.
                let value = match Kind::of(&inner)? {
                    Kind::Tagged(_) => None,
                    kind => Some(self.unshared(&inner, kind)?),
                };
                match value {
                    None | Some(Value::Array(_) | Value::Tagged(_)) => {
                        Err(self.error("expected a value without a tag as the value of Tagged"))
                    }
                    Some(value) => Ok(value.tagged(tag)),
                }
            }
            Kind::Node(node) => match self.found.read.get(&address(object)).cloned() {
                Some(read) => self.value(&read),
                None => self.node(node.cast::<AsdfNode>()?.get()),
            },
            Kind::Array => {
                let pointer = self.pointer();
                self.arrays.value(address(object), &pointer).map_err(|failure| self.fail(failure))
            }
        }
    }

    fn below(&mut self, token: String, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        self.path.push(token);
        let value = self.value(object)?;
        self.path.pop();
        Ok(value)
    }

    fn mapping(&mut self, mapping: &Bound<'py, PyMapping>) -> PyResult<Value> {
        let mut entries = Vec::with_capacity(mapping.len()?);
        for entry in mapping.items()? {
            let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = entry.extract()?;
            let key = self.key(&key)?;
            let token = key.to_key().unwrap_or_default().into_owned();
            entries.push((key, self.below(token, &value)?));
        }
        Ok(entries.into_iter().collect::<Mapping>().into())
    }

    fn key(&self, key: &Bound<'py, PyAny>) -> PyResult<Value> {
        match Kind::of(key)? {
            Kind::Scalar => self.scalar(key),
            Kind::NumpyScalar => self.scalar(&key.call_method0("item")?),
            _ => Err(self.error(&format!("expected a scalar as a key, found {}", type_name(key)))),
        }
    }

    fn scalar(&self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        if object.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(text) = object.cast::<PyString>() {
            let text = text.to_cow().map_err(|_| self.error("the string has lone surrogates"))?;
            return Ok(text.into_owned().into());
        }
        if let Ok(value) = object.cast::<PyBool>() {
            return Ok(value.is_true().into());
        }
        if object.is_instance_of::<PyInt>() {
            return Ok(match object.extract::<i128>() {
                Ok(value) => value.into(),
                Err(_) => large_integer(&object.extract()?),
            });
        }
        if let Ok(value) = object.cast::<PyFloat>() {
            return Ok(value.value().into());
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Value::Binary(bytes.as_bytes().to_vec()));
        }
        if let Ok(value) = object.cast::<PyComplex>() {
            let (re, im) = (value.getattr("real")?.extract()?, value.getattr("imag")?.extract()?);
            return Ok(Complex::<f64> { re, im }.into());
        }
        if object.is_instance_of::<PyDateTime>() {
            return self.date_time(object);
        }
        if object.is_instance_of::<PyDate>() {
            return Ok(date(object)?.into());
        }
        Err(self.unknown(object))
    }

    fn date_time(&self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        let offset = object.call_method0("utcoffset")?;
        let offset_minutes = if offset.is_none() {
            None
        } else {
            let seconds: f64 = offset.call_method0("total_seconds")?.extract()?;
            if seconds % 60.0 != 0.0 {
                return Err(self.error("the time zone is not a whole number of minutes from UTC"));
            }
            #[allow(clippy::cast_possible_truncation, reason = "a UTC offset is less than a day")]
            Some((seconds / 60.0) as i16)
        };
        let time = DateTime {
            date: date(object)?,
            hour: object.getattr("hour")?.extract()?,
            minute: object.getattr("minute")?.extract()?,
            second: object.getattr("second")?.extract()?,
            microsecond: object.getattr("microsecond")?.extract()?,
            offset_minutes,
        };
        Ok(time.into())
    }

    /// Copies a node and everything below it into the new tree. The node must belong to the file from which blocks are
    /// copied.
    fn node(&mut self, node: &AsdfNode) -> PyResult<Value> {
        let copied = node.with(self.py, |node| Ok(Tree::from_node(node.yaml())?))?;
        let mut import = Import { from: &copied, to: &mut self.tree, handles: HashMap::new() };
        Ok(import.value(copied.root()))
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for token in &self.path {
            binio::pointer::push(&mut pointer, token);
        }
        pointer
    }

    fn error(&self, message: &str) -> PyErr {
        self.fail(Failure::type_error(message))
    }

    fn fail(&self, failure: Failure) -> PyErr {
        let pointer = self.pointer();
        let place = if pointer.is_empty() { "the root" } else { &pointer };
        failure.context(place).raise(self.py, None)
    }

    fn unknown(&self, object: &Bound<'_, PyAny>) -> PyErr {
        let name = type_name(object);
        self.error(&format!(
            "ASDF cannot represent {name}: use a plain value, an array, or Tagged.from_object"
        ))
    }
}

/// Copies values from one tree to another.
struct Import<'a> {
    from: &'a Tree,
    to: &'a mut Tree,
    handles: HashMap<SharedId, SharedId>,
}

impl Import<'_> {
    /// Copies a value. Recursion is safe, because trees have at most 1,000 levels.
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Shared(handle) => self.shared(*handle).into(),
            Value::Tagged(tagged) => self.value(&tagged.value).tagged(&*tagged.tag),
            Value::Sequence(_) | Value::Mapping(_) => {
                // Clone the collection, because this keeps the notation used in the file.
                let mut copy = value.clone();
                if let Some(sequence) = copy.as_sequence_mut() {
                    for item in sequence.items_mut() {
                        *item = self.value(item);
                    }
                } else if let Some(mapping) = copy.as_mapping_mut() {
                    for (_, entry) in mapping.iter_mut() {
                        *entry = self.value(entry);
                    }
                }
                copy
            }
            value => value.clone(),
        }
    }

    fn shared(&mut self, handle: SharedId) -> SharedId {
        if let Some(known) = self.handles.get(&handle) {
            return *known;
        }
        let copy = self.to.share(());
        self.handles.insert(handle, copy);
        let from = self.from;
        let value = self.value(from.resolve(&Value::Shared(handle)));
        if let Some(place) = self.to.resolve_mut(copy) {
            *place = value;
        }
        copy
    }
}

fn large_integer(number: &BigInt) -> Value {
    let text = number.to_string();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits.to_owned()),
        None => (false, text),
    };
    Value::Int(Integer::Large { negative, digits: digits.into() })
}

fn date(object: &Bound<'_, PyAny>) -> PyResult<Date> {
    Ok(Date {
        year: object.getattr("year")?.extract()?,
        month: object.getattr("month")?.extract()?,
        day: object.getattr("day")?.extract()?,
    })
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().fully_qualified_name();
    name.map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}
