//! WebAssembly: the libraries build for a target without files, threads and a C compiler.

use crate::Outcome;
use crate::process::{cargo, no_more, output, program, run, skip};

const TARGET: &str = "wasm32-unknown-unknown";

/// The libraries that build there without their default features.
const PACKAGES: &[&str] =
    &["scibin-binio", "scibin-asdf", "scibin-bloscpack", "scibin-dudley", "scibin-flux-archive"];

/// Checks each library for WebAssembly. Installs the target if rustup can; otherwise skips the check.
pub(crate) fn wasm(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    if !is_installed() {
        // Its outcome shows in the next line.
        let _ = run(program("rustup").args(["target", "add", TARGET]));
    }
    if !is_installed() {
        return skip(&format!("target {TARGET} is not installed (rustup target add {TARGET})"));
    }
    for package in PACKAGES {
        run(&mut cargo(&[
            "check",
            "--package",
            package,
            "--no-default-features",
            "--target",
            TARGET,
        ]))?;
    }
    Ok(())
}

fn is_installed() -> bool {
    let targets = output(program("rustup").args(["target", "list", "--installed"]));
    targets.is_some_and(|targets| targets.lines().any(|target| target == TARGET))
}
