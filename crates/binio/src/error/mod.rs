//! Errors that state the problem, its position and the expected value.
//!
//! An [`Error`] has a kind, the absolute offset in the source at which it happened, and a path of
//! contexts (`block 3: used_size`), which callers add as they pass the error on. It is displayed as
//! one line:
//!
//! ```text
//! block 3: used_size: needs 8 bytes, found only 3 (offset 70)
//! ```

pub(crate) mod count;
#[cfg(feature = "array")]
pub(crate) mod elements;
mod format;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;

use count::count;
#[cfg(feature = "array")]
use elements::ElementsError;
pub use format::FormatErrorKind;

#[cfg(feature = "checksum")]
use crate::digest::Digest;

/// The result type of this crate.
///
/// ```
/// use binio::{Bytes, ReadAt, Result};
///
/// /// Reads the version, the fifth byte of the file.
/// fn version(file: &dyn ReadAt) -> Result<u8> {
///     Ok(file.bytes_at(4, 1)?[0])
/// }
///
/// assert_eq!(version(&Bytes::from_static(b"BLK1\x07"))?, 7);
/// # Ok::<(), binio::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with a kind, an absolute offset, and a path of contexts.
///
/// An error is the size of a pointer, so it is cheap to return. Readers that remember a failure can
/// clone it.
///
/// ```
/// use binio::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Truncated { needed: 8, available: 3 })
///     .at(70)
///     .context("used_size")
///     .context("block 3");
/// assert_eq!(error.to_string(), "block 3: used_size: needs 8 bytes, found only 3 (offset 70)");
/// assert_eq!(error.offset(), Some(70));
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    offset: Option<u64>,
    /// Contexts, innermost first; displayed in reverse.
    path: Vec<Cow<'static, str>>,
}

