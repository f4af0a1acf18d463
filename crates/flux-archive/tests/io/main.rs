//! Archives and the disk: recorded cases, hostile archives, round trips.
#![cfg(unix)]

mod escape;
mod extract;
mod recorded;
mod support;
