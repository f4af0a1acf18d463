//! `scibin flux extract`: extracts files from an archive.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use flux_archive::disk::{Existing, ExtractReport, Extractor, LinkPolicy};
use flux_archive::inspect::{LongLine, truncate_line};
use flux_archive::parse::Located;
use flux_archive::{Archive, Content, Entry, Limits};
use serde_json::{Value, json};

use super::patterns::Patterns;
use super::source::Source;
use super::{bytes, remark, report_json, say_failures, verdict};
use crate::Verdict;
use crate::arguments::flux::{Extract, Links};
use crate::failure::{self, Failure};
use crate::output::progress::Progress;
use crate::output::{Output, count, one_line, print_json, size};

/// The number of columns to which Flux shortens the lines of `extract -t`.
const COLUMNS: usize = 79;

/// An archive to extract.
enum Extracted<'a> {
    Whole(Archive<'a>),
    /// An archive whose data is read from its file in pieces.
    Located(Located<'a>),
}

impl<'a> Extracted<'a> {
    fn entries(&self) -> &[Entry<'a>] {
        match self {
            Self::Whole(archive) => archive.entries(),
            Self::Located(archive) => archive.entries(),
        }
    }

    /// Returns the total size in bytes of the selected entries, not counting holes. `wants` returns
    /// `true` for the entries to select.
    fn data_size(&self, wants: impl Fn(&Entry<'_>) -> bool) -> u64 {
        let entries = self.entries().iter().enumerate().filter(|(_, entry)| wants(entry));
        let size = |(at, entry): (usize, &Entry<'_>)| match self {
            Self::Whole(_) => entry.content().data_size(),
            Self::Located(archive) => archive.data_size_of(at),
        };
        entries.map(size).fold(0, u64::saturating_add)
    }
}

pub(super) fn extract(command: &Extract, output: Output) -> Result<Verdict, Failure> {
    let mut limits = Limits::default();
    if let Some(most) = command.max_size {
        let most = bytes(most, "--max-size", output);
        limits = limits.max_file_size(most).max_total_size(most).max_materialized_bytes(most);
    }
    // To list the entries, parse the whole archive, because located entries lack the stated sizes
    // that the list shows.
    let opened = Source::without_document(&command.selection).filter(|_| !command.list_only);
    if let Some((mut source, file)) = opened {
        source.options = source.options.limits(limits);
        // Ignore an error here, because reading the whole file below reports it.
        if let Ok(Some(archive)) = source.options.locate(&file) {
            let archive = Extracted::Located(archive);
            return run(command, limits, &source, &command.selection.patterns, &archive, output);
        }
    }
    let (mut source, patterns) = Source::select(&command.selection)?;
    source.options = source.options.limits(limits);
    let archive = source.parse()?;
    remark(&source.name, &archive, output);
    run(command, limits, &source, &patterns, &Extracted::Whole(archive), output)
}

fn run(
    command: &Extract,
    limits: Limits,
    source: &Source,
    patterns: &[String],
    archive: &Extracted<'_>,
    output: Output,
) -> Result<Verdict, Failure> {
    let patterns = Patterns::new(patterns, &command.selection.exclude);
    let wants = |entry: &Entry<'_>| patterns.select(entry.path().as_str());
    let total = archive.data_size(wants);
    patterns.remark(output);
    if command.list_only {
        let entries = archive.entries().iter().filter(|entry| wants(entry));
        if output.json {
            print_json(&entries.map(entry_json).collect())?;
        } else {
            print_list(entries)?;
        }
        return Ok(source.report_damage(output));
    }
    let store = source.stores(&command.stores)?;
    let progress = Progress::new(total, output.quiet);
    let add = |bytes| progress.add(bytes);
    let select = |entry: &Entry<'_>| {
        let wanted = wants(entry);
        if wanted && command.verbose {
            output.say(entry.path());
        }
        wanted
    };
    let directory = &command.directory;
    let extractor = Extractor::new(directory).map_err(|error| Failure::io(directory, error))?;
    let extractor = extractor
        .store(&store)
        .existing(existing(command))
        .links(match command.links {
            Links::Keep => LinkPolicy::Keep,
            Links::RejectAbsolute => LinkPolicy::RejectAbsolute,
            Links::RejectEscaping => LinkPolicy::RejectEscaping,
        })
        .limits(limits)
        .require_hash(command.require_hash)
        .select(&select)
        .progress(&add)
        .times(!command.no_mtime)
        .preserve_permissions(command.preserve_permissions)
        .sync(command.sync)
        .fail_fast(command.fail_fast)
        .dry_run(command.dry_run);
    let report = match archive {
        Extracted::Whole(archive) => extractor.run(archive),
        Extracted::Located(archive) => extractor.run_located(archive),
    };
    let report = report.map_err(|error| source.failure(error))?;
    drop(progress);
    let verdict = tell(&source.name, directory, &report, command.dry_run, output)?;
    Ok(verdict.max(source.report_damage(output)))
}

fn existing(command: &Extract) -> Existing {
    match (command.overwrite, command.skip_existing, command.keep_newer) {
        (true, _, _) => Existing::Overwrite,
        (_, true, _) => Existing::Skip,
        (_, _, true) => Existing::Newer,
        (false, false, false) => Existing::Error,
    }
}

/// Returns the total size of the entries in bytes, not counting holes.
pub(super) fn data_size<'e>(entries: impl IntoIterator<Item = &'e Entry<'e>>) -> u64 {
    entries.into_iter().fold(0, |sum, entry| entry.content().data_size().saturating_add(sum))
}

fn print_list<'e>(entries: impl Iterator<Item = &'e Entry<'e>>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let terminal = io::stdout().is_terminal();
    for entry in entries {
        let line = LongLine::from(entry).to_string();
        if terminal {
            writeln!(out, "{}", truncate_line(&one_line(&line), COLUMNS))?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    out.flush()
}

/// Returns an entry as a JSON object with the same members as in `scibin flux list --json`.
fn entry_json(entry: &Entry<'_>) -> Value {
    json!({
        "path": entry.path().as_str(),
        "type": entry.file_type().to_string(),
        "mode": entry.mode().as_u32(),
        "size": entry.size(),
        "mtime": entry.mtime(),
        "ctime": entry.ctime(),
        "encoding": entry.content().encoding(),
        "target": match entry.content() {
            Content::Symlink(target) => Some(target),
            _ => None,
        },
    })
}

/// Reports what was extracted and which entries failed, and returns the outcome.
pub(super) fn tell(
    name: &Path,
    directory: &Path,
    report: &ExtractReport,
    dry_run: bool,
    output: Output,
) -> Result<Verdict, Failure> {
    let ExtractReport { files, directories, links, skipped, bytes, failures, .. } = report;
    say_failures(&failure::name(name), failures, output);
    if output.json {
        let (file, directory) = (name.display().to_string(), directory.display().to_string());
        let members = json!({"file": file, "directory": directory, "dry_run": dry_run});
        print_json(&report_json(report, members)?)?;
    } else {
        let kinds = [(*files, "file"), (*directories, "directory"), (*links, "link")];
        let kinds = kinds.map(|(number, kind)| count(number, kind)).join(", ");
        let skipped = match skipped {
            0 => String::new(),
            skipped => format!(", {skipped} skipped"),
        };
        let (would, written) = if dry_run {
            (" would be extracted", String::new())
        } else {
            ("", format!(", {}", size(*bytes)))
        };
        let directory = directory.display();
        output.result(&format_args!("{directory}: {kinds}{would}{skipped}{written}"))?;
    }
    Ok(verdict(failures))
}
