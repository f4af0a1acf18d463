//! The result of an extraction.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::error::Failure;

/// The result of an extraction. After a dry run, entries are counted as if they had been extracted,
/// but [`bytes`](Self::bytes) is 0.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ExtractReport {
    /// The number of files written.
    pub files: u64,
    /// The number of directories of the archive that were created or already existed.
    pub directories: u64,
    /// The number of symbolic links created.
    pub links: u64,
    /// The number of files and links that were skipped because a file or link already exists at
    /// their path.
    pub skipped: u64,
    /// The number of bytes of data in the written files, not counting the holes that the archive
    /// describes.
    pub bytes: u64,
    /// The failed entries, sorted by path.
    pub failures: Vec<Failure>,
}

#[derive(Default)]
pub(super) struct Tally {
    pub(super) files: AtomicU64,
    pub(super) directories: AtomicU64,
    pub(super) links: AtomicU64,
    pub(super) skipped: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) stop: AtomicBool,
    pub(super) failures: Mutex<Vec<Failure>>,
}

impl Tally {
    pub(super) fn into_report(self) -> ExtractReport {
        let mut failures = self.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        failures.sort_by(|a, b| a.path.cmp(&b.path));
        ExtractReport {
            files: self.files.into_inner(),
            directories: self.directories.into_inner(),
            links: self.links.into_inner(),
            skipped: self.skipped.into_inner(),
            bytes: self.bytes.into_inner(),
            failures,
        }
    }
}
