//! Tests with archives and files on disk: recorded cases, hostile archives, and round trips.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod escape;
mod extract;
mod recorded;
mod round_trip;
#[cfg(all(feature = "sqlite", feature = "dump-tar"))]
mod state;
mod support;
