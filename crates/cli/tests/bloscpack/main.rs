//! Tests that run `scibin bloscpack`, and check its output, exit status, messages and files.

mod change;
mod inspect;
mod pack;
#[path = "../program/mod.rs"]
mod program;
mod recorded;
mod unpack;

use std::path::PathBuf;

use serde_json::Value;

use program::{Folder, json_of, npy_header};

fn golden(name: &str) -> PathBuf {
    testdata::path(&format!("bloscpack/{name}.blp"))
}

/// Returns the little-endian floats 0, 0.5, 1, 1.5 and so on.
fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(|n| (f64::from(n) * 0.5).to_le_bytes()).collect()
}

/// Returns pseudorandom letters, which zlib cannot compress well.
fn noise(len: u32) -> String {
    let letter =
        |n: u32| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0] % 26);
    (0..len).map(letter).collect()
}

/// Returns a `.npy` file of shape (4, 3) with the numbers 0 to 11 as little-endian 32-bit integers.
fn npy() -> Vec<u8> {
    let mut file = npy_header("<i4", &[4, 3]);
    file.extend((0..12_i32).flat_map(i32::to_le_bytes));
    file
}

/// Returns a folder with `a`, which contains 3000 eight-byte numbers, and `a.blp`, which contains
/// the same data in three chunks.
fn packed() -> Folder {
    let folder = Folder::new();
    folder.write("a", numbers(3000));
    folder.done(&["bloscpack", "pack", "-q", "-z", "10000", "a"]);
    folder
}

fn info(folder: &Folder, file: &str) -> Value {
    json_of(&folder.done(&["info", "--json", file]))
}
