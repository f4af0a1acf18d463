//! Writing the tree as JSON.

use std::fmt::Write as _;

use asdf::tree::ReferenceError;
use asdf::tree::json::{Aliases, Options};
use asdf::{Asdf, ErrorKind};

use crate::{parse, parse_reported, to_json, try_json};

const CORE: &str = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n";

#[test]
fn scalars_are_written_as_json() {
    for (text, want) in [
        ("~", "null"),
        ("on", "true"),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("1.0", "1.0"),
        ("1.0e+16", "1e+16"),
        ("4.9e-324", "5e-324"),
        (".inf", "\"inf\""),
        ("-.inf", "\"-inf\""),
        (".nan", "\"nan\""),
        ("2001-12-14", "\"2001-12-14\""),
        ("2001-12-14t21:59:43.10-05:00", "\"2001-12-14T21:59:43.100000-05:00\""),
        ("\"\\x01\\\"\\u00e9\"", "\"\\u0001\\\"é\""),
        ("!!binary SGVsbG8=", r#"{"$binary":"SGVsbG8="}"#),
    ] {
        assert_eq!(to_json(format!("[{text}]")), format!("[{want}]"), "{text}");
    }
}

#[test]
fn integers_of_any_size_are_exact_in_json() {
    for digits in [40, 5000] {
        let text = "9".repeat(digits);
        assert_eq!(to_json(format!("[-{text}]")), format!("[-{text}]"));
    }
    assert_eq!(to_json("[0xffffffffffffffffffffffffffffffffff]"), {
        "[87112285931760246646623899502532662132735]"
    });
}

#[test]
fn scalar_keys_of_any_type_are_strings_in_json() {
    let text = "7: a\n010: b\nyes: c\n~: d\n1.50: e\n2001-01-01: f\n'g\"': h\n";
    let want = r#"{"7":"a","8":"b","true":"c","null":"d","1.50":"e","2001-01-01":"f","g\"":"h"}"#;
    assert_eq!(to_json(text), want);
}

#[test]
fn an_ordered_mapping_is_an_object_in_json() {
    assert_eq!(to_json("!!omap\n- b: 1\n- a: [2]\n"), r#"{"b":1,"a":[2]}"#);
    assert_eq!(to_json("!!omap\n- !!omap {b: 1}\n- 7: !!omap []\n"), r#"{"b":1,"7":{}}"#);
    // If an item does not have exactly one entry, or has a merge key, the node is written as a
    // list.
    assert_eq!(to_json("!!omap [{a: 1, b: 2}]"), r#"[{"$error":"InvalidPair"}]"#);
    assert_eq!(to_json("[&x {a: 1}, !!omap [<<: *x]]"), r#"[{"a":1},[["a",1]]]"#);
}

#[test]
fn sets_and_pairs_are_lists_in_json() {
    assert_eq!(to_json("!!set {b, a, 5}"), r#"["b","a",5]"#);
    assert_eq!(to_json("!!pairs [a: 1, a: 2]"), r#"[["a",1],["a",2]]"#);
    assert_eq!(to_json("!!pairs [a, {b: 1, c: 2}]"), {
        r#"[{"$error":"InvalidPair"},{"$error":"InvalidPair"}]"#
    });
}

#[test]
fn complex_numbers_are_pairs_of_numbers_in_json() {
    let text = format!("{CORE}- !core/complex-1.0.0 (1-infj)\n- !core/complex-1.0.0 x\n");
    assert_eq!(to_json(text), r#"[{"$complex":[1.0,"-inf"]},{"$error":"InvalidScalar"}]"#);
}

#[test]
fn tags_are_written_to_json_only_on_request() {
    let text = format!("{CORE}a: !foo-1.0.0 [!!str 1]\nb: !x {{}}\nc: !core/constant-1.0.0 5\n");
    assert_eq!(to_json(&text), r#"{"a":["1"],"b":{},"c":5}"#);
    let options = Options::new().tags(true);
    assert_eq!(
        try_json(&parse(&text), options).unwrap(),
        r#"{"a":{"$tag":"tag:stsci.edu:asdf/foo-1.0.0","$value":["1"]},"#.to_owned()
            + r#""b":{"$tag":"tag:stsci.edu:asdf/x","$value":{}},"c":5}"#
    );
}

#[test]
fn aliases_are_expanded_or_written_as_references_in_json() {
    let text = "a/b: &x [1, &y {k: 2}]\nc: [*x, *y]\n";
    assert_eq!(to_json(text), r#"{"a/b":[1,{"k":2}],"c":[[1,{"k":2}],{"k":2}]}"#);
    let options = Options::new().aliases(Aliases::Reference);
    assert_eq!(
        try_json(&parse(text), options).unwrap(),
        r#"{"a/b":[1,{"k":2}],"c":[{"$alias":"/a~1b"},{"$alias":"/a~1b/1"}]}"#
    );
}

#[test]
fn a_cycle_of_aliases_is_an_error_unless_aliases_are_written_as_references() {
    let document = parse("r: {a: &x [1, {b: *x}]}\n");
    let error = try_json(&document, Options::default()).unwrap_err();
    let ErrorKind::Reference { target, kind: ReferenceError::Cycle(path) } = error.kind() else {
        panic!("another error: {error}");
    };
    assert_eq!((&target[..], &path[..]), ("/r/a/1/b", &["/r/a".into(), "/r/a/1/b".into()][..]));
    let options = Options::new().aliases(Aliases::Reference);
    assert_eq!(try_json(&document, options).unwrap(), r#"{"r":{"a":[1,{"b":{"$alias":"/r/a"}}]}}"#);
    let root = parse("--- &x\na: *x\n");
    assert!(try_json(&root, Options::default()).is_err());
    assert_eq!(try_json(&root, options).unwrap(), r#"{"a":{"$alias":""}}"#);
}

#[test]
fn an_alias_is_expanded_at_its_first_use_if_its_anchor_was_not_written() {
    let (document, _) = parse_reported("a: &x [1]\na: 2\nb: [*x, *x]\n");
    let options = Options::new().aliases(Aliases::Reference);
    assert_eq!(try_json(&document, options).unwrap(), r#"{"a":2,"b":[[1],{"$alias":"/b/0"}]}"#);
}

#[test]
fn writing_an_alias_bomb_as_json_is_an_error() {
    let mut text = String::from("a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for level in 1..9 {
        let below = format!("*a{}", level - 1);
        let items = vec![below; 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{items}]").unwrap();
    }
    let error = try_json(&parse(text), Options::default()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Limit { what: "nodes of expanded aliases", .. }),
        "{error}"
    );
}

#[test]
fn writing_a_merge_key_bomb_as_json_is_an_error() {
    let keys: String = (0..4000).map(|n| format!("k{n}: , ")).collect();
    let uses = "{<<: *a}, ".repeat(4000);
    let document = parse(format!("a: &a {{{keys}}}\nb: [{uses}]\n"));
    let error = try_json(&document, Options::default()).unwrap_err();
    let what = "bytes of expanded aliases and merge keys";
    assert!(
        matches!(error.kind(), ErrorKind::Limit { what: limited, .. } if *limited == what),
        "{error}"
    );
}

#[test]
fn writing_too_many_aliases_of_a_long_datatype_as_json_is_an_error() {
    let name = "x".repeat(16 << 20);
    let array = "!core/ndarray-1.1.0 {source: 0, byteorder: big, shape: [1], datatype: *t}";
    let arrays = format!("- {array}\n").repeat(12);
    let file = file(&format!("t: &t [{{name: {name}, datatype: int8}}]\na:\n{arrays}"));
    let node = file.tree().unwrap().pointer("/a").unwrap();
    let written = node.write_json(&mut std::io::sink(), &Options::default());
    assert!(matches!(written.unwrap_err().kind(), ErrorKind::Limit { .. }));
}

/// Creates a file that contains only this tree.
fn file(tree: &str) -> Asdf {
    let head = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
    Asdf::from_bytes(format!("{head}{tree}\n...\n").into_bytes()).unwrap()
}

#[test]
fn a_collection_key_cannot_be_written_as_json() {
    let (document, _) = parse_reported("a: 1\n[b]: 2\n");
    let error = try_json(&document, Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 1: a sequence cannot be a key (offset 5)");
}

#[test]
fn array_and_integer_nodes_have_special_json_forms() {
    let file = file(
        "a: !core/ndarray-1.1.0 {source: 0, datatype: float64, byteorder: little, shape: [2, 3]}\n\
         b: !core/ndarray-1.0.0 {source: 0}\nc: !core/ndarray-9.0.0 {source: 0}\n\
         d: !core/integer-1.1.0 {sign: '-', words: [12]}\ne: !core/integer-1.0.0 {}",
    );
    let mut out = Vec::new();
    file.tree().unwrap().write_json(&mut out, &Options::default()).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"a":{"$ndarray":{"dtype":"<f8","shape":[2,3]}},"b":{"$error":"Missing"},"#.to_owned()
            + r#""c":{"source":0},"d":-12,"e":{"$error":"Yaml"}}"#
    );
}
