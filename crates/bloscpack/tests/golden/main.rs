//! Golden files: what we read is what is recorded. Our own files always; the corpus where it is; and
//! what the Python reference writes where `cargo xtask interop` had it write.

mod arrays;
mod corpus;
mod rewriting;
mod runner;
mod ways;

use std::path::Path;

#[test]
fn our_own_files_read_as_recorded() {
    list(&testdata::path("bloscpack/expected.json"));
}

/// `cargo xtask interop` writes the files and names their folder in `SCIBIN_INTEROP`.
#[test]
fn interop_files_of_the_reference_read_equal() {
    if let Some(folder) = testdata::interop_folder() {
        list(&folder.join("theirs/expected.json"));
    }
}

fn list(list: &Path) {
    let cases = testdata::cases(list);
    runner::run(list, cases.iter().map(|case| (case.file.as_path(), &case.ours)));
}
