//! The commands for ASDF files.

mod arrays;
mod blocks;
mod change;
mod copy;
mod diff;
mod edit;
mod get;
mod history;
mod info;
mod new;
mod outline;
mod repair;
mod search;
mod tree;
mod validate;
mod verify;

use std::io;
use std::path::{Path, PathBuf};

use asdf::diagnostic::{Diagnostic, Severity};
use asdf::save::WriteReport;
use asdf::{Asdf, External, OpenOptions, Strictness, Writer};
use binio::write::{Discard, FileLock};
use serde_json::json;

use crate::arguments::asdf::{self as arguments, AsdfCommand, Externals, Reading, Writing};
use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::{self as output_file, is_standard};
use crate::output::{Output, count, diagnostic_lines, print_json, size};
use crate::{Verdict, each};

pub(crate) use get::get;
pub(crate) use info::{info, report_on};
pub(crate) use verify::verify;

/// Runs `scibin asdf ..`.
pub(crate) fn run(command: &arguments::Asdf, output: Output) -> Result<Verdict, Failure> {
    match &command.command {
        AsdfCommand::Info { files, describing, reading } => {
            each(&files.files, output, |file| info(file, describing, reading, false, output))
        }
        AsdfCommand::Tree(request) => tree::tree(request, output),
        AsdfCommand::Blocks { file, reading } => blocks::blocks(file, reading, output),
        AsdfCommand::Get { request, no_verify, reading } => {
            get(request, *no_verify, reading, output)
        }
        AsdfCommand::Verify { files, reading } => {
            each(&files.files, output, |file| verify(file, reading, output))
        }
        AsdfCommand::New(request) => new::new(request, output),
        AsdfCommand::Convert(request) => copy::convert(request, output),
        AsdfCommand::Set(request) => change::set(request, output),
        AsdfCommand::Rm(request) => change::rm(request, output),
        AsdfCommand::Mv(request) => change::mv(request, output),
        AsdfCommand::Import(request) => change::import(request, output),
        AsdfCommand::Edit(request) => edit::edit(request, output),
        AsdfCommand::ToYaml(request) => copy::to_yaml(request, output),
        AsdfCommand::Explode(request) => copy::explode(request, output),
        AsdfCommand::Implode(request) => copy::implode(request, output),
        AsdfCommand::Validate(request) => validate::validate(request, output),
        AsdfCommand::Repair(request) => repair::repair(request, output),
        AsdfCommand::Search(request) => search::search(request, output),
        AsdfCommand::Diff(command) => diff::diff(command, output),
        AsdfCommand::History(request) => history::history(request, output),
    }
}

fn open(path: &Path, reading: &Reading) -> Result<Asdf, Failure> {
    open_by(&options(reading), path)
}

fn open_by(options: &OpenOptions, path: &Path) -> Result<Asdf, Failure> {
    let opened = if is_standard(path) {
        input::source(path).map_err(Into::into).and_then(|source| options.from_source(source))
    } else {
        options.open(path)
    };
    opened.map_err(|error| Failure::asdf(path, error))
}

fn options(reading: &Reading) -> OpenOptions {
    let external = match reading.others.external {
        arguments::External::Deny => External::Deny,
        arguments::External::SameDir => External::SameDir,
        arguments::External::Any => External::Any,
    };
    let strictness = if reading.salvage { Strictness::Salvage } else { Strictness::Lenient };
    OpenOptions::new().strictness(strictness).external(external).max_files(reading.others.max_files)
}

/// Returns the failure for an error about the node at a pointer. The message contains the pointer
/// as typed, unless the error already contains the pointer or is about a reference.
fn at_pointer(path: &Path, pointer: &str, error: asdf::Error) -> Failure {
    let is_named = pointer.is_empty()
        || error.pointer().is_some_and(|named| named.starts_with(pointer))
        || matches!(error.kind(), asdf::ErrorKind::Reference { .. });
    if is_named {
        return Failure::asdf(path, error);
    }
    Failure::asdf(path, error).about(pointer)
}

/// Returns `Found` if the diagnostics of a file include an error, or else `Fine`.
fn verdict_on(file: &Asdf) -> Verdict {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    if file.diagnostics().iter().any(is_error) { Verdict::Found } else { Verdict::Fine }
}

/// Prints the diagnostics of a file on standard error, so that standard output contains only
/// results.
fn remark(path: &Path, file: &Asdf, output: Output) {
    for line in diagnostic_lines(&file.diagnostics()) {
        output.remark(&format_args!("{}: {line}", name(path)));
    }
}

/// Writes a file or, with `--dry-run`, only determines what would be written. The subject of a
/// failure is `target` if writing failed, or else `source`.
fn write(
    writer: &Writer<'_>,
    target: &Path,
    writing: &Writing,
    source: &Path,
) -> Result<WriteReport, Failure> {
    let fail = |error| Failure::asdf(source, error);
    output_file::check(target, writing.force)?;
    if writing.dry_run {
        return writer.write_to(Discard::default()).map_err(fail);
    }
    output_file::write_file(target, writing.force, |out| writer.write_to(out), fail)
}

/// Fails for `--externals embed`. Used by the commands that do not support it.
fn check_not_embedded(externals: Externals) -> Result<(), Failure> {
    if externals != Externals::Embed {
        return Ok(());
    }
    let message = "only convert, explode and implode can embed; expected relocate or keep";
    Err(Failure::other("--externals embed", message))
}

/// Returns the folders of a file and its copy, for rewriting relative references to external files.
/// Returns `None` if the references must not change, or if the file or the copy is a standard
/// stream.
fn folders(path: &Path, target: &Path, externals: Externals) -> Option<(PathBuf, PathBuf)> {
    let is_moved = externals != Externals::Keep && !is_standard(path) && !is_standard(target);
    let folder = |path: &Path| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    is_moved.then(|| (folder(path), folder(target)))
}

/// Locks the output file if it exists and will be replaced.
fn lock(target: &Path, writing: &Writing) -> Result<Option<FileLock>, Failure> {
    output_file::lock(target, writing.force && !writing.dry_run)
}

/// Reports the size of the written file and the number of blocks or, if the blocks are in separate
/// files, the number of these files. Reports nothing if standard output contains the file itself.
fn report(
    report: &WriteReport,
    source: Option<&Path>,
    target: &Path,
    writing: &Writing,
    output: Output,
) -> io::Result<()> {
    let WriteReport { len, blocks, files, .. } = report;
    if is_standard(target) {
        return Ok(());
    }
    let name = |path: &PathBuf| path.display().to_string();
    if output.json {
        return print_json(&json!({
            "file": source.map(|path| path.display().to_string()),
            "output": target.display().to_string(), "bytes": len, "blocks": blocks,
            "files": files.iter().map(name).collect::<Vec<_>>(), "dry_run": writing.dry_run,
        }));
    }
    let would = if writing.dry_run { " would be written" } else { "" };
    let (target, blocks) = (target.display(), count(*blocks, "block"));
    match files.len() {
        0 => output.result(&format_args!("{target}: {}, {blocks}{would}", size(*len))),
        files => {
            let files = count(files, "file");
            output.result(&format_args!("{target}: {}, blocks in {files}{would}", size(*len)))
        }
    }
}
