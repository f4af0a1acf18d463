//! The commands for Bloscpack files.

mod append;
mod chunks;
mod convert;
mod estimate;
mod get;
mod info;
mod meta;
pub(crate) mod names;
mod pack;
mod pointer;
mod recover;
mod unpack;
mod verify;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use binio::{FileSource, ReadAt};
use bloscpack::diagnostic::{Code, Diagnostic, Severity};
use bloscpack::{ChunkOrder, ErrorKind, OpenOptions, Reader, Strictness, Verify, journal};

use crate::arguments::bloscpack::{self as arguments, BloscpackCommand, Opening, Order, Reading};
use crate::failure::{Failure, name};
use crate::input;
use crate::output::Output;
use crate::output::file::{self as output_file, is_standard};
use crate::{Verdict, each};

pub(crate) use append::{append, report as report_appended};
pub(crate) use chunks::ratio;
pub(crate) use get::{get, metadata};
pub(crate) use info::{info, report_on};
pub(crate) use pack::{Packed, pack, report as report_packed};
pub(crate) use unpack::{Form, Unpacked, report as report_unpacked, unpack};
pub(crate) use verify::verify;

/// The first bytes of `.npy` files.
const NPY_MAGIC: &[u8] = b"\x93NUMPY";

/// Runs `scibin bloscpack ..`.
pub(crate) fn run(command: &arguments::Bloscpack, output: Output) -> Result<Verdict, Failure> {
    match &command.command {
        BloscpackCommand::Pack(command) => pack::run(command, output),
        BloscpackCommand::Unpack(command) => unpack::run(command, output),
        BloscpackCommand::Append(command) => append::run(command, output),
        BloscpackCommand::Info { files, chunks, opening } => {
            each(&files.files, output, |file| info(file, *opening, *chunks, false, output))
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
pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Reader, Failure> {
    try_open(path, options).map_err(|error| Failure::bloscpack(path, error))
}

fn try_open(path: &Path, options: &OpenOptions) -> ::bloscpack::Result<Reader> {
    if is_standard(path) {
        return options.from_source(input::source(path)?);
    }
    options.open(path)
}

/// Opens an input to pack or append, or standard input for "-". If the input is a pipe, first
/// copies its content to a temporary file.
fn plain_source(path: &Path) -> Result<FileSource, Failure> {
    if is_standard(path) {
        return input::source(path).map_err(|error| Failure::bloscpack(path, error.into()));
    }
    let file = File::open(path).map_err(|error| Failure::io(path, error))?;
    let kind = file.metadata().map_err(|error| Failure::io(path, error))?.file_type();
    if kind.is_dir() || kind.is_file() {
        let source = FileSource::open(path);
        return source.map_err(|error| Failure::bloscpack(path, error.into()));
    }
    spool(file, path)
}

/// Copies the data of a reader to an unnamed file, because a pipe cannot be read at arbitrary
/// offsets. `path` is only used in messages.
fn spool(mut reader: impl Read, path: &Path) -> Result<FileSource, Failure> {
    let spooled = tempfile::tempfile().and_then(|mut file| {
        io::copy(&mut reader, &mut file)?;
        Ok(FileSource::new(file)?)
    });
    spooled.map_err(|error| Failure::io(path, error))
}

/// Returns `true` if a source begins with the signature of a `.npy` file.
fn is_npy(source: &dyn ReadAt) -> bool {
    source.bytes_at(0, NPY_MAGIC.len()).is_ok_and(|head| head == NPY_MAGIC)
}

/// Returns the failure of an operation that reads `input` and writes `output`. The subject of the
/// failure is the file that caused the error.
fn failure(input: &Path, output: &Path, error: ::bloscpack::Error) -> Failure {
    match error.kind() {
        ErrorKind::Output(error) => Failure::other(output_file::name(output), error.to_string()),
        _ => Failure::bloscpack(input, error),
    }
}

/// Rolls back an interrupted in-place change, if there is one, and reports the rollback.
fn undo_interrupted(path: &Path, output: Output) -> Result<(), Failure> {
    if journal::roll_back(path).map_err(|error| Failure::bloscpack(path, error))? {
        let path = path.display();
        output.remark(&format_args!("{path}: rolled back an interrupted change"));
    }
    Ok(())
}

/// Prints a remark about each error that did not prevent the file from being opened.
fn remark_damage(path: &Path, file: &Reader, output: Output) {
    for diagnostic in damage(file) {
        output.remark(&format_args!("{}: {diagnostic}", name(path)));
    }
}

/// Prints a remark if the metadata contains an integer that is too large to print exactly.
fn remark_rounded(path: &Path, file: &Reader, output: Output) {
    for diagnostic in
        file.diagnostics().iter().filter(|diagnostic| diagnostic.code == Code::BigInteger)
    {
        output.remark(&format_args!(
            "{}: {diagnostic}; the output shows a rounded value",
            name(path)
        ));
    }
}

fn damage(file: &Reader) -> impl Iterator<Item = &Diagnostic> {
    file.diagnostics().iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
}

/// Prints diagnostics as remarks on standard error, so that standard output contains only results.
fn remark(path: &Path, diagnostics: &[Diagnostic], output: Output) {
    for diagnostic in diagnostics {
        output.remark(&format_args!("{}: {diagnostic}", name(path)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_reported_with_the_file_that_caused_it() {
        let message = |kind: fn(binio::Error) -> ErrorKind| {
            let error = io::Error::other("the disk is broken");
            failure(Path::new("in"), Path::new("out"), kind(error.into()).into()).to_string()
        };
        assert_eq!(message(ErrorKind::Io), "in: the disk is broken");
        assert_eq!(message(ErrorKind::Output), "out: the disk is broken");
    }
}
