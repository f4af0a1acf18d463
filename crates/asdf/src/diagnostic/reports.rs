//! Collecting the diagnostics found while reading a file.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::diagnostic::{Code, Diagnostic, Place};

/// Diagnostics, at most one for each code and position, so that reading a block twice does not
/// report its problems twice.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<Collected>);

#[derive(Debug, Default)]
struct Collected {
    list: Vec<Diagnostic>,
    seen: HashSet<(Code, Option<u64>)>,
}

impl Reports {
    pub(crate) fn add(&self, diagnostic: Diagnostic) {
        let mut collected = self.lock();
        if collected.seen.insert((diagnostic.code, diagnostic.place.offset)) {
            collected.list.push(diagnostic);
        }
    }

    pub(crate) fn report(&self, code: Code, offset: u64, message: impl Into<String>) {
        self.add(Diagnostic::new(code, Place::at(offset), message));
    }

    pub(crate) fn extend(&self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in diagnostics {
            self.add(diagnostic);
        }
    }

    /// Removes a diagnostic that turned out to be wrong when more of the file was read.
    pub(crate) fn retract(&self, code: Code, offset: u64) {
        let mut collected = self.lock();
        collected.seen.remove(&(code, Some(offset)));
        collected.list.retain(|d| (d.code, d.place.offset) != (code, Some(offset)));
    }

    /// Returns all diagnostics so far, ordered by position in the file.
    pub(crate) fn sorted(&self) -> Vec<Diagnostic> {
        let mut list = self.lock().list.clone();
        list.sort_by_key(|diagnostic| (diagnostic.place.offset, diagnostic.code));
        list
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_reported_once_per_position_and_reports_are_sorted_by_position() {
        let reports = Reports::default();
        reports.report(Code::UnknownFlags, 9, "a");
        reports.report(Code::UnknownFlags, 9, "b");
        reports.report(Code::BadBlock, 9, "c");
        reports.report(Code::FalseMagic, 3, "d");
        let messages: Vec<_> = reports.sorted().into_iter().map(|d| d.message).collect();
        assert_eq!(messages, ["d", "a", "c"].map(String::from).to_vec());
    }

    #[test]
    fn a_retracted_diagnostic_may_be_reported_again() {
        let reports = Reports::default();
        reports.report(Code::IndexStale, 9, "a");
        reports.retract(Code::IndexStale, 9);
        assert_eq!(reports.sorted(), []);
        reports.report(Code::IndexStale, 9, "b");
        assert_eq!(reports.sorted().len(), 1);
    }
}
