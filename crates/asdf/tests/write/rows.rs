//! Arrays that grow row by row.

use std::fs;

use asdf::block::ChecksumVerdict;
use asdf::ndarray::Datatype;
use asdf::save::RowWriter;
use asdf::value::Array;
use asdf::{Asdf, Compression, Tree, WriteOptions, Writer};

fn open(path: &std::path::Path) -> Asdf {
    let file = Asdf::open(path).unwrap();
    file.document().unwrap();
    assert_eq!(file.diagnostics(), []);
    file
}

fn events(file: &Asdf) -> (Vec<u64>, Vec<i32>) {
    let array = file.tree().unwrap().get("events").unwrap().ndarray().unwrap();
    (array.shape().to_vec(), array.read().unwrap())
}

fn tree() -> Tree {
    let mut tree = Tree::default();
    tree.set("/image", Array::from_slice(&[1_u8; 100], &[100]).unwrap()).unwrap();
    tree.set("/name", "run 1").unwrap();
    tree
}

#[test]
fn rows_can_be_read_before_and_after_the_writer_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let options = WriteOptions::new().compression(Compression::Zlib(1));
    let writer = Writer::new(tree()).options(options);
    let mut rows = writer.rows(&path, "/events", &Datatype::of::<i32>(), &[3]).unwrap();
    assert!(rows.is_empty());
    assert_eq!(events(&open(&path)), (vec![0, 3], vec![]));
    rows.push(&[1, 2, 3]).unwrap();
    rows.push(&[4, 5, 6, 7, 8, 9]).unwrap();
    rows.sync().unwrap();
    assert_eq!(rows.len(), 3);
    let file = open(&path);
    assert_eq!(events(&file), (vec![3, 3], (1..10).collect()));
    assert!(file.blocks().get(1).unwrap().header().unwrap().is_streamed());
    assert_eq!(file.layout().index, None);
    rows.close().unwrap();

    let file = open(&path);
    assert_eq!(events(&file), (vec![3, 3], (1..10).collect()));
    let block = file.blocks().get(1).unwrap();
    assert!(!block.header().unwrap().is_streamed());
    assert_eq!(block.verify().unwrap(), ChecksumVerdict::Stored);
    assert_eq!(file.layout().index.as_ref().unwrap().entries, Some(2));
    assert!(file.layout().index.as_ref().unwrap().accepted);
    assert_eq!(file.tree().unwrap().get("image").unwrap().ndarray().unwrap().len(), 100);
}

#[test]
fn resuming_appends_rows_and_removes_an_incomplete_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let mut rows = Writer::new(tree()).rows(&path, "/events", &Datatype::of::<i32>(), &[]).unwrap();
    rows.push(&[1, 2]).unwrap();
    drop(rows);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend([9, 9]);
    fs::write(&path, bytes).unwrap();
    let mut rows = RowWriter::resume(&path).unwrap();
    assert_eq!((rows.len(), rows.removed_bytes()), (2, 2));
    rows.push(&[3]).unwrap();
    rows.close().unwrap();
    assert_eq!(events(&open(&path)), (vec![3], vec![1, 2, 3]));
    // A closed block is no longer streamed.
    assert!(RowWriter::resume(&path).is_err());
}

#[test]
fn a_row_writer_accepts_only_whole_rows_and_excludes_other_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let writer = Writer::new(Tree::default());
    let mut rows = writer.rows(&path, "/events", &Datatype::parse(">i4").unwrap(), &[2]).unwrap();
    assert!(rows.push(&[1_i32, 2]).is_err(), "the byte order differs");
    assert!(rows.push_bytes(&[0; 12]).is_err());
    rows.push_bytes(&[0, 0, 0, 1, 0, 0, 0, 2]).unwrap();
    #[cfg(unix)]
    assert!(RowWriter::resume(&path).is_err(), "it is locked");
    drop(rows);
    assert_eq!(events(&open(&path)), (vec![1, 2], vec![1, 2]));
    assert!(writer.rows(&path, "/events", &Datatype::of::<i32>(), &[0]).is_err());
}

#[test]
fn a_file_of_rows_is_valid_at_every_step_of_closing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let mut rows = Writer::new(tree()).rows(&path, "/events", &Datatype::of::<i32>(), &[]).unwrap();
    rows.push(&[1, 2, 3]).unwrap();
    let streamed = fs::read(&path).unwrap();
    rows.close().unwrap();
    let closed = fs::read(&path).unwrap();
    // Closing first writes the header in a single write, and then the index. If closing is
    // interrupted, any part of the index may be missing.
    for len in streamed.len()..=closed.len() {
        let file = Asdf::from_bytes(closed[..len].to_vec()).unwrap();
        assert_eq!(events(&file), (vec![3], vec![1, 2, 3]), "{len}");
    }
}
