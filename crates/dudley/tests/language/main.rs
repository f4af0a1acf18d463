//! The language: what texts mean, what is wrong with others, and how it is said.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod corpus;

use dudley::{Diagnostics, Layout};

/// The first error's code and line.
fn first_error(text: impl AsRef<[u8]>) -> (String, usize) {
    let error = Layout::parse(text).expect_err("it has an error");
    let first = error.first();
    (first.code.to_string(), error.line_column(first).0)
}
