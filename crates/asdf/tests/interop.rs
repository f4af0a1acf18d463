//! What the Python reference writes, we read. `cargo xtask interop` writes the files and names their
//! folder in `SCIBIN_INTEROP`; without it there is nothing to read, which is said.

mod runner;

use std::path::PathBuf;

#[test]
fn arrays_of_the_reference_read_equal() {
    let Some(folder) = std::env::var_os("SCIBIN_INTEROP") else {
        eprintln!("skipped: SCIBIN_INTEROP is not set; `cargo xtask interop` sets it");
        return;
    };
    runner::run(&PathBuf::from(folder).join("expected.json"), &[]);
}
