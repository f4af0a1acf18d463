//! Why there is nothing to be had under a key.

use std::io;

use crate::error::StoreError;
use crate::model::BlobRef;

/// Why a key has no value.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvsError {
    /// The directory holds no state that is known.
    #[error("no content.sqlite and no content.files here")]
    NoState,
    /// The store is there, but this build does not read it.
    #[error("to read content.sqlite takes the feature \"sqlite\"")]
    NoSqlite,
    /// No checkpoint was ever written.
    #[error("the store has no checkpoint: where the keys begin is not known")]
    NoCheckpoint,
    /// The key is not there.
    #[error("{0}: there is no such key")]
    NotFound(String),
    /// The key is there, and is something else.
    #[error("{key}: expected {expected}")]
    Type {
        /// The key.
        key: String,
        /// What was asked for.
        expected: &'static str,
    },
    /// What lies under the key has no meaning.
    #[error("{key}: {message}")]
    Invalid {
        /// The key.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// A blob on the way to the key cannot be had.
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
