//! The commands for ASDF files.

mod arrays;
mod blocks;
mod get;
mod info;
mod outline;
mod tree;
mod verify;

use std::path::Path;
use std::sync::Arc;

use asdf::{Asdf, Diagnostic, External, OpenOptions, Severity, Strictness};

use crate::arguments::asdf::{self as arguments, AsdfCommand, Reading};
use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::output::file::is_standard;
use crate::{Verdict, each};

pub(crate) use get::get;
pub(crate) use info::info;
pub(crate) use verify::verify;

/// Runs `scibin asdf ..`.
pub(crate) fn run(command: &arguments::Asdf, output: Output) -> Result<Verdict, Failure> {
    match &command.command {
        AsdfCommand::Info { files, reading } => {
            each(&files.files, output, |file| info(file, reading, output))
        }
        AsdfCommand::Tree(request) => tree::tree(request, output),
        AsdfCommand::Blocks { file, reading } => blocks::blocks(file, reading, output),
        AsdfCommand::Get { request, no_verify, reading } => {
            get(request, *no_verify, reading, output)
        }
        AsdfCommand::Verify { files, reading } => {
            each(&files.files, output, |file| verify(file, reading, output))
        }
    }
}

fn open(path: &Path, reading: &Reading) -> Result<Asdf, Failure> {
    open_by(&options(reading), path)
}

fn open_by(options: &OpenOptions, path: &Path) -> Result<Asdf, Failure> {
    let opened = if is_standard(path) {
        input::source(path)
            .map_err(Into::into)
            .and_then(|source| options.from_source(Arc::new(source)))
    } else {
        options.open(path)
    };
    opened.map_err(|error| Failure::asdf(path, error))
}

fn options(reading: &Reading) -> OpenOptions {
    let external = match reading.external {
        arguments::External::Deny => External::Deny,
        arguments::External::SameDir => External::SameDir,
        arguments::External::Any => External::Any,
    };
    let strictness = if reading.salvage { Strictness::Salvage } else { Strictness::Lenient };
    OpenOptions::new().strictness(strictness).external(external)
}

/// An error about what a pointer leads to, with the pointer as it was typed.
fn at_pointer(path: &Path, pointer: &str, error: asdf::Error) -> Failure {
    let is_named = pointer.is_empty()
        || error.pointer().is_some_and(|named| named.starts_with(pointer))
        || matches!(error.kind(), asdf::ErrorKind::Reference { .. });
    if is_named {
        return Failure::asdf(path, error);
    }
    Failure::asdf(path, error).about(pointer)
}

/// What the diagnostics of a file make of a command that prints what it can.
fn verdict_on(file: &Asdf) -> Verdict {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    if file.diagnostics().iter().any(is_error) { Verdict::Found } else { Verdict::Fine }
}

/// Prints what is irregular about the file to standard error, so that results stay clean.
fn remark(path: &Path, file: &Asdf, output: Output) {
    for diagnostic in file.diagnostics() {
        output.remark(&format_args!("{}: {diagnostic}", path.display()));
    }
}
