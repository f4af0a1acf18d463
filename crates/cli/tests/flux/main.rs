//! Tests that run `scibin flux`, and check its output, exit status, messages and files.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod create;
mod edit;
mod extract;
mod inspect;
#[path = "../program/mod.rs"]
mod program;
mod rescue;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;

use program::{Folder, stdout};

/// Returns bytes that are not valid UTF-8.
fn bytes(len: u32) -> Vec<u8> {
    (0..len).map(|n| (n.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0] | 0x80).collect()
}

fn set_mode(folder: &Folder, name: &str, mode: u32) {
    fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns a folder with a tree `src` that contains every type of file that an archive can contain.
fn source() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("src/d/empty")).unwrap();
    folder.write("src/a.txt", "two\nlines\n");
    folder.write("src/d/b.bin", bytes(5000));
    folder.write("src/d/nothing", "");
    symlink("a.txt", folder.path("src/link")).unwrap();
    for (name, mode) in [
        ("src/a.txt", 0o644),
        ("src/d/b.bin", 0o600),
        ("src/d/nothing", 0o644),
        ("src/d/empty", 0o755),
        ("src/d", 0o750),
    ] {
        set_mode(&folder, name, mode);
    }
    folder
}

/// Like [`source`], but the folder also contains `a.json`, an archive of `src` without blobs.
fn archived() -> Folder {
    let folder = source();
    folder.done(&["flux", "create", "-q", "-o", "a.json", "-C", "src", "."]);
    folder
}

/// Like [`archived`], but the folder also contains `b.json`, an archive of `src` whose largest file
/// is in the store `blobs`.
fn stored() -> Folder {
    let folder = archived();
    folder.done(&["flux", "create", "-q", "-o", "b.json", "-C", "src", "--store", "blobs", "."]);
    folder
}

fn mkdir(folder: &Folder, name: &str) {
    fs::create_dir(folder.path(name)).unwrap();
}

fn lines(output: &std::process::Output) -> Vec<String> {
    stdout(output).lines().map(str::to_owned).collect()
}

fn paths(folder: &Folder, archive: &str) -> Vec<String> {
    lines(&folder.done(&["flux", "list", archive]))
}

fn document(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&folder.read(name)).unwrap()
}
