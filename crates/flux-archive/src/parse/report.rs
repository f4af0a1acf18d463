//! Collecting diagnostics with their places, up to a limit.

use super::raw::RawEntry;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::error::Result;
use crate::json::{Json, Text};
use crate::model::{Limits, Profile};
use binio::{check_limit, pointer};

/// Collects diagnostics of the archive and its entries.
pub(crate) struct Report<'a> {
    profile: Profile,
    max_diagnostics: u64,
    max_path_len: u64,
    /// JSON pointer of the archive.
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
    /// Creates a report of what the profile does not accept in the archive at a pointer.
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

    /// Sets the entry that the next diagnostics are about.
    pub(crate) fn enter(&mut self, raw: &RawEntry<'a>) {
        self.enter_at(raw.index, raw.key(), raw.path());
    }

    /// Sets the entry by index, key and path.
    pub(crate) fn enter_at(&mut self, index: u64, key: Option<Json<'a>>, path: Option<Text<'a>>) {
        // Omit an overlong path, because each diagnostic copies it.
        let path = path.filter(|path| path.len() <= self.max_path_len);
        (self.index, self.key, self.path) = (index, key, path);
    }

    /// Reports a problem with the archive as a whole.
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

    /// Reports a problem at `below`, a JSON pointer relative to the entry.
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

    /// Counts a problem and returns its severity, or `None` if the profile accepts it or the limit
    /// is exceeded.
    fn add(&mut self, code: Code) -> Option<Severity> {
        let severity = self.profile.severity(code)?;
        let found = if severity == Severity::Error { &mut self.errors } else { &mut self.warnings };
        *found += 1;
        (*found <= self.max_diagnostics).then_some(severity)
    }

    /// Returns the number of diagnostics reported.
    pub(crate) fn count(&self) -> u64 {
        self.warnings + self.errors
    }

    /// JSON pointer of the archive.
    pub(crate) fn pointer(&self) -> &str {
        &self.archive
    }

    /// Removes and returns the diagnostics so far. Their number is not reset.
    pub(crate) fn take(&mut self) -> Vec<Diagnostic> {
        self.diagnostics.drain(..).map(|(_, diagnostic)| diagnostic).collect()
    }

    /// Returns the diagnostics in the order of the entries, and the number of warnings beyond the limit.
    /// Fails if there are more errors than the limit.
    pub(crate) fn finish(mut self) -> Result<(Vec<Diagnostic>, u64)> {
        check_limit("diagnostics", self.max_diagnostics, self.errors)?;
        self.diagnostics.sort_by_key(|(index, _)| *index);
        let diagnostics = self.diagnostics.into_iter().map(|(_, diagnostic)| diagnostic).collect();
        Ok((diagnostics, self.warnings.saturating_sub(self.max_diagnostics)))
    }
}

/// Appends a key to a JSON pointer. A key that is not Unicode is appended as written.
fn push_key(pointer: &mut String, key: &Json<'_>) {
    match Text::from_json(key) {
        Ok(key) => pointer::push(pointer, &key.decode()),
        Err(_) => pointer::push(pointer, key.get()),
    }
}
