//! Selecting the entries of an archive by patterns.

use std::sync::atomic::{AtomicBool, Ordering};

use flux_archive::inspect::selects;

use crate::output::Output;

/// Patterns that include or exclude paths.
pub(super) struct Patterns<'p> {
    /// The patterns of included paths, and whether each has matched.
    wanted: Vec<(&'p str, AtomicBool)>,
    exclude: &'p [String],
}

impl<'p> Patterns<'p> {
    pub(super) fn new(wanted: &'p [String], exclude: &'p [String]) -> Self {
        let wanted = wanted.iter().map(|pattern| (pattern.as_str(), AtomicBool::new(false)));
        Self { wanted: wanted.collect(), exclude }
    }

    /// Returns `true` if a path matches a pattern and is not excluded. Without patterns, every path
    /// matches.
    pub(super) fn select(&self, path: &str) -> bool {
        let mut wanted = self.wanted.is_empty();
        for (pattern, found) in &self.wanted {
            if selects(pattern, path) {
                found.store(true, Ordering::Relaxed);
                wanted = true;
            }
        }
        wanted && !self.exclude.iter().any(|pattern| selects(pattern, path))
    }

    /// Prints the same remark as Flux about each pattern that has not matched any path.
    pub(super) fn remark(&self, output: Output) {
        for (pattern, found) in &self.wanted {
            if !found.load(Ordering::Relaxed) {
                output.remark(&format_args!("No files matched pattern '{pattern}'"));
            }
        }
    }
}
