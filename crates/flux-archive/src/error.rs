//! Errors, with the offset in the document at which they occurred, if known.

use std::fmt;
use std::io;
use std::sync::Arc;

use binio::diagnostic::count;
use serde::{Serialize, Serializer};
use thiserror::Error as ThisError;

use crate::diagnostic::{Code, Diagnostic};
use crate::json::JsonError;
use crate::model::{BlobRef, HashType};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

binio::error_type! {
    /// An error: its kind and, if known, the offset in the document at which it occurred.
    pub struct Error(ErrorKind);
}

/// The kind of an error.
#[derive(Clone, Debug, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(binio::Error),
    /// The document is not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// The profile does not accept the archive, for the reasons given by the diagnostics.
    #[error("{}", Summary(.0))]
    Rejected(Vec<Diagnostic>),
    /// An entry or file conflicts with another entry, or cannot be written in a form that RFC 37
    /// allows.
    #[error("{path}: {code} {message}")]
    NotWritable {
        /// The rule of RFC 37 that the entry or file violates.
        code: Code,
        /// The path of the entry or file, or the index of an entry without a path, such as
        /// `entry 3`.
        path: String,
        /// A description of the violation.
        message: String,
    },
    /// The JSON pointer is malformed, or the document has no value at this pointer.
    #[error("JSON pointer {pointer:?}: {message}")]
    Pointer {
        /// The pointer given by the caller.
        pointer: String,
        /// A description of the error, such as `"data" does not exist`.
        message: String,
    },
    /// A file already exists at the path of an entry.
    #[error("{found} exists")]
    Exists {
        /// A description of the existing file, such as `a directory`.
        found: &'static str,
    },
    /// A blob is missing or cannot be read, or has a wrong length or digest.
    #[error("{code} blob {blobref}: {message}")]
    Blob {
        /// The code of the error: the blob is missing or unreadable, or has a wrong length or
        /// digest.
        code: Code,
        /// The name of the blob.
        blobref: BlobRef,
        /// A description of the error, such as the expected and actual length.
        message: String,
        /// The error from the store, or `None` if the store returned wrong bytes, or if there is no
        /// store.
        error: Option<StoreError>,
    },
    /// A blob store returned an error, or a blob is too large to store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The state of a broker, or a key in it, cannot be read.
    #[error(transparent)]
    Kvs(#[from] KvsError),
    /// The link policy set by the caller does not allow the target of a symbolic link.
    #[error("the link target {target:?} may lead out of the target directory")]
    LinkTarget {
        /// The target that is not allowed.
        target: String,
    },
    /// The caller does not allow this hash algorithm for blobs.
    #[error("the blobrefs use {found}, but this hash algorithm is not allowed")]
    HashRejected {
        /// The hash algorithm that is not allowed.
        found: HashType,
    },
    /// A limit was exceeded.
    #[error("{what}: {requested} is above the limit of {limit}")]
    Limit {
        /// The limited quantity, such as `bytes of a file`.
        what: &'static str,
        /// The maximum value.
        limit: u64,
        /// The value that exceeded the limit. If reading stopped at the limit, the archive may
        /// require more.
        requested: u64,
    },
}

/// Displays the first diagnostic, and the number of further diagnostics.
struct Summary<'a>(&'a [Diagnostic]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("rejected by the profile"),
            [only] => only.fmt(f),
            [first, rest @ ..] => write!(f, "{first}, and {} more", rest.len()),
        }
    }
}

impl binio::FormatErrorKind for ErrorKind {
    fn from_binio(error: binio::Error) -> Self {
        match *error.kind() {
            binio::ErrorKind::Limit { what, limit, requested } => {
                Self::Limit { what, limit, requested }
            }
            _ => Self::Io(error),
        }
    }

    fn is_bad_data(&self) -> bool {
        match self {
            Self::Io(error) => error.is_bad_data(),
            Self::Json(_) | Self::Rejected(_) => true,
            Self::Blob { code, error, .. } => {
                *code != Code::BlobMissing || error.as_ref().is_some_and(StoreError::is_bad_data)
            }
            Self::Store(error) => error.is_bad_data(),
            Self::Kvs(error) => error.is_bad_data(),
            _ => false,
        }
    }

    fn io_error(&self) -> Option<&io::Error> {
        match self {
            Self::Io(error) => error.io_error(),
            Self::Store(StoreError::Io(error))
            | Self::Blob { error: Some(StoreError::Io(error)), .. }
            | Self::Kvs(KvsError::Store(StoreError::Io(error))) => Some(error),
            _ => None,
        }
    }
}

impl From<JsonError> for Error {
    fn from(error: JsonError) -> Self {
        Self::new(ErrorKind::Json(error.message)).at(error.offset)
    }
}

impl Error {
    /// Returns the reasons why the profile does not accept the archive, or an empty slice for any
    /// other error.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self.kind() {
            ErrorKind::Rejected(diagnostics) => diagnostics,
            _ => &[],
        }
    }
}

/// The path of an entry or file that could not be processed, and the error. By default, processing
/// continues with the next entry or file.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// The path of the entry, or of a file that could not be added to an archive.
    pub path: String,
    /// The error. In JSON, this is the member `message`.
    #[serde(rename = "message", serialize_with = "as_message")]
    pub error: Error,
}

