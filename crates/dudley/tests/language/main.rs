//! Testing the language: the meaning of layouts, and the diagnostics of invalid layouts.
#![allow(clippy::format_collect, clippy::format_push_string, reason = "short strings")]
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod corpus;
mod diagnostics;
mod diff;
mod document;
mod errors;
mod grammar;
mod hostile;
mod notes;
mod properties;
mod reference;
mod resolve;
mod semantics;
mod suggestions;
mod textmate;

use dudley::Layout;
use dudley::diagnostic::Diagnostics;

/// Parses a layout. Panics if it has errors.
fn parse(text: &str) -> Layout {
    Layout::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Parses a layout that must have errors, and returns its diagnostics.
fn errors(text: impl AsRef<[u8]>) -> Diagnostics {
    let error = Layout::parse(text).expect_err("it has an error");
    error.diagnostics().expect("the layout is at fault").clone()
}

/// Parses a layout that must have errors, and returns the codes of its diagnostics.
fn codes(text: impl AsRef<[u8]>) -> Vec<&'static str> {
    errors(text).iter().map(|error| error.code.as_str()).collect()
}

/// Parses a layout that must have no errors, and returns the codes of its warnings and notes.
fn warnings(text: &str) -> Vec<&'static str> {
    parse(text).diagnostics().iter().map(|found| found.code.as_str()).collect()
}
