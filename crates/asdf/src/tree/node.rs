//! Nodes that refer to their file. In addition to the navigation of [`yaml`], they give access to
//! arrays and references.

use std::io::Write;
use std::ops::Deref;

use num_bigint::BigInt;
use num_complex::Complex;

use super::external::Files;
use super::{array, integer, json};
use crate::asdf::Asdf;
use crate::complex;
use crate::error::{ArrayError, Result};
use crate::ndarray::NdArray;
use crate::yaml::{self, Content, NodeId, NodeKind};

/// A node in the tree of a file. It is cheap to copy.
///
/// A node has all methods of [`yaml::YamlNode`]. It also refers to its file, which is needed for
/// arrays and references. Aliases are followed, but references are not; see [`Self::resolve`].
///
/// ```
/// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
///     --- !core/asdf-1.1.0\nmeta: {gain: 2.5, data: !core/ndarray-1.1.0 [1, 2]}\n...\n"[..])?;
/// let meta = file.tree()?.get("meta").ok_or("no meta")?;
/// assert_eq!(meta.pointer("/gain")?.as_f64(), Some(2.5));
/// assert_eq!(meta.pointer("/data")?.ndarray()?.shape(), [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    files: Files<'a>,
    yaml: yaml::YamlNode<'a>,
}

impl<'a> Node<'a> {
    pub(crate) fn new(files: Files<'a>, yaml: yaml::YamlNode<'a>) -> Self {
        Self { files, yaml }
    }