fn as_message<S: Serializer>(error: &Error, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

impl Failure {
    /// Creates a failure from the path of an entry or file, and the error.
    pub fn new(path: impl Into<String>, error: Error) -> Self {
        Self { path: path.into(), error }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error.kind() {
            // The message of this error already begins with the path.
            ErrorKind::NotWritable { .. } => self.error.fmt(f),
            _ => write!(f, "{}: {}", self.path.escape_debug(), self.error),
        }
    }
}

/// The maximum size of a blob that a store accepts or returns: 1 GiB, as in Flux.
pub const MAX_BLOB_SIZE: u64 = 1 << 30;

/// An error from a blob store.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store does not have the blob, or a dump does not have the key.
    #[error("the blob is not in the store")]
    NotFound,
    /// The stored data cannot be decoded, or is not that of the requested blob.
    #[error("the blob is damaged: {0}")]
    Corrupt(String),
    /// The blob, or the value of a key, is larger than [`MAX_BLOB_SIZE`].
    #[error("the blob has {size} bytes, but the limit is {MAX_BLOB_SIZE}")]
    TooBig {
        /// The size in bytes. A value may be larger, because reading stops at the limit.
        size: u64,
    },
    /// The blob does not have the requested length.
    #[error("the blob has an unexpected length of {}", count(*found, "byte"))]
    Length {
        /// The size of the blob in bytes.
        found: u64,
    },
    /// The file is not a store, or the store is damaged.
    #[error("the store cannot be used: {0}")]
    Damaged(String),
    /// This build does not support this kind of store.
    #[error("{store} needs the feature \"{feature}\"")]
    NoFeature {
        /// The kind of store, such as `content.sqlite`.
        store: &'static str,
        /// The crate feature that enables this kind of store.
        feature: &'static str,
    },
    /// The store cannot be read or written, or there is not enough memory for a blob.
    #[error("{0}")]
    Io(Arc<io::Error>),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

impl StoreError {
    #[cfg(not(feature = "sqlite"))]
    pub(crate) const NO_SQLITE: Self =
        Self::NoFeature { store: "content.sqlite", feature: "sqlite" };

    #[cfg(not(feature = "dump-tar"))]
    pub(crate) const NO_DUMP_TAR: Self =
        Self::NoFeature { store: "a flux dump file", feature: "dump-tar" };

    /// Fails if a blob does not have the expected length.
    pub(crate) fn check_length(expected: u64, found: u64) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Length { found }) }
    }

    /// Fails if a blob is larger than [`MAX_BLOB_SIZE`].
    pub(crate) fn check_size(size: u64) -> Result<(), Self> {
        if size > MAX_BLOB_SIZE { Err(Self::TooBig { size }) } else { Ok(()) }
    }

    /// Reserves memory for `additional` bytes, and fails if there is not enough.
    pub(crate) fn reserve(out: &mut Vec<u8>, additional: u64) -> Result<(), Self> {
        if usize::try_from(additional).is_ok_and(|len| out.try_reserve(len).is_ok()) {
            return Ok(());
        }
        let message = format!("cannot allocate {} for a blob", count(additional, "byte"));
        Err(io::Error::new(io::ErrorKind::OutOfMemory, message).into())
    }

    /// Returns `true` for [`Corrupt`](Self::Corrupt) and [`Damaged`](Self::Damaged).
    pub fn is_bad_data(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::Damaged(_))
    }
}

/// An error from reading the keys of a broker.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvsError {
    /// The directory is not a state directory.
    #[error("expected content.sqlite or content.files, found neither")]
    NoState,
    /// The store has no valid checkpoint.
    #[error("the store has no checkpoint, so the root of the keys is unknown")]
    NoCheckpoint,
    /// The key does not exist.
    #[error("{0}: no such key")]
    NotFound(String),
    /// The key, or a key on the path to it, does not have the expected type.
    #[error("{key}: expected {expected}")]
    Type {
        /// The key that was being read.
        key: String,
        /// The type that was expected.
        expected: &'static str,
    },
    /// The object of the key or an object on the path to it is malformed. Also returned if
    /// resolving the key takes too many steps, as in a cycle of links, or if there are too many keys
    /// to search for jobs.
    #[error("{key}: {message}")]
    Invalid {
        /// The key that was being read.
        key: String,
        /// A description of the error.
        message: String,
    },
    /// A blob that contains a part of the value or an object on the path to the key cannot be read.
    /// Also returned if the value is too large.
    #[error("{key}: blob {blobref}: {error}")]
    Blob {
        /// The key that was being read.
        key: String,
        /// The name of the blob.
        blobref: BlobRef,
        /// The error from the store, or [`StoreError::TooBig`] if the value is too large.
        error: StoreError,
    },
    /// The store cannot be opened, or returned an error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl KvsError {
    /// Returns `true` for [`Type`](Self::Type) and [`Invalid`](Self::Invalid), and for an error from
    /// the store if [`StoreError::is_bad_data`] returns `true`.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Type { .. } | Self::Invalid { .. } => true,
            Self::Blob { error, .. } | Self::Store(error) => error.is_bad_data(),
            Self::NoState | Self::NoCheckpoint | Self::NotFound(_) => false,
        }
    }
}

impl From<io::Error> for KvsError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.into())
    }
}
