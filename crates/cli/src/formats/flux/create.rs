//! `scibin flux create` and `append`: archives of files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flux_archive::{CreateReport, Creator, Form, Holes, Times, Writer, fnmatch};
use serde_json::json;

use super::source::{Source, open_store_mut};
use super::{buffered, chunking, count, report_json, say_failures, verdict};
use crate::Verdict;
use crate::arguments::flux::{Append, Collecting, Create, HolesArgument, Reading};
use crate::failure::Failure;
use crate::goal::{self, OutputFile, is_standard};
use crate::output::{Output, Sink, print_json};
use crate::progress::Progress;

pub(super) fn create(command: &Create, output: Output) -> Result<Verdict, Failure> {
    let target = &command.output;
    let exists = !is_standard(target) && target.symlink_metadata().is_ok();
    if exists && command.append {
        return add(target, &command.collecting, &Reading::default(), output);
    }
    if exists && !command.overwrite {
        let message = "the file exists; --overwrite replaces it, --append adds to it";
        return Err(Failure::other(target.display(), message));
    }
    let form = if command.dict { Form::Dict } else { Form::Array };
    let report = if is_standard(target) {
        let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
        let written = collect(&command.collecting, &[], form, &mut out, output)?;
        out.finish(written, |error| Failure::flux(target, error), Failure::from)?
    } else {
        let mut file = OutputFile::create(target, true)?;
        let own = file.file()?.try_clone().map_err(|error| Failure::io(target, error))?;
        let old = File::open(target).ok();
        let left_out: Vec<&File> = [Some(&own), old.as_ref()].into_iter().flatten().collect();
        let mut out = Sink::new(file);
        let written = collect(&command.collecting, &left_out, form, &mut out, output)?;
        let fail = |error| Failure::flux(target, error);
        let report = out.finish(written, fail, |error| Failure::io(target, error))?;
        out.into_inner().commit()?;
        report
    };
    tell(target, &report, "written", output)
}

pub(super) fn append(command: &Append, output: Output) -> Result<Verdict, Failure> {
    add(&command.archive, &command.collecting, &command.reading, output)
}

/// Adds to an existing archive.
fn add(
    path: &Path,
    collecting: &Collecting,
    reading: &Reading,
    output: Output,
) -> Result<Verdict, Failure> {
    let source = Source::of_file(path, reading)?;
    let form = source.form(true)?;
    // Before any file is read and any blob is stored.
    source.parse()?;
    let spool = tempfile::NamedTempFile::new().map_err(|error| Failure::io(path, error))?;
    let old = File::open(path).ok();
    let left_out: Vec<&File> =
        [Some(spool.as_file()), old.as_ref()].into_iter().flatten().collect();
    let mut out = Sink::new(BufWriter::new(spool.as_file()));
    let written = collect(collecting, &left_out, Form::Array, &mut out, output)?;
    let fail = |error| Failure::flux(path, error);
    let report = out.finish(written, fail, |error| Failure::io(spool.path(), error))?;
    let addition = Source::of_file(spool.path(), &Reading::default())?;
    let body = |out: &mut dyn Write| {
        buffered(out, form, |writer| {
            flux_archive::append(&source.document, &addition.document, &source.options, writer)
        })
    };
    goal::write(path, true, body, |error| source.failure(error))?;
    tell(path, &report, "added", output)
}

/// Writes an archive of the selected files.
fn collect(
    collecting: &Collecting,
    left_out: &[&File],
    form: Form,
    out: &mut dyn Write,
    output: Output,
) -> Result<flux_archive::Result<CreateReport>, Failure> {
    let root = collecting.directory.as_deref().unwrap_or(Path::new("."));
    let fail = |error| Failure::io(root, error);
    let store = collecting.store.as_deref().map(open_store_mut).transpose()?;
    let mut creator = Creator::new(root).map_err(fail)?;
    for file in left_out {
        creator = creator.leave_out(file).map_err(fail)?;
    }
    if let Some(path) = &collecting.store {
        let file = File::open(path).map_err(|error| Failure::io(path, error))?;
        creator = creator.leave_out(file).map_err(fail)?;
    }
    let progress = Progress::endless(output.quiet);
    let add = |bytes| progress.add(bytes);
    let matches = |globs: &[String], path: &str| globs.iter().any(|glob| fnmatch(glob, path));
    let exclude = |path: &str| matches(&collecting.exclude, path);
    let include = |path: &str| {
        let wanted = collecting.include.is_empty() || matches(&collecting.include, path);
        if wanted && collecting.verbose {
            output.say(&path);
        }
        wanted
    };
    creator = creator.progress(&add).exclude(&exclude).include(&include);
    creator = creator.holes(match collecting.holes {
        None | Some(HolesArgument::Fs) => Holes::FileSystem,
        Some(HolesArgument::Zeros) => Holes::Zeros,
        Some(HolesArgument::None) => Holes::None,
    });
    creator = creator.times(match collecting.mtime {
        Some(mtime) => Times::Fixed(mtime),
        None if collecting.no_times => Times::Omit,
        None => Times::Keep,
    });
    if let Some(store) = &store {
        creator = creator.store(&**store).chunking(chunking(&collecting.chunking, output));
    }
    let mut writer = Writer::new(out, form);
    let written = creator.write(&collecting.paths, &mut writer);
    Ok(written.and_then(|report| {
        writer.finish()?;
        Ok(report)
    }))
}

/// Reports what was done and what failed.
fn tell(
    target: &Path,
    report: &CreateReport,
    done: &str,
    output: Output,
) -> Result<Verdict, Failure> {
    let CreateReport { entries, changed, absolute, left_out, failures, .. } = report;
    for path in absolute {
        output.remark(&format_args!("{path}: dropped the leading /"));
    }
    for path in left_out {
        output.remark(&format_args!("{path}: left out, since it is the archive or its store"));
    }
    for path in changed {
        output.say(&format_args!("{path}: the file changed while it was read"));
    }
    say_failures(target, failures, output);
    if !is_standard(target) {
        if output.json {
            print_json(&report_json(report, json!({"file": target.display().to_string()}))?)?;
        } else {
            let entries = count(*entries, "entry");
            output.result(&format_args!("{}: {entries} {done}", target.display()))?;
        }
    }
    let changed = if changed.is_empty() { Verdict::Fine } else { Verdict::Found };
    Ok(changed.max(verdict(failures)))
}
