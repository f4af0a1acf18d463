//! Errors, with the offset in the file where they occurred.

use std::{fmt, io};

use binio::FormatErrorKind;
use binio::checksum::Digest;
use binio::diagnostic::count;
use thiserror::Error as ThisError;

/// The `Result` type of this crate, whose error defaults to [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

binio::error_type! {
    /// An error, with the offset in the file at which it occurred, if known.
    pub struct Error(ErrorKind);
}

/// The kind of an error.
#[derive(Clone, Debug, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading a file, changing it in place, or allocating memory failed.
    #[error("{0:#}")]
    Io(binio::Error),
    /// Writing a new file or another output failed.
    #[error("{0:#}")]
    Output(binio::Error),
    /// The file ends before the end of a part, such as the header or a chunk.
    #[error("{what}: needs {}, found only {available}", count(*needed, "byte"))]
    Truncated {
        /// The name of the truncated part.
        what: &'static str,
        /// The length of the part in bytes, or its minimum length if the exact length is unknown.
        needed: u64,
        /// The number of bytes available.
        available: u64,
    },
    /// The file does not begin with `blpk`.
    #[error("not a Bloscpack file: expected \"blpk\", found \"{}\"", found.escape_ascii())]
    NotBloscpack {
        /// The first bytes of the file, at most four.
        found: Vec<u8>,
    },
    /// The version is unknown.
    #[error("version {0} of the format is unknown: expected 1, 2 or 3")]
    UnsupportedVersion(u8),
    /// Undefined option bits are set. They may announce another section before the chunks.
    #[error(
        "unknown option bits {0:#04x}: expected only bit 0 (offsets) and, in version 3, bit 1 (metadata)"
    )]
    UnknownOptions(u8),
    /// The number that identifies the checksum is greater than 8.
    #[error("unknown checksum {0}: expected 0 to 8")]
    UnknownChecksum(u8),
    /// A header field has an invalid value.
    #[error("header field {field}: {message}")]
    InvalidHeader {
        /// The name of the field in the format.
        field: &'static str,
        /// The value, and the reason why it is invalid.
        message: String,
    },
    /// A digest does not match.
    #[error(
        "{part}: the {} of the stored bytes is {computed}, but the file contains {stored}",
        computed.algorithm().name()
    )]
    ChecksumMismatch {
        /// The part that the digest covers.
        part: Part,
        /// The digest in the file.
        stored: Digest,
        /// The digest computed from the stored bytes.
        computed: Digest,
    },
    /// A chunk is not a Blosc buffer, or does not decode.
    #[error("chunk {chunk}: {reason:#}")]
    CorruptChunk {
        /// The index of the chunk.
        chunk: u64,
        /// The error in the Blosc buffer.
        reason: binio::Error,
    },
    /// A chunk uses a codec that this build does not support. The chunk may be intact.
    #[error("chunk {chunk}: {reason:#}")]
    UnsupportedChunk {
        /// The index of the chunk.
        chunk: u64,
        /// The error that names the codec and the missing feature.
        reason: binio::Error,
    },
    /// A chunk is a Blosc2 buffer.
    #[error("chunk {chunk} is a Blosc2 buffer, but Bloscpack files contain only Blosc 1 buffers")]
    Blosc2Chunk {
        /// The index of the chunk.
        chunk: u64,
    },
    /// The number or the sizes of the chunks differ from those in the header, or chunks that should
    /// have the same size differ in size.
    #[error("{message}")]
    SizeMismatch {
        /// A description of the difference.
        message: String,
    },
    /// The offsets do not point to the chunks, or are in a different order than the chunks.
    #[error("{message}")]
    OffsetMismatch {
        /// A description of the wrong offset, or of the conflict between the order of the offsets
        /// and the order of the chunks.
        message: String,
        /// Whether the table lists the correct offsets in a different order than the chunks in the
        /// file, so that the order of the data is ambiguous.
        permuted: bool,
    },
    /// The metadata cannot be read or parsed. The chunks are not affected.
    #[error("metadata: {0}")]
    Metadata(MetadataError),
    /// The file does not contain a numpy array.
    #[error("not a numpy array: {0}")]
    NotNumpy(String),
    /// The elements of the array are Python objects.
    #[error("the dtype contains Python objects, which cannot be stored as bytes")]
    ObjectDtype,
    /// The dtype is invalid or not supported.
    #[error("dtype: {0}")]
    InvalidDtype(String),
    /// The shape of an array is invalid, or does not match its data.
    #[error("shape: {0}")]
    ShapeMismatch(String),
    /// An element of the array is not a valid value of its type, for example because it is not valid UTF-8.
    #[error("element {index}: {message}")]
    InvalidElement {
        /// The index of the element in C order.
        index: u64,
        /// The expected value and the value found.
        message: String,
    },
    /// The elements of the array do not have the requested type.
    #[error("expected elements of type {requested}, found {dtype}")]
    ElementType {
        /// The type of the elements.
        dtype: String,
        /// The requested type.
        requested: &'static str,
    },
    /// The file has too little space for the chunks, offsets or metadata that would be written.
    #[error("{what}: {needed} needed, but there is only space for {available}")]
    NotEnoughSpace {
        /// The unit of the numbers, such as chunks or bytes of metadata.
        what: &'static str,
        /// The number needed, in units of `what`.
        needed: u64,
        /// The number available, in units of `what`.
        available: u64,
    },
    /// An option has an invalid value.
    #[error("{option}: {message}")]
    InvalidOption {
        /// The name of the option.
        option: &'static str,
        /// The value, and the reason why it is invalid.
        message: String,
    },
    /// The version of the file does not support the operation.
    #[error("{what} in version {version}")]
    NotInVersion {
        /// The restriction of the version, such as `metadata is not supported`.
        what: &'static str,
        /// The number of the version; 0 for files without a version byte.
        version: u8,
    },
    /// A range is not within the data.
    #[error("bytes {start}..{end} are not within the data, which ends at {len}")]
    OutOfRange {
        /// The start of the range.
        start: u64,
        /// The end of the range.
        end: u64,
        /// The length of the data in bytes.
        len: u64,
    },
    /// There is no chunk with this index.
    #[error("no chunk {index}: the number of chunks is {len}")]
    NoChunk {
        /// The requested index.
        index: u64,
        /// The number of chunks.
        len: u64,
    },
    /// The file is being changed by another process, or by another part of this process.
    #[error("{}", binio::ErrorKind::Locked)]
    Locked,
    /// The journal next to the file belongs to another file.
    #[error("{}", binio::ErrorKind::ForeignJournal)]
    ForeignJournal,
    /// A limit was exceeded.
    #[error("{what}: {requested} is above the limit of {limit}")]
    Limit {
        /// The name of the limited quantity.
        what: &'static str,
        /// The maximum value allowed.
        limit: u64,
        /// The value that exceeded the limit. If reading stopped at the limit, the file may require
        /// more.
        requested: u64,
    },
    /// Other damage, such as an interrupted in-place change, or a file without a single intact
    /// chunk.
    #[error("{0}")]
    Damaged(String),
}

