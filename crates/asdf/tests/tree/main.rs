//! Parsing YAML text to a tree, and converting the tree to JSON and Rust types.
#![allow(clippy::format_collect, reason = "long strings, built once")]
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod corpus;
#[cfg(feature = "serde")]
mod deserialize;
mod gaps;
mod hostile;
mod interop;
mod iterate;
mod json;
mod mappings;
mod oracle;
mod positions;
mod properties;
mod random;
#[cfg(feature = "serde")]
mod serialize;
mod spans;
mod suite;
mod tags;

use asdf::diagnostic::{Code, Diagnostic};
use asdf::tree::json::Options;
use asdf::yaml::{Document, ParseOptions};
use asdf::{Error, ErrorKind};

/// Parses a YAML source. Returns the document or the error, and the diagnostics.
fn try_parse(text: impl AsRef<[u8]>) -> (Result<Document, Error>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let document = Document::parse(text.as_ref(), &ParseOptions::default(), &mut diagnostics);
    (document, diagnostics)
}

/// Parses a YAML source that must have no diagnostics, and returns the document.
fn parse(text: impl AsRef<[u8]>) -> Document {
    let (document, diagnostics) = try_parse(text);
    assert_eq!(diagnostics, []);
    document.expect("the text is YAML")
}

/// Parses a YAML source, and returns the document and the codes of the diagnostics.
fn parse_reported(text: impl AsRef<[u8]>) -> (Document, Vec<Code>) {
    let (document, diagnostics) = try_parse(text);
    (document.expect("the text is YAML"), diagnostics.iter().map(|d| d.code).collect())
}

/// Returns the error for a source that is not valid YAML: line, column, offset and message.
fn fault(text: impl AsRef<[u8]>) -> (u32, u32, u64, String) {
    let error = try_parse(text).0.expect_err("the text is not YAML");
    let ErrorKind::Yaml { line, column, message, .. } = error.kind() else {
        panic!("another error: {error}");
    };
    (*line, *column, error.offset().expect("an offset"), message.clone())
}

fn try_json(document: &Document, options: Options) -> Result<String, Error> {
    let mut out = Vec::new();
    asdf::tree::json::write(document.root(), &options, &mut out)?;
    Ok(String::from_utf8(out).expect("JSON is UTF-8"))
}

/// Returns the JSON form of a YAML source that may have diagnostics.
fn to_json(text: impl AsRef<[u8]>) -> String {
    let document = try_parse(text).0.expect("the text is YAML");
    try_json(&document, Options::default()).expect("there is a JSON form")
}
