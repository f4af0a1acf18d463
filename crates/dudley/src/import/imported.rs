//! The result of creating a layout for a file in another format: the layout, and errors about parts
//! of the file.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind};

/// The layout of a file in another format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Text of the layout.
    pub layout: String,
    /// Errors about parts of the file: [`NoLayoutFor`](ErrorKind::NoLayoutFor) if the layout cannot
    /// describe a part, and [`PastEnd`](ErrorKind::PastEnd) if the layout describes a part that
    /// extends beyond the end of the file.
    pub errors: Vec<Error>,
}

/// Returns the error for a file that is damaged or has an unexpected format.
pub(super) fn damaged(format: &'static str, offset: u64, message: impl Into<String>) -> Error {
    Error::from(ErrorKind::Import { format, message: message.into() }).at(offset)
}

/// Returns the error for a part of a file that a layout cannot describe.
pub(super) fn no_layout_for(path: String, reason: impl Into<String>) -> Error {
    ErrorKind::NoLayoutFor { path, reason: reason.into() }.into()
}

/// Returns the path of the item with this name in the root dict.
pub(super) fn path_of(name: &str) -> String {
    let mut path = "/".to_owned();
    crate::layout::push_name(&mut path, name);
    path
}

/// Returns an error if data extends beyond the end of a file of `len` bytes, otherwise `None`.
pub(super) fn past_end(path: String, start: u64, nbytes: u64, len: u64) -> Option<Error> {
    let (start, end) = (i128::from(start), i128::from(start) + i128::from(nbytes));
    (nbytes > 0 && end > i128::from(len))
        .then(|| ErrorKind::PastEnd { path, start, end, len }.into())
}

/// The names of the items so far. They must be unique.
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
