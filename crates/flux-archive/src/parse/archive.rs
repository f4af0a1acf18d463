//! Interpreting the entries of an archive, and finding conflicts between them.

use std::collections::HashMap;

use super::entry::decode;
use super::options::OpenOptions;
use super::raw::{RawEntries, RawEntry};
use super::report::Report;
use super::tree::Tree;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::error::{ErrorKind, Result};
use crate::json::{Json, Text};
use crate::model::{Archive, ArchivePath, Entry, FileType, Form, Profile};
use binio::{ReadAt, check_limit};

impl OpenOptions {
    /// Parses an archive. If several entries have the same path or the same key in a dict, only the last one is kept.
    ///
    /// ```
    /// use flux_archive::{ErrorKind, Limits, OpenOptions, Profile};
    ///
    /// let json = br#"[{"path":"a","mode":16877},{"path":"b","mode":16877}]"#;
    /// let options = OpenOptions::new().profile(Profile::Strict);
    /// assert_eq!(options.parse(json)?.entries().len(), 2);
    /// let limited = options.limits(Limits::default().max_entries(1));
    /// let error = limited.parse(json).unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Limit { limit: 1, .. }));
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Rejected`] if the profile does not accept the archive. This error contains all errors
    /// found in the archive, but no warnings. Fails with [`ErrorKind::Json`] if the document is not JSON, with
    /// [`ErrorKind::Pointer`] if the [pointer](Self::pointer) is malformed or the document has no value at it, and with
    /// [`ErrorKind::Limit`] if the document exceeds a [limit](Self::limits).
    pub fn parse<'a>(&self, document: &'a [u8]) -> Result<Archive<'a>> {
        let raw_entries = self.entries(document)?;
        let form = raw_entries.form().unwrap_or(Form::Array);
        let mut report = self.report(&raw_entries);
        let (mut entries, mut keys) = (Vec::new(), Vec::new());
        self.each_entry(document, raw_entries.clone(), &mut report, |raw, entry, _| {
            if let Some(entry) = entry {
                keys.extend(raw.key());
                entries.push(entry);
            }
            Ok(())
        })?;
        let Relations { superseded, mut conflicts } = Relations::of(&items(&entries, &keys));
        if !conflicts.is_empty() {
            conflicts.sort_by_key(|conflict| entries[conflict.item].index);
            let mut conflicts = conflicts.into_iter().peekable();
            for raw in raw_entries {
                let raw = raw?;
                let is_here = |conflict: &Conflict| entries[conflict.item].index == raw.index;
                while let Some(Conflict { code, message, .. }) = conflicts.next_if(is_here) {
                    report.enter(&raw);
                    report.entry(code, "", || message);
                }
            }
        }
        let mut superseded = superseded.into_iter();
        entries.retain(|_| !superseded.next().unwrap_or_default());
        let pointer = report.pointer().to_owned();
        let (mut diagnostics, more_diagnostics) = report.finish()?;
        let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        if diagnostics.iter().any(is_error) {
            diagnostics.retain(is_error);
            return Err(ErrorKind::Rejected(diagnostics).into());
        }
        Ok(Archive { form, pointer, entries, diagnostics, more_diagnostics })
    }

    /// Opens an archive in a file. The archive owns its content. To parse an archive without copying the content,
    /// [`read`](Self::read) the document and [`parse`](Self::parse) it.
    ///
    /// ```
    /// use flux_archive::{Archive, OpenOptions};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.json");
    /// std::fs::write(&path, r#"[{"path":"d","mode":16877}]"#)?;
    /// let archive: Archive<'static> = OpenOptions::new().open(&path)?;
    /// assert!(archive.get("d").is_some());
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read) and [`parse`](Self::parse).
    #[cfg(any(unix, windows))]
    pub fn open(&self, path: impl AsRef<std::path::Path>) -> Result<Archive<'static>> {
        Ok(self.parse(&self.read(path)?)?.into_owned())
    }

    /// Like [`open`](Self::open), but reads from any byte source.
    ///
    /// # Errors
    ///
    /// Same as [`open`](Self::open).
    pub fn from_source(&self, source: impl ReadAt) -> Result<Archive<'static>> {
        Ok(self.parse(&self.read_source(source)?)?.into_owned())
    }

    /// Returns the deviations from RFC 37 that the profile reports or rejects, in the order of the
    /// entries. After some errors, the rest of an entry is not checked.
    ///
    /// ```
    /// use flux_archive::diagnostic::Code;
    /// use flux_archive::{OpenOptions, Profile};
    ///
    /// let options = OpenOptions::new().profile(Profile::Strict);
    /// let diagnostics = options.lint(br#"[{"path":"/d","mode":16877},{"path":"f","mode":5}]"#)?;
    /// assert_eq!(diagnostics[0].code, Code::AbsolutePath);
    /// assert_eq!(diagnostics.len(), 2);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`parse`](Self::parse), except that deviations are returned instead of
    /// [`ErrorKind::Rejected`]. Fails with [`ErrorKind::Limit`] if there are more than
    /// [`Limits::max_diagnostics`](crate::Limits::max_diagnostics) deviations, including deviations
    /// that are only warnings.
    pub fn lint(&self, document: &[u8]) -> Result<Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        self.lint_each(document, &mut |diagnostic| {
            diagnostics.push(diagnostic.clone());
            Ok(())
        })?;
        Ok(diagnostics)
    }

    /// Like [`lint`](Self::lint), but calls `take` with each diagnostic and returns the number of diagnostics. This
    /// needs less memory, because the diagnostics are not collected. Only the diagnostics of one entry, the paths of
    /// all entries and the conflicts between them are in memory.
    ///
    /// # Errors
    ///
    /// Same as [`lint`](Self::lint). Also fails if `take` fails.
    pub fn lint_each(
        &self,
        document: &[u8],
        take: &mut dyn FnMut(&Diagnostic) -> Result<()>,
    ) -> Result<u64> {
        // First find the conflicts between entries, then the deviations in each entry.
        let raw_entries = self.entries(document)?;
        let mut report = self.report(&raw_entries);
        let mut placed: Vec<(u64, Option<Json<'_>>, ArchivePath, FileType)> = Vec::new();
        self.each_entry(document, raw_entries.clone(), &mut report, |raw, entry, report| {
            report.take();
            placed.extend(entry.map(|entry| {
                let file_type = entry.file_type();
                (raw.index, raw.key(), entry.path, file_type)
            }));
            Ok(())
        })?;
        let items = placed.iter().map(|(index, key, path, file_type)| Item {
            index: *index,
            key: key.as_ref(),
            path,
            file_type: *file_type,
        });
        let items: Vec<_> = items.collect();
        let mut conflicts = Relations::of(&items).conflicts;
        conflicts.sort_by_key(|conflict| items[conflict.item].index);
        let mut conflicts = conflicts.into_iter().peekable();

        let mut report = self.report(&raw_entries);
        let mut pass_on = |report: &mut Report<'_>| report.take().iter().try_for_each(&mut *take);
        pass_on(&mut report)?;
        self.each_entry(document, raw_entries, &mut report, |raw, _, report| {
            while let Some(Conflict { code, message, .. }) =
                conflicts.next_if(|conflict| items[conflict.item].index == raw.index)
            {
                report.entry(code, "", || message);
            }
            pass_on(report)
        })?;
        let found = report.count();
        check_limit("diagnostics", self.limits.max_diagnostics, found)?;
        Ok(found)
    }

    /// Creates a report. If the profile does not accept the form of the archive, the report
    /// contains an error.
    fn report<'a>(&self, raw_entries: &RawEntries<'a>) -> Report<'a> {
        let mut report = Report::new(self.profile, &self.limits, raw_entries.pointer());
        match raw_entries.form() {
            Some(Form::Array | Form::Dict) => {}
            Some(Form::Objects) if self.profile != Profile::Strict => {}
            _ => report.archive(Code::Container, "expected an array or object of entries"),
        }
        report
    }

    /// Interprets one entry after another. Calls `take` once per entry, with the raw entry and, if it
    /// is valid, the interpreted entry.
    fn each_entry<'a>(
        &self,
        document: &'a [u8],
        raw_entries: RawEntries<'a>,
        report: &mut Report<'a>,
        mut take: impl FnMut(&RawEntry<'a>, Option<Entry<'a>>, &mut Report<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut total = 0_u64;
        for raw in raw_entries {
            let raw = raw?;
            report.enter(&raw);
            let entry = decode(&raw, self.profile, &self.limits, report)
                .map_err(|error| error.at(offset_in(document, raw.json)))?;
            total = total.saturating_add(entry.as_ref().map_or(0, Entry::len));
            check_limit("bytes of all files", self.limits.max_total_size, total)?;
            take(&raw, entry, report)?;
        }
        Ok(())
    }
}

