//! The commands for Bloscpack files.

mod append;
mod chunks;
mod convert;
mod estimate;
mod get;
mod info;
mod meta;
pub(crate) mod names;
pub(crate) mod original;
mod pack;
mod pointer;
mod recover;
mod unpack;
mod verify;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use binio::FileSource;
use bloscpack::{ChunkOrder, Code, Diagnostic, OpenOptions, Reader, Severity, Strictness, Verify};

use crate::arguments::bloscpack::{self as arguments, BloscpackCommand, Opening, Order, Reading};
use crate::failure::Failure;
use crate::goal::is_standard;
use crate::input;
use crate::output::Output;
use crate::{Verdict, each};

pub(crate) use append::{append, report as report_appended};
pub(crate) use chunks::ratio;
pub(crate) use get::get;
pub(crate) use info::info;
pub(crate) use pack::{Packed, pack, report as report_packed};
pub(crate) use unpack::{Form, Unpacked, report as report_unpacked, unpack};
pub(crate) use verify::verify;

/// Runs `scibin bloscpack ..`.
pub(crate) fn run(command: &arguments::Bloscpack, output: Output) -> Result<Verdict, Failure> {
    match &command.command {
        BloscpackCommand::Pack(command) => pack::run(command, output),
        BloscpackCommand::Unpack(command) => unpack::run(command, output),
        BloscpackCommand::Append(command) => append::run(command, output),
        BloscpackCommand::Info { files, chunks, opening } => {
            each(&files.files, output, |file| info(file, *opening, *chunks, output))
        }
        BloscpackCommand::Verify { files, verifying } => {
            each(&files.files, output, |file| verify(file, *verifying, output))
        }
        BloscpackCommand::Get { request, reading } => get(request, *reading, output),
        BloscpackCommand::Cat(command) => unpack::cat(command, output),
        BloscpackCommand::Recover(command) => recover::recover(command, output),
        BloscpackCommand::Meta { command } => meta::run(command, output),
        BloscpackCommand::Convert(command) => convert::convert(command, output),
        BloscpackCommand::Estimate(command) => estimate::estimate(command, output),
    }
}

impl Opening {
    fn options(self) -> OpenOptions {
        let strictness = if self.strict { Strictness::Strict } else { Strictness::Lenient };
        let order = match self.order {
            None => ChunkOrder::Unambiguous,
            Some(Order::Offsets) => ChunkOrder::Offsets,
            Some(Order::File) => ChunkOrder::File,
        };
        OpenOptions::new().strictness(strictness).order(order)
    }
}

impl Reading {
    fn options(self) -> OpenOptions {
        let verify = if self.no_verify { Verify::Never } else { Verify::OnRead };
        self.opening.options().verify(verify)
    }
}

/// Opens a file, or standard input for "-".
fn open(path: &Path, options: &OpenOptions) -> Result<Reader, Failure> {
    let opened = if is_standard(path) {
        let source = FileSource::new(spool(path)?).map_err(Into::into);
        source.and_then(|source| options.from_source(Arc::new(source)))
    } else {
        options.open(path)
    };
    opened.map_err(|error| Failure::bloscpack(path, error))
}

/// Standard input as a file that has no name: a pipe cannot be read at any place.
fn spool(path: &Path) -> Result<File, Failure> {
    input::standard().map_err(|error| Failure::io(path, error))
}

/// Remarks about what is wrong with a file and does not keep its data from being read.
fn remark_damage(path: &Path, file: &Reader, output: Output) {
    for diagnostic in damage(file) {
        output.remark(&format_args!("{}: {diagnostic}", path.display()));
    }
}

/// Remarks that metadata are printed with a number that is not the file's.
fn remark_rounded(path: &Path, file: &Reader, output: Output) {
    for diagnostic in
        file.diagnostics().iter().filter(|diagnostic| diagnostic.code == Code::BigInteger)
    {
        output.remark(&format_args!("{}: {diagnostic}, and is rounded here", path.display()));
    }
}

fn damage(file: &Reader) -> impl Iterator<Item = &Diagnostic> {
    file.diagnostics().iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
}

/// Remarks about a file, on standard error so that results stay clean.
fn remark(path: &Path, diagnostics: &[Diagnostic], output: Output) {
    for diagnostic in diagnostics {
        output.remark(&format_args!("{}: {diagnostic}", path.display()));
    }
}
