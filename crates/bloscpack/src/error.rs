//! What can go wrong, and where.

use std::{fmt, io};

use binio::FormatErrorKind;
use binio::checksum::Digest;
use thiserror::Error as ThisError;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

binio::error_type! {
    /// A failure: what, and at which byte of the file.
    pub struct Error(ErrorKind);
}

/// What went wrong.
#[derive(Clone, Debug, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading failed, or changing a file.
    #[error("{0:#}")]
    Io(binio::Error),
    /// Writing a new file or another output failed.
    #[error("{0:#}")]
    Output(binio::Error),
    /// The file ends too early.
    #[error("{what}: needs {needed} bytes, {available} are left")]
    Truncated {
        /// The part that is cut.
        what: &'static str,
        /// How many bytes it takes.
        needed: u64,
        /// How many there are.
        available: u64,
    },
    /// The file does not begin with `blpk`.
    #[error("not a Bloscpack file: expected \"blpk\", found \"{}\"", found.escape_ascii())]
    NotBloscpack {
        /// What it begins with, at most four bytes.
        found: Vec<u8>,
    },
    /// A version that is not defined.
    #[error("version {0} of the format is unknown: expected 1, 2 or 3")]
    UnsupportedVersion(u8),
    /// Option bits that are not defined: they may stand for a section before the chunks.
    #[error("unknown option bits {0:#04x}: expected only bit 0 (offsets) and bit 1 (metadata)")]
    UnknownOptions(u8),
    /// A checksum number above 8.
    #[error("unknown checksum {0}: expected 0 to 8")]
    UnknownChecksum(u8),
    /// A header field that has no meaning.
    #[error("header field {field}: {message}")]
    InvalidHeader {
        /// Its name in the format.
        field: &'static str,
        /// What it is and what was expected.
        message: String,
    },
    /// A digest does not match.
    #[error(
        "{part}: {} of the stored bytes is {computed}, in the file is {stored}",
        computed.algorithm().name()
    )]
    ChecksumMismatch {
        /// What the digest is of.
        part: Part,
        /// The digest in the file.
        stored: Digest,
        /// The digest of the bytes.
        computed: Digest,
    },
    /// A chunk is not a Blosc buffer, or does not decode.
    #[error("chunk {chunk}: {reason:#}")]
    CorruptChunk {
        /// Number of the chunk, from 0.
        chunk: u64,
        /// What is wrong with it.
        reason: binio::Error,
    },
    /// A chunk is a Blosc2 buffer.
    #[error("chunk {chunk}: a Blosc2 buffer, which Bloscpack files do not hold")]
    Blosc2Chunk {
        /// Number of the chunk, from 0.
        chunk: u64,
    },
    /// The sizes in the header differ from those of the chunks.
    #[error("{message}")]
    SizeMismatch {
        /// Which size, what it is and what was expected.
        message: String,
    },
    /// The offsets do not point to the chunks.
    #[error("{message}")]
    OffsetMismatch {
        /// What is wrong with them.
        message: String,
        /// Whether they are right but for their order, so that the order is in doubt.
        permuted: bool,
    },
    /// The metadata cannot be read; the chunks can.
    #[error("metadata: {0}")]
    Metadata(MetadataError),
    /// The file holds not a numpy array.
    #[error("not a numpy array: {0}")]
    NotNumpy(String),
    /// The array holds Python objects.
    #[error("the dtype holds Python objects, which are not bytes")]
    ObjectDtype,
    /// A dtype that numpy does not have.
    #[error("dtype: {0}")]
    InvalidDtype(String),
    /// The shape of an array does not fit its data.
    #[error("shape: {0}")]
    ShapeMismatch(String),
    /// The element type asked for is not the array's.
    #[error("elements are {dtype}, not {asked}")]
    ElementType {
        /// The array's type.
        dtype: String,
        /// The type asked for.
        asked: &'static str,
    },
    /// There is not enough room for what is to be written.
    #[error("{what}: {needed} are needed, there is room for {available}")]
    NotEnoughSpace {
        /// What of: chunks, bytes of metadata.
        what: &'static str,
        /// How many are needed.
        needed: u64,
        /// How many fit.
        available: u64,
    },
    /// An option of the caller that is not possible.
    #[error("{option}: {message}")]
    InvalidOption {
        /// Its name.
        option: &'static str,
        /// Why not.
        message: String,
    },
    /// A layout of another version cannot do this.
    #[error("{what} in version {version}")]
    NotInVersion {
        /// What cannot be done.
        what: &'static str,
        /// The number of the layout: 0 for files older than the version byte.
        version: u8,
    },
    /// Bytes that the data do not have.
    #[error("bytes {start}..{end} are past the end of the data at {len}")]
    OutOfRange {
        /// First byte asked for.
        start: u64,
        /// End of the range.
        end: u64,
        /// Length of the data.
        len: u64,
    },
    /// A chunk that the file does not have.
    #[error("no chunk {index}: there are {len}")]
    NoChunk {
        /// The chunk asked for, from 0.
        index: u64,
        /// Number of chunks.
        len: u64,
    },
    /// Another process, or another part of this one, is changing the file.
    #[error("another process is changing this file")]
    Locked,
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
    /// Other damage of the file: an interrupted append, a gap between chunks.
    #[error("{0}")]
    Damaged(String),
}

