//! The format from the outside: documents in, entries and violations out.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod corpus;
mod document;
mod forms;
mod hostile;
mod properties;
mod violations;
mod writing;
