//! Creating layouts from C code and from files in other formats, and generating code from layouts.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod c;
#[cfg(feature = "serde")]
mod code;
#[cfg(feature = "read")]
mod files;
#[cfg(all(feature = "read", feature = "serde"))]
mod golden;
#[cfg(feature = "read")]
mod netcdf;
#[cfg(feature = "read")]
mod zip;