    pub(crate) fn files(self) -> Files<'a> {
        self.files
    }

    fn with(self, yaml: yaml::YamlNode<'a>) -> Self {
        Self { yaml, ..self }
    }

    /// Returns the node without its file.
    pub fn yaml(self) -> yaml::YamlNode<'a> {
        self.yaml
    }

    /// Returns the file that contains the node. If the node was reached through a reference, this may be an
    /// external file.
    pub fn file(self) -> &'a Asdf {
        self.files.current
    }

    /// Returns the value for a key of a mapping; see [`yaml::YamlNode::get`].
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\nmeta: {gain: 2.5}\n...\n"[..])?;
    /// let root = file.tree()?;
    /// let gain = root.get("meta").and_then(|meta| meta.get("gain"));
    /// assert_eq!(gain.and_then(|gain| gain.as_f64()), Some(2.5));
    /// assert_eq!(root.get("gain"), None);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn get(self, key: &str) -> Option<Self> {
        self.yaml.get(key).map(|node| self.with(node))
    }

    /// Returns the item of a sequence at a zero-based index, or `None` if there is no such item.
    pub fn at(self, index: usize) -> Option<Self> {
        self.yaml.at(index).map(|node| self.with(node))
    }

    /// Iterates over the items of a sequence. Other nodes have no items.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\nfilters: [F110W, F160W]\n...\n"[..])?;
    /// let filters = file.tree()?.pointer("/filters")?;
    /// let names: Vec<&str> = filters.items().filter_map(|item| item.as_str()).collect();
    /// assert_eq!(names, ["F110W", "F160W"]);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn items(self) -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator {
        self.yaml.items().map(move |node| self.with(node))
    }

    /// Iterates over the entries of a mapping, with merge keys applied; see [`yaml::YamlNode::entries`].
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\nmeta: {gain: 2.5, noise: 5}\n...\n"[..])?;
    /// for (key, value) in file.tree()?.pointer("/meta")?.entries() {
    ///     println!("{}: {:?}", key.to_key()?, value.as_f64());
    /// }
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn entries(self) -> impl ExactSizeIterator<Item = (Self, Self)> + DoubleEndedIterator {
        self.yaml.entries().map(move |(key, value)| (self.with(key), self.with(value)))
    }

    /// Iterates over the keys of a mapping; see [`yaml::YamlNode::keys`].
    pub fn keys(self) -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator {
        self.yaml.keys().map(move |key| self.with(key))
    }

    /// Iterates over the keys and values of a mapping or an ordered mapping; see [`yaml::YamlNode::members`].
    pub fn members(self) -> impl Iterator<Item = (Self, Self)> {
        self.yaml.members().map(move |(key, value)| (self.with(key), self.with(value)))
    }

    /// Returns the node at a JSON Pointer relative to this node.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\n\
    ///     history: {entries: [{description: Flat-fielded}]}\n...\n"[..])?;
    /// let description = file.tree()?.pointer("/history/entries/0/description")?;
    /// assert_eq!(description.as_str(), Some("Flat-fielded"));
    ///
    /// let error = file.tree()?.pointer("/histroy").unwrap_err();
    /// assert!(error.to_string().ends_with("did you mean `history`?"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`yaml::YamlNode::pointer`].
    pub fn pointer(self, pointer: &str) -> Result<Self> {
        self.yaml.pointer(pointer).map(|node| self.with(node))
    }

    /// Returns `true` if the node has an ndarray tag in a version known to this crate.
    pub fn is_ndarray(self) -> bool {
        self.yaml.is_ndarray()
    }

    /// Returns the array that the node describes. The node must have an ndarray tag, or be a
    /// sequence without a tag. The declaration and the position of the elements are checked, but
    /// the elements are not read unless they are in the tree.
    ///
    /// A node with an ndarray tag in an unknown version is not accepted; see [`Self::ndarray_forced`].
    ///
    /// ```
    /// use asdf::ErrorKind;
    /// use asdf::ndarray::ArrayError;
    ///
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\nimage: !core/ndarray-1.1.0 [[1, 2], [3, 4]]\nname: m51\n...\n"[..])?;
    /// let image = file.tree()?.pointer("/image")?.ndarray()?;
    /// assert_eq!(image.shape(), [2, 2]);
    ///
    /// let error = file.tree()?.pointer("/name")?.ndarray().unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Array { kind: ArrayError::NotAnArray(_), .. }));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Array`](crate::ErrorKind::Array) of kind
    ///
    /// - [`NotAnArray`](ArrayError::NotAnArray) if the node has no known ndarray tag and is not a
    ///   sequence without a tag,
    /// - [`Missing`](ArrayError::Missing) or [`Invalid`](ArrayError::Invalid) if a key of the declaration is
    ///   missing or invalid,
    /// - [`Data`](ArrayError::Data) if the block does not exist or is invalid, or if its file cannot be opened,
    /// - [`OutsideBlock`](ArrayError::OutsideBlock) if some elements lie outside the block,
    /// - [`Inline`](ArrayError::Inline) if elements in the tree do not fit the declaration or each other,
    /// - [`Mask`](ArrayError::Mask) if the mask is invalid or does not fit the array.
    ///
    /// Also fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are more than
    /// [`Limits::max_items`](crate::Limits::max_items) elements in the tree, or if they take more than
    /// [`Limits::max_alloc`](crate::Limits::max_alloc) bytes.
    pub fn ndarray(self) -> Result<NdArray<'a>> {
        let is_plain_list = self.tag().is_none() && self.kind() == NodeKind::Sequence;
        if self.is_ndarray() || is_plain_list {
            return self.ndarray_forced();
        }
        let message = match self.tag() {
            Some(tag) => format!("its tag is {tag}"),
            None => "it has no ndarray tag and is not a sequence".into(),
        };
        Err(self.array_error(ArrayError::NotAnArray(message)))
    }

    /// Like [`Self::ndarray`], but does not check the tag.
    ///
    /// # Errors
    ///
    /// Same as [`ndarray`](Self::ndarray), except that [`NotAnArray`](ArrayError::NotAnArray) means that the
    /// node is a scalar.
    pub fn ndarray_forced(self) -> Result<NdArray<'a>> {
        array::open(self.files, self.yaml)
    }

    /// Returns the value of a `!core/complex` node or of a real number.
    ///
    /// See the schema `core/complex` of the ASDF standard.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\nz: !core/complex-1.0.0 1-2j\n...\n"[..])?;
    /// let z = file.tree()?.pointer("/z")?.complex()?;
    /// assert_eq!((z.re, z.im), (1.0, -2.0));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if the node is neither a
    /// `!core/complex` node with a valid number nor a real number.
    pub fn complex(self) -> Result<Complex<f64>> {
        let value = if self.core_name() == Some("complex") {
            self.text().and_then(complex::parse)
        } else {
            self.as_f64().map(|re| Complex::new(re, 0.0))
        };
        value.ok_or_else(|| self.error("expected a complex number such as `(1+2j)`"))
    }

    /// Returns the value of a `!core/integer` node or of an integer of any size.
    ///
    /// See the schema `core/integer` of the ASDF standard.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\nx: 340282366920938463463374607431768211456\n...\n"[..])?;
    /// let integer = file.tree()?.pointer("/x")?.integer()?;
    /// assert_eq!(integer, asdf::yaml::BigInt::from(1) << 128);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if the node is not a valid integer, or
    /// is a literal with more than 9,864 digits. Also fails like [`ndarray`](Self::ndarray) and
    /// [`NdArray::read`] if the words of a `!core/integer` node cannot be read.
    pub fn integer(self) -> Result<BigInt> {
        if self.core_name() == Some("integer") {
            return integer::read(self);
        }
        match self.value()? {
            Content::Int(integer) => {
                integer.to_big_int().map_err(|error| self.error(error.to_string()))
            }
            _ => Err(self.error("expected an integer")),
        }
    }
}

