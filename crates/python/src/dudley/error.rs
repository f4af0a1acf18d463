//! Converting the errors of the `dudley` crate.

use binio::array::ElementsError;
use dudley::{Error, ErrorKind};

use crate::error::{Failure, Place};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let place = |code| Place { code: Some(code), ..Place::default() };
        match error.kind() {
            ErrorKind::Read(inner) => Self::from(inner.clone()),
            ErrorKind::Layout(found) => {
                let first = found.first();
                let (line, column) = (first.place.line, first.place.column);
                let offset = first.place.offset;
                let code = Some(first.code.as_str());
                Self::format(message, Place { offset, line, column, code, ..Place::default() })
            }
            ErrorKind::Foreign { line, .. } => {
                Self::format(message, Place { line: Some(*line), ..place("foreign") })
            }
            ErrorKind::Path { .. } | ErrorKind::NotFound { .. } | ErrorKind::NotData { .. } => {
                Self::key(message)
            }
            ErrorKind::NotStrided { .. }
            | ErrorKind::NoLayout { .. }
            | ErrorKind::Mismatch { .. }
            | ErrorKind::NeedsStream { .. } => Self::value(message),
            ErrorKind::PastEnd { .. } | ErrorKind::TruncatedSignature { .. } => {
                Self::format(message, place("truncated"))
            }
            ErrorKind::Filter { .. } => Self::format(message, place("filter")),
            ErrorKind::NotNative | ErrorKind::TextMode { .. } | ErrorKind::LayoutAddress { .. } => {
                Self::format(message, place("signature"))
            }
            _ => Self::format(message, place("other")),
        }
    }
}

/// Converts an error about an index or the elements of an array.
pub(super) fn of_elements(error: ElementsError) -> Failure {
    match error {
        ElementsError::Slice(message) => Failure::index(message),
        ElementsError::Datatype(message) => Failure::key(message),
        error => Failure::from(binio::Error::from(error)),
    }
}
