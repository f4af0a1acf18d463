//! Converting the errors of the `asdf` crate.

use asdf::block::BlockError;
use asdf::ndarray::ArrayError;
use asdf::tree::ReferenceError;
use asdf::{Error, ErrorKind};

use crate::error::{Failure, Place};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        of(&error, error.to_string())
    }
}

/// Converts an error that occurred while following a pointer given by the caller. If the pointer is
/// malformed, or there is no value at it, the result is a `KeyError`.
pub(super) fn of_pointer(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Reference { .. } => Failure::key(error.to_string()),
        _ => error.into(),
    }
}

/// Converts an error. If it is contained in another error, `message` is the message of the outer
/// error.
fn of(error: &Error, message: String) -> Failure {
    let mut place = Place { offset: error.offset(), ..Place::default() };
    place.pointer = error.pointer().map(str::to_owned);
    match error.kind() {
        ErrorKind::Io(error) => Failure::binio(error, message).at(place),
        ErrorKind::Layout(_) => Failure::format(message, Place { code: Some("layout"), ..place }),
        ErrorKind::Yaml { line, column, .. } => {
            let (line, column) = (Some(*line), Some(*column));
            Failure::format(message, Place { line, column, code: Some("tree"), ..place })
        }
        ErrorKind::Block { index, kind } => {
            let place = Place { block: Some(*index as u64), ..place };
            match kind {
                BlockError::Checksum { .. } => {
                    Failure::checksum(message, Place { code: Some("checksum"), ..place })
                }
                _ => Failure::format(message, Place { code: Some("block"), ..place }),
            }
        }
        ErrorKind::Codec { index, .. } => {
            let block = Some(*index as u64);
            Failure::format(message, Place { block, code: Some("codec"), ..place })
        }
        ErrorKind::Array { line, column, kind, .. } => {
            place = Place { line: Some(*line), column: Some(*column), ..place };
            match kind {
                ArrayError::Data(inner) => of(inner, message).at(place),
                ArrayError::Slice(message) => Failure::index(message),
                ArrayError::Field(message) => Failure::key(message),
                ArrayError::BufferSize { .. } => Failure::value(message),
                ArrayError::NotAnArray(_) | ArrayError::Type { .. } => Failure::type_error(message),
                _ => Failure::format(message, Place { code: Some("array"), ..place }),
            }
        }
        ErrorKind::Reference { kind, .. } => match kind {
            ReferenceError::External(inner) => of(inner, message),
            _ => Failure::format(message, Place { code: Some("reference"), ..place }),
        },
        // With a pointer, the error means that ASDF cannot represent the value at that pointer.
        ErrorKind::Unwritable { pointer: Some(_), .. } => Failure::type_error(message),
        ErrorKind::Unwritable { .. } => Failure::value(message),
        ErrorKind::Limit { .. } => Failure::limit(message, Place { code: Some("limit"), ..place }),
        ErrorKind::OutOfMemory { .. } => Failure::memory(message),
        _ => Failure::format(message, Place { code: Some("other"), ..place }),
    }
}
