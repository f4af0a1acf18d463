#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// Compiles the examples in the README of the workspace.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod arguments;
mod blpk;
mod failure;
mod formats;
mod help;
mod hint;
mod input;
mod interrupt;
mod man;
mod output;
mod probe;

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::FromArgMatches;

use arguments::{Arguments, Command, Showing, asdf, bloscpack, flux};
use failure::Failure;
use output::{Output, html, print_json};
use probe::Format;

/// The outcome of a command, which determines its exit status. The variants are ordered from best
/// to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// The command succeeded.
    Fine,
    /// A check failed, a comparison found differences, or the data is bad.
    Found,
    /// The command failed, for example because a file could not be opened or an option was wrong.
    Failed,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        Self::from(verdict as u8)
    }
}

/// Runs the program with the arguments of the process. When called as `blpk`, the program accepts
/// the arguments of the original `blpk`.
///
/// The exit status is 0 on success. It is 1 if a check failed, a comparison found differences, or
/// the data is bad. It is 2 after any other error. `blpk` and `scibin blpk` have the exit statuses
/// of the original program instead: 2 for most invalid arguments, and 1 after any other failure.
/// Errors are printed on standard error.
pub fn main() -> ExitCode {
    interrupt::remove_temporaries_on_signals();
    let name = std::env::args_os().next().map(PathBuf::from);
    if name.as_deref().and_then(Path::file_stem) == Some(OsStr::new("blpk")) {
        return blpk::main();
    }
    output::color::apply(std::env::args_os());
    let matches = match help::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) if blpk::is_called() => return blpk::explain(&error),
        Err(error) => error.exit(),
    };
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let output = arguments.output();
    match run(&arguments.command, output) {
        Ok(verdict) => verdict.into(),
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.show(output);
            failure.verdict().into()
        }
    }
}

fn run(command: &Command, output: Output) -> Result<Verdict, Failure> {
    use formats::{
        asdf as of_asdf, bloscpack as of_bloscpack, dudley as of_dudley, flux as of_flux,
    };

    if output.json && command.is_without_json() {
        return Err(Failure::other("--json", "this command cannot print JSON"));
    }
    match command {
        Command::Info {
            files, showing: Showing { html: Some(target), force, .. }, stated, ..
        } => report_as_html(&files.files, stated.format, target, *force, output),
        Command::Info { files, describing, showing, stated } => {
            let preview = !showing.no_preview && !output.json && io::stdout().is_terminal();
            each(&files.files, output, |file| match probe::format(file, stated.format)? {
                Format::Asdf => {
                    let reading = asdf::Reading::default();
                    of_asdf::info(file, describing, &reading, preview, output)
                }
                Format::Bloscpack => {
                    let opening = bloscpack::Opening::default();
                    of_bloscpack::info(file, opening, false, preview, output)
                }
                Format::Dudley => of_dudley::info(file, output),
                Format::Flux => of_flux::info(&flux::One::of(file), output),
            })
        }
        Command::Verify { files, stated } => {
            each(&files.files, output, |file| match probe::format(file, stated.format)? {
                Format::Asdf => of_asdf::verify(file, &asdf::Reading::default(), output),
                Format::Bloscpack => {
                    of_bloscpack::verify(file, bloscpack::Verifying::default(), output)
                }
                Format::Dudley => of_dudley::verify(file, output),
                Format::Flux => {
                    of_flux::verify(&flux::One::of(file), &flux::Verifying::default(), output)
                }
            })
        }
        &Command::Get { ref request, no_verify, ref instance, ref stated } => {
            let format = probe::format(&request.file, stated.format)?;
            if instance.is_given() && format != Format::Dudley {
                let message = "expected a Dudley file, because no other format has instances";
                return Err(Failure::other("--instance", message));
            }
            match format {
                Format::Asdf => of_asdf::get(request, no_verify, &asdf::Reading::default(), output),
                Format::Bloscpack => {
                    let reading = bloscpack::Reading { no_verify, ..Default::default() };
                    of_bloscpack::get(request, reading, output)
                }
                Format::Dudley => of_dudley::get(request, instance, output),
                Format::Flux => of_flux::get(request, output),
            }
        }
        Command::Asdf(command) => of_asdf::run(command, output),
        Command::Bloscpack(command) => of_bloscpack::run(command, output),
        Command::Dudley(command) => of_dudley::run(command, output),
        Command::Flux(command) => of_flux::run(command, output),
        Command::Blpk(command) => blpk::run(command, output),
        Command::Completions { shell } => Ok(man::completions(*shell)?),
        Command::Man { directory } => man::pages(directory, output),
    }
}

/// Writes an HTML page with a report on each file, and returns the worst outcome. If a file cannot
/// be read, its report contains the error.
fn report_as_html(
    files: &[PathBuf],
    format: Option<Format>,
    target: &Path,
    force: bool,
    output: Output,
) -> Result<Verdict, Failure> {
    output::file::check(target, force)?;
    let report_on = |file: &Path| match probe::format(file, format)? {
        Format::Asdf => formats::asdf::report_on(file, output),
        Format::Bloscpack => formats::bloscpack::report_on(file, output),
        Format::Dudley => formats::dudley::report_on(file),
        Format::Flux => formats::flux::report_on(file, output),
    };
    let mut worst = Verdict::Fine;
    let mut reports = Vec::new();
    for file in files {
        reports.push(report_on(file).unwrap_or_else(|failure| {
            failure.show(output);
            worst = worst.max(failure.verdict());
            html::Report::of_failure(failure.report(file))
        }));
    }
    if !reports.iter().all(html::Report::passed) {
        worst = worst.max(Verdict::Found);
    }
    let fail = |error| Failure::io(target, error);
    output::file::write(target, force, |out| html::write(out, &reports), fail)?;
    Ok(worst)
}

/// Runs a command on each file, even if it fails on some of them, and returns the worst outcome.
fn each(
    files: &[PathBuf],
    output: Output,
    mut body: impl FnMut(&Path) -> Result<Verdict, Failure>,
) -> Result<Verdict, Failure> {
    let mut worst = Verdict::Fine;
    for file in files {
        worst = worst.max(report(file, output, || body(file))?);
    }
    Ok(worst)
}

/// Runs a command that reports on a file. If it fails, prints the error, and with `--json` also a
/// report that contains the error.
fn report(
    file: &Path,
    output: Output,
    body: impl FnOnce() -> Result<Verdict, Failure>,
) -> Result<Verdict, Failure> {
    body().or_else(|failure| {
        // Nothing more can be printed.
        if failure.is_closed_pipe() || failure.is_of_standard_output() {
            return Err(failure);
        }
        failure.show(output);
        if output.json {
            print_json(&failure.report(file))?;
        }
        Ok(failure.verdict())
    })
}