/// The kind of an error, which callers can match on.
///
/// ```
/// use binio::{Bytes, ErrorKind, ReadAt};
///
/// let error = Bytes::from_static(b"abc").bytes_at(1, 8).unwrap_err();
/// let missing = match error.kind() {
///     ErrorKind::Truncated { needed, available } => needed - available,
///     other => panic!("not a truncated file: {other}"),
/// };
/// assert_eq!(missing, 6);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system reported an error.
    Io(Arc<io::Error>),
    /// Fewer bytes are available than needed.
    Truncated {
        /// Number of bytes needed.
        needed: u64,
        /// Number of bytes available at the offset of the error.
        available: u64,
    },
    /// A marker was expected, but other bytes were found.
    Magic {
        /// The expected marker.
        expected: Box<[u8]>,
        /// The bytes found instead, which may be fewer than expected.
        found: Box<[u8]>,
    },
    #[cfg(feature = "checksum")]
    /// The checksum of the data differs from the stored checksum.
    Checksum {
        /// The checksum in the file.
        stored: Digest,
        /// The checksum of the data.
        computed: Digest,
    },
    /// An amount exceeds a limit, usually one of the caller's [`Limits`](crate::Limits).
    Limit {
        /// Description of the limited quantity.
        what: &'static str,
        /// The limit, in the unit of the quantity.
        limit: u64,
        /// The requested amount, in the unit of the quantity.
        requested: u64,
    },
    /// There is not enough memory for a buffer that the limits allow.
    OutOfMemory {
        /// Description of the buffer.
        what: &'static str,
        /// Size of the buffer in bytes.
        requested: u64,
    },
    /// The bytes are invalid in this format, or an argument is invalid.
    Invalid(Cow<'static, str>),
    /// Something is valid, but this build or version does not support it: for example, a format
    /// version, a feature or a kind of file.
    Unsupported(Cow<'static, str>),
    #[cfg(feature = "array")]
    /// An array cannot be described, read or written.
    Array(ElementsError),
    /// The file is locked, because another process or another part of this process is changing it.
    /// See `write::FileLock`.
    Locked,
    /// The journal next to a file belongs to another file. See `write::journal`.
    ForeignJournal,
}

impl Error {
    /// Creates an error without an offset.
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: None, path: Vec::new() }))
    }

    /// Creates an error for invalid bytes or arguments. The message should say what was expected
    /// and what was found.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid(message.into()))
    }

    /// Creates an error for something valid that this build or version does not support, such as a
    /// newer format version. The message should name it.
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unsupported(message.into()))
    }

    /// Creates an error for a part that needs `needed` bytes when only `available` bytes are
    /// present.
    pub fn truncated(needed: u64, available: u64) -> Self {
        Self::new(ErrorKind::Truncated { needed, available })
    }

    /// Sets the absolute offset unless it is already set, since the innermost offset is the most
    /// precise.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds `start` to the offset. Use this method if the code that failed was given only the part
    /// of the source from `start` onwards.
    #[must_use]
    pub fn within(mut self, start: u64) -> Self {
        self.0.offset = self.0.offset.map(|offset| start.saturating_add(offset));
        self
    }

    /// Prepends `what` to the path of contexts. Inner contexts must be added before outer ones:
    /// first `used_size`, then `block 3`.
    #[must_use]
    pub fn context(mut self, what: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.push(what.into());
        self
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the offset in bytes from the start of the source, if known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Removes the offset from the error and returns both, for callers that store the offset
    /// elsewhere.
    #[must_use]
    pub fn split_offset(mut self) -> (Self, Option<u64>) {
        let offset = self.0.offset.take();
        (self, offset)
    }

    /// Returns `true` if the file is probably at fault, rather than the machine, the caller or a
    /// limit. The result depends only on the kind of the error: it is `true` for
    /// [`ErrorKind::Invalid`], although the caller may be at fault, and `false` for
    /// `ErrorKind::Array`, although the file may be at fault.
    pub fn is_bad_data(&self) -> bool {
        use ErrorKind::{ForeignJournal, Invalid, Magic, Truncated};
        match self.kind() {
            #[cfg(feature = "checksum")]
            ErrorKind::Checksum { .. } => true,
            kind => {
                matches!(kind, Truncated { .. } | Magic { .. } | Invalid(_) | ForeignJournal)
            }
        }
    }

    /// Returns the system error, or `None` for any other kind of error.
    pub fn io_error(&self) -> Option<&io::Error> {
        match self.kind() {
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// Writes one line that ends with the offset. `{:#}` omits the offset, for callers that print it in
/// their own way.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for what in self.0.path.iter().rev() {
            write!(f, "{what}: ")?;
        }
        write!(f, "{}", self.0.kind)?;
        match self.0.offset {
            Some(offset) if !f.alternate() => write!(f, " (offset {offset})"),
            _ => Ok(()),
        }
    }
}

/// Writes the same text as `Display`, because a `main` that returns an error prints it with
/// `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    /// Returns the cause of a system error. The system error itself is not the source, because its
    /// text is already part of this error's text; use [`Error::io_error`] to access it.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Truncated { needed, available } => {
                write!(f, "needs {}, found only {available}", count(*needed, "byte"))
            }
            Self::Magic { expected, found } => {
                let (expected, found) = (expected.escape_ascii(), found.escape_ascii());
                write!(f, "expected \"{expected}\", found \"{found}\"")
            }
            #[cfg(feature = "checksum")]
            Self::Checksum { stored, computed } => write!(
                f,
                "{} of the data is {computed}, but the stored checksum is {stored}",
                computed.algorithm().name()
            ),
            Self::Limit { what, limit, requested } => {
                write!(f, "{what}: {requested} is above the limit of {limit}")
            }
            Self::OutOfMemory { what, requested } => {
                write!(f, "cannot allocate {} for {what}", count(*requested, "byte"))
            }
            Self::Invalid(message) => f.write_str(message),
            Self::Unsupported(message) => write!(f, "not supported: {message}"),
            #[cfg(feature = "array")]
            Self::Array(error) => error.fmt(f),
            Self::Locked => f.write_str("another change to this file is in progress"),
            Self::ForeignJournal => f.write_str(
                "the journal next to this file, with the suffix .undo-journal, belongs to another file: \
                 remove the journal if this file is the right one",
            ),
        }
    }
}