impl<'a> Archive<'a> {
    /// Parses an archive with the default limits.
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
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::parse`].
    pub fn parse(document: &'a [u8], profile: Profile) -> Result<Self> {
        OpenOptions::new().profile(profile).parse(document)
    }
}

/// Returns the offset of `part` in the document. `part` must be a slice of the document.
fn offset_in(document: &[u8], part: &str) -> u64 {
    (part.as_ptr() as usize).saturating_sub(document.as_ptr() as usize) as u64
}

/// The properties of an entry that are checked for conflicts with other entries.
struct Item<'e> {
    index: u64,
    key: Option<&'e Json<'e>>,
    path: &'e ArchivePath,
    file_type: FileType,
}

/// Returns the properties of each entry. `keys` contains the key of each entry of a dict, and is
/// empty for any other archive.
fn items<'e>(entries: &'e [Entry<'_>], keys: &'e [Json<'e>]) -> Vec<Item<'e>> {
    let item = |(at, entry): (usize, &'e Entry<'_>)| Item {
        index: entry.index,
        key: keys.get(at),
        path: &entry.path,
        file_type: entry.file_type(),
    };
    entries.iter().enumerate().map(item).collect()
}

/// Returns `true` if several entries of an array have the same path, or if an entry is below a file
/// or link.
#[cfg(unix)]
pub(super) fn has_conflicts(entries: &[Entry<'_>]) -> bool {
    !Relations::of(&items(entries, &[])).conflicts.is_empty()
}

/// A diagnostic about a conflict between two items.
struct Conflict {
    item: usize,
    code: Code,
    message: String,
}

/// The entries that are replaced by later entries, and the conflicts between entries.
struct Relations {
    /// A flag for each item, which is `true` if a later item replaces it.
    superseded: Vec<bool>,
    conflicts: Vec<Conflict>,
}

impl Relations {
    /// Finds duplicate keys and paths, and entries below a file or link. A later entry replaces an earlier entry with
    /// the same key. If only the paths are equal, a later file or link replaces an earlier file or link, and a later
    /// directory replaces an earlier directory.
    fn of(items: &[Item<'_>]) -> Self {
        let (mut superseded, mut conflicts) = (vec![false; items.len()], Vec::new());
        let mut add = |item, code, message| conflicts.push(Conflict { item, code, message });
        let mut keys = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            let Some(Ok(key)) = item.key.map(Text::from_json) else { continue };
            if let Some(before) = keys.insert(key.decode().into_owned(), at) {
                superseded[before] = true;
                add(at, Code::DuplicateKey, "the key occurs twice".to_owned());
            }
        }
        let mut tree = Tree::new();
        for (at, item) in items.iter().enumerate() {
            if superseded[at] {
                continue;
            }
            let Some((kind, before)) = tree.insert(item.path, item.file_type, at) else { continue };
            if (kind == FileType::Directory) == (item.file_type == FileType::Directory) {
                superseded[before] = true;
                let message = format!("an earlier {kind} has the same path; the last one is used");
                add(at, Code::DuplicatePath, message);
            } else {
                add(at, Code::BelowNoDirectory, format!("an earlier {kind} has the same path"));
            }
        }
        for (at, item) in items.iter().enumerate().filter(|(at, _)| !superseded[*at]) {
            if let Some((above, kind)) = tree.blocked(item.path) {
                add(at, Code::BelowNoDirectory, format!("{above:?} is a {kind}"));
            }
        }
        Self { superseded, conflicts }
    }
}
