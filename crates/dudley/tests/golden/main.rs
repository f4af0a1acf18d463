//! Golden files: what is found in our own layouts is what is recorded. There is no other reader of the
//! language to record from, so `cargo xtask generate dudley` records what we find, for review.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod diagnostics;
mod layouts;

/// Whether what is found is to be written in place of what is recorded.
fn records() -> bool {
    std::env::var_os("SCIBIN_RECORD").is_some()
}
