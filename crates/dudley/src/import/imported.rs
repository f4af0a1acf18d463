//! The layout of a file of another format, and what it does not describe.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind};

/// The layout of a file of another format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Its text.
    pub layout: String,
    /// What it does not describe: [`NoLayoutFor`](ErrorKind::NoLayoutFor). And what it describes although the file
    /// ends before: [`PastEnd`](ErrorKind::PastEnd).
    pub errors: Vec<Error>,
}

/// The error for a file that is not what it should be.
pub(super) fn damaged(format: &'static str, offset: u64, message: impl Into<String>) -> Error {
    Error::from(ErrorKind::Import { format, message: message.into() }).at(offset)
}

/// The error for a part that no layout describes.
pub(super) fn no_layout_for(path: String, reason: impl Into<String>) -> Error {
    ErrorKind::NoLayoutFor { path, reason: reason.into() }.into()
}

/// The path of an item in the root.
pub(super) fn path_of(name: &str) -> String {
    let mut path = "/".to_owned();
    crate::layout::push_name(&mut path, name);
    path
}

/// The error for data that are not all in a file.
pub(super) fn past_end(path: String, start: u64, nbytes: u64, len: u64) -> Option<Error> {
    let (start, end) = (i128::from(start), i128::from(start) + i128::from(nbytes));
    (nbytes > 0 && end > i128::from(len))
        .then(|| ErrorKind::PastEnd { path, start, end, len }.into())
}

/// The names of items, of which there is one each.
#[derive(Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn add(
        &mut self,
        name: &str,
        format: &'static str,
        offset: u64,
    ) -> Result<(), Error> {
        if self.0.insert(name.to_owned()) {
            return Ok(());
        }
        Err(damaged(format, offset, format!("the name {name:?} occurs twice")))
    }
}
