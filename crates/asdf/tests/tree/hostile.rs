//! Parsing hostile YAML sources.

use std::fmt::Write as _;

use asdf::ErrorKind;
use asdf::tree::json::Options;
use asdf::yaml::{Document, ParseOptions};
use binio::Limits;

use crate::{parse, parse_reported, try_json, try_parse};

fn assert_fails(text: &str) {
    assert!(try_parse(text).0.is_err(), "{:?}..", &text[..text.len().min(20)]);
}

#[test]
fn a_megabyte_of_dashes_or_colons_or_opening_brackets_is_an_error() {
    const MILLION: usize = 1_000_000;
    for opening in ["[", "{", "- ", "? ", "[[{", "{a: ", "- ? "] {
        assert_fails(&opening.repeat(MILLION / opening.len()));
    }
    let deep: String = (0..1_200).map(|n| " ".repeat(n) + "a:\n").collect();
    assert_fails(&deep);
    // A long line of many colons is an error too, although nothing is nested.
    assert_fails(&"a:".repeat(MILLION / 2).replace("a:a:", "a: a:"));
}

#[test]
fn the_depth_limit_counts_block_and_flow_collections() {
    let limits = Limits::default().max_depth(3);
    let options = ParseOptions::default().limits(limits);
    let parse = |text: &str| Document::parse(text.as_bytes(), &options, &mut Vec::new());
    assert!(parse("- - [1]").is_ok());
    let error = parse("- - [[1]]").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 3, requested: 4, .. }), "{error}");
    assert!(parse("a:\n  b:\n    c: [1]").is_err());
}

#[test]
fn a_tree_of_50_000_levels_can_be_written_and_walked_and_dropped() {
    let limits = Limits::default().max_depth(u32::MAX);
    let options = ParseOptions::default().limits(limits);
    let depth = 50_000;
    let text = "- ".repeat(depth) + "x";
    let document = Document::parse(text.as_bytes(), &options, &mut Vec::new()).unwrap();
    let json = try_json(&document, Options::default()).unwrap();
    assert_eq!(json.len(), 2 * depth + 3);
    assert!(document.root().pointer(&"/0".repeat(depth)).unwrap().as_str() == Some("x"));
}

#[test]
fn a_document_with_more_nodes_than_the_limit_is_an_error() {
    let limits = Limits::default().max_items(5);
    let options = ParseOptions::default().limits(limits);
    let parse = |text: &str| Document::parse(text.as_bytes(), &options, &mut Vec::new());
    assert_eq!(parse("[1, 2, 3, 4]").unwrap().node_count(), 5);
    assert!(matches!(
        parse("[1, 2, 3, 4, 5]").unwrap_err().kind(),
        ErrorKind::Limit { limit: 5, .. }
    ));
}

#[test]
fn many_anchors_and_aliases_and_redefinitions_are_parsed() {
    let count = 50_000;
    let mut text = String::new();
    for n in 0..count {
        let _ = writeln!(text, "- &a{n} [*a{}]", n.max(1) - 1);
    }
    // The first alias refers to the list that contains it.
    let document = parse(&text);
    assert_eq!(document.root().len(), count);
    let again = "- &a 1\n".repeat(count);
    assert_eq!(parse_reported(&again).1.len(), count - 1);
}

#[test]
fn mappings_that_merge_the_list_around_them_are_searched_without_endless_recursion() {
    let uses = "- {<<: *l}\n".repeat(500);
    let document = parse(format!("--- &l\n{uses}"));
    assert!(document.root().items().all(|item| item.get("k").is_none()));
}

#[test]
fn merge_keys_that_expand_to_too_many_entries_in_total_are_an_error() {
    let limits = Limits::default().max_items(100_000);
    let options = ParseOptions::default().limits(limits);
    let chain: String =
        (1..1_000).map(|n| format!("m{n}: &m{n} {{<<: *m{}, k{n}: 1}}\n", n - 1)).collect();
    let list = "b: &b [{a: 1}".to_owned() + &", {a: 1}".repeat(1_000) + "]\n";
    let uses: String = (0..1_000).map(|n| format!("m{n}: {{<<: *b}}\n")).collect();
    for text in [format!("m0: &m0 {{k0: 1}}\n{chain}"), list + &uses] {
        let error = Document::parse(text.as_bytes(), &options, &mut Vec::new()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { what: "merged entries", .. }), "{error}");
    }
}

#[test]
fn a_one_megabyte_key_is_found() {
    let key = "k".repeat(1 << 20);
    let document = parse(format!("? {key}\n: 1\n"));
    assert_eq!(document.root().get(&key).unwrap().as_i64(), Some(1));
}

#[test]
fn unfinished_tokens_and_collections_are_errors() {
    for text in [
        "a: 'x",
        "a: \"x",
        "a: \"\\",
        "a: \"\\x",
        "a: [",
        "a: {b",
        "a: !<x",
        "a: !<",
        "a: &",
        "a: *",
        "a: !x!",
        "%",
        "%YAML",
        "%TAG",
        "%TAG !",
        "a: \"\\ud800\"",
        "a: !%",
        "a: !%4",
        "a: !%ff 1",
    ] {
        assert_fails(text);
    }
}

#[test]
fn a_document_may_have_many_directives() {
    let text: String = (0..100_000).map(|n| format!("%TAG !h{n}! tag:{n}/\n")).collect();
    let document = parse(format!("{text}--- !h9!x\na: !h99999!y 1\n"));
    assert_eq!(document.root().tag(), Some("tag:9/x"));
    assert_eq!(document.root().get("a").unwrap().tag(), Some("tag:99999/y"));
}

#[test]
fn huge_integers_are_read_in_decimal_but_rejected_in_other_bases() {
    let digits = "7".repeat(1_000_000);
    let (document, _) =
        parse_reported(format!("- {digits}\n- 0x{digits}\n- 1{}\n", ":00".repeat(9_999)));
    assert_eq!(document.root().at(0).unwrap().value().unwrap(), {
        asdf::yaml::Content::Int(asdf::yaml::Integer::Large {
            negative: false,
            digits: digits.into(),
        })
    });
    assert!(document.root().at(1).unwrap().value().is_err());
    assert!(document.root().at(2).unwrap().value().is_err());
}

#[test]
fn the_column_of_the_last_item_in_a_long_non_ascii_line_is_found() {
    let text = format!("a: [{}]\n", "é, ".repeat(200_000));
    let document = parse(&text);
    let last = document.root().get("a").unwrap().items().next_back().unwrap();
    assert_eq!(last.position().column, 5 + 3 * 199_999);
}
