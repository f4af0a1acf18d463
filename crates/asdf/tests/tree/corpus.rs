//! Scalars and line breaks recorded from the reference implementation, with the results that this
//! crate must return.

use asdf::yaml::{NodeKind, YamlNode};
use serde_json::Value;

use crate::{to_json, try_parse};

fn type_of(node: YamlNode<'_>) -> &'static str {
    match node.kind() {
        NodeKind::Null => "null",
        NodeKind::Bool => "bool",
        NodeKind::Int => "int",
        NodeKind::Float => "float",
        NodeKind::String => "str",
        NodeKind::Date => "date",
        NodeKind::DateTime => "datetime",
        NodeKind::Binary => "bytes",
        NodeKind::Sequence => "list",
        NodeKind::Mapping => "dict",
    }
}

#[test]
fn corpus_scalar_cases_resolve_as_recorded() {
    let Some(corpus) = testdata::corpus() else { return };
    let recorded = std::fs::read_to_string(corpus.join("asdf/scalars.json")).unwrap();
    // Compare long integers as text, because the JSON parser would round them.
    let recorded = quote_integers(&recorded);
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    assert!(cases.len() >= 88, "{}", cases.len());
    for case in cases {
        let (text, ours) = (case["text"].as_str().unwrap(), &case["ours"]);
        let tree = format!("%YAML 1.1\n---\nv: {text}\n...\n");
        let (document, diagnostics) = try_parse(&tree);
        if ours["error"] == true {
            assert!(document.is_err(), "{text}");
            continue;
        }
        let document = document.unwrap();
        let node = document.root().get("v").unwrap();
        assert_eq!(type_of(node), ours["type"], "{text}");
        let json: Value = serde_json::from_str(&quote_integers(&to_json(&tree))).unwrap();
        assert_eq!(json["v"], ours["json"], "{text}");
        for code in ours["diagnostics"].as_array().into_iter().flatten() {
            let codes: Vec<_> = diagnostics.iter().map(|d| d.code.as_str()).collect();
            assert!(codes.contains(&code.as_str().unwrap()), "{text}: {codes:?}");
        }
    }
}

#[test]
fn corpus_line_breaks_are_read_as_in_yaml_1_1() {
    let Some(corpus) = testdata::corpus() else { return };
    let recorded = std::fs::read(corpus.join("asdf/unicode_breaks.json")).unwrap();
    let recorded: Value = serde_json::from_slice(&recorded).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    assert!(cases.len() >= 63, "{}", cases.len());
    for case in cases {
        let text = case["text"].as_str().unwrap();
        if case["value"].is_null() {
            assert!(try_parse(text).0.is_err(), "{text:?}");
        } else {
            let value: Value = serde_json::from_str(&to_json(text)).unwrap();
            assert_eq!(value, case["value"], "{text:?}");
        }
    }
}

/// Quotes long integers in JSON. If the value of a key is an integer of more than 15 characters,
/// replaces the integer with a string.
fn quote_integers(json: &str) -> String {
    let mut quoted = String::new();
    let mut rest = json;
    while let Some(start) = rest.find(": ").map(|at| at + 2).or(rest.find("\":").map(|at| at + 2)) {
        let (before, after) = rest.split_at(start);
        quoted.push_str(before);
        let len = after.bytes().take_while(|b| b.is_ascii_digit() || *b == b'-').count();
        let ends = after[len..].starts_with([',', '}', ']']);
        if len > 15 && ends {
            quoted.extend(["\"int ", &after[..len], "\""]);
        } else {
            quoted.push_str(&after[..len]);
        }
        rest = &after[len..];
    }
    quoted + rest
}
