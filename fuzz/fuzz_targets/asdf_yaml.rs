//! Parsing arbitrary bytes as a YAML document must either succeed or return an error. Syntax errors
//! must have a valid position. The methods of a node must terminate, and the root must equal
//! itself.

#![no_main]

use asdf::tree::json;
use asdf::yaml::{Document, ParseOptions, ScalarRules};
use asdf::{Error, ErrorKind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for rules in [ScalarRules::Python, ScalarRules::Libasdf, ScalarRules::Core12] {
        let options = ParseOptions::default().scalars(rules);
        let mut diagnostics = Vec::new();
        match Document::parse(data, &options, &mut diagnostics) {
            Ok(document) => ask(&document, data.len()),
            Err(error) => check_place(&error, data),
        }
        for diagnostic in diagnostics {
            assert!(diagnostic.place.offset.is_none_or(|offset| offset <= data.len() as u64));
        }
    }
});

fn ask(document: &Document, len: usize) {
    assert_eq!(document.root(), document.root());
    let mut count = 0;
    for node in document.nodes() {
        count += 1;
        assert!(node.position().offset <= len as u64);
        assert_eq!(document.node(node.id()).id(), node.id());
        let _ = (node.value(), node.text(), node.tag(), node.anchor(), node.as_f64());
        assert_eq!(node.items().count(), node.items().rev().count());
        assert_eq!(node.keys().len(), node.entries().rev().count());
    }
    assert!(count <= document.node_count());
    let options = json::Options::default();
    let _ = json::write(document.root(), &options, &mut std::io::sink());
    let _ = document.root().deserialize::<serde_json::Value>();
}

/// Checks that a syntax error has a valid line, column and offset.
fn check_place(error: &Error, data: &[u8]) {
    let ErrorKind::Yaml { line, column, .. } = error.kind() else { return };
    assert!(*line >= 1 && *column >= 1, "{error}");
    assert!(error.offset().is_some_and(|offset| offset <= data.len() as u64), "{error}");
}
