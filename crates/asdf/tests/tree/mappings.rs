//! Duplicate keys, merge keys and aliases in mappings.

use std::time::{Duration, Instant};

use asdf::diagnostic::Code;
use asdf::yaml::{Document, NodeKind, ParseOptions, ScalarRules, YamlNode};

use crate::{parse, parse_reported, to_json, try_parse};

#[test]
fn a_duplicate_key_has_its_last_value_at_its_first_position() {
    let text = "a: 1\nb: 2\na: 3\n";
    let (_, diagnostics) = try_parse(text);
    assert_eq!((diagnostics[0].code, diagnostics[0].place.offset), (Code::DuplicateKey, Some(10)));
    assert_eq!(
        diagnostics[0].message,
        "key `a` at line 3, column 1 repeats the key at line 1, column 1: the last value is used"
    );
    assert_eq!(to_json(text), r#"{"a":3,"b":2}"#);
    let (document, _) = parse_reported(text);
    assert_eq!((document.root().len(), document.root().raw_entries().len()), (2, 3));
    assert_eq!(document.root().get("a").unwrap().as_i64(), Some(3));
}

#[test]
fn keys_with_the_same_type_and_value_are_equal() {
    assert_eq!(parse_reported("8: a\n010: b\n").1, [Code::DuplicateKey]);
    assert_eq!(parse_reported("yes: a\ntrue: b\n").1, [Code::DuplicateKey]);
    assert_eq!(parse_reported("a: 1\n'a': 2\n").1, [Code::DuplicateKey]);
    assert_eq!(parse_reported("7: a\n'7': b\n").1, []);
}

#[test]
fn a_key_in_any_notation_is_found_only_by_its_json_form() {
    let (document, _) = parse_reported("0x10: a\nyes: b\n~: c\n");
    for (notation, name, value) in [("0x10", "16", "a"), ("yes", "true", "b"), ("~", "null", "c")] {
        assert_eq!(document.root().get(name).unwrap().as_str(), Some(value), "{name}");
        assert!(document.root().get(notation).is_none(), "{notation}");
    }
}

#[test]
fn keys_other_than_strings_and_integers_and_booleans_are_reported() {
    let text = "1.5: a\n~: b\n2001-01-01: c\n7: d\ntrue: e\nf: g\n";
    let (document, codes) = parse_reported(text);
    assert_eq!(codes, [Code::KeyType; 3]);
    for (key, value) in
        [("1.5", "a"), ("null", "b"), ("2001-01-01", "c"), ("7", "d"), ("true", "e")]
    {
        assert_eq!(document.root().get(key).unwrap().as_str(), Some(value), "{key}");
    }
}

#[test]
fn a_collection_key_is_an_error_only_when_the_key_is_requested() {
    let (document, codes) = parse_reported("[1, 2]: x\na: y\n? {b: 1}\n: z\n");
    assert_eq!(codes, [Code::KeyType; 2]);
    assert_eq!(document.root().get("a").unwrap().as_str(), Some("y"));
    let (key, value) = document.root().entries().next().unwrap();
    assert_eq!(value.as_str(), Some("x"));
    let error = key.to_key().unwrap_err().to_string();
    assert_eq!(error, "line 1, column 1: a sequence cannot be a key (offset 0)");
}

#[test]
fn an_alias_may_be_a_key() {
    assert_eq!(to_json("a: &x k\nb: {*x : 1}\n"), r#"{"a":"k","b":{"k":1}}"#);
}

#[test]
fn own_keys_override_merged_keys_and_earlier_merged_mappings_override_later_merged_mappings() {
    let text = "a: &a {p: 1, q: 2}\nb: &b {p: 5, r: 6}\n\
                x: {<<: *a, q: 3}\ny: {<<: [*a, *b], s: 7}\nz: {<<: [*b, *a]}\nw: {<<: {t: 8}}\n";
    let document = parse(text);
    let value = |pointer| document.root().pointer(pointer).unwrap().as_i64().unwrap();
    assert_eq!([value("/x/p"), value("/x/q")], [1, 3]);
    assert_eq!([value("/y/p"), value("/y/q"), value("/y/r"), value("/y/s")], [1, 2, 6, 7]);
    assert_eq!([value("/z/p"), value("/z/q"), value("/z/r")], [5, 2, 6]);
    assert_eq!(value("/w/t"), 8);
    assert!(document.root().pointer("/x/<<").is_err());
    assert_eq!(document.root().get("y").unwrap().len(), 4);
    assert_eq!(document.root().get("x").unwrap().raw_entries().len(), 2);
    let json = to_json(text);
    assert!(json.contains(r#""x":{"p":1,"q":3}"#), "{json}");
    assert!(json.contains(r#""z":{"q":2,"p":5,"r":6}"#), "{json}");
}

#[test]
fn merge_keys_inside_merged_mappings_are_applied() {
    let text = "a: &a {p: 1, q: 1}\nb: &b {<<: *a, q: 2}\nc: {<<: [*b, *a], r: 3}\n";
    let document = parse(text);
    let c = document.root().get("c").unwrap();
    assert_eq!(
        ["p", "q", "r"].map(|key| c.get(key).unwrap().as_i64()),
        [Some(1), Some(2), Some(3)]
    );
}

#[test]
fn a_mapping_that_merges_itself_gains_no_entries_from_itself() {
    for text in ["a: &a {<<: *a, k: 1}\n", "a: &a {<<: {<<: *a, j: 2}, k: 1}\n"] {
        let document = parse(text);
        let a = document.root().get("a").unwrap();
        assert_eq!(a.get("k").unwrap().as_i64(), Some(1));
        assert!(a.get("none").is_none());
        assert!(a.entries().count() <= 2);
    }
    let document = parse("a: &l\n- &m {<<: *l, k: 1}\n- {j: 2}\n");
    let merged = document.root().pointer("/a/0").unwrap();
    assert_eq!(merged.get("j").unwrap().as_i64(), Some(2));
}

#[test]
fn a_merge_key_without_a_mapping_is_an_ordinary_key() {
    for value in ["1", "[1]", "[[{a: 1}]]", "x"] {
        let (document, codes) = parse_reported(format!("a: {{<<: {value}}}\n"));
        assert_eq!(codes, [Code::SpecialScalar], "{value}");
        assert!(document.root().pointer("/a/<<").is_ok());
    }
    assert_eq!(parse_reported("a: <<\nb: =\n").1, [Code::SpecialScalar; 2]);
    let quoted = parse("a: &a {p: 1}\nb: {'<<': *a}\n");
    assert!(quoted.root().pointer("/b/<<").is_ok());
}

#[test]
fn the_core_schema_has_no_merge_keys() {
    let options = ParseOptions::default().scalars(ScalarRules::Core12);
    let text = b"a: &a {p: 1}\nb: {<<: *a}\n";
    let document = Document::parse(text, &options, &mut Vec::new()).unwrap();
    assert!(document.root().pointer("/b/<</p").is_ok());
}

#[test]
fn an_alias_refers_to_the_anchored_node_itself_and_may_form_a_cycle() {
    let document = parse("a: &x [1, *x]\nb: &y {self: *y, x: *x}\n");
    let a = document.root().get("a").unwrap();
    assert_eq!(a.at(1).unwrap().id(), a.id());
    assert_eq!(a.anchor(), Some("x"));
    let deep = document.root().pointer("/b/self/self/self/x/1/1/0").unwrap();
    assert_eq!(deep.as_i64(), Some(1));
    assert_eq!(document.node(a.id()).len(), 2);
}

#[test]
fn an_alias_without_an_anchor_is_an_error() {
    assert!(try_parse("a: *x\n").0.is_err());
    assert!(try_parse("a: *x\nb: &x 1\n").0.is_err());
}

#[test]
fn all_keys_of_a_large_mapping_are_found_quickly() {
    let count = 50_000;
    let mut text: String = (0..count).map(|n| format!("key{n}: {n}\n")).collect();
    text.push_str("key7: again\n");
    let start = Instant::now();
    let (document, codes) = parse_reported(&text);
    assert_eq!(codes, [Code::DuplicateKey]);
    let root = document.root();
    for n in (0..count).filter(|&n| n != 7) {
        assert_eq!(root.get(&format!("key{n}")).and_then(YamlNode::as_i64), Some(n));
    }
    assert_eq!(root.get("key7").unwrap().as_str(), Some("again"));
    assert!(root.get("key50000").is_none());
    // A linear search for each key would take far longer.
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn string_and_integer_keys_are_found_in_a_large_mapping_with_merge_keys() {
    let own: String = (0..40).map(|n| format!("k{n}: {n}, {n}: x, ")).collect();
    let document = parse(
        format!("a: &a {{{own}}}\nb: {{<<: *a, k1: own, {own}}}\n")
            .replace("k1: own, k0: 0", "k0: 0"),
    );
    let b = document.root().get("b").unwrap();
    assert_eq!(b.len(), 80);
    assert_eq!(b.get("k39").unwrap().as_i64(), Some(39));
    assert_eq!(b.get("39").unwrap().as_str(), Some("x"));
    assert_eq!(b.get("39").unwrap().kind(), NodeKind::String);
}
