//! Tests of the format through the public interface, from documents to entries and diagnostics.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod corpus;
mod diagnostics;
mod document;
mod forms;
mod hostile;
mod owned;
mod properties;
mod writing;
