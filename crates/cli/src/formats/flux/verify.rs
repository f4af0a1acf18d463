//! `scibin flux verify`: the archive against RFC 37, its blobs, and files.

use std::io::{self, Write};

use flux_archive::{Archive, Entry, VerifyOptions, VerifyReport};
use serde_json::json;

use super::diff::{self, Found};
use super::source::Source;
use super::{count, report_json, verdict};
use crate::Verdict;
use crate::arguments::flux::{One, Verifying};
use crate::failure::Failure;
use crate::output::{Output, one_line, print_json, size};
use crate::progress::Progress;

pub(crate) fn verify(one: &One, verifying: &Verifying, output: Output) -> Result<Verdict, Failure> {
    let source = Source::open(one)?;
    match source.options.parse(&source.document) {
        Ok(archive) => {
            super::remark(&source.name, &archive, output);
            let report = check(&source, &archive, verifying, output)?;
            let on_disk = if verifying.disk.directory.is_some() {
                let store = source.stores(&verifying.stores)?;
                diff::with_disk(&archive, &verifying.disk, &store, output)?
            } else {
                Found::default()
            };
            tell(&source, &report, &on_disk, output)
        }
        Err(error) => {
            let report = VerifyReport::try_from(error).map_err(|error| source.failure(error))?;
            tell(&source, &report, &Found::default(), output)
        }
    }
}

/// Verifies the archive, and its blobs if there is a store.
fn check(
    source: &Source,
    archive: &Archive<'_>,
    verifying: &Verifying,
    output: Output,
) -> Result<VerifyReport, Failure> {
    let options = VerifyOptions::new().require_hash(verifying.require_hash);
    let regions = || archive.entries().iter().flat_map(Entry::regions);
    if !source.has_stores(&verifying.stores) {
        let regions = regions().count() as u64;
        if regions > 0 {
            let (name, blobs) = (source.name.display(), count(regions, "blob"));
            output.remark(&format_args!(
                "{name}: {blobs} not checked: name their store with --store"
            ));
        }
        return Ok(archive.verify(&options));
    }
    let store = source.stores(&verifying.stores)?;
    let total = regions().fold(0, |sum: u64, region| sum.saturating_add(region.size));
    let progress = Progress::new(total, output.quiet);
    Ok(archive.verify(&options.store(&store).progress(&|bytes| progress.add(bytes))))
}

fn tell(
    source: &Source,
    report: &VerifyReport,
    on_disk: &Found,
    output: Output,
) -> Result<Verdict, Failure> {
    let name = source.name.display();
    let fine = report.is_ok() && on_disk.differences.is_empty() && on_disk.failures.is_empty();
    if output.json {
        let members = json!({"file": name.to_string(), "format": "flux", "ok": fine});
        let mut value = report_json(report, members)?;
        value["differences"] = on_disk.differences_json();
        value["failures"] = json!(on_disk.failures);
        print_json(&value)?;
    } else {
        print(source, report, on_disk, output)?;
    }
    let found = if fine { Verdict::Fine } else { Verdict::Found };
    Ok(found.max(verdict(&on_disk.failures)))
}

fn print(
    source: &Source,
    report: &VerifyReport,
    on_disk: &Found,
    output: Output,
) -> io::Result<()> {
    let name = source.name.display();
    let diagnostics = report.diagnostics.iter().map(ToString::to_string);
    let differences = on_disk.lines();
    let failures = on_disk.failures.iter().map(ToString::to_string);
    let mut out = io::stdout().lock();
    let mut fine = true;
    for line in diagnostics.chain(differences).chain(failures) {
        fine = false;
        writeln!(out, "{name}: {}", one_line(&line))?;
    }
    if fine && !output.quiet {
        let blobs = || format!(", {} of {}", count(report.blobs, "blob"), size(report.bytes));
        let checked = match (report.blobs, report.sha1) {
            (0, _) => String::new(),
            (_, 0) => blobs(),
            (_, sha1) => format!("{} ({sha1} by sha1)", blobs()),
        };
        let entries = count(report.entries.unwrap_or_default(), "entry");
        writeln!(out, "{name}: fine, {entries}{checked} checked")?;
    }
    Ok(())
}
