//! Converting the errors of the `bloscpack` crate.
//!
//! A `FormatError` has a code. For some codes, such as `space`, `scibin.bloscpack.exceptions`
//! replaces the error with the corresponding exception of the original program.

use bloscpack::format::MetadataError;
use bloscpack::{Error, ErrorKind};

use crate::error::{Failure, Place};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let (offset, block) = (error.offset(), error.kind().chunk());
        let place = |code| Place { offset, block, code: Some(code), ..Place::default() };
        let code = match error.kind() {
            ErrorKind::Io(inner) | ErrorKind::Output(inner) => match inner.io_error() {
                Some(io) => return Self::system(io, message),
                None => return Self::from(inner.clone()),
            },
            ErrorKind::ChecksumMismatch { .. } => {
                return Self::checksum(message, place("checksum"));
            }
            ErrorKind::Limit { .. } => return Self::limit(message, place("limit")),
            ErrorKind::Locked => {
                return Self::from(binio::Error::from(error));
            }
            ErrorKind::InvalidOption { option: "slice", .. } | ErrorKind::NoChunk { .. } => {
                return Self::index(message);
            }
            ErrorKind::InvalidOption { .. }
            | ErrorKind::OutOfRange { .. }
            | ErrorKind::NotInVersion { .. } => return Self::value(message),
            ErrorKind::ElementType { .. } => return Self::type_error(message),
            ErrorKind::Truncated { .. } => "truncated",
            ErrorKind::NotBloscpack { .. } => "not-bloscpack",
            ErrorKind::UnsupportedVersion(_) => "version",
            ErrorKind::UnknownChecksum(_) => "unknown-checksum",
            ErrorKind::CorruptChunk { .. }
            | ErrorKind::UnsupportedChunk { .. }
            | ErrorKind::Blosc2Chunk { .. } => "chunk",
            ErrorKind::Metadata(MetadataError::UnknownCodec(_)) => "unknown-codec",
            ErrorKind::Metadata(MetadataError::UnknownSerializer(_)) => "unknown-serializer",
            ErrorKind::Metadata(_) => "metadata",
            ErrorKind::NotNumpy(_) => "not-numpy",
            ErrorKind::ObjectDtype => "object-dtype",
            ErrorKind::InvalidDtype(_) | ErrorKind::ShapeMismatch(_) => "array",
            ErrorKind::NotEnoughSpace { what, .. } if what.contains("metadata") => "metadata-space",
            ErrorKind::NotEnoughSpace { .. } => "space",
            _ => "damaged",
        };
        Self::format(message, place(code))
    }
}
