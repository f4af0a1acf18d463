//! Running `cargo check` for other target platforms.
//!
//! `cargo check` does not link anything, so the C code in dependencies need not be compiled: `true`
//! replaces the C compiler and the archiver.

use std::process::Command;

use crate::Outcome;
use crate::process::{cargo, no_more, output, program, run, skip};

/// The target triple for WebAssembly in browsers.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// A target triple, and the packages to check for it.
struct Target {
    triple: &'static str,
    packages: &'static [&'static str],
    options: &'static [&'static str],
}

pub(crate) const LIBRARIES: &[&str] =
    &["scibin-binio", "scibin-asdf", "scibin-bloscpack", "scibin-dudley", "scibin-flux-archive"];

/// The libraries and the program.
const ALL: &[&str] = &[
    "scibin",
    "scibin-binio",
    "scibin-asdf",
    "scibin-bloscpack",
    "scibin-dudley",
    "scibin-flux-archive",
];

const TARGETS: &[Target] = &[
    // This target has no files, threads or C compiler, so the default features are disabled.
    Target { triple: WASM, packages: LIBRARIES, options: &["--no-default-features"] },
    Target { triple: "x86_64-pc-windows-gnu", packages: ALL, options: &[] },
    Target { triple: "aarch64-apple-darwin", packages: ALL, options: &[] },
];

/// `targets [TRIPLE]`: runs `cargo check` for the given target, or for all targets. Installs
/// missing targets with rustup, and skips those that cannot be installed.
pub(crate) fn targets(arguments: &[String]) -> Outcome {
    let (wanted, rest) = match arguments {
        [] => (None, arguments),
        [triple, rest @ ..] => (Some(triple), rest),
    };
    no_more(rest)?;
    let chosen = |target: &&Target| wanted.is_none_or(|triple| target.triple == triple);
    let mut chosen = TARGETS.iter().filter(chosen).peekable();
    if let (Some(triple), None) = (wanted, chosen.peek()) {
        let known = TARGETS.iter().map(|target| target.triple).collect::<Vec<_>>().join(", ");
        return Err(format!("unknown target `{triple}`: expected one of {known}"));
    }
    chosen.try_for_each(check)
}

fn check(target: &Target) -> Outcome {
    let triple = target.triple;
    if let Err(missing) = install(triple) {
        return skip(&missing);
    }
    let check = || {
        let mut command = cargo(&["check", "--target", triple]);
        without_c(&mut command, triple);
        command
    };
    if target.options.is_empty() {
        let packages = target.packages.iter().flat_map(|package| ["--package", package]);
        return run(check().args(packages));
    }
    // Check the packages one by one, because a package may enable features of another package.
    target
        .packages
        .iter()
        .try_for_each(|package| run(check().args(["--package", package]).args(target.options)))
}

/// Installs a target unless it is already installed. Fails if rustup cannot install it.
pub(crate) fn install(triple: &str) -> Outcome {
    if !is_installed(triple) {
        // Ignore the result, because the next line checks whether the target is installed.
        let _ = run(program("rustup").args(["target", "add", triple]));
    }
    if is_installed(triple) {
        return Ok(());
    }
    Err(format!("target {triple} is not installed (rustup target add {triple})"))
}

/// Replaces the C compiler and archiver for a target with a program that does nothing, by setting
/// the variables that the crate `cc` reads.
pub(crate) fn without_c(command: &mut Command, triple: &str) {
    let suffix = triple.replace('-', "_");
    for tool in ["CC", "AR", "RANLIB"] {
        command.env(format!("{tool}_{suffix}"), "true");
    }
    // Without this variable, `cc` looks for the folder of Apple's headers.
    command.env("SDKROOT", "/");
}

fn is_installed(triple: &str) -> bool {
    let targets = output(program("rustup").args(["target", "list", "--installed"]));
    targets.is_some_and(|targets| targets.lines().any(|target| target == triple))
}
