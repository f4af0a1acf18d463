//! `scibin flux diff`: two archives, or an archive and files.

use std::io::{self, Write};

use flux_archive::store::BlobStore;
use flux_archive::{Archive, Change, Failure as Failed, same_content};
use serde_json::{Value, json};

use super::source::Source;
use super::{remark, say_failures, verdict};
use crate::Verdict;
use crate::arguments::flux::{Diff, Disk};
use crate::failure::Failure;
use crate::output::{Output, one_line, print_json};
#[cfg(unix)]
use crate::progress::Progress;

/// Paths and how they differ, and what could not be compared.
#[derive(Default)]
pub(super) struct Found {
    pub(super) differences: Vec<(String, Vec<Change>)>,
    pub(super) failures: Vec<Failed>,
}

impl Found {
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.differences.iter().map(|(path, changes)| {
            let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
            format!("{path}: {}", changes.join("; "))
        })
    }

    pub(super) fn differences_json(&self) -> Value {
        let one = |(path, changes): &(String, Vec<Change>)| {
            let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
            json!({"path": path, "changes": changes})
        };
        self.differences.iter().map(one).collect()
    }
}

pub(super) fn diff(command: &Diff, output: Output) -> Result<Verdict, Failure> {
    let source = Source::of_file(&command.archive, &command.reading)?;
    let archive = source.parse()?;
    remark(&source.name, &archive, output);
    let store = source.stores(&command.stores)?;
    let found = match &command.other {
        None => with_disk(&archive, &command.disk, &store, output)?,
        Some(other) => {
            let other = Source::of_file(other, &command.reading)?;
            let other_archive = other.parse()?;
            remark(&other.name, &other_archive, output);
            let store = source.has_stores(&command.stores).then_some(&store as &dyn BlobStore);
            of_archives(&archive, &other_archive, &command.disk, store)
        }
    };
    say_failures(&source.name, &found.failures, output);
    if output.json {
        print_json(&json!({
            "file": source.name.display().to_string(),
            "differences": found.differences_json(), "failures": found.failures,
        }))?;
    } else {
        let mut out = io::stdout().lock();
        for line in found.lines() {
            writeln!(out, "{}", one_line(&line))?;
        }
    }
    let differ = if found.differences.is_empty() { Verdict::Fine } else { Verdict::Found };
    Ok(differ.max(verdict(&found.failures)))
}

/// The differences between two archives; content is compared by a store where necessary.
fn of_archives(
    first: &Archive<'_>,
    second: &Archive<'_>,
    disk: &Disk,
    store: Option<&dyn BlobStore>,
) -> Found {
    let (mut differences, mut failures) = (Vec::new(), Vec::new());
    for difference in flux_archive::diff(first, second) {
        let path = difference.path;
        let mut changes = difference.changes;
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
                Err(error) => failures.push(Failed::new(path, error)),
            }
        }
        if !changes.is_empty() {
            differences.push((path.to_owned(), changes));
        }
    }
    Found { differences, failures }
}

/// The differences between an archive and the files of a directory.
#[cfg(unix)]
pub(super) fn with_disk(
    archive: &Archive<'_>,
    disk: &Disk,
    store: &dyn BlobStore,
    output: Output,
) -> Result<Found, Failure> {
    let total = archive.entries().iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.len()));
    let progress = Progress::new(total, output.quiet);
    let add = |bytes| progress.add(bytes);
    let directory = disk.directory.as_deref().unwrap_or(std::path::Path::new("."));
    let verifier = flux_archive::DiskVerifier::new(directory)
        .map_err(|error| Failure::io(directory, error))?
        .permissions(!disk.no_permissions)
        .times(!disk.no_mtime)
        .progress(&add);
    let (differences, failures) = verifier.run(archive, store);
    Ok(Found { differences, failures })
}

#[cfg(not(unix))]
pub(super) fn with_disk(
    _: &Archive<'_>,
    _: &Disk,
    _: &dyn BlobStore,
    _: Output,
) -> Result<Found, Failure> {
    Err(Failure::other("-C", "archives can be compared with files on Unix only"))
}
