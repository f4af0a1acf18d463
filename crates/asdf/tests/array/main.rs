//! Reading arrays, references and metadata from files.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]
#![allow(clippy::format_push_string, reason = "long strings, built once")]
#![allow(clippy::float_cmp, reason = "the values are stored and read, not computed")]

mod external;
mod hostile;
mod masks;
mod metadata;
mod parts;
mod reads;
mod references;
mod sources;
mod verification;

use std::sync::Arc;

use asdf::{Asdf, NdArray, Node, OpenOptions};
use binio::Bytes;
use binio::source::ReadLog;

/// Returns the bytes of a file with the given tree and blocks.
fn bytes_of(tree: &str, blocks: &[&[u8]]) -> Vec<u8> {
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
    let mut bytes = format!("{head}--- !core/asdf-1.1.0\n{tree}\n...\n").into_bytes();
    for data in blocks {
        bytes.extend(block(*b"\0\0\0\0", data, data.len()));
    }
    bytes
}

/// Returns a block that stores the given bytes.
fn block(compression: [u8; 4], stored: &[u8], data_size: usize) -> Vec<u8> {
    let mut bytes = b"\xd3BLK\0\x30\0\0\0\0".to_vec();
    bytes.extend(compression);
    for size in [stored.len(), stored.len(), data_size] {
        bytes.extend((size as u64).to_be_bytes());
    }
    bytes.extend([0; 16]);
    bytes.extend(stored);
    bytes
}

fn file(tree: &str, blocks: &[&[u8]]) -> Asdf {
    Asdf::from_bytes(bytes_of(tree, blocks)).unwrap()
}

/// Opens a file from a source that is not in memory. Also returns a log of all ranges that are
/// read from the source.
fn unmapped(bytes: Vec<u8>) -> (Asdf, Arc<ReadLog<Bytes>>) {
    let source = Arc::new(ReadLog::new(Bytes::from(bytes)));
    (OpenOptions::new().from_source(source.clone()).unwrap(), source)
}

fn node<'a>(file: &'a Asdf, pointer: &str) -> Node<'a> {
    file.tree().unwrap().pointer(pointer).unwrap()
}

fn array<'a>(file: &'a Asdf, pointer: &str) -> NdArray<'a> {
    node(file, pointer).ndarray().unwrap_or_else(|error| panic!("{pointer}: {error}"))
}

/// Opens the array `/a`, which must fail, and returns the error message.
fn rejection(file: &Asdf) -> String {
    match node(file, "/a").ndarray() {
        Ok(array) => panic!("{array:?}"),
        Err(error) => error.to_string(),
    }
}

/// Returns a tree with the array `a`, which is in block 0 and has the given additional keys.
fn a(keys: &str) -> String {
    format!("a: !core/ndarray-1.1.0 {{source: 0, {keys}}}")
}
