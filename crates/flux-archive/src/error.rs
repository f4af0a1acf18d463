//! What can go wrong, and where.

use std::fmt;

use thiserror::Error as ThisError;

use crate::store::StoreError;
use crate::{BlobRef, Code, HashType, Violation};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: what, and at which byte of the document.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    offset: Option<u64>,
}

/// What went wrong.
#[derive(Clone, Debug, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] binio::Error),
    /// The document is no JSON.
    #[error("no JSON: {0}")]
    Json(String),
    /// The archive is not as the profile wants it.
    #[error("{}", Summary(.0))]
    Violations(Vec<Violation>),
    /// An entry cannot be written as RFC 37 has it.
    #[error("{path}: {code} {message}")]
    NotWritable {
        /// What RFC 37 has against it.
        code: Code,
        /// The path of the entry.
        path: String,
        /// What it is.
        message: String,
    },
    /// The document has nothing where the archive should be.
    #[error("JSON pointer {pointer:?}: {message}")]
    Pointer {
        /// The pointer.
        pointer: String,
        /// How far it leads.
        message: String,
    },
    /// Something is in the place of an entry.
    #[error("{found} is there already")]
    Exists {
        /// What it is.
        found: &'static str,
    },
    /// A blob cannot be had, or is another.
    #[error("{code} blob {blobref}: {message}")]
    Blob {
        /// What is wrong: missing, of another length, of another digest.
        code: Code,
        /// The blob.
        blobref: BlobRef,
        /// What was expected, and what was found.
        message: String,
    },
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller wants no such target of a symbolic link.
    #[error("the link's target {target:?} leads out of the tree")]
    LinkTarget {
        /// The target.
        target: String,
    },
    /// The caller wants no blobs of this hash.
    #[error("its blobs are named by {found}, which was ruled out")]
    HashRefused {
        /// The hash.
        found: HashType,
    },
    /// A limit of the caller was reached.
    #[error("{what}: {requested} is above the limit of {limit}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What is asked for.
        requested: u64,
    },
}

/// The first violation, and how many more there are.
struct Summary<'a>(&'a [Violation]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("not as the profile wants it"),
            [only] => only.fmt(f),
            [first, rest @ ..] => write!(f, "{first}, and {} more", rest.len()),
        }
    }
}

impl Error {
    /// A failure without a place.
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: None }))
    }

    /// The same at a byte of the document. The first place that is told stays.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The byte of the document where it went wrong.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The violations that stopped the reader, if it was that.
    pub fn violations(&self) -> &[Violation] {
        match self.kind() {
            ErrorKind::Violations(violations) => violations,
            _ => &[],
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        match self.0.offset {
            Some(offset) => write!(f, " at offset {offset}"),
            None => Ok(()),
        }
    }
}

/// An entry that failed, and why; the others did not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// Its path.
    pub path: String,
    /// What went wrong.
    pub error: Error,
}

impl Failure {
    /// The failure of an entry.
    pub fn new(path: impl Into<String>, error: Error) -> Self {
        Self { path: path.into(), error }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error.kind() {
            // These begin with the path.
            ErrorKind::NotWritable { .. } => self.error.fmt(f),
            _ => write!(f, "{}: {}", self.path.escape_debug(), self.error),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.kind)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl From<binio::Error> for Error {
    fn from(error: binio::Error) -> Self {
        match error.kind() {
            binio::ErrorKind::Limit { what, limit, requested } => {
                let (what, limit, requested) = (*what, *limit, *requested);
                Self::new(ErrorKind::Limit { what, limit, requested })
            }
            _ => Self::new(ErrorKind::Io(error)),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        binio::Error::from(error).into()
    }
}
