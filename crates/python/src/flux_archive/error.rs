//! Converting the errors of the `flux_archive` crate.

use binio::FormatErrorKind;
use flux_archive::store::StoreError;
use flux_archive::{Error, ErrorKind};

use crate::error::{Failure, Place};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let offset = error.offset();
        let place = |code| Place { offset, code: Some(code), ..Place::default() };
        if let Some(io) = error.kind().io_error() {
            return Self::system(io, message);
        }
        match error.kind() {
            ErrorKind::Io(inner) => Self::from(inner.clone()),
            ErrorKind::Json(_) => Self::format(message, place("json")),
            ErrorKind::Rejected(found) => {
                let first = found.first();
                let code = first.map_or("archive", |first| first.code.as_str());
                let pointer = first.and_then(|first| first.place.pointer.clone());
                Self::format(message, Place { pointer, ..place(code) })
            }
            ErrorKind::Pointer { .. } => Self::key(message),
            ErrorKind::Blob { .. } => Self::format(message, place("blob")),
            ErrorKind::Store(_) | ErrorKind::Kvs(_) => Self::format(message, place("store")),
            ErrorKind::Limit { .. } => Self::limit(message, place("limit")),
            _ => Self::value(message),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Error::from(ErrorKind::Store(error)).into()
    }
}
