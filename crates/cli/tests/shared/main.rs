//! Tests of features that all formats share: statuses, reports, streams, forms of arrays, and help.

#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod forms;
mod help;
mod hints;
mod html;
#[cfg(target_os = "linux")]
mod names;
mod pictures;
#[path = "../program/mod.rs"]
mod program;
mod quiet;
mod reports;
mod statuses;
mod streams;

use program::Folder;

/// Returns a folder with an intact and a damaged file of each format.
fn files() -> Folder {
    let folder = Folder::new();
    let golden = |name: &str| testdata::path(name);
    folder.copy(&golden("asdf/science.asdf"), "good.asdf");
    folder.copy(&golden("bloscpack/v3/codec_blosclz_0_1.blp"), "good.blp");
    folder.write(
        "good.json",
        r#"[{"path":"f","mode":33188,"size":2,"encoding":"utf-8","data":"ab"}]"#,
    );
    folder.write("good.dud", "x = f8[3]\n");
    folder.done(&["dudley", "new", "good.native", "--layout", "good.dud"]);
    folder.done(&["dudley", "new", "good.bare", "--layout", "good.dud", "--omit-layout"]);
    // Write an unfinished tree and a truncated block header.
    folder.write(
        "bad.asdf",
        b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
         --- !core/asdf-1.1.0\na: [1, {\n...\n\xd3BLK\0\x30",
    );
    let blp = folder.read("good.blp");
    folder.write("bad.blp", &blp[..blp.len() - 5]);
    folder.write("bad.json", r#"[{"path":"f","mode":33188,"size":2,"da"#);
    folder.write("bad.dud", "x = \n");
    let native = folder.read("good.native");
    // Truncate the appended layout after `x`, and remove the carriage return from the signature.
    folder.write("bad.native", &native[..native.len() - 8]);
    folder.write("bad.bare", [&native[..4], &native[5..]].concat());
    folder.write("good.h", "struct p { int id; double pos[3]; };\n");
    folder.write("bad.h", "struct p { int *id; };\n");
    let npy = [program::npy_header("<i2", &[2]), vec![1, 0, 2, 0]].concat();
    folder.write("bad.npy", &npy[..60]);
    folder.write("good.npy", npy);
    folder
}
