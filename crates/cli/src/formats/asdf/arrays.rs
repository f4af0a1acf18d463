//! A table of the arrays in a file, with their pointers, types and storage.

use asdf::block::Block;
use std::cmp::Reverse;

use asdf::ndarray::{Origin, datatype_name};
use asdf::{Asdf, NdArray, Node};
use serde_json::{Value, json};

use super::blocks::compression;
use crate::output::print::Elements;
use crate::output::progress::Progress;
use crate::output::{count, one_line};

/// The maximum decoded size in bytes of a compressed array to draw. Larger arrays would take too
/// long, because they are decoded as a whole.
const MAX_DECODED: u64 = 64 << 20;

/// Returns the array nodes in document order.
pub(super) fn nodes(file: &Asdf) -> impl Iterator<Item = Node<'_>> {
    file.nodes().into_iter().flatten().filter(|node| node.is_ndarray())
}

/// Returns the array nodes: first those that cannot be read, then all others, largest first. Arrays
/// of the same size are sorted by their depth in the tree.
pub(super) fn by_size(file: &Asdf) -> Vec<Node<'_>> {
    let rank = |node: &Node<'_>| {
        let bytes = node
            .ndarray()
            .ok()
            .map_or(u64::MAX, |array| array.len().saturating_mul(array.datatype().itemsize()));
        let depth = node.to_pointer().map_or(0, |pointer| pointer.matches('/').count());
        (Reverse(bytes), depth)
    };
    let mut nodes: Vec<Node<'_>> = nodes(file).collect();
    nodes.sort_by_cached_key(rank);
    nodes
}

/// Calls `body` with the [`Elements`] of an array: its type, its shape, and the functions that
/// write it.
pub(super) fn with_elements<R>(
    array: &NdArray<'_>,
    progress: &Progress,
    body: impl FnOnce(&Elements<'_, asdf::Error>) -> R,
) -> R {
    body(&Elements {
        dtype: array.datatype().descr_json(),
        shape: array.shape(),
        write: &|out, style| array.write_elements(out, style),
        write_summary: &|out| array.write_summary(out),
        write_npy: &|part, out| array.slice(part)?.write_npy(&mut progress.writer(out)),
        missing: &|part| array.slice(part)?.mask(),
    })
}

/// Returns the two-dimensional arrays, largest first, with their pointers. Omits compressed arrays
/// that would take too long to decode.
pub(super) fn images(file: &Asdf) -> impl Iterator<Item = (String, NdArray<'_>)> {
    by_size(file).into_iter().filter_map(|node| {
        let array = node.ndarray().ok().filter(|array| array.shape().len() == 2)?;
        let is_compressed = match array.source() {
            Origin::Block(block) | Origin::External(_, block) => block.is_compressed(),
            _ => false,
        };
        let size = array.len().saturating_mul(array.datatype().itemsize());
        (!is_compressed || size <= MAX_DECODED).then(|| Some((node.to_pointer()?, array)))?
    })
}

/// The headings of the columns that [`row`] returns.
pub(super) const HEADING: [&str; 6] = ["pointer", "datatype", "shape", "block", "codec", "ratio"];

/// Returns the table row for an array. If the array cannot be read, the row contains the error.
pub(super) fn row(node: Node<'_>) -> Vec<String> {
    let pointer = one_line(&node.to_pointer().unwrap_or_default());
    let array = match node.ndarray() {
        Ok(array) => array,
        Err(error) => return vec![pointer, one_line(&error.to_string())],
    };
    let mut dtype = datatype_name(array.datatype());
    if let Some(record) = array.datatype().as_record() {
        dtype = count(record.fields().len() as u64, "field");
    }
    let (block, codec, ratio) = match array.source() {
        Origin::Block(block) => (block.index().to_string(), compression(&block), ratio(&block)),
        Origin::External(_, block) => ("external".into(), compression(&block), ratio(&block)),
        _ => ("inline".into(), String::new(), None),
    };
    let ratio = ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
    vec![pointer, dtype, format!("{:?}", array.shape()), block, codec, ratio]
}

/// Returns a JSON object with the type, the shape and the storage of an array. If the array cannot
/// be read, the object contains the error instead.
pub(super) fn row_json(node: Node<'_>) -> Value {
    let pointer = node.to_pointer();
    match node.ndarray() {
        Ok(array) => {
            let (block, external) = match array.source() {
                Origin::Block(block) => (Some(block), false),
                Origin::External(_, block) => (Some(block), true),
                _ => (None, false),
            };
            json!({
                "pointer": pointer,
                "dtype": array.datatype().descr_json(),
                "shape": array.shape(),
                "block": block.as_ref().filter(|_| !external).map(Block::index),
                "external": external,
                "compression": block.as_ref().filter(|it| it.is_compressed()).map(compression),
                "ratio": block.as_ref().and_then(ratio),
            })
        }
        Err(error) => json!({"pointer": pointer, "error": error.to_string()}),
    }
}

/// Returns the compression ratio of a block, or `None` if the block is not compressed or cannot be
/// read.
#[allow(
    clippy::cast_precision_loss,
    reason = "rounding changes the ratio by less than 1 part in 10^15"
)]
fn ratio(block: &Block<'_>) -> Option<f64> {
    let range = block.data_range().ok().filter(|_| block.is_compressed())?;
    let stored = (range.end - range.start) as f64;
    block.data_len().ok().filter(|_| stored > 0.0).map(|len| len as f64 / stored)
}
