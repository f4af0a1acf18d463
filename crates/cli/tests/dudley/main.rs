//! Tests that run `scibin dudley`, and check its output, exit status and messages.

#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod changes;
mod files;
mod import;
mod layouts;
mod locating;
#[path = "../program/mod.rs"]
mod program;
mod resolve;

use program::Folder;

const LAYOUT: &str = "IMAX := i8  ## leading dimension
grid/
  x = f8[IMAX+]  ## (cm) nodes
    #: units=\"cm\"
  cells = { a = i1  b = f4[2] }[IMAX]
/ list [ i4, <f4[3] @1024 ]
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("run.dud", LAYOUT);
    folder
}

/// Returns example (a) of a native file in the specification, with its layout at the end.
fn native() -> Vec<u8> {
    let mut bytes = b"\x8d<BD\r\n\x1a\n\x30\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0".to_vec();
    bytes.extend([1.0_f64, 2.0, -0.5].map(f64::to_le_bytes).concat());
    bytes.extend(b"N : i2  x = f8[N]  ## (cm) demo\n");
    bytes
}
