//! The positions of nodes and errors.

use asdf::ErrorKind;
use asdf::yaml::{Document, ParseOptions, Position};

use crate::{fault, parse};

fn at(text: &str, pointer: &str) -> (u32, u32, u64) {
    let document = parse(text);
    let Position { line, column, offset } = document.root().pointer(pointer).unwrap().position();
    (line, column, offset)
}

#[test]
fn a_block_mapping_is_at_the_position_of_its_first_key() {
    assert_eq!(at("---\nlong key: 1\n", ""), (2, 1, 4));
    assert_eq!(at("a:\n  bcd: 1\n", "/a"), (2, 3, 5));
    assert_eq!(at("- a: 1\n- b: 2\n", "/1"), (2, 3, 9));
    assert_eq!(at("a: !t\n  &x\n  bcd: 1\n", "/a"), (3, 3, 13));
}

#[test]
fn a_block_sequence_is_at_the_position_of_its_first_dash() {
    assert_eq!(at("a:\n  - 1\n", "/a"), (2, 3, 5));
    assert_eq!(at("a:\n- 1\n", "/a"), (2, 1, 3));
    assert_eq!(at("a:\n-   [1]\n", "/a"), (2, 1, 3));
    assert_eq!(at("a:\n-   [1]\n", "/a/0"), (2, 5, 7));
}

#[test]
fn a_flow_collection_is_at_the_position_of_its_bracket() {
    assert_eq!(at("a: [1, {b: 2}]\n", "/a"), (1, 4, 3));
    assert_eq!(at("a: [1, {b: 2}]\n", "/a/1"), (1, 8, 7));
    assert_eq!(at("a: [b: 2]\n", "/a/0"), (1, 5, 4));
}

#[test]
fn the_position_of_a_scalar_is_after_its_tag_and_anchor() {
    assert_eq!(at("a: !!str &x 'y'\n", "/a"), (1, 13, 12));
    assert_eq!(at("a: &x !!str y\n", "/a"), (1, 13, 12));
}

#[test]
fn line_breaks_of_all_kinds_are_counted() {
    assert_eq!(at("a: 1\r\nb: 2\r\n", "/b"), (2, 4, 9));
    assert_eq!(at("a: 1\rb: 2\r", "/b"), (2, 4, 8));
    assert_eq!(at("a: >\r\n  x\r\n\r\n  y\r\nb: 2", "/b"), (5, 4, 21));
}

#[test]
fn positions_are_relative_to_the_start_of_the_file() {
    let options = ParseOptions::default().start(1000, 3);
    let document = Document::parse(b"---\na: b\n", &options, &mut Vec::new()).unwrap();
    let position = document.root().get("a").unwrap().position();
    assert_eq!((position.line, position.column, position.offset), (4, 4, 1007));
    let mut diagnostics = Vec::new();
    let error = Document::parse(b"a: 0x_\nb: @\n", &options, &mut diagnostics).unwrap_err();
    let &ErrorKind::Yaml { line, column, .. } = error.kind() else { panic!("{error}") };
    assert_eq!((line, column, error.offset()), (4, 4, Some(1010)));
    let place = &diagnostics[0].place;
    assert_eq!((place.line, place.column, place.offset), (Some(3), Some(4), Some(1003)));
}

#[test]
fn an_error_has_the_position_at_which_the_parser_stopped() {
    assert_eq!(fault("a: 1\nb: [1, 2\nc: 3\n").0, 3);
    let (line, column, offset, message) = fault("é: @x\n");
    assert_eq!((line, column, offset), (1, 4, 4));
    assert!(message.contains('@'));
}

#[test]
fn a_byte_order_mark_does_not_shift_positions() {
    assert_eq!(at("\u{feff}a: b\n", "/a"), (1, 5, 6));
    assert_eq!(at("\u{feff}---\na: b\n", "/a"), (2, 4, 10));
}