impl ErrorKind {
    /// Returns the index of the chunk if a chunk is corrupt, has a wrong digest, is a Blosc2 buffer
    /// or uses an unsupported codec. Returns `None` for any other error, even if its message
    /// mentions a chunk.
    pub fn chunk(&self) -> Option<u64> {
        match self {
            Self::CorruptChunk { chunk, .. }
            | Self::UnsupportedChunk { chunk, .. }
            | Self::Blosc2Chunk { chunk }
            | Self::ChecksumMismatch { part: Part::Chunk(chunk), .. } => Some(*chunk),
            _ => None,
        }
    }
}

/// A part of a file that has its own digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The chunk with this index.
    Chunk(u64),
    /// The metadata.
    Metadata,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk(chunk) => write!(f, "chunk {chunk}"),
            Self::Metadata => f.write_str("metadata"),
        }
    }
}

/// The reason why metadata cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum MetadataError {
    /// The file has no metadata section.
    #[error("the file has no metadata section")]
    Absent,
    /// The serializer is unknown.
    #[error("unknown serializer \"{}\", expected \"JSON\"", .0.escape_ascii())]
    UnknownSerializer([u8; 8]),
    /// The codec is unknown.
    #[error("unknown codec {0}, expected 0 (none) or 1 (zlib)")]
    UnknownCodec(u8),
    /// The text does not decompress.
    #[error("zlib: {0}")]
    Zlib(String),
    /// The text does not have the length stated in the header of the section.
    #[error("the text has {}, but the header states {expected}", count(*found, "byte"))]
    Size {
        /// The length stated in the header (`meta_size`).
        expected: u64,
        /// The actual length. Decompression stops one byte after the expected length, so the text
        /// may be even longer.
        found: u64,
    },
    /// The text is not valid JSON.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// An integer does not fit into 64 bits, and rounding it would change the metadata.
    #[error("the integer {0} does not fit into 64 bits and would be rounded")]
    BigInteger(String),
}

