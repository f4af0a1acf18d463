//! What all formats have in common: statuses, reports, streams, forms of arrays, help.

#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod forms;
mod help;
#[path = "../program/mod.rs"]
mod program;
mod reports;
mod statuses;
mod streams;

use program::Folder;

/// A file of each format, whole and broken.
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
    folder.write(
        "bad.asdf",
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
         --- !core/asdf-1.1.0\na: [1, {\n...\n",
    );
    let blp = folder.read("good.blp");
    folder.write("bad.blp", &blp[..blp.len() - 5]);
    folder.write("bad.json", r#"[{"path":"f","mode":33188,"size":2,"da"#);
    folder.write("bad.dud", "x = \n");
    folder
}
