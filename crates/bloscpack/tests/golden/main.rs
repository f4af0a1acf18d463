//! Tests that reading golden files produces the recorded results. The files are our own, the files
//! of the corpus if it is available, and files written by the Python reference if
//! `cargo xtask interop` has generated them.

mod arrays;
mod corpus;
mod rewriting;
mod runner;
mod ways;

use std::path::Path;

#[test]
fn our_own_files_are_read_as_recorded() {
    list(&testdata::path("bloscpack/expected.json"));
}

/// `cargo xtask interop` writes these files, and sets `SCIBIN_INTEROP` to the path of their folder.
#[test]
fn interop_files_of_the_python_reference_are_read_as_recorded() {
    if let Some(folder) = testdata::interop_folder() {
        list(&folder.join("theirs/expected.json"));
    }
}

fn list(list: &Path) {
    let cases = testdata::cases(list);
    runner::run(list, cases.iter().map(|case| (case.file.as_path(), &case.ours)));
}