impl Error {
    /// Returns `true` if reading the source failed. Such an error says nothing about the content of
    /// the file, so it is never reported as a diagnostic.
    pub(crate) fn is_io(&self) -> bool {
        matches!(self.kind(), ErrorKind::Io(_))
    }

    /// Returns `true` if reading the source failed, if a limit set by the caller was exceeded, or
    /// if this build does not support the codec of a chunk. The file may still be valid.
    pub(crate) fn is_of_caller(&self) -> bool {
        self.is_io()
            || matches!(self.kind(), ErrorKind::Limit { .. } | ErrorKind::UnsupportedChunk { .. })
    }

    /// Converts an I/O error to an error about the output, so that a failed write is not mistaken
    /// for a failed read.
    pub(crate) fn of_output(error: impl Into<Self>) -> Self {
        let error = error.into();
        match error.kind() {
            ErrorKind::Io(inner) => Self::new(ErrorKind::Output(inner.clone())),
            _ => error,
        }
    }

    pub(crate) fn header(field: &'static str, offset: u64, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidHeader { field, message: message.into() }).at(offset)
    }
}

/// Converts an error from reading a Bloscpack file as the source of a file in another format. I/O
/// errors, exceeded limits, `Locked` and `ForeignJournal` keep their kinds. Any other error that
/// means that the packed file is damaged becomes `Invalid`, and its message contains the offset in
/// the packed file. All remaining errors become `Io`.
impl From<Error> for binio::Error {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Io(inner) | ErrorKind::Output(inner) => inner.clone(),
            ErrorKind::Limit { what, limit, requested } => {
                let (what, limit, requested) = (*what, *limit, *requested);
                Self::new(binio::ErrorKind::Limit { what, limit, requested })
            }
            ErrorKind::Locked => Self::new(binio::ErrorKind::Locked),
            ErrorKind::ForeignJournal => Self::new(binio::ErrorKind::ForeignJournal),
            _ if error.is_bad_data() => Self::invalid(error.to_string()),
            _ => io::Error::from(error).into(),
        }
    }
}

impl FormatErrorKind for ErrorKind {
    fn from_binio(error: binio::Error) -> Self {
        match *error.kind() {
            binio::ErrorKind::Limit { what, limit, requested } => {
                Self::Limit { what, limit, requested }
            }
            binio::ErrorKind::Locked => Self::Locked,
            binio::ErrorKind::ForeignJournal => Self::ForeignJournal,
            _ => Self::Io(error),
        }
    }

    fn is_bad_data(&self) -> bool {
        match self {
            Self::Truncated { .. }
            | Self::NotBloscpack { .. }
            | Self::UnsupportedVersion(_)
            | Self::UnknownOptions(_)
            | Self::UnknownChecksum(_)
            | Self::InvalidHeader { .. }
            | Self::ChecksumMismatch { .. }
            | Self::CorruptChunk { .. }
            | Self::Blosc2Chunk { .. }
            | Self::SizeMismatch { .. }
            | Self::OffsetMismatch { .. }
            | Self::Metadata(_)
            | Self::ObjectDtype
            | Self::InvalidDtype(_)
            | Self::ShapeMismatch(_)
            | Self::InvalidElement { .. }
            | Self::ForeignJournal
            | Self::Damaged(_) => true,
            Self::Io(error) => error.is_bad_data(),
            _ => false,
        }
    }

    fn io_error(&self) -> Option<&io::Error> {
        match self {
            Self::Io(error) | Self::Output(error) => error.io_error(),
            _ => None,
        }
    }

    fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Io(error) | Self::Output(error) => io::Error::from(error.clone()).kind(),
            Self::InvalidOption { .. } => io::ErrorKind::InvalidInput,
            Self::Locked => io::ErrorKind::WouldBlock,
            Self::UnsupportedChunk { .. } => io::ErrorKind::Unsupported,
            _ if self.is_bad_data() => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        }
    }
}
