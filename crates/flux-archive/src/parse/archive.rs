//! From entries to an archive: the meaning of each, and the rules between them.

use std::collections::HashMap;

use super::entry::decode;
use super::options::OpenOptions;
use super::report::Report;
use super::tree::Tree;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::error::{ErrorKind, Result};
use crate::json::{Json, Text};
use crate::model::{Archive, Entry, Form, Profile};
use binio::check_limit;

impl OpenOptions {
    /// Parses an archive. Fails with [`ErrorKind::Refused`](crate::ErrorKind::Refused) and all errors if
    /// the profile does not accept it.
    pub fn parse<'a>(&self, document: &'a [u8]) -> Result<Archive<'a>> {
        judge(examine(document, self)?)
    }

    /// Returns all diagnostics that the profile does not accept silently, in the order of the document.
    /// Fails only if the document is not JSON or exceeds a limit.
    pub fn lint(&self, document: &[u8]) -> Result<Vec<Diagnostic>> {
        let Archive { diagnostics, more_diagnostics, .. } = examine(document, self)?;
        let found = (diagnostics.len() as u64).saturating_add(more_diagnostics);
        check_limit("diagnostics", self.limits.max_diagnostics, found)?;
        Ok(diagnostics)
    }
}

impl<'a> Archive<'a> {
    /// Parses an archive with default limits.
    ///
    /// ```
    /// use flux_archive::{Archive, Content, Profile};
    ///
    /// let archive = Archive::parse(
    ///     br#"[{"path":"src","mode":41471,"data":"/users/fred/work/project"}]"#,
    ///     Profile::Strict,
    /// )?;
    /// let Content::Symlink(target) = archive.entries()[0].content() else { panic!() };
    /// assert_eq!(target, "/users/fred/work/project");
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    pub fn parse(document: &'a [u8], profile: Profile) -> Result<Self> {
        OpenOptions::new().profile(profile).parse(document)
    }
}

/// Parses all entries that have a meaning, and collects diagnostics. Of equal keys of a dict the last one
/// is used.
fn examine<'a>(document: &'a [u8], options: &OpenOptions) -> Result<Archive<'a>> {
    let mut raw_entries = options.entries(document)?;
    let mut report = Report::new(options.profile, &options.limits, raw_entries.pointer());
    match raw_entries.form() {
        Some(Form::Array | Form::Dict) => {}
        Some(Form::Objects) if options.profile != Profile::Strict => {}
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
            check_limit("bytes of all files", options.limits.max_total_size, total)?;
            let path = raw.path();
            placed.push(Placed { index: raw.index, key: raw.key, path, entry });
        }
    }
    drop_duplicate_keys(&mut placed, &mut report);
    check_paths(&placed, &mut report);
    let entries = placed.into_iter().map(|placed| placed.entry).collect();
    let (diagnostics, more_diagnostics) = report.finish()?;
    Ok(Archive { form, pointer, entries, diagnostics, more_diagnostics })
}

/// The offset of a part of a document.
fn offset_in(document: &[u8], part: &str) -> u64 {
    (part.as_ptr() as usize).saturating_sub(document.as_ptr() as usize) as u64
}

/// Fails if the archive has an error.
fn judge(mut archive: Archive<'_>) -> Result<Archive<'_>> {
    let refused = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
    if archive.diagnostics.iter().any(refused) {
        archive.diagnostics.retain(refused);
        return Err(ErrorKind::Refused(archive.diagnostics).into());
    }
    Ok(archive)
}

/// An entry and its place in the document.
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
            item.report(report, Code::DuplicateKey, || "the key occurs twice".to_owned());
        }
    }
    let mut superseded = superseded.into_iter();
    placed.retain(|_| !superseded.next().unwrap_or_default());
}

/// Reports paths that occur twice, and entries below something that is not a directory.
fn check_paths<'a>(placed: &[Placed<'a>], report: &mut Report<'a>) {
    let mut tree = Tree::new();
    for item in placed {
        if let Some(before) = tree.insert(item.entry.path(), item.entry.file_type()) {
            item.report(report, Code::DuplicatePath, || {
                format!("a {before} before has the same path")
            });
        }
    }
    for item in placed {
        if let Some((above, kind)) = tree.blocked(item.entry.path()) {
            item.report(report, Code::BelowNoDirectory, || format!("{above:?} is a {kind}"));
        }
    }
}