impl ErrorKind {
    /// The chunk that it is about, from 0.
    pub fn chunk(&self) -> Option<u64> {
        match self {
            Self::CorruptChunk { chunk, .. }
            | Self::Blosc2Chunk { chunk }
            | Self::ChecksumMismatch { part: Part::Chunk(chunk), .. } => Some(*chunk),
            _ => None,
        }
    }
}

/// What a digest is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// A chunk, from 0.
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

/// Why metadata cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum MetadataError {
    /// The file has none.
    #[error("the file has none")]
    Absent,
    /// Their serializer is not known.
    #[error("unknown serializer \"{}\", expected \"JSON\"", .0.escape_ascii())]
    UnknownSerializer([u8; 8]),
    /// Their codec is not known.
    #[error("unknown codec {0}, expected 0 (none) or 1 (zlib)")]
    UnknownCodec(u8),
    /// They do not decompress.
    #[error("zlib: {0}")]
    Zlib(String),
    /// They are not as long as their header says.
    #[error("{found} bytes, the header says {expected}")]
    Size {
        /// `meta_size` of the header.
        expected: u64,
        /// The number found; one more than expected stands for any larger number.
        found: u64,
    },
    /// They are not valid JSON.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// An integer beyond 64 bits, where rounding it would change the file.
    #[error("the integer {0} is beyond 64 bits, and would be rounded")]
    BigInteger(String),
}

impl Error {
    /// Whether the source failed, not the file: such an error is never a diagnostic.
    pub(crate) fn is_io(&self) -> bool {
        matches!(self.kind(), ErrorKind::Io(_))
    }

    /// Whether the source or a limit of the caller failed, and the file may be as it should be.
    pub(crate) fn is_of_caller(&self) -> bool {
        self.is_io() || matches!(self.kind(), ErrorKind::Limit { .. })
    }

    /// Marks a failed write, so that a caller does not take it for a failure of the input.
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

/// For a file that is the source of another format: the kind is kept where `binio` has it.
impl From<Error> for binio::Error {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Io(inner) | ErrorKind::Output(inner) => inner.clone(),
            ErrorKind::Limit { what, limit, requested } => {
                let (what, limit, requested) = (*what, *limit, *requested);
                Self::new(binio::ErrorKind::Limit { what, limit, requested })
            }
            ErrorKind::Locked => Self::new(binio::ErrorKind::Locked),
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
            binio::ErrorKind::ForeignJournal => Self::Damaged(error.to_string()),
            _ => Self::Io(error),
        }
    }

    fn is_bad_data(&self) -> bool {
        match self {
            Self::Truncated { .. }
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
            _ if self.is_bad_data() => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        }
    }
}
