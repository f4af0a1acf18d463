//! `scibin flux verify`: checks that an archive follows RFC 37, and checks its blobs and files.

use std::io;

use binio::diagnostic::compression_by_signature;
use flux_archive::diagnostic::{Diagnostic, Severity};
use flux_archive::inspect::{VerifyOptions, VerifyReport};
use flux_archive::{Archive, Entry};
use serde_json::{Value, json};

use super::diff::with_disk;
use super::source::Source;
use super::{report_json, verdict};
use crate::Verdict;
use crate::arguments::flux::{One, Verifying};
use crate::failure::{Failure, name};
use crate::output::progress::Progress;
use crate::output::{Output, count, print_found, print_json, size};

pub(crate) fn verify(one: &One, verifying: &Verifying, output: Output) -> Result<Verdict, Failure> {
    let source = Source::open(one)?;
    let report = match source.options.parse(&source.document) {
        Ok(archive) => {
            super::remark(&source.name, &archive, output);
            check(&source, &archive, verifying, output)?
        }
        Err(error) if compression_by_signature(&source.document).is_some() => {
            return Err(source.failure(error));
        }
        Err(error) => VerifyReport::try_from(error).map_err(|error| source.failure(error))?,
    };
    if output.json {
        print_json(&verification(&source, &report)?)?;
    } else {
        print(&source, &report, output)?;
    }
    let found = if report.passed() { Verdict::Fine } else { Verdict::Found };
    Ok(found.max(verdict(&report.failures)).max(source.report_damage(output)))
}

/// Returns the report on an archive as JSON.
pub(super) fn verification(source: &Source, report: &VerifyReport) -> Result<Value, Failure> {
    let file = source.name.display().to_string();
    let is_ok = report.passed() && source.damage_json().is_none();
    let members = json!({"file": file, "format": "flux", "ok": is_ok});
    let mut value = report_json(report, members)?;
    if let Value::Array(diagnostics) = &mut value["diagnostics"] {
        diagnostics.extend(source.damage_json());
    }
    Ok(value)
}

/// Verifies an archive. Also verifies the blobs if a store is given, and compares the archive with
/// the files in a directory if `-C` is given.
pub(super) fn check(
    source: &Source,
    archive: &Archive<'_>,
    verifying: &Verifying,
    output: Output,
) -> Result<VerifyReport, Failure> {
    let regions = || archive.entries().iter().flat_map(Entry::regions);
    let has_stores = source.has_stores(&verifying.stores);
    let unchecked = if has_stores { 0 } else { regions().count() as u64 };
    if unchecked > 0 {
        let (name, blobs) = (name(&source.name), count(unchecked, "blob"));
        output.remark(&format_args!(
            "{name}: {blobs} not checked; `scibin flux verify --store STORE` checks them"
        ));
    }
    let on_disk = verifying.disk.directory.is_some();
    let store = source.stores(&verifying.stores)?;
    let mut total = 0_u64;
    if has_stores {
        total = regions().fold(total, |sum, region| sum.saturating_add(region.size));
    }
    if on_disk {
        total = archive.entries().iter().fold(total, |sum, entry| sum.saturating_add(entry.len()));
    }
    let progress = Progress::new(total, output.quiet);
    let add = |bytes| progress.add(bytes);
    let mut options = VerifyOptions::new().require_hash(verifying.require_hash);
    options = options.store(&store).blobs(has_stores).progress(&add);
    if on_disk {
        options = with_disk(options, &verifying.disk)?;
    }
    Ok(archive.verify(&options))
}

fn print(source: &Source, report: &VerifyReport, output: Output) -> io::Result<()> {
    let name = name(&source.name);
    // Print only errors, because deviations that the profile accepts have already been reported.
    let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
    let diagnostics = report.diagnostics.iter().filter(is_error).map(ToString::to_string);
    let differences = report.differences.iter().map(ToString::to_string);
    let failures = report.failures.iter().map(ToString::to_string);
    for line in diagnostics.chain(differences).chain(failures) {
        print_found(&name, &line)?;
    }
    if report.passed() {
        let blobs = || format!(", {} of {}", count(report.blobs, "blob"), size(report.bytes));
        let checked = match (report.blobs, report.sha1) {
            (0, _) => String::new(),
            (_, 0) => blobs(),
            (_, sha1) => format!("{} ({sha1} by sha1)", blobs()),
        };
        let entries = count(report.entries.unwrap_or_default(), "entry");
        output.result(&format_args!("{name}: fine, {entries}{checked} checked"))?;
    }
    Ok(())
}
