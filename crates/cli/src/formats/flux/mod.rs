//! The commands for archives of Flux.

mod cat;
#[cfg(unix)]
mod create;
mod diff;
mod edit;
#[cfg(unix)]
mod extract;
mod gc;
mod get;
mod info;
mod lint;
mod list;
mod moving;
#[cfg(unix)]
mod rescue;
mod source;
mod verify;

use std::io::{self, BufWriter};
use std::path::Path;

use flux_archive::store::Chunking;
use flux_archive::{Archive, Failure as Failed, Writer};
use serde::Serialize;
use serde_json::Value;

use crate::arguments::flux::{self as arguments, FluxCommand, Size};
use crate::failure::Failure;
use crate::output::Output;
use crate::{Verdict, report};

pub(crate) use get::get;
pub(crate) use info::info;
pub(crate) use verify::verify;

/// Runs `scibin flux ..`.
pub(crate) fn run(command: &arguments::Flux, output: Output) -> Result<Verdict, Failure> {
    match &command.command {
        #[cfg(unix)]
        FluxCommand::Create(command) => create::create(command, output),
        FluxCommand::List(command) => list::list(command, output),
        #[cfg(unix)]
        FluxCommand::Extract(command) => extract::extract(command, output),
        FluxCommand::Cat(command) => cat::cat(command, output),
        FluxCommand::Verify(command) => {
            report(command.one.file(), output, || verify(&command.one, &command.verifying, output))
        }
        FluxCommand::Diff(command) => diff::diff(command, output),
        FluxCommand::Lint(command) => {
            report(command.one.file(), output, || lint::lint(command, output))
        }
        FluxCommand::Convert(command) => moving::convert(command, output),
        #[cfg(unix)]
        FluxCommand::Append(command) => create::append(command, output),
        FluxCommand::Delete(command) => edit::delete(command, output),
        FluxCommand::Pack(command) => moving::pack(command, output),
        FluxCommand::Externalize(command) => moving::externalize(command, output),
        FluxCommand::Info(command) => {
            report(command.one.file(), output, || info(&command.one, output))
        }
        FluxCommand::Gc(command) => gc::gc(command, output),
        #[cfg(unix)]
        FluxCommand::Rescue(command) => rescue::rescue(command, output),
    }
}

/// Writes an archive through a buffer.
fn buffered<T>(
    out: &mut dyn std::io::Write,
    form: flux_archive::Form,
    body: impl FnOnce(&mut Writer<BufWriter<&mut dyn std::io::Write>>) -> flux_archive::Result<T>,
) -> flux_archive::Result<T> {
    let mut writer = Writer::new(BufWriter::new(out), form);
    let value = body(&mut writer)?;
    writer.finish()?;
    Ok(value)
}

/// Reports what is irregular in an archive that can be read.
fn remark(path: &Path, archive: &Archive<'_>, output: Output) {
    for diagnostic in archive.diagnostics() {
        output.remark(&format_args!("{}: {diagnostic}", path.display()));
    }
    if archive.more_diagnostics() > 0 {
        let more = archive.more_diagnostics();
        output.remark(&format_args!("{}: and {more} more such warnings", path.display()));
    }
}

/// Reports the entries that failed.
fn say_failures(path: &Path, failures: &[Failed], output: Output) {
    for failure in failures {
        output.say(&format_args!("{}: {failure}", path.display()));
    }
}

/// What failures of single entries make of a command: bad data are a finding.
fn verdict(failures: &[Failed]) -> Verdict {
    let one = |failure: &Failed| {
        if failure.error.is_bad_data() { Verdict::Found } else { Verdict::Failed }
    };
    failures.iter().map(one).max().unwrap_or(Verdict::Fine)
}

/// A report as JSON, with further members before it.
fn report_json(report: &impl Serialize, members: Value) -> Result<Value, Failure> {
    let report = serde_json::to_value(report).map_err(io::Error::from)?;
    let (Value::Object(mut all), Value::Object(report)) = (members, report) else {
        return Ok(Value::Null);
    };
    all.extend(report);
    Ok(all.into())
}

/// `1 file`, `2 files`.
fn count(number: u64, one: &str) -> String {
    match (number, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {one}s"),
    }
}

/// The bytes of an option. Warns about octal numbers.
fn bytes(size: Size, option: &str, output: Output) -> u64 {
    let Size { bytes, octal } = size;
    if octal {
        output.remark(&format_args!(
            "{option}: {bytes} bytes, since a leading 0 makes the number octal"
        ));
    }
    bytes
}

/// How content becomes blobs.
fn chunking(arguments: &arguments::Chunking, output: Output) -> Chunking {
    let mut chunking = Chunking::new().hash(arguments.hash.unwrap_or_default());
    if let Some(size) = arguments.chunksize {
        chunking = chunking.chunk_size(bytes(size, "--chunksize", output));
    }
    if let Some(size) = arguments.small_file_threshold {
        chunking = chunking.threshold(bytes(size, "--small-file-threshold", output));
    }
    chunking
}
