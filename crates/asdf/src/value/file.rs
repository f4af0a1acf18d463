//! Copying the tree of a file, with arrays left in blocks or moved into the tree.

use crate::asdf::Asdf;
use crate::error::{Error, ErrorKind, Result};
use crate::tree::Node;
use crate::value::{Array, ArrayStorage, Mask, Sequence, Tree, Value};
use crate::yaml::NodeKind;

impl Tree {
    /// Copies the tree of a file. Arrays with fewer than `inline_below` elements are moved into the tree. All
    /// other arrays stay in their blocks, which a [`Writer`](crate::Writer) can copy. An array is not moved if
    /// the standard has no inline form for it, which is the case for arrays without dimensions, for integers
    /// outside the range of literals, and for text that is not valid ASCII or Unicode. Arrays of records that
    /// contain lists or other records are not moved either, because the reference implementation cannot read
    /// their inline form. The `'*'` in an open shape is replaced with the actual number of rows.
    ///
    /// ```
    /// use asdf::{Asdf, Tree, Writer};
    ///
    /// # let mut bytes = b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
    /// #     a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [4]}\n...\n\
    /// #     \xd3BLK\0\x30".to_vec();
    /// # bytes.extend([0; 8]);
    /// # for _ in 0..3 { bytes.extend(4u64.to_be_bytes()); }
    /// # bytes.extend([0; 16]);
    /// # bytes.extend(b"data");
    /// let file = Asdf::from_bytes(bytes)?;
    /// let mut copy = std::io::Cursor::new(Vec::new());
    /// Writer::new(Tree::from_file(&file, 0)?).blocks_of(&file).write_to(&mut copy)?;
    /// let copy = Asdf::from_bytes(copy.into_inner())?;
    /// assert_eq!(copy.tree()?.pointer("/a")?.ndarray()?.read::<u8>()?, b"data");
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`Asdf::document`] and [`from_node`](Self::from_node). Also fails like [`Node::ndarray`] if an
    /// array in a block cannot be opened, and like [`Array::from_file`] if an array with fewer than `inline_below`
    /// elements cannot be read. If `inline_below` is 0, only arrays with an open shape are opened.
    pub fn from_file(file: &Asdf, inline_below: u64) -> Result<Self> {
        Self::of_file(file, Inline::Below(inline_below))
    }

    /// Copies the tree of a file and moves all arrays into it, including arrays whose inline form only this
    /// crate can read.
    ///
    /// # Errors
    ///
    /// Same as [`from_file`](Self::from_file), except that every array in a block is opened and read. Also fails
    /// with [`ErrorKind::Unwritable`] if an array contains text that is not valid ASCII or Unicode.
    pub fn from_file_inline(file: &Asdf) -> Result<Self> {
        Self::of_file(file, Inline::All)
    }

    fn of_file(file: &Asdf, which: Inline) -> Result<Self> {
        let root = file.tree()?;
        Self::from_node_with(root.yaml(), &mut |node| {
            if !node.is_ndarray() || node.get("source").is_none() {
                return Ok(None);
            }
            let node = file.node(node.id())?;
            let is_open = node.pointer("/shape/0").is_ok_and(|first| first.as_str() == Some("*"));
            if which == Inline::Below(0) && !is_open {
                return Ok(None);
            }
            let array = node.ndarray()?;
            match which {
                Inline::All => return inline(node).map(Some),
                Inline::Below(len) if array.len() < len => {
                    let copy = inline_array(node)?;
                    if crate::value::emit::is_inline(&copy) {
                        return Ok(Some(copy.into()));
                    }
                }
                Inline::Below(_) => {}
            }
            if is_open { with_shape(node, array.shape()).map(Some) } else { Ok(None) }
        })
    }
}

/// Selects the arrays that are moved into the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inline {
    All,
    Below(u64),
}

/// Returns the array that a node describes, as a value whose elements are in the tree.
fn inline(node: Node<'_>) -> Result<Value> {
    let array = inline_array(node)?;
    array.check_inline().map_err(|error| {
        let (message, pointer) = (error.to_string(), node.to_pointer());
        Error::new(ErrorKind::Unwritable { pointer, message })
    })?;
    Ok(array.into())
}

fn inline_array(node: Node<'_>) -> Result<Array> {
    let array = node.ndarray()?;
    let mut copy = Array::from_file(&array)?.storage(ArrayStorage::Inline);
    if let Some(mask) = node.get("mask").filter(|mask| !mask.is_null()) {
        copy = copy.mask(match mask.kind() {
            NodeKind::Sequence | NodeKind::Mapping => {
                let mask = Array::from_file(&mask.ndarray_forced()?)?;
                Mask::Array(Box::new(mask.storage(ArrayStorage::Inline)))
            }
            _ => Mask::Value(Tree::from_node(mask.yaml())?.root().clone()),
        });
    }
    Ok(copy)
}

/// Returns a copy of an array node with another shape.
fn with_shape(node: Node<'_>, shape: &[u64]) -> Result<Value> {
    let tree = Tree::from_node(node.yaml())?;
    let mut value = tree.resolve(tree.root()).clone();
    if let Some(mapping) = value.as_mapping_mut() {
        mapping.insert("shape", shape.iter().copied().collect::<Sequence>());
    }
    Ok(value)
}
