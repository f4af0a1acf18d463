//! Finding the target of a pointer. The pointer may continue inside an array, to a field of its records or to
//! its mask.

use binio::pointer::{push, tokens};

use super::Node;
use crate::error::Result;
use crate::ndarray::{NdArray, Record};

/// The target of a pointer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Target<'a> {
    /// A node of the tree, which may be an array.
    Node(Node<'a>),
    /// A field of an array of records, or a mask.
    Array(Box<NdArray<'a>>),
}

impl<'a> Node<'a> {
    /// Finds the target of a pointer relative to this node. Inside an array, the pointer may
    /// continue with the name of a field, or end with `mask`. The mask is an array of booleans that
    /// are true for masked elements. Inside a table, the pointer may continue with the name of a
    /// column.
    ///
    /// ```
    /// # use asdf::tree::Target;
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
    ///     --- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 {data: [1, 2], mask: 2}\n...\n"[..])?;
    /// let Target::Array(mask) = file.tree()?.find("/a/mask")? else { panic!("not an array") };
    /// assert_eq!(mask.read::<bool>()?, [false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`pointer`](Self::pointer). If the pointer continues inside an array, also fails like
    /// [`ndarray`](Self::ndarray), [`NdArray::field`] or [`NdArray::mask`].
    pub fn find(self, pointer: &str) -> Result<Target<'a>> {
        let tokens = tokens(pointer).unwrap_or_default();
        let mut walked = String::new();
        for (at, token) in tokens.iter().enumerate() {
            let Ok(node) = self.pointer(&walked) else { break };
            let mut child = String::new();
            push(&mut child, token);
            walked += &child;
            let is_last = at + 1 == tokens.len();
            let is_child = node.pointer(&child).is_ok() && !(is_last && token == "mask");
            if is_child {
                continue;
            }
            if let Some(values) = node.column(token) {
                let mut rest = String::new();
                tokens[at + 1..].iter().for_each(|token| push(&mut rest, token));
                return values.find(&rest);
            }
            if !node.is_ndarray() {
                continue;
            }
            let array = node.ndarray()?;
            let fields = array.datatype().as_record().map_or(&[][..], Record::fields);
            let is_field = fields.iter().any(|field| field.name() == token);
            if is_field || (is_last && token == "mask" && array.is_masked()) || !fields.is_empty() {
                let part = tokens[at..].iter().try_fold(array, |array, token| array.part(token));
                return part.map(|array| Target::Array(Box::new(array)));
            }
        }
        self.pointer(pointer).map(Target::Node)
    }
}

impl NdArray<'_> {
    /// Returns the field with this name, or the mask of the array for the name `mask`. A field named
    /// `mask` has priority over the mask.
    fn part(self, name: &str) -> Result<Self> {
        let has_field =
            self.datatype().as_record().is_some_and(|record| record.field(name).is_some());
        if name == "mask" && !has_field && self.is_masked() {
            return self.mask_array();
        }
        self.field(name)
    }
}
