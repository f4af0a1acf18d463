//! Resolving references (`$ref`) to nodes.

use std::fs;

use asdf::diagnostic::Code;
use asdf::tree::ReferenceError;
use asdf::{Asdf, ErrorKind};
use tempfile::TempDir;

use super::{bytes_of, file, node};

fn failure(tree: &str) -> ReferenceError {
    let file = file(tree, &[]);
    match node(&file, "/r").resolve() {
        Err(error) => match error.kind() {
            ErrorKind::Reference { kind, .. } => kind.clone(),
            other => panic!("{other:?}"),
        },
        Ok(node) => panic!("{node:?}"),
    }
}

#[test]
fn a_reference_with_a_pointer_leads_to_a_node_of_the_same_file() {
    let tree = "a: {b: [10, 20, 30], 'c/d': 1, 'e~f': 2, 'g h': 3, '%': 4, '': 5, 'i%2Fj': 6}";
    for (pointer, expected) in [
        ("#/a/b/1", 20),
        ("#a/b/1", 20),
        ("#/a/b/-1", 30),
        ("#/a/c~1d", 1),
        ("#/a/c%2Fd", 1),
        ("#/a/c%7E1d", 1),
        ("#/a/e~0f", 2),
        ("#/a/g%20h", 3),
        ("#/a/g h", 3),
        ("#/a/%", 4),
        ("#/a/", 5),
        ("#/a/i%252Fj", 6),
    ] {
        let file = file(&format!("{tree}\nr: {{$ref: '{pointer}'}}"), &[]);
        let target =
            node(&file, "/r").resolve().unwrap_or_else(|error| panic!("{pointer}: {error}"));
        assert_eq!(target.as_i64(), Some(expected), "{pointer}");
    }
}

#[test]
fn a_reference_with_an_empty_pointer_leads_to_the_root() {
    for uri in ["''", "'#'"] {
        let file = file(&format!("r: {{$ref: {uri}}}"), &[]);
        assert_eq!(node(&file, "/r").resolve().unwrap().id(), file.tree().unwrap().id());
    }
}

#[test]
fn resolving_a_node_that_is_not_a_reference_returns_the_node_itself() {
    let file = file("a: {$ref: 5}\nb: [$ref]\nc: 1", &[]);
    for pointer in ["/a", "/b", "/c"] {
        assert_eq!(node(&file, pointer).reference(), None);
        assert_eq!(node(&file, pointer).resolve().unwrap().id(), node(&file, pointer).id());
    }
}

#[test]
fn a_reference_to_a_reference_is_followed() {
    let file = file("r: {$ref: '#/s'}\ns: {$ref: '#/t'}\nt: 5", &[]);
    assert_eq!(node(&file, "/r").resolve().unwrap().as_i64(), Some(5));
}

#[test]
fn the_error_for_a_reference_cycle_lists_its_references() {
    let ReferenceError::Cycle(path) = failure("r: {$ref: '#/s'}\ns: {$ref: '#/r'}") else {
        panic!("no cycle")
    };
    assert_eq!(path, ["#/s", "#/r", "#/s"]);
    assert!(matches!(failure("r: {$ref: '#r'}"), ReferenceError::Cycle(_)));
}

#[test]
fn a_chain_of_too_many_references_is_an_error() {
    let mut tree = String::from("r: {$ref: '#/r0'}\n");
    for i in 0..100 {
        tree += &format!("r{i}: {{$ref: '#/r{}'}}\n", i + 1);
    }
    assert!(matches!(failure(&tree), ReferenceError::TooDeep(64)));
}

#[test]
fn references_to_missing_nodes_and_references_with_invalid_utf_8_are_errors() {
    for uri in ["#/x", "#/a/3", "#/a/-4", "#/a/x", "#/a/99999999999999999999", "#/b/c"] {
        let why = failure(&format!("a: [1, 2, 3]\nb: 1\nr: {{$ref: '{uri}'}}"));
        assert!(matches!(why, ReferenceError::NotFound(_)), "{uri}: {why}");
    }
    assert!(matches!(failure("r: {$ref: '#/%ff'}"), ReferenceError::Syntax(_)));
}

#[test]
fn keys_next_to_a_reference_are_reported_and_ignored() {
    let file = file("r: {$ref: '#/a', b: 2}\na: 1", &[]);
    assert_eq!(node(&file, "/r").resolve().unwrap().as_i64(), Some(1));
    assert_eq!(file.diagnostics()[0].code, Code::ReferenceSiblings);
}

#[test]
fn references_are_followed_through_external_files() {
    let folder = TempDir::new().unwrap();
    let array = "!core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [1]}";
    let here =
        format!("r: {{$ref: 'sub/other.asdf#/x'}}\nl: {{$ref: 'sub/other.asdf#/y'}}\na: {array}");
    fs::write(folder.path().join("main.asdf"), bytes_of(&here, &[&[1]])).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let there = format!("x: {{$ref: '#/z'}}\nz: {array}\ny: {{$ref: 'other.asdf#/y'}}");
    fs::write(folder.path().join("sub/other.asdf"), bytes_of(&there, &[&[2]])).unwrap();
    let file = Asdf::open(folder.path().join("main.asdf")).unwrap();
    let target = node(&file, "/r").resolve().unwrap();
    assert!(!std::ptr::eq(target.file(), &raw const file));
    assert_eq!(target.ndarray().unwrap().read::<u8>().unwrap(), [2]);
    let cycle = node(&file, "/l").resolve().unwrap_err();
    assert!(
        matches!(cycle.kind(), ErrorKind::Reference { kind: ReferenceError::Cycle(_), .. }),
        "{cycle}"
    );
}
