//! Checking with the minimum toolchain, because the `rust-version` in Cargo.toml is a promise to
//! users.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::fuzz::host;
use crate::process::{no_more, output, program, root, run, skip};
use crate::targets::without_c;

/// The `rust-version` in Cargo.toml.
const VERSION: &str = "1.85";

/// The packages with a `zfp` feature, whose dependency needs a newer toolchain.
const WITH_ZFP: [&str; 2] = ["scibin-dudley", "scibin"];

/// The features of `dudley` to check. The list omits `zfp`, and the features `read` and `render`,
/// which are enabled by other features or by default.
const DUDLEY: &str = "scibin-dudley/gzip,scibin-dudley/hdf5,scibin-dudley/jpeg,scibin-dudley/mmap,\
    scibin-dudley/png,scibin-dudley/rayon,scibin-dudley/serde,scibin-dudley/write";

/// `msrv`: checks every crate in the workspace with the minimum toolchain. Uses `cargo check`, which
/// takes half as long as building and does not need the C code in dependencies. Skips the check if
/// that toolchain is not installed.
pub(crate) fn msrv(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let Some(mut cargo) = toolchain() else {
        return skip(&format!(
            "toolchain {VERSION} is not installed (rustup toolchain install {VERSION})"
        ));
    };
    let target = root().join("target").join("msrv");
    let exclude = WITH_ZFP.iter().flat_map(|package| ["--exclude", package]);
    let host = host().ok_or("`rustc -vV` did not print the host")?;
    without_c(&mut cargo, &host);
    run(cargo
        .args(["check", "--workspace", "--all-features", "--locked"])
        .args(exclude)
        .env("CARGO_TARGET_DIR", &target))?;
    let Some(mut cargo) = toolchain() else { return Ok(()) };
    without_c(&mut cargo, &host);
    let packages = WITH_ZFP.iter().flat_map(|package| ["--package", package]);
    run(cargo
        .args(["check", "--locked", "--features", DUDLEY])
        .args(packages)
        .env("CARGO_TARGET_DIR", &target))
}

/// Returns a command that runs the minimum version of cargo, or `None` if that version is not
/// installed. Looks for it in rustup first, then in the folders on `PATH`, then in `/usr/bin`.
fn toolchain() -> Option<Command> {
    let is_wanted = |version: Option<String>| {
        version.is_some_and(|version| version.starts_with(&format!("cargo {VERSION}.")))
    };
    let rustup = || {
        let mut command = program("rustup");
        command.args(["run", VERSION, "cargo"]);
        command
    };
    if is_wanted(output(rustup().arg("--version"))) {
        return Some(rustup());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/bin")]);
    for place in places {
        let cargo = place.join("cargo");
        if is_wanted(output(&mut clean(&cargo))) {
            let mut command = program(&cargo);
            command.env("RUSTC", place.join("rustc")).env_remove("RUSTUP_TOOLCHAIN");
            return Some(command);
        }
    }
    None
}

fn clean(cargo: &Path) -> Command {
    let mut command = program(cargo);
    command.arg("--version").env_remove("RUSTUP_TOOLCHAIN");
    command
}
