//! `scibin flux diff`: compares two archives, or an archive with files.

use std::io::{self, Write};

use flux_archive::inspect::{Change, Difference, VerifyOptions, same_content};
use flux_archive::store::BlobStore;
use flux_archive::{Archive, Failure as Failed};
use serde_json::json;

use super::source::Source;
use super::{remark, say_failures};
use crate::Verdict;
use crate::arguments::flux::{Diff, Disk};
use crate::failure::{Failure, name};
use crate::output::progress::Progress;
use crate::output::{Output, one_line, print_json};

pub(super) fn diff(command: &Diff, output: Output) -> Result<Verdict, Failure> {
    // Status 1 means that the files differ, so bad data must cause status 2.
    compare(command, output).map_err(Failure::fatal)
}

fn compare(command: &Diff, output: Output) -> Result<Verdict, Failure> {
    let source = Source::of_file(&command.archive, &command.reading)?;
    let archive = source.parse()?;
    remark(&source.name, &archive, output);
    let store = source.stores(&command.stores)?;
    let (differences, failures) = match &command.other {
        None => {
            let total = archive.entries().iter().fold(0, |sum: u64, e| sum.saturating_add(e.len()));
            let progress = Progress::new(total, output.quiet);
            let add = |bytes| progress.add(bytes);
            let options = VerifyOptions::new().store(&store).blobs(false).progress(&add);
            let report = archive.verify(&with_disk(options, &command.disk)?);
            (report.differences, report.failures)
        }
        Some(other) => {
            let other = Source::of_file(other, &command.reading)?;
            let other_archive = other.parse()?;
            remark(&other.name, &other_archive, output);
            let store = source.has_stores(&command.stores).then_some(&store as &dyn BlobStore);
            of_archives(&archive, &other_archive, &command.disk, store)
        }
    };
    say_failures(&name(&source.name), &failures, output);
    if output.json {
        print_json(&json!({
            "file": source.name.display().to_string(),
            "differences": differences, "failures": failures,
        }))?;
    } else if !output.quiet {
        let mut out = io::stdout().lock();
        for difference in &differences {
            writeln!(out, "{}", one_line(&difference.to_string()))?;
        }
    }
    let differ = if differences.is_empty() { Verdict::Fine } else { Verdict::Found };
    // If content could not be read, it is unknown whether the files differ.
    Ok(if failures.is_empty() { differ } else { Verdict::Failed })
}

/// Returns the differences between two archives, and the entries that could not be compared. If
/// content cannot be compared without its blobs, reads the blobs from the store.
fn of_archives(
    first: &Archive<'_>,
    second: &Archive<'_>,
    disk: &Disk,
    store: Option<&dyn BlobStore>,
) -> (Vec<Difference>, Vec<Failed>) {
    let (mut differences, mut failures) = (Vec::new(), Vec::new());
    for mut difference in flux_archive::inspect::diff(first, second) {
        let (path, changes) = (&difference.path, &mut difference.changes);
        changes.retain(|change| match change {
            Change::Mtime(..) => !disk.no_mtime,
            Change::Permissions(..) => !disk.no_permissions,
            _ => true,
        });
        let unknown = changes.iter().position(|change| *change == Change::ContentUnknown);
        if let (Some(at), Some(store), Some(a), Some(b)) =
            (unknown, store, first.get(path), second.get(path))
        {
            match same_content(a, b, store) {
                Ok(true) => drop(changes.remove(at)),
                Ok(false) => changes[at] = Change::Content,
                Err(error) => failures.push(Failed::new(path.as_str(), error)),
            }
        }
        if !difference.changes.is_empty() {
            differences.push(difference);
        }
    }
    (differences, failures)
}

/// Adds a comparison with the files in the directory given with `-C`, or else in the current
/// directory.
#[cfg(unix)]
pub(super) fn with_disk<'o>(
    options: VerifyOptions<'o>,
    disk: &Disk,
) -> Result<VerifyOptions<'o>, Failure> {
    let directory = disk.directory.as_deref().unwrap_or(std::path::Path::new("."));
    let options = options.directory(directory).map_err(|error| Failure::io(directory, error))?;
    Ok(options.permissions(!disk.no_permissions).times(!disk.no_mtime))
}

#[cfg(not(unix))]
pub(super) fn with_disk<'o>(_: VerifyOptions<'o>, _: &Disk) -> Result<VerifyOptions<'o>, Failure> {
    Err(Failure::other("-C", "an archive can be compared with files only on Unix"))
}
