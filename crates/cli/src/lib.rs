#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// The programs in the README of the workspace compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod arguments;
mod failure;
mod formats;
mod output;
mod probe;
mod progress;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

pub use arguments::Arguments;

use arguments::Command;
use failure::Failure;

/// What a command found out: the exit status that is no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// All is well: status 0.
    Fine,
    /// The check found something: status 1.
    Found,
}

/// The description of the command line, from which completions and man pages are made.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the program on the process's arguments.
///
/// Status 0: fine. 1: the check found something. 2: it could not be done, said on standard error.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Found) => ExitCode::from(1),
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::say(&failure);
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<Verdict, Failure> {
    let output = arguments.output();
    match &arguments.command {
        Command::Info(info) => each(&info.files, |file| match probe::format(file)? {
            probe::Format::Asdf => {
                formats::asdf::info(file, &arguments::Reading::default(), output)
            }
        }),
        Command::Verify(verify) => each(&verify.files, |file| match probe::format(file)? {
            probe::Format::Asdf => {
                formats::asdf::verify(file, &arguments::Reading::default(), output)
            }
        }),
        Command::Get(get) => match probe::format(&get.file)? {
            probe::Format::Asdf => formats::asdf::get(get, &arguments::Reading::default(), output),
        },
        Command::Asdf(command) => formats::asdf::run(command, output),
    }
}

/// Runs a command on each file: a file that fails does not keep the others from their turn, and the
/// worst outcome counts.
fn each(
    files: &[std::path::PathBuf],
    mut body: impl FnMut(&std::path::Path) -> Result<Verdict, Failure>,
) -> Result<Verdict, Failure> {
    let mut verdict = Verdict::Fine;
    let mut failure = None;
    for file in files {
        match body(file) {
            Ok(Verdict::Fine) => {}
            Ok(Verdict::Found) => verdict = Verdict::Found,
            Err(error) if error.is_closed_pipe() => return Err(error),
            Err(error) if failure.is_none() => failure = Some(error),
            Err(error) => output::say(&error),
        }
    }
    failure.map_or(Ok(verdict), Err)
}
