//! Building the wheel of the Python package, installing it into a new environment, and testing it
//! there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::process::{cargo, no_more, output, program, root, run, skip};

/// The folder of the package.
const PACKAGE: &str = "crates/python";

/// The names under which Python may be installed.
const NAMES: &[&str] =
    &["python3.11", "python3.12", "python3.13", "python3.14", "python3.15", "python3"];

/// The oldest version of Python that the wheel supports. `TAG` is the corresponding tag in the name
/// of every wheel.
const OLDEST: (u32, u32) = (3, 11);
const TAG: &str = "cp311-abi3";

/// Maximum size of the wheel in bytes.
const MAX_SIZE: u64 = 4 << 20;

/// A Python program that must run with the wheel on every installed version of Python except the
/// oldest, which runs all tests instead.
const SMOKE_TEST: &str = "import numpy, scibin.asdf
data = scibin.asdf.dumps({'a': numpy.arange(3)}, compression='lz4')
assert scibin.asdf.loads(data)['a'][1] == 1";

/// `python`: builds the wheel, installs it, runs its tests, and checks its types and its style.
pub(crate) fn wheel(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let interpreters = interpreters();
    let Some((_, oldest)) = interpreters.first() else {
        return skip("no Python 3.11 or later with the module `venv` is installed");
    };
    for check in [&["fmt", "--check"][..], &["clippy", "--all-targets", "--", "-D", "warnings"]] {
        run(cargo(check).current_dir(root().join(PACKAGE)).env("PYO3_PYTHON", oldest))?;
    }
    let folder = root().join("target").join("wheel");
    let python = environment(oldest, &folder.join("environment"))?;
    pip(&python, &["--requirement", &format!("{PACKAGE}/tests/requirements.txt")])?;
    for style in [&["ruff", "format", "--check", "."][..], &["ruff", "check", "."]] {
        run(&mut in_package(&python, style))?;
    }
    let wheel = build(&python, &folder.join("dist"))?;
    check_wheel(&wheel)?;
    pip(&python, &["--no-index", "--no-deps", &wheel.display().to_string()])?;
    test(&python)?;
    for (version, other) in &interpreters[1..] {
        let python = environment(other, &folder.join(version))?;
        pip(&python, &[&wheel.display().to_string()])?;
        run(program(&python).args(["-c", SMOKE_TEST]))?;
    }
    Ok(())
}

/// Returns the installed versions of Python that are recent enough and have the module `venv`, each
/// with its interpreter, from the oldest to the newest.
fn interpreters() -> Vec<(String, PathBuf)> {
    let ask = "import sys, venv, ensurepip; print(*sys.version_info[:2], sys.executable)";
    let mut found: Vec<((u32, u32), PathBuf)> = Vec::new();
    for name in NAMES {
        let Some(answer) = output(program(name).args(["-c", ask])) else { continue };
        let mut words = answer.trim().splitn(3, ' ');
        let mut number = || words.next().and_then(|word| word.parse().ok());
        let (Some(major), Some(minor)) = (number(), number()) else { continue };
        let (version, path) = ((major, minor), words.next().unwrap_or_default());
        if version >= OLDEST && found.iter().all(|(known, _)| *known != version) {
            found.push((version, path.into()));
        }
    }
    found.sort();
    found.into_iter().map(|((major, minor), path)| (format!("{major}.{minor}"), path)).collect()
}

/// Creates a new virtual environment and returns its interpreter.
fn environment(python: &Path, folder: &Path) -> Result<PathBuf, String> {
    run(program(python).args(["-m", "venv", "--clear"]).arg(folder))?;
    Ok(folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" }))
}

fn pip(python: &Path, arguments: &[&str]) -> Outcome {
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(program(python).args(install).args(arguments))
}

/// Builds the wheel and returns its path. On Linux, Zig links it against an old C library, so that
/// it runs on old clusters.
fn build(python: &Path, folder: &Path) -> Result<PathBuf, String> {
    let _ = std::fs::remove_dir_all(folder);
    let mut maturin = in_package(python, &["maturin", "build", "--release", "--locked", "--out"]);
    maturin.arg(folder);
    if cfg!(target_os = "linux") {
        maturin.args(["--zig", "--compatibility", "manylinux2014"]);
    }
    run(&mut maturin)?;
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut wheels = entries.flatten().map(|entry| entry.path());
    wheels.next().ok_or_else(|| format!("maturin wrote no wheel to {}", folder.display()))
}

/// Checks the tag and the size of the wheel.
fn check_wheel(wheel: &Path) -> Outcome {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_old_linux = !cfg!(target_os = "linux") || name.contains("manylinux2014");
    if !name.contains(TAG) || !is_old_linux {
        return Err(format!(
            "the wheel {name} has the wrong tag: expected {TAG} (and also manylinux2014 on Linux)"
        ));
    }
    let size = std::fs::metadata(wheel).map_err(|error| error.to_string())?.len();
    if size > MAX_SIZE {
        return Err(format!("{name} has {size} bytes, but the limit is {MAX_SIZE}"));
    }
    eprintln!("{name}: {size} bytes");
    Ok(())
}

fn test(python: &Path) -> Outcome {
    for arguments in [
        &["mypy"][..],
        &["mypy.stubtest", "scibin", "--mypy-config-file", "pyproject.toml"],
        &["pytest", "-q", "tests"],
    ] {
        run(&mut in_package(python, arguments))?;
    }
    Ok(())
}

/// Returns a command that runs a Python module in the folder of the package. The folder that
/// contains the interpreter is first on `PATH`, because maturin looks for Zig there.
fn in_package(python: &Path, arguments: &[&str]) -> Command {
    let programs = python.parent().map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(programs.into_iter().chain(std::env::split_paths(&path)));
    let mut command = program(python);
    command.arg("-m").args(arguments).current_dir(root().join(PACKAGE));
    if let Ok(path) = path {
        command.env("PATH", path);
    }
    command
}
