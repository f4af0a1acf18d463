//! Running programs in the root folder of the workspace.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::Outcome;

/// Returns the root folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Returns a `cargo` command with the given arguments. Uses the same `cargo` that runs this
/// program, and so the same toolchain.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Returns a command that runs a program in the root folder of the workspace.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Builds the program `scibin` and all examples, with the same features as the tests, so that
/// nothing is compiled twice. Returns the folder that contains the program and the folder
/// `examples`.
pub(crate) fn build_programs() -> Result<PathBuf, String> {
    run(&mut cargo(&["build", "--workspace", "--all-features", "--bin", "scibin", "--examples"]))?;
    Ok(root().join("target/debug"))
}

/// Runs a command, which inherits standard output and error. Fails unless the command succeeds.
pub(crate) fn run(command: &mut Command) -> Outcome {
    eprintln!("$ {}", line(command));
    let status = command.status();
    ended(command, status)
}

/// Runs the tests whose names contain `filter` in the test binaries named `binary`, with an
/// environment variable if one is given. Fails if there are no such tests, because a test may have
/// been renamed.
pub(crate) fn run_tests(binary: &str, filter: &str, variable: Option<(&str, &Path)>) -> Outcome {
    let command = |options: &[&str]| {
        let mut command =
            cargo(&["test", "--workspace", "--all-features", "--test", binary, filter, "--"]);
        command.args(options).envs(variable);
        command
    };
    let tests = output(&mut command(&["--list", "--format", "terse"]));
    if tests.is_some_and(|tests| !tests.contains(": test")) {
        return Err(format!("{binary} has no test whose name contains {filter:?}"));
    }
    run(&mut command(&["--nocapture"]))
}

/// Runs commands in parallel. Fails unless all of them succeed.
pub(crate) fn run_together(commands: &mut [Command]) -> Outcome {
    let running: Vec<_> = commands
        .iter_mut()
        .map(|command| {
            eprintln!("$ {}", line(command));
            command.spawn()
        })
        .collect();
    let outcomes: Vec<Outcome> = running
        .into_iter()
        .zip(commands)
        .map(|(child, command)| ended(command, child.and_then(|mut child| child.wait())))
        .collect();
    outcomes.into_iter().collect()
}

fn ended(command: &Command, status: std::io::Result<ExitStatus>) -> Outcome {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} ended with {status}", line(command))),
        Err(error) => Err(format!("{}: {error}", line(command))),
    }
}

/// Runs a command and returns its standard output, or `None` if the command fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Removes the option `name` and its value from the arguments. Returns the value (`None` if the
/// option is absent) and the remaining arguments. Fails if the option has no value.
pub(crate) fn take_option(
    arguments: &[String],
    name: &str,
) -> Result<(Option<String>, Vec<String>), String> {
    let mut rest = arguments.to_vec();
    let Some(at) = rest.iter().position(|argument| argument == name) else {
        return Ok((None, rest));
    };
    rest.remove(at);
    if at < rest.len() {
        Ok((Some(rest.remove(at)), rest))
    } else {
        Err(format!("{name} requires a value"))
    }
}

/// Removes the flag `name` from the arguments. Returns `true` if the flag was present, and the
/// remaining arguments.
pub(crate) fn take_flag(arguments: &[String], name: &str) -> (bool, Vec<String>) {
    let rest: Vec<String> =
        arguments.iter().filter(|argument| *argument != name).cloned().collect();
    (rest.len() < arguments.len(), rest)
}

/// Fails if there are any arguments left.
pub(crate) fn no_more(arguments: &[String]) -> Outcome {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(format!("unexpected argument `{argument}`")),
    }
}

/// Prints that a step is skipped because a tool is missing. In continuous integration, fails
/// instead, so that a run without the tool cannot look successful.
pub(crate) fn skip(missing: &str) -> Outcome {
    if is_ci() {
        return Err(missing.to_owned());
    }
    eprintln!("skipped: {missing}");
    Ok(())
}

/// Returns `true` in continuous integration, where the environment variable `CI` is set to anything
/// but an empty string, `0` or `false`.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}
