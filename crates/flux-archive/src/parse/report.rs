//! Collecting diagnostics up to a limit. Each diagnostic contains its place in the document.

use super::raw::RawEntry;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::error::Result;
use crate::json::{Json, Text};
use crate::model::{Limits, Profile};
use binio::{check_limit, pointer};

/// Collects diagnostics about an archive and its entries.
pub(crate) struct Report<'a> {
    profile: Profile,
    max_diagnostics: u64,
    max_path_len: u64,
    /// The JSON pointer of the archive.
    archive: String,
    index: u64,
    key: Option<Json<'a>>,
    path: Option<Text<'a>>,
    /// The diagnostics, each with the index of its entry.
    diagnostics: Vec<(u64, Diagnostic)>,
    warnings: u64,
    errors: u64,
}

impl<'a> Report<'a> {
    /// Creates an empty report on the archive at a JSON pointer. Deviations that the profile
    /// accepts silently are not added to the report.
    pub(crate) fn new(profile: Profile, limits: &Limits, archive: &str) -> Self {
        Self {
            profile,
            max_diagnostics: limits.max_diagnostics,
            max_path_len: limits.max_path_len,
            archive: archive.to_owned(),
            index: 0,
            key: None,
            path: None,
            diagnostics: Vec::new(),
            warnings: 0,
            errors: 0,
        }
    }

    /// Sets the entry to which the next diagnostics refer.
    pub(crate) fn enter(&mut self, raw: &RawEntry<'a>) {
        // Omit an overlong path, because each diagnostic copies it.
        let path = raw.path().filter(|path| path.len() <= self.max_path_len);
        (self.index, self.key, self.path) = (raw.index, raw.key(), path);
    }

    /// Reports a deviation of the archive as a whole.
    pub(crate) fn archive(&mut self, code: Code, message: &str) {
        if let Some(severity) = self.add(code) {
            let place = match self.archive.as_str() {
                "" => Place::default(),
                pointer => Place::default().pointer(pointer),
            };
            let diagnostic = Diagnostic::new(code, place, message).severity(severity);
            self.diagnostics.push((0, diagnostic));
        }
    }

    /// Reports a deviation in the current entry. `below` is a JSON pointer relative to the entry.
    pub(crate) fn entry(&mut self, code: Code, below: &str, message: impl FnOnce() -> String) {
        let Some(severity) = self.add(code) else { return };
        let mut pointer = self.archive.clone();
        match &self.key {
            None => pointer::push(&mut pointer, &self.index.to_string()),
            Some(key) => push_key(&mut pointer, key),
        }
        pointer.push_str(below);
        let mut place = Place::default().pointer(pointer);
        place.path = self.path.as_ref().map(|path| path.decode().into_owned());
        let diagnostic = Diagnostic::new(code, place, message()).severity(severity);
        self.diagnostics.push((self.index, diagnostic));
    }

    /// Counts a deviation and returns its severity. Returns `None` if the profile accepts the
    /// deviation silently, or if the limit is exceeded.
    fn add(&mut self, code: Code) -> Option<Severity> {
        let severity = self.profile.severity(code)?;
        let found = if severity == Severity::Error { &mut self.errors } else { &mut self.warnings };
        *found += 1;
        (*found <= self.max_diagnostics).then_some(severity)
    }

    /// Returns the number of deviations reported so far, including deviations beyond the limit.
    pub(crate) fn count(&self) -> u64 {
        self.warnings + self.errors
    }

    /// Returns the JSON pointer of the archive.
    pub(crate) fn pointer(&self) -> &str {
        &self.archive
    }

    /// Removes and returns the diagnostics collected so far. They still count towards the limit.
    pub(crate) fn take(&mut self) -> Vec<Diagnostic> {
        self.diagnostics.drain(..).map(|(_, diagnostic)| diagnostic).collect()
    }

    /// Returns the diagnostics in the order of the entries, and the number of warnings beyond the limit. Fails if the
    /// number of errors exceeds the limit.
    pub(crate) fn finish(mut self) -> Result<(Vec<Diagnostic>, u64)> {
        check_limit("diagnostics", self.max_diagnostics, self.errors)?;
        self.diagnostics.sort_by_key(|(index, _)| *index);
        let diagnostics = self.diagnostics.into_iter().map(|(_, diagnostic)| diagnostic).collect();
        Ok((diagnostics, self.warnings.saturating_sub(self.max_diagnostics)))
    }
}

/// Appends a key to a JSON pointer. A key with an unpaired surrogate is not decoded, so its quotes and
/// escapes are appended as well.
fn push_key(pointer: &mut String, key: &Json<'_>) {
    match Text::from_json(key) {
        Ok(key) => pointer::push(pointer, &key.decode()),
        Err(_) => pointer::push(pointer, key.get()),
    }
}
