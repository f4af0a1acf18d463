//! `scibin flux verify`: the archive against RFC 37, its blobs, and the files on the disk.

use std::io::{self, Write};

use flux_archive::{
    Archive, BlobReport, Entry, ErrorKind, HashType, Profile, Violation, verify_blobs,
};
use serde_json::{Value, json};

use super::source::Source;
use super::{count, diff, violation_json};
use crate::Verdict;
use crate::arguments::flux::{One, Verifying};
use crate::failure::Failure;
use crate::output::{Output, one_line, print_json, size};
use crate::progress::Progress;

/// What was found: a line for people, and JSON.
struct Finding {
    line: String,
    json: Value,
}

impl Finding {
    fn new(line: &impl ToString) -> Self {
        let line = line.to_string();
        Self { json: json!({"message": line}), line }
    }

    fn of(violation: &Violation, profile: Profile) -> Self {
        Self { line: violation.to_string(), json: violation_json(violation, profile) }
    }
}

pub(crate) fn verify(one: &One, verifying: &Verifying, output: Output) -> Result<Verdict, Failure> {
    let source = Source::open(one)?;
    let profile = one.reading.profile.unwrap_or_default();
    let archive = match source.options.parse(&source.document) {
        Ok(archive) => archive,
        Err(error) => {
            let findings = match error.kind() {
                ErrorKind::Violations(violations) => {
                    violations.iter().map(|found| Finding::of(found, profile)).collect()
                }
                ErrorKind::Json(_) => vec![Finding::new(&error)],
                _ => return Err(source.failure(error)),
            };
            return tell(&source, None, &findings, output);
        }
    };
    super::remark(&source.name, &archive, output);
    let mut findings = Vec::new();
    let blobs = check_blobs(&source, &archive, verifying, profile, &mut findings, output)?;
    if verifying.disk.directory.is_some() {
        let store = source.stores(&verifying.stores)?;
        let (differences, failures) = diff::with_disk(&archive, &verifying.disk, &store, output)?;
        for (path, changes) in differences {
            let line = diff::line(&path, &changes);
            findings.push(Finding { json: diff::json(&path, &changes), line });
        }
        findings.extend(failures.iter().map(Finding::new));
    }
    tell(&source, Some((&archive, blobs)), &findings, output)
}

/// Verifies the blobs, if it is known where they are.
fn check_blobs(
    source: &Source,
    archive: &Archive<'_>,
    verifying: &Verifying,
    profile: Profile,
    findings: &mut Vec<Finding>,
    output: Output,
) -> Result<BlobReport, Failure> {
    let other = |hash: HashType| verifying.require_hash.is_some_and(|required| required != hash);
    for entry in archive.entries() {
        let found = entry.regions().iter().map(|region| region.blobref.hash()).find(|h| other(*h));
        if let Some(found) = found {
            let line = format!("{}: its blobs are named by {found}", entry.path());
            findings.push(Finding::new(&line));
        }
    }
    if !source.has_stores(&verifying.stores) {
        let regions: usize = archive.entries().iter().map(|entry| entry.regions().len()).sum();
        if regions > 0 {
            let blobs = count(regions as u64, "blob");
            let name = source.name.display();
            output
                .remark(&format_args!("{name}: {blobs} not checked: --store says where they are"));
        }
        return Ok(BlobReport::default());
    }
    let store = source.stores(&verifying.stores)?;
    let regions = archive.entries().iter().flat_map(Entry::regions);
    let total = regions.fold(0, |sum: u64, region| sum.saturating_add(region.size));
    let progress = Progress::new(total, output.quiet);
    let report = verify_blobs(archive, &store, Some(&|bytes| progress.add(bytes)));
    findings.extend(report.violations.iter().map(|found| Finding::of(found, profile)));
    Ok(report)
}

fn tell(
    source: &Source,
    checked: Option<(&Archive<'_>, BlobReport)>,
    findings: &[Finding],
    output: Output,
) -> Result<Verdict, Failure> {
    let name = source.name.display();
    let fine = findings.is_empty();
    let entries = checked.as_ref().map(|(archive, _)| archive.entries().len() as u64);
    let blobs = checked.map(|(_, blobs)| blobs).unwrap_or_default();
    if output.json {
        let findings: Vec<&Value> = findings.iter().map(|finding| &finding.json).collect();
        print_json(&json!({
            "file": name.to_string(), "format": "flux", "ok": fine, "entries": entries,
            "blobs": blobs.blobs, "bytes": blobs.bytes, "sha1": blobs.sha1, "findings": findings,
        }))?;
    } else {
        print(source, entries.unwrap_or_default(), &blobs, findings, output)?;
    }
    Ok(if fine { Verdict::Fine } else { Verdict::Found })
}

fn print(
    source: &Source,
    entries: u64,
    blobs: &BlobReport,
    findings: &[Finding],
    output: Output,
) -> io::Result<()> {
    let name = source.name.display();
    let mut out = io::stdout().lock();
    for finding in findings {
        writeln!(out, "{name}: {}", one_line(&finding.line))?;
    }
    if findings.is_empty() && !output.quiet {
        let checked = match (blobs.blobs, blobs.sha1) {
            (0, _) => String::new(),
            (number, 0) => format!(", {} of {}", count(number, "blob"), size(blobs.bytes)),
            (number, sha1) => {
                format!(", {} of {} ({sha1} by sha1)", count(number, "blob"), size(blobs.bytes))
            }
        };
        writeln!(out, "{name}: fine, {}{checked} checked", count(entries, "entry"))?;
    }
    Ok(())
}
