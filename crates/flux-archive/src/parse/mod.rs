//! From JSON text to an archive: raw entries, their meaning, and what they are to each other.

mod entry;
mod locate;
mod options;
mod raw;
mod regions;
mod report;
mod tree;

use std::collections::HashMap;

pub(crate) use entry::decode;
pub use locate::{JOBSPEC_FILES, value_at};
pub use options::ParseOptions;
pub use raw::{Member, RawEntries, RawEntry};
pub(crate) use report::Report;
pub(crate) use tree::Tree;

use crate::{Archive, Code, Entry, ErrorKind, Form, Json, Profile, Result, Severity, Text, limits};

/// Parses all that can be, and collects what `filter` does not accept. Entries that mean nothing are
/// left out; of a dict's keys the last counts.
fn examine<'a>(document: &'a [u8], options: &ParseOptions, filter: Profile) -> Result<Archive<'a>> {
    let mut raw_entries = options.entries(document)?;
    let mut report = Report::new(filter, &options.limits, raw_entries.pointer());
    match raw_entries.form() {
        Some(Form::Array | Form::Dict) => {}
        Some(Form::Objects) if filter != Profile::Strict => {}
        _ => report.archive(Code::Container, "expected an array or object of entries"),
    }
    let form = raw_entries.form().unwrap_or(Form::Array);
    let pointer = raw_entries.pointer().to_owned();
    let mut placed = Vec::new();
    let mut total = 0_u64;
    for raw in &mut raw_entries {
        let raw = raw?;
        report.enter(&raw);
        let entry = decode(&raw, options.profile, &options.limits, &mut report)
            .map_err(|error| error.at(offset_in(document, raw.json)))?;
        if let Some(entry) = entry {
            total = total.saturating_add(entry.len());
            limits::check("bytes of all files", options.limits.max_total_size, total)?;
            let path = raw.path();
            placed.push(Placed { index: raw.index, key: raw.key, path, entry });
        }
    }
    drop_duplicate_keys(&mut placed, &mut report);
    check_paths(&placed, &mut report);
    let entries = placed.into_iter().map(|placed| placed.entry).collect();
    let (violations, more_violations) = report.finish()?;
    Ok(Archive { form, pointer, entries, violations, more_violations })
}

/// Where in a document a part of it begins.
fn offset_in(document: &[u8], part: &str) -> u64 {
    (part.as_ptr() as usize).saturating_sub(document.as_ptr() as usize) as u64
}

/// The archive, unless it has a violation that the profile refuses.
fn judge(mut archive: Archive<'_>, profile: Profile) -> Result<Archive<'_>> {
    let mut errors = std::mem::take(&mut archive.violations);
    let refused = |code: Code| code.severity(profile) == Severity::Error;
    if errors.iter().any(|violation| refused(violation.code)) {
        errors.retain(|violation| refused(violation.code));
        return Err(ErrorKind::Violations(errors).into());
    }
    archive.violations = errors;
    Ok(archive)
}

/// An entry and where it was written.
struct Placed<'a> {
    index: u64,
    key: Option<Json<'a>>,
    path: Option<Text<'a>>,
    entry: Entry<'a>,
}

impl<'a> Placed<'a> {
    fn report(&self, report: &mut Report<'a>, code: Code, message: impl FnOnce() -> String) {
        report.enter_at(self.index, self.key, self.path.clone());
        report.entry(code, "", message);
    }
}

fn drop_duplicate_keys<'a>(placed: &mut Vec<Placed<'a>>, report: &mut Report<'a>) {
    let mut last = HashMap::new();
    let mut superseded = vec![false; placed.len()];
    for (at, item) in placed.iter().enumerate() {
        let Some(Ok(key)) = item.key.map(Text::from_json) else { continue };
        if let Some(before) = last.insert(key.decode().into_owned(), at) {
            superseded[before] = true;
            item.report(report, Code::DuplicateKey, || "the key is there before".to_owned());
        }
    }
    let mut superseded = superseded.into_iter();
    placed.retain(|_| !superseded.next().unwrap_or_default());
}

/// No path twice, and nothing below what is no directory.
fn check_paths<'a>(placed: &[Placed<'a>], report: &mut Report<'a>) {
    let mut tree = Tree::new();
    for item in placed {
        if let Some(before) = tree.insert(item.entry.path(), item.entry.file_type()) {
            item.report(report, Code::DuplicatePath, || format!("a {before} has this path before"));
        }
    }
    for item in placed {
        if let Some((above, kind)) = tree.blocked(item.entry.path()) {
            item.report(report, Code::BelowNoDirectory, || format!("{above:?} is a {kind}"));
        }
    }
}
