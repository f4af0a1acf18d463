//! `scibin flux gc`: removes blobs that no archive refers to.

use std::collections::HashSet;

use flux_archive::store::{DirStore, collect_garbage};
use serde_json::{Value, json};

use super::source::Source;
use crate::Verdict;
use crate::arguments::flux::Gc;
use crate::failure::Failure;
use crate::output::{Output, count, print_json};

pub(super) fn gc(command: &Gc, output: Output) -> Result<Verdict, Failure> {
    let path = &command.store;
    let store = DirStore::open(path).map_err(|error| Failure::io(path, error))?;
    if store.has_checkpoint() {
        let message = "cannot collect garbage in the store of a broker, because the broker's own \
                       data is in blobs to which no archive refers";
        return Err(Failure::other(path.display(), message));
    }
    // Read all archives before removing any blob, so that nothing is removed if an archive is
    // unreadable.
    let mut named = HashSet::new();
    for archive in &command.archives {
        let source = Source::of_file(archive, &command.reading)?;
        named.extend(source.parse()?.blobrefs());
    }
    let report = collect_garbage(&store, named, command.dry_run)
        .map_err(|error| Failure::other(path.display(), error.to_string()))?;
    if command.verbose {
        for blobref in &report.removed {
            output.say(blobref);
        }
    }
    for blobref in &report.missing {
        output.say(&format_args!("{}: blob {blobref} is missing", path.display()));
    }
    if output.json {
        let names = |list: &[flux_archive::BlobRef]| -> Value {
            list.iter().map(ToString::to_string).collect()
        };
        print_json(&json!({
            "store": path.display().to_string(), "kept": report.kept,
            "removed": names(&report.removed), "missing": names(&report.missing),
            "dry_run": command.dry_run,
        }))?;
    } else {
        let removed = count(report.removed.len(), "blob");
        let done = if command.dry_run { "would be removed" } else { "removed" };
        let kept = report.kept;
        output.result(&format_args!("{}: {removed} {done}, {kept} kept", path.display()))?;
    }
    Ok(if report.missing.is_empty() { Verdict::Fine } else { Verdict::Found })
}
