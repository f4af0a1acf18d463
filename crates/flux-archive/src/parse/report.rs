//! Violations while they are collected: those that matter, up to the limit, each with its place.

use super::raw::{RawEntry, push_key};
use crate::json::push_token;
use crate::{Code, Json, Limits, Profile, Result, Severity, Text, Violation, limits};

/// Collects violations of the entry that is being looked at.
pub(crate) struct Report<'a> {
    filter: Profile,
    max_violations: u64,
    max_path_len: u64,
    /// JSON pointer of the archive.
    archive: String,
    index: u64,
    key: Option<Json<'a>>,
    path: Option<Text<'a>>,
    /// With the number of their entry.
    violations: Vec<(u64, Violation)>,
    warnings: u64,
    errors: u64,
}

impl<'a> Report<'a> {
    /// For what `filter` does not accept, in the archive at a pointer.
    pub(crate) fn new(filter: Profile, limits: &Limits, archive: &str) -> Self {
        Self {
            filter,
            max_violations: limits.max_violations,
            max_path_len: limits.max_path_len,
            archive: archive.to_owned(),
            index: 0,
            key: None,
            path: None,
            violations: Vec::new(),
            warnings: 0,
            errors: 0,
        }
    }

    /// What is reported from now on is about this entry.
    pub(crate) fn enter(&mut self, raw: &RawEntry<'a>) {
        self.enter_at(raw.index, raw.key, raw.path());
    }

    /// The same by number, key and path.
    pub(crate) fn enter_at(&mut self, index: u64, key: Option<Json<'a>>, path: Option<Text<'a>>) {
        // Each violation has a copy of the path.
        let path = path.filter(|path| path.len() <= self.max_path_len);
        (self.index, self.key, self.path) = (index, key, path);
    }

    /// Reports something about the archive.
    pub(crate) fn archive(&mut self, code: Code, message: &str) {
        if self.counts(code) {
            let pointer = self.archive.clone();
            self.violations.push((0, Violation::new(code, None, pointer, message)));
        }
    }

    /// Reports something at `place`, a JSON pointer from the entry.
    pub(crate) fn entry(&mut self, code: Code, place: &str, message: impl FnOnce() -> String) {
        if !self.counts(code) {
            return;
        }
        let mut pointer = self.archive.clone();
        match self.key {
            None => push_token(&mut pointer, &self.index.to_string()),
            Some(key) => push_key(&mut pointer, key),
        }
        pointer.push_str(place);
        let path = self.path.as_ref().map(Text::decode);
        let violation = Violation::new(code, path.as_deref(), pointer, message());
        self.violations.push((self.index, violation));
    }

    fn counts(&mut self, code: Code) -> bool {
        let found = match code.severity(self.filter) {
            Severity::Accept => return false,
            Severity::Warning => &mut self.warnings,
            Severity::Error => &mut self.errors,
        };
        *found += 1;
        *found <= self.max_violations
    }

    /// Was anything found?
    pub(crate) fn found(&self) -> bool {
        self.warnings + self.errors > 0
    }

    /// What was found, in the order of the entries, and the number of warnings for which there was no
    /// room. Errors are all there, or this is one.
    pub(crate) fn finish(mut self) -> Result<(Vec<Violation>, u64)> {
        limits::check("violations", self.max_violations, self.errors)?;
        self.violations.sort_by_key(|(index, _)| *index);
        let violations = self.violations.into_iter().map(|(_, violation)| violation).collect();
        Ok((violations, self.warnings.saturating_sub(self.max_violations)))
    }
}
