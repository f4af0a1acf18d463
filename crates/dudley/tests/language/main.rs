//! The language: what texts mean, what is wrong with others, and how it is said.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod corpus;
mod resolve;
