//! Writing trees as text and arrays as blocks. Files must read back as they were written.

#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod arrays;
mod blocks;
mod codecs;
mod damage;
mod files;
mod interop;
mod kept_text;
mod metadata;
mod properties;
mod references;
mod repair;
mod rows;
mod text;

use std::io::Cursor;

use asdf::{Asdf, OpenOptions, Strictness, Tree, Verify, WriteOptions, Writer};

/// Writes a file to memory, and returns its bytes.
fn bytes_of(writer: &Writer<'_>) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let report = writer.write_to(&mut out).unwrap();
    assert_eq!(report.len, out.get_ref().len() as u64);
    out.into_inner()
}

/// Opens a file strictly, and checks that it has no irregularities.
fn open(bytes: Vec<u8>) -> Asdf {
    let options = OpenOptions::new().strictness(Strictness::Strict).verify(Verify::OnRead);
    let file = options.from_bytes(bytes).unwrap();
    file.document().unwrap();
    assert_eq!(file.diagnostics(), []);
    file
}

fn written(tree: Tree, options: WriteOptions) -> Asdf {
    open(bytes_of(&Writer::new(tree).options(options)))
}

/// Returns the YAML text of a tree.
fn yaml(tree: &Tree) -> String {
    let mut out = Vec::new();
    tree.write_yaml(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}