impl From<io::Error> for Error {
    /// Converts a system error, or recovers an error of this crate that was passed through
    /// `std::io`.
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(ours) => ours,
            Err(error) => Self::new(ErrorKind::Io(Arc::new(error))),
        }
    }
}

#[cfg(feature = "array")]
impl From<ElementsError> for Error {
    fn from(error: ElementsError) -> Self {
        match error {
            ElementsError::Limit { what, limit, requested } => {
                Self::new(ErrorKind::Limit { what, limit, requested })
            }
            ElementsError::Output(error) => Self::new(ErrorKind::Io(error)),
            ElementsError::Memory { bytes: requested } => {
                Self::new(ErrorKind::OutOfMemory { what: "an array", requested })
            }
            error => Self::new(ErrorKind::Array(error)),
        }
    }
}

impl From<Error> for io::Error {
    /// Wraps an error so that it can pass through `std::io` and be recovered with `From`.
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Io(inner) => inner.kind(),
            ErrorKind::Truncated { .. } => io::ErrorKind::UnexpectedEof,
            ErrorKind::Unsupported(_) => io::ErrorKind::Unsupported,
            ErrorKind::OutOfMemory { .. } => io::ErrorKind::OutOfMemory,
            ErrorKind::Limit { .. } => io::ErrorKind::Other,
            ErrorKind::Locked => io::ErrorKind::WouldBlock,
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// Adds context to errors as they are passed on.
///
/// ```
/// use binio::number::ByteReader;
/// use binio::{Context, Endian};
///
/// let mut reader = ByteReader::at(&[0; 3], 70);
/// let error = reader.read::<u64>(Endian::Big).context("used_size").unwrap_err();
/// assert_eq!(error.to_string(), "used_size: needs 8 bytes, found only 3 (offset 70)");
/// ```
pub trait Context<T> {
    /// Prepends `what` to the path of contexts of an error.
    ///
    /// # Errors
    ///
    /// Returns the error of `self`, with the context added.
    fn context(self, what: impl Into<Cow<'static, str>>) -> Result<T>;

    /// Like `context`, but only calls `what` on failure, for contexts that are costly to build.
    ///
    /// # Errors
    ///
    /// Same as [`context`](Self::context).
    fn with_context<C: Into<Cow<'static, str>>>(self, what: impl FnOnce() -> C) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl Into<Cow<'static, str>>) -> Result<T> {
        self.map_err(|error| error.into().context(what))
    }

    fn with_context<C: Into<Cow<'static, str>>>(self, what: impl FnOnce() -> C) -> Result<T> {
        self.map_err(|error| error.into().context(what()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "adler32")]
    use crate::checksum::Algorithm;

    #[test]
    fn the_first_offset_of_an_error_is_kept() {
        let error = Error::invalid("odd").at(7).at(99);
        assert_eq!(error.offset(), Some(7));
    }

    #[test]
    fn an_offset_in_a_part_of_a_source_becomes_an_offset_in_the_whole_source() {
        assert_eq!(Error::invalid("odd").at(7).within(100).offset(), Some(107));
        assert_eq!(Error::invalid("odd").at(7).within(u64::MAX).offset(), Some(u64::MAX));
        assert_eq!(Error::invalid("odd").within(100).offset(), None);
    }

    #[test]
    fn contexts_print_on_one_line_with_the_outermost_first() {
        let failed: Result<()> = Err(Error::invalid("odd").at(7));
        let error = failed.context("size").with_context(|| format!("block {}", 3)).unwrap_err();
        assert_eq!(error.to_string(), "block 3: size: odd (offset 7)");
        assert_eq!(format!("{error:#}"), "block 3: size: odd");
    }