impl<'a> Deref for Node<'a> {
    type Target = yaml::YamlNode<'a>;

    fn deref(&self) -> &yaml::YamlNode<'a> {
        &self.yaml
    }
}

/// Nodes are compared without their files; see [`yaml::YamlNode`]. Arrays are compared by their content in the
/// tree; elements in blocks are not compared.
impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.yaml == other.yaml
    }
}

impl Eq for Node<'_> {}

impl Node<'_> {
    /// Writes the node and everything below it as JSON, in the form that [`json`] describes. For arrays, only
    /// the type and shape are written.
    ///
    /// # Errors
    ///
    /// Same as [`json::write`].
    pub fn write_json(self, out: &mut dyn Write, options: &json::Options) -> Result<()> {
        json::write_node(self.yaml, Some(self.files), *options, out)
    }
}

impl Asdf {
    /// Returns the root node of the tree.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\ngain: 2.5\n...\n"[..])?;
    /// let root = file.tree()?;
    /// assert_eq!(root.get("gain").and_then(|gain| gain.as_f64()), Some(2.5));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`document`](Self::document).
    pub fn tree(&self) -> Result<Node<'_>> {
        Ok(Node::new(Files::of(self), self.document()?.root()))
    }

    /// Returns the node with the given id, which must come from [`yaml::YamlNode::id`] on a node of this file.
    /// A [`Node`] borrows the file; where it cannot be stored, for example in bindings for another language,
    /// store its id.
    ///
    /// # Errors
    ///
    /// Same as [`document`](Self::document). An id from another file is not detected, but leads to
    /// an unrelated node.
    pub fn node(&self, id: NodeId) -> Result<Node<'_>> {
        Ok(Node::new(Files::of(self), self.document()?.node(id)))
    }

    /// Iterates over all nodes of the tree in document order, including keys. Each node is visited once,
    /// regardless of the number of aliases.
    ///
    /// # Errors
    ///
    /// Same as [`document`](Self::document).
    pub fn nodes(&self) -> Result<impl Iterator<Item = Node<'_>>> {
        let files = Files::of(self);
        Ok(self.document()?.nodes().map(move |node| Node::new(files, node)))
    }
}
