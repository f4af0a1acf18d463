//! Golden files: the results for our own layouts must match the recorded results. Because no other
//! reader of the language is known, `cargo xtask generate dudley` records our results for review.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod diagnostics;
mod layouts;

/// Returns `true` if results are recorded instead of compared.
fn records() -> bool {
    std::env::var_os("SCIBIN_RECORD").is_some()
}
