//! Tests that golden files are read with the recorded results: our own files, the corpus if it is
//! present, and the files that the Python reference has written for `cargo xtask interop`.

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

/// `cargo xtask interop` writes the files and names their folder in `SCIBIN_INTEROP`.
#[test]
fn files_of_the_python_reference_are_read_as_recorded() {
    if let Some(folder) = testdata::interop_folder() {
        list(&folder.join("theirs/expected.json"));
    }
}

fn list(list: &Path) {
    let cases = testdata::cases(list);
    runner::run(list, cases.iter().map(|case| (case.file.as_path(), &case.ours)));
}
