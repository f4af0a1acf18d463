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

use std::io::BufWriter;
use std::path::Path;

use flux_archive::{Archive, Failure as Failed, Profile, Severity, Violation, Writer};
use serde_json::{Value, json};

use crate::Verdict;
use crate::arguments::flux::{self as arguments, FluxCommand, Size};
use crate::failure::Failure;
use crate::output::Output;

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
        FluxCommand::Verify(command) => verify(&command.one, &command.verifying, output),
        FluxCommand::Diff(command) => diff::diff(command, output),
        FluxCommand::Lint(command) => lint::lint(command, output),
        FluxCommand::Convert(command) => moving::convert(command, output),
        #[cfg(unix)]
        FluxCommand::Append(command) => create::append(command, output),
        FluxCommand::Delete(command) => edit::delete(command, output),
        FluxCommand::Pack(command) => moving::pack(command, output),
        FluxCommand::Externalize(command) => moving::externalize(command, output),
        FluxCommand::Info(command) => info(&command.one, output),
        FluxCommand::Gc(command) => gc::gc(command, output),
        #[cfg(unix)]
        FluxCommand::Rescue(command) => rescue::rescue(command, output),
    }
}

/// Writes a document of an archive. Its pieces are small.
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

/// Remarks about what is odd in an archive and does not keep it from being read.
fn remark(path: &Path, archive: &Archive<'_>, output: Output) {
    for violation in archive.violations() {
        output.remark(&format_args!("{}: {violation}", path.display()));
    }
    if archive.more_violations() > 0 {
        let more = archive.more_violations();
        output.remark(&format_args!("{}: and {more} more of such", path.display()));
    }
}

/// Says what could not be done to single entries.
fn say_failures(path: &Path, failures: &[Failed], output: Output) {
    for failure in failures {
        output.say(&format_args!("{}: {failure}", path.display()));
    }
}

fn failures_json(failures: &[Failed]) -> Value {
    let one =
        |failure: &Failed| json!({"path": failure.path, "message": failure.error.to_string()});
    failures.iter().map(one).collect()
}

fn violation_json(violation: &Violation, profile: Profile) -> Value {
    json!({
        "code": violation.code.as_str(),
        "severity": match violation.severity(profile) {
            Severity::Accept => "accept",
            Severity::Warning => "warning",
            Severity::Error => "error",
        },
        "path": violation.path,
        "pointer": violation.pointer,
        "message": violation.message,
    })
}

/// `1 file`, `2 files`.
fn count(number: u64, one: &str) -> String {
    match (number, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {one}s"),
    }
}

/// The bytes of a size that an option has.
fn bytes(size: Size, option: &str, output: Output) -> u64 {
    let Size { bytes, octal } = size;
    if octal {
        output.remark(&format_args!("{option}: the leading 0 makes it octal: {bytes} bytes"));
    }
    bytes
}
