//! Serialising address tables and comparisons, for example as JSON.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::diff::{Change, ChangeKind, Comparison};
use super::member::MemberRow;
use super::scope::Element;
use super::table::Entry;
use super::table::filter_text;
use crate::layout::{FilterKind, Layout};

/// A row of an address table, or a member, as an object. Unknown values are null. A size that
/// depends on the stream is null even if it has been read from the stream.
#[derive(Serialize)]
struct EntryJson<'a> {
    path: &'a str,
    address: Option<u64>,
    shape: &'a [u64],
    dtype: String,
    nbytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    indeterminate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stride: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strides: Option<&'a [u64]>,
}

impl EntryJson<'_> {
    fn with(mut self, layout: &Layout, element: Option<Element>) -> Self {
        let Some(element) = element else { return self };
        let filter = element.filter(layout);
        let is_compressed = filter.is_some_and(|filter| filter.kind == FilterKind::Compress);
        self.filter = filter.map(filter_text);
        self.indeterminate = element.is_indeterminate(layout);
        self.nbytes = self.nbytes.filter(|_| !is_compressed && !self.indeterminate);
        self
    }
}

/// Serialises as an object with `path`, `address`, `shape`, `dtype` and `nbytes`, and with `filter` and
/// `indeterminate` if they apply.
impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (element, shape) = (self.element(), self.shape());
        let stored = EntryJson {
            path: &self.path(),
            address: self.address(),
            shape: &shape,
            dtype: self.dtype(),
            nbytes: self.nbytes(),
            filter: None,
            indeterminate: false,
            stride: None,
            strides: None,
        };
        stored.with(self.layout(), element).serialize(serializer)
    }
}

/// Serialises as an object with the same members as an [`Entry`]. If the item is an array of instances that
/// do not differ in size, `stride` is the distance in bytes between instances along its last dimension. If an
/// array of structs inside the item encloses the member, `strides` contains the distances for all dimensions.
impl Serialize for MemberRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let last = self.outer.checked_sub(1);
        let stored = EntryJson {
            path: &self.path,
            address: self.address,
            shape: &self.shape,
            dtype: self.dtype(),
            nbytes: self.nbytes,
            filter: None,
            indeterminate: false,
            stride: last.and_then(|last| self.strides.get(last).copied()),
            strides: (self.strides.len() > self.outer).then_some(&self.strides),
        };
        stored.with(self.layout, self.element).serialize(serializer)
    }
}

/// Serialises as an object with `changes` and `readable`, and with `partial` if the comparison is incomplete.
/// `readable` tells whether the second layout can read files written with the first.
impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            changes: &'a [Change],
            readable: bool,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            partial: bool,
        }
        let shown = Shown {
            changes: self.changes(),
            readable: self.keeps_files_readable(),
            partial: self.is_partial(),
        };
        shown.serialize(serializer)
    }
}

/// Serialises as an object with `path`, `change`, `from`, `to` and `values`.
impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Side<'a> {
            Nothing,
            Text(&'a str),
            Shape(&'a [u64]),
            Address(u64),
        }
        #[derive(Serialize)]
        struct Shown<'a> {
            path: &'a str,
            change: &'static str,
            from: Side<'a>,
            to: Side<'a>,
            values: BTreeMap<&'a str, i64>,
        }
        let address = |address: Option<u64>| address.map_or(Side::Nothing, Side::Address);
        let (change, from, to) = match &self.kind {
            ChangeKind::Added => ("added", Side::Nothing, Side::Nothing),
            ChangeKind::Removed => ("removed", Side::Nothing, Side::Nothing),
            ChangeKind::Retyped(from, to) => ("retyped", Side::Text(from), Side::Text(to)),
            ChangeKind::Reshaped(from, to) => ("reshaped", Side::Shape(from), Side::Shape(to)),
            ChangeKind::Moved(from, to) => ("moved", address(*from), address(*to)),
        };
        let values = self.values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Shown { path: &self.path, change, from, to, values }.serialize(serializer)
    }
}
