//! The commands for Flux archives.

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
mod patterns;
mod put;
#[cfg(unix)]
mod rescue;
mod source;
mod verify;

use std::io::{self, BufWriter};
use std::path::Path;

use binio::write::FileLock;
use flux_archive::diagnostic::{Code, Diagnostic};
use flux_archive::store::Chunking;
use flux_archive::{Archive, ErrorKind, Failure as Failed, Writer};
use serde::Serialize;
use serde_json::Value;

use crate::arguments::flux::{self as arguments, FluxCommand};
use crate::arguments::size::Size;
use crate::failure::{Failure, name};
use crate::hint;
use crate::output::file::is_standard;
use crate::output::{Output, count};
use crate::{Verdict, report};

pub(crate) use get::get;
pub(crate) use info::{info, report_on};
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
        FluxCommand::Put(command) => put::put(command, output),
    }
}

/// Runs `body` with a buffered writer for an archive, and completes the archive.
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

/// Prints the diagnostics of an archive as remarks.
fn remark(path: &Path, archive: &Archive<'_>, output: Output) {
    for line in summary(archive.diagnostics()) {
        output.remark(&format_args!("{}: {line}", name(path)));
    }
    if archive.more_diagnostics() > 0 {
        let more = count(archive.more_diagnostics(), "more such warning");
        output.remark(&format_args!("{}: and {more}", name(path)));
    }
}

/// Formats diagnostics as lines. All untidy paths share a line, because some programs write such a
/// path for every file.
fn summary(diagnostics: &[Diagnostic]) -> Vec<String> {
    let mut untidy = Untidy::default();
    let mut lines: Vec<String> = Vec::new();
    for diagnostic in diagnostics {
        if !untidy.take(diagnostic) {
            lines.push(diagnostic.to_string());
        }
    }
    lines.extend(untidy.line());
    lines
}

/// The diagnostics about untidy paths, such as `./a`: the first diagnostic as text, and the number
/// of further diagnostics.
#[derive(Default)]
struct Untidy(Option<(String, u64)>);

impl Untidy {
    /// Counts a diagnostic about an untidy path. Returns `false` for any other diagnostic.
    fn take(&mut self, diagnostic: &Diagnostic) -> bool {
        if diagnostic.code != Code::UntidyPath {
            return false;
        }
        match &mut self.0 {
            Some((_, more)) => *more += 1,
            first => *first = Some((diagnostic.to_string(), 0)),
        }
        true
    }

    fn line(self) -> Option<String> {
        let (first, more) = self.0?;
        let more = if more > 0 {
            format!(", and {}", count(more, "more such path"))
        } else {
            String::new()
        };
        Some(first + &more)
    }
}

/// Locks an archive that will be rewritten, so that no other command rewrites it in the meantime.
fn lock(path: &Path) -> Result<Option<FileLock>, Failure> {
    // Only lock a regular file: streams need no lock, and everything else is rejected later.
    if is_standard(path) || !path.is_file() {
        return Ok(None);
    }
    let lock = FileLock::acquire(path);
    lock.map(Some).map_err(|error| Failure::other(path.display(), error.to_string()))
}

/// Reports the entries that failed, followed by the first hint for any of their errors. `name` is
/// the name of the archive.
fn say_failures(name: &str, failures: &[Failed], output: Output) {
    for failure in failures {
        output.say(&format_args!("{name}: {failure}"));
    }
    if let Some(hint) = failures.iter().find_map(|failure| hint::of(&failure.error)) {
        output.hint(&hint);
    }
}

/// Returns a failure with the store as its subject if the store caused the error, or else the
/// failure that `other` returns.
fn store_failure(
    store: &Path,
    error: flux_archive::Error,
    other: impl FnOnce(flux_archive::Error) -> Failure,
) -> Failure {
    match error.kind() {
        ErrorKind::Store(_) => Failure::flux(store, error),
        _ => other(error),
    }
}

/// Returns the worst outcome of the entries that failed: `Found` for bad data, and `Failed` for all
/// other errors. Returns `Fine` if no entry failed.
fn verdict(failures: &[Failed]) -> Verdict {
    let one = |failure: &Failed| {
        if failure.error.is_bad_data() { Verdict::Found } else { Verdict::Failed }
    };
    failures.iter().map(one).max().unwrap_or(Verdict::Fine)
}

/// Returns a JSON object with the given members, followed by the members of the report.
fn report_json(report: &impl Serialize, members: Value) -> Result<Value, Failure> {
    let report = serde_json::to_value(report).map_err(io::Error::from)?;
    let (Value::Object(mut all), Value::Object(report)) = (members, report) else {
        return Ok(Value::Null);
    };
    all.extend(report);
    Ok(all.into())
}

/// Returns the number of bytes given with an option, and prints a remark if the number is octal.
fn bytes(size: Size, option: &str, output: Output) -> u64 {
    let Size { bytes, octal } = size;
    if octal {
        output.remark(&format_args!(
            "{option}: read as {bytes} bytes, because a leading 0 makes the number octal"
        ));
    }
    bytes
}

/// Returns the options for dividing content into blobs.
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
