//! The result of creating an archive.

use serde::Serialize;

use crate::error::{Error, Failure};

/// The result of creating an archive.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CreateReport {
    /// The number of entries written.
    pub entries: u64,
    /// The paths of files that changed while the archive was being created. Their archived content may be partly old
    /// and partly new.
    pub changed: Vec<String>,
    /// The absolute paths among the arguments of [`write`](crate::disk::Creator::write). Their
    /// leading `/` was removed.
    pub absolute: Vec<String>,
    /// The paths of the files and directories that [`leave_out`](crate::disk::Creator::leave_out)
    /// kept out of the archive.
    pub left_out: Vec<String>,
    /// The number of bytes in holes that were written as zeros, because text and base64 cannot
    /// represent holes. Only files larger than 1 MiB are counted.
    pub holes: u64,
    /// The paths that could not be archived or listed, each with its error.
    pub failures: Vec<Failure>,
}

impl CreateReport {
    pub(super) fn fail(&mut self, path: impl Into<String>, error: impl Into<Error>) {
        self.failures.push(Failure { path: path.into(), error: error.into() });
    }
}
