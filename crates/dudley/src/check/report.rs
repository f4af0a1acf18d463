//! Collecting the diagnostics of a check.

use crate::diagnostic::{Code, Diagnostic, Severity, start};
use crate::options::ParseOptions;

/// A collector of diagnostics, subject to the options and limits. While `is_muted` is set,
/// diagnostics are discarded.
pub(super) struct Report<'a> {
    pub(super) options: &'a ParseOptions,
    errors: Vec<Diagnostic>,
    /// The warnings and notes so far.
    others: Vec<Diagnostic>,
    /// Whether diagnostics are discarded, as in the first of the two walks over the summary block.
    pub(super) is_muted: bool,
}

impl<'a> Report<'a> {
    pub(super) fn new(options: &'a ParseOptions) -> Self {
        Self { options, errors: Vec::new(), others: Vec::new(), is_muted: false }
    }

    /// Reports an error, unless the limit is reached or diagnostics are muted.
    pub(super) fn error(&mut self, diagnostic: impl FnOnce() -> Diagnostic) {
        if !self.is_muted && self.errors.len() < self.limit().max(1) {
            self.errors.push(diagnostic());
        }
    }

    /// Reports a warning or note, unless the limit is reached, diagnostics are muted or the code is
    /// silenced. If the code is denied, reports an error.
    pub(super) fn warn(&mut self, code: Code, diagnostic: impl FnOnce() -> Diagnostic) {
        match self.options.severity(code) {
            Some(Severity::Error) => {
                self.error(|| diagnostic().severity(Severity::Error));
            }
            Some(_) if self.wants(code) => self.others.push(diagnostic()),
            _ => {}
        }
    }

    /// Returns `true` if another warning or note with this code may still be reported.
    pub(super) fn wants(&self, code: Code) -> bool {
        let severity = self.options.severity(code);
        let is_error = severity == Some(Severity::Error);
        !self.is_muted && severity.is_some() && (is_error || self.others.len() < self.limit())
    }

    fn limit(&self) -> usize {
        self.options.limits.max_diagnostics as usize
    }

    /// Returns two lists in source order: the errors, including the syntax errors in `parsing`, and
    /// the warnings and notes.
    pub(super) fn finish(mut self, parsing: &[Diagnostic]) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        self.errors.extend_from_slice(parsing);
        self.errors.sort_by_key(start);
        self.errors.truncate(self.limit().max(1));
        self.others.sort_by_key(start);
        (self.errors, self.others)
    }
}
