//! `scibin flux create` and `append`: write files to a new or an existing archive.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use flux_archive::disk::{CreateReport, Creator, Holes, Times};
use flux_archive::inspect::fnmatch;
use flux_archive::{Form, Writer};
use serde_json::json;

use super::source::{Source, open_store_mut};
use super::{buffered, chunking, lock, report_json, say_failures, store_failure};
use crate::Verdict;
use crate::arguments::flux::{Append, Collecting, Create, HolesArgument, Reading};
use crate::failure::{Failure, STANDARD_OUTPUT};
use crate::interrupt::Spool;
use crate::output::file::{self as output_file, OutputFile, is_standard};
use crate::output::progress::Progress;
use crate::output::{Output, Sink, count, print_json, size};

/// If at least this many bytes of holes were written as zeros, a remark is printed.
const MANY_HOLES: u64 = 1 << 20;

pub(super) fn create(command: &Create, output: Output) -> Result<Verdict, Failure> {
    let target = &command.output;
    output_file::check(target, true)?;
    let exists = !is_standard(target) && target.symlink_metadata().is_ok();
    if exists && command.append {
        return add(target, &command.collecting, &Reading::default(), output);
    }
    if exists && !command.overwrite {
        let message = "the file exists; --overwrite replaces it, --append adds to it";
        return Err(Failure::other(target.display(), message));
    }
    let form = if command.dict { Form::Dict } else { Form::Array };
    let collecting = &command.collecting;
    let _lock = lock(target)?;
    let report = if is_standard(target) {
        to_standard_output(collecting, form, output)?
    } else {
        let mut file = OutputFile::create(target, exists)?;
        let own = file.file()?.try_clone().map_err(|error| Failure::io(target, error))?;
        let old = File::open(target).ok();
        let left_out: Vec<&File> = [Some(&own), old.as_ref()].into_iter().flatten().collect();
        let mut out = Sink::new(file);
        let written = collect(collecting, &left_out, form, &mut out, output)?;
        let fail = |error| blame(collecting, target, error);
        let report = out.finish(written, fail, |error| Failure::io(target, error))?;
        if is_wanted(&report, collecting) && !out.into_inner().try_commit()? {
            if command.append {
                return add(target, collecting, &Reading::default(), output);
            }
            let message = "another process has created the file in the meantime; --overwrite \
                           replaces it, --append adds to it";
            return Err(Failure::other(target.display(), message));
        }
        report
    };
    tell(target, &report, "written", collecting, output)
}

/// Writes an archive to standard output. If files cannot be read, writes nothing, unless
/// `--ignore-failed-read` is given.
fn to_standard_output(
    collecting: &Collecting,
    form: Form,
    output: Output,
) -> Result<CreateReport, Failure> {
    let fail = |error| blame(collecting, Path::new(STANDARD_OUTPUT), error);
    let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
    if collecting.ignore_failed_read {
        let written = collect(collecting, &[], form, &mut out, output)?;
        return out.finish(written, fail, Failure::from);
    }
    let mut spool = Spool::new()?;
    let mut spooled = Sink::new(BufWriter::new(spool.as_file()));
    let written = collect(collecting, &[spool.as_file()], form, &mut spooled, output)?;
    let report = spooled.finish(written, fail, |error| Failure::io(spool.path(), error))?;
    drop(spooled);
    if is_wanted(&report, collecting) {
        spool.rewind()?;
        io::copy(&mut *spool, &mut out)?;
        out.flush()?;
    }
    Ok(report)
}

/// Returns `true` if the archive should be written: either all files could be read, or failures are
/// ignored.
fn is_wanted(report: &CreateReport, collecting: &Collecting) -> bool {
    report.failures.is_empty() || collecting.ignore_failed_read
}

/// Returns the failure for an error from writing an archive. The subject of the failure is the
/// store if the store caused the error, or else the archive.
fn blame(collecting: &Collecting, target: &Path, error: flux_archive::Error) -> Failure {
    let store = collecting.store.as_deref().unwrap_or(target);
    store_failure(store, error, |error| Failure::flux(target, error))
}

pub(super) fn append(command: &Append, output: Output) -> Result<Verdict, Failure> {
    add(&command.archive, &command.collecting, &command.reading, output)
}

/// Adds the selected files to an existing archive.
fn add(
    path: &Path,
    collecting: &Collecting,
    reading: &Reading,
    output: Output,
) -> Result<Verdict, Failure> {
    let _lock = lock(path)?;
    let source = Source::of_file(path, reading)?;
    let form = source.form(true)?;
    // Parse the archive now, so that errors in it are found before any file is read or any blob is
    // stored.
    source.parse()?;
    let spool = Spool::new().map_err(|error| Failure::io(path, error))?;
    let old = File::open(path).ok();
    let left_out: Vec<&File> =
        [Some(spool.as_file()), old.as_ref()].into_iter().flatten().collect();
    let mut out = Sink::new(BufWriter::new(spool.as_file()));
    let written = collect(collecting, &left_out, Form::Array, &mut out, output)?;
    let fail = |error| blame(collecting, path, error);
    let report = out.finish(written, fail, |error| Failure::io(spool.path(), error))?;
    if is_wanted(&report, collecting) {
        let addition = Source::of_file(spool.path(), &Reading::default())?;
        let body = |out: &mut dyn Write| {
            buffered(out, form, |writer| {
                let (document, addition) = (&source.document, &addition.document);
                flux_archive::edit::append(document, addition, &source.options, writer)
            })
        };
        output_file::write(path, true, body, |error| source.failure(error))?;
    }
    tell(path, &report, "added", collecting, output)
}

/// Writes an archive of the selected files to `out`. Omits the files in `left_out`, even if they
/// are selected.
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

/// Reports what was written and which files failed, and returns the outcome.
fn tell(
    target: &Path,
    report: &CreateReport,
    done: &str,
    collecting: &Collecting,
    output: Output,
) -> Result<Verdict, Failure> {
    let CreateReport { entries, changed, absolute, left_out, holes, failures, .. } = report;
    for path in absolute {
        output.remark(&format_args!("{path}: removed the leading /"));
    }
    for path in left_out {
        output.remark(&format_args!("{path}: omitted, because it is the archive or its store"));
    }
    for path in changed {
        output.say(&format_args!("{path}: the file changed while it was being read"));
    }
    if *holes >= MANY_HOLES {
        let (name, holes) = (output_file::name(target), size(*holes));
        output.remark(&format_args!(
            "{name}: {holes} of holes were written as zeros; --store keeps holes"
        ));
    }
    say_failures(&output_file::name(target), failures, output);
    let written = is_wanted(report, collecting);
    if !written {
        let (name, files) = (output_file::name(target), count(failures.len(), "file"));
        output.say(&format_args!(
            "{name}: nothing {done}, because {files} could not be read; --ignore-failed-read omits them"
        ));
    }
    if !is_standard(target) {
        if output.json {
            let members = json!({"file": target.display().to_string(), "written": written});
            print_json(&report_json(report, members)?)?;
        } else if written {
            let entries = count(*entries, "entry");
            output.result(&format_args!("{}: {entries} {done}", target.display()))?;
        }
    }
    Ok(match (written, changed.is_empty() && failures.is_empty()) {
        (false, _) => Verdict::Failed,
        (true, false) => Verdict::Found,
        (true, true) => Verdict::Fine,
    })
}
