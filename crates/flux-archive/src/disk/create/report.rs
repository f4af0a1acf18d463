//! What was written, and what was not.

use serde::Serialize;

use crate::error::{Error, Failure};

/// What was written, and what was not.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CreateReport {
    /// Entries that were written.
    pub entries: u64,
    /// Paths of files that changed while they were read. Their content in the archive may mix old and new.
    pub changed: Vec<String>,
    /// Arguments with a `/` at the start, which was dropped.
    pub absolute: Vec<String>,
    /// Paths that were found and are [left out](crate::disk::Creator::leave_out).
    pub left_out: Vec<String>,
    /// Bytes of holes that were written as zeros, since only blobs can have holes between them.
    pub holes: u64,
    /// Files that could not be read.
    pub failures: Vec<Failure>,
}

impl CreateReport {
    pub(super) fn fail(&mut self, path: impl Into<String>, error: impl Into<Error>) {
        self.failures.push(Failure { path: path.into(), error: error.into() });
    }
}