    #[test]
    #[cfg(feature = "adler32")]
    fn errors_print_messages_with_their_values() {
        let digest = |bytes: &[u8]| Digest::from_bytes(Algorithm::Adler32, bytes).unwrap();
        let cases = [
            (
                ErrorKind::Magic { expected: (*b"\xd3BLK").into(), found: (*b"\n\0").into() },
                r#"expected "\xd3BLK", found "\n\x00""#,
            ),
            (
                ErrorKind::Checksum {
                    stored: digest(&[0, 0, 0, 1]),
                    computed: digest(&[0, 98, 0, 98]),
                },
                "adler32 of the data is 00620062, but the stored checksum is 00000001",
            ),
            (
                ErrorKind::Limit { what: "items", limit: 2, requested: 3 },
                "items: 3 is above the limit of 2",
            ),
            (
                ErrorKind::OutOfMemory { what: "block 3", requested: 5 },
                "cannot allocate 5 bytes for block 3",
            ),
            (ErrorKind::Unsupported("version 9".into()), "not supported: version 9"),
        ];
        for (kind, text) in cases {
            assert_eq!(Error::new(kind).to_string(), text);
        }
    }

    #[test]
    fn an_error_survives_conversion_to_std_io_and_back() {
        let ours = Error::new(ErrorKind::Truncated { needed: 2, available: 1 }).at(5);
        let io = io::Error::from(ours);
        assert_eq!(io.kind(), io::ErrorKind::UnexpectedEof);
        let back = Error::from(io);
        assert!(matches!(back.kind(), ErrorKind::Truncated { needed: 2, available: 1 }));
        assert_eq!(back.offset(), Some(5));
    }

    #[test]
    fn the_message_of_a_system_error_is_printed_only_once() {
        let error = Error::from(io::Error::new(io::ErrorKind::NotFound, "gone"));
        assert_eq!(error.to_string(), "gone");
        assert!(std::error::Error::source(&error).is_none());
    }

    crate::error_type! {
        /// An error of a format.
        struct Wrapped(WrappedKind);
    }

    #[derive(Clone, Debug)]
    enum WrappedKind {
        Odd,
        Binio(Error),
    }

    impl fmt::Display for WrappedKind {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Odd => f.write_str("odd"),
                Self::Binio(error) => error.fmt(f),
            }
        }
    }

    impl std::error::Error for WrappedKind {}

    impl FormatErrorKind for WrappedKind {
        fn from_binio(error: Error) -> Self {
            Self::Binio(error)
        }

        fn is_bad_data(&self) -> bool {
            match self {
                Self::Odd => true,
                Self::Binio(error) => error.is_bad_data(),
            }
        }

        fn io_error(&self) -> Option<&io::Error> {
            match self {
                Self::Odd => None,
                Self::Binio(error) => error.io_error(),
            }
        }
    }

    #[test]
    fn a_format_error_prints_its_offset_only_once() {
        let error = Wrapped::from(Error::truncated(2, 1).at(5));
        assert_eq!(error.to_string(), "needs 2 bytes, found only 1 (offset 5)");
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!(format!("{error:#}"), "needs 2 bytes, found only 1");
        assert_eq!(error.offset(), Some(5));
        assert!(error.is_bad_data());
    }

    #[test]
    fn a_format_error_survives_conversion_to_std_io_and_back() {
        let io = io::Error::from(Wrapped::from(WrappedKind::Odd).at(3));
        assert_eq!(io.kind(), io::ErrorKind::InvalidData);
        let back = Wrapped::from(io);
        assert!(matches!(back.kind(), WrappedKind::Odd));
        assert_eq!(back.offset(), Some(3));
        let gone = Wrapped::from(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(gone.io_error().map(io::Error::kind), Some(io::ErrorKind::NotFound));
        assert!(!gone.is_bad_data());
        assert_eq!(io::Error::from(gone).kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_errors_in_the_content_of_a_file_count_as_bad_data() {
        assert!(Error::invalid("odd").is_bad_data());
        assert!(Error::truncated(2, 1).is_bad_data());
        assert!(!Error::unsupported("new").is_bad_data());
        let limit = ErrorKind::Limit { what: "items", limit: 1, requested: 2 };
        assert!(!Error::new(limit).is_bad_data());
        assert!(!Error::from(io::Error::other("disk")).is_bad_data());
    }

    #[test]
    fn a_result_with_an_error_is_the_size_of_a_pointer() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }
}
