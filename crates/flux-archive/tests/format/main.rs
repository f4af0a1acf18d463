//! Tests of the format through the public interface: documents in, entries and diagnostics out.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod corpus;
mod diagnostics;
mod document;
mod forms;
mod hostile;
mod owned;
mod properties;
mod writing;
