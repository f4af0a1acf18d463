//! The journal of a change in place, which lies beside the file until the change is complete.

use std::path::Path;

use binio::write::journal;

use crate::error::{Error, Result};

/// Suffix of the names of journals.
pub(crate) const SUFFIX: &str = ".asdf-journal";

/// Why a file beside which a foreign journal lies is neither read nor written.
pub(crate) const FOREIGN: &str = "the journal beside the file, of the name with .asdf-journal, \
    belongs to another file: remove it if this file is the right one";

/// Undoes a change in place that was interrupted, and returns whether there was one.
pub fn roll_back(path: impl AsRef<Path>) -> Result<bool> {
    journal::roll_back(path, SUFFIX).map_err(foreign)
}

/// Converts the error of a journal that belongs to another file.
pub(crate) fn foreign(error: binio::Error) -> Error {
    match error.kind() {
        binio::ErrorKind::Invalid(_) => Error::unwritable(FOREIGN),
        _ => error.into(),
    }
}
