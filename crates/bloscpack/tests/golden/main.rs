//! Golden files: what we read is what is recorded. Our own files always; the corpus where it is; and
//! what the Python reference writes where `cargo xtask interop` had it write.

mod arrays;
mod corpus;
mod rewriting;
mod runner;
mod ways;

use std::path::{Path, PathBuf};

#[test]
fn our_own_files_read_as_recorded() {
    list(&testdata::path("bloscpack/expected.json"));
}

/// `cargo xtask interop` writes the files and names their folder in `SCIBIN_INTEROP`.
#[test]
fn interop_files_of_the_reference_read_equal() {
    match std::env::var_os("SCIBIN_INTEROP") {
        Some(folder) => list(&PathBuf::from(folder).join("theirs/expected.json")),
        None => eprintln!("skipped: SCIBIN_INTEROP is not set; `cargo xtask interop` sets it"),
    }
}

fn list(list: &Path) {
    let cases = testdata::cases(list);
    runner::run(list, cases.iter().map(|case| (case.file.as_path(), &case.ours)));
}
