//! Why a key cannot be read.

use std::io;

use crate::error::StoreError;
use crate::model::BlobRef;

/// Why a key cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvsError {
    /// The directory is not a state directory.
    #[error("expected content.sqlite or content.files, found neither")]
    NoState,
    /// This build does not read the store.
    #[error("content.sqlite needs the feature \"sqlite\"")]
    NoSqlite,
    /// No checkpoint was ever written.
    #[error("the store has no checkpoint, which names the root of the keys")]
    NoCheckpoint,
    /// The key does not exist.
    #[error("{0}: no such key")]
    NotFound(String),
    /// The key is of another type.
    #[error("{key}: expected {expected}")]
    Type {
        /// The key.
        key: String,
        /// The expected type.
        expected: &'static str,
    },
    /// The object of the key is malformed.
    #[error("{key}: {message}")]
    Invalid {
        /// The key.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// A blob on the path to the key cannot be read.
    #[error("{key}: blob {blobref}: {error}")]
    Blob {
        /// The key.
        key: String,
        /// The blob.
        blobref: BlobRef,
        /// Why.
        error: StoreError,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<io::Error> for KvsError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.into())
    }
}

pub(super) fn invalid(key: &str, message: &str) -> KvsError {
    KvsError::Invalid { key: key.to_owned(), message: message.to_owned() }
}
