//! Rewriting the standard's files. The results must have equal values, and nearly all must equal
//! their `.yaml` counterparts byte for byte. These tests need the corpus.

use std::fs;
use std::path::PathBuf;

use asdf::ndarray::{ByteOrder, Order};
use asdf::tag::Version;
use asdf::{Asdf, Node, OpenOptions, Tree, WriteOptions, Writer};

use crate::bytes_of;

/// Returns the folders that contain the standard's files, one per version.
fn folders() -> Vec<PathBuf> {
    let Some(corpus) = testdata::corpus() else { return Vec::new() };
    let entries = fs::read_dir(corpus.join("asdf/reference")).unwrap();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Returns the entries of a node. Omits the entry for the library that wrote the file, because
/// rewriting replaces it.
fn entries(node: Node<'_>) -> impl Iterator<Item = (Node<'_>, Node<'_>)> {
    node.entries().filter(|(key, _)| key.text() != Some("asdf_library"))
}

fn same_arrays(a: Node<'_>, b: Node<'_>) {
    assert_eq!(a.kind(), b.kind());
    if a.is_ndarray() {
        let (a, b) = (a.ndarray().unwrap(), b.ndarray().unwrap());
        assert_eq!((a.datatype(), a.shape()), (b.datatype(), b.shape()));
        let bytes =
            |array: &asdf::NdArray<'_>| array.read_bytes(Order::C, ByteOrder::Stored).unwrap();
        assert_eq!(bytes(&a), bytes(&b));
        return;
    }
    assert_eq!((a.tag(), a.text()), (b.tag(), b.text()));
    assert_eq!((entries(a).count(), a.items().len()), (entries(b).count(), b.items().len()));
    for ((key, value), (other_key, other)) in entries(a).zip(entries(b)) {
        assert_eq!(key.text(), other_key.text());
        same_arrays(value, other);
    }
    for (item, other) in a.items().zip(b.items()) {
        same_arrays(item, other);
    }
}

#[test]
fn rewriting_the_files_of_the_standard_preserves_their_values() {
    let (mut files, mut twins, mut equal) = (0, 0, Vec::new());
    let mut different = Vec::new();
    for folder in folders() {
        let version: Version = folder.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let mut paths: Vec<PathBuf> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in
            paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "asdf"))
        {
            files += 1;
            let file = Asdf::open(&path).unwrap();
            let options = WriteOptions::new().standard(version);
            let writer = Writer::new(Tree::from_file(&file, 0).unwrap()).options(options.clone());
            let copy = OpenOptions::new().external(asdf::External::Root(folder.clone()));
            let bytes = bytes_of(&writer.clone().blocks_of(&file).implode(true));
            let copy = copy.from_bytes(bytes).unwrap();
            assert_eq!(
                copy.blocks().len().unwrap(),
                copy.layout().index.as_ref().map_or(0, |index| index.entries.unwrap())
            );
            same_arrays(file.tree().unwrap(), copy.tree().unwrap());

            let Ok(twin) = fs::read(path.with_extension("yaml")) else { continue };
            twins += 1;
            let inline = Tree::from_file_inline(&file).unwrap();
            let written = bytes_of(&Writer::new(inline).options(options.keep_library()));
            let name = format!("{version}/{}", path.file_name().unwrap().to_string_lossy());
            if written == twin {
                equal.push(name);
            } else {
                let (ours, theirs) =
                    (String::from_utf8_lossy(&written), String::from_utf8_lossy(&twin));
                let line = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
                different.push(format!("{name}: {line:?}"));
            }
        }
    }
    if files == 0 {
        return;
    }
    println!(
        "{} of {twins} equal their counterparts byte for byte, except: {different:#?}",
        equal.len()
    );
    assert!(equal.len() >= MIN_EQUAL, "{} of {twins}; {different:#?}", equal.len());
}

/// Minimum number of counterparts, out of 30, that must be equal byte for byte. The exception is
/// `1.0.0/anchor.yaml`, which lists software that the `.asdf` file does not list.
const MIN_EQUAL: usize = 29;
