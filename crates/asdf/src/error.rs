//! Errors that say what is wrong and where.

use std::ops::Range;
use std::sync::Arc;

use binio::diagnostic::count;
use thiserror::Error as ThisError;

/// The `Result` type of this crate. Its error type defaults to [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

binio::error_type! {
    /// An error from reading or writing a file. It says what is wrong and, if known, at which offset.
    ///
    /// ```
    /// use asdf::{Asdf, ErrorKind};
    ///
    /// let error = Asdf::from_bytes(&b"#ASDF 2.0.0\n"[..]).unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Layout(_)));
    /// assert!(error.is_bad_data());
    /// assert_eq!(error.offset(), Some(6));
    /// ```
    pub struct Error(ErrorKind);
}

/// The kinds of [`Error`]. Most of them concern one part of a file: its layout, its tree, a block,
/// an array or a reference.
///
/// Every function that reads data into memory can fail with [`OutOfMemory`](Self::OutOfMemory). The `# Errors`
/// sections mention this kind only if the size comes from the file.
///
/// ```
/// use asdf::{Asdf, ErrorKind};
///
/// let file = Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\na: [1\n...\n"[..])?;
/// match file.tree().unwrap_err().kind() {
///     ErrorKind::Yaml { line, message, .. } => println!("line {line}: {message}"),
///     kind => panic!("{kind}"),
/// }
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Debug, Clone, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source could not be read, or the output could not be written.
    #[error(transparent)]
    Io(binio::Error),
    /// The file is not an ASDF file that this crate can read, the tree is truncated, or the file is irregular
    /// and was opened strictly. The message says what is wrong.
    #[error("{0}")]
    Layout(String),
    /// The tree is not a YAML 1.1 document, or a node does not fit its tag or the requested type.
    #[error("{}: {message}", place(pointer.as_deref(), "", *line, *column))]
    Yaml {
        /// The message, which says what was expected and what was found.
        message: String,
        /// JSON Pointer to the node. `None` if the tree cannot be parsed, or if
        /// [`YamlNode::to_pointer`](crate::yaml::YamlNode::to_pointer) returns `None`.
        pointer: Option<String>,
        /// Number of the line in the file, counted from 1.
        line: u32,
        /// Column in characters, counted from 1.
        column: u32,
    },
    /// A block cannot be read.
    #[error("block {index}: {kind}")]
    Block {
        /// Number of the block, counted from 0.
        index: usize,
        /// The reason why the block cannot be read.
        kind: BlockError,
    },
    /// The data of a block cannot be decoded.
    #[error("block {index} ({}): {kind}", code_name(*code))]
    Codec {
        /// Number of the block, counted from 0.
        index: usize,
        /// The compression code as four raw bytes.
        code: [u8; 4],
        /// The reason why the data cannot be decoded.
        kind: CodecError,
    },
    /// A node is not an array, or its data cannot be read.
    #[error("{}: {kind}", place(pointer.as_deref(), "array at ", *line, *column))]
    Array {
        /// JSON Pointer to the node. `None` if
        /// [`YamlNode::to_pointer`](crate::yaml::YamlNode::to_pointer) returns `None`.
        pointer: Option<String>,
        /// Number of the line in the file, counted from 1.
        line: u32,
        /// Column in characters, counted from 1.
        column: u32,
        /// The reason why the array cannot be read.
        kind: ArrayError,
    },
    /// A pointer or reference cannot be followed, or an external file cannot be opened.
    #[error("{target:?}: {kind}")]
    Reference {
        /// The pointer or URI as written.
        target: String,
        /// The reason why the pointer or URI cannot be followed.
        kind: ReferenceError,
    },
    /// A value or change cannot be written, for example because it cannot be represented in ASDF or in the
    /// chosen version of the standard.
    #[error("{}{message}", pointer.as_ref().filter(|at| !at.is_empty()).map(|at| format!("{at}: ")).unwrap_or_default())]
    Unwritable {
        /// JSON Pointer to the value, if known.
        pointer: Option<String>,
        /// The reason why the value or change cannot be written.
        message: String,
    },
    /// A limit was exceeded, usually one that the caller can set.
    #[error("{what}: {requested} is above the limit of {limit}")]
    Limit {
        /// The quantity that is limited.
        what: &'static str,
        /// The maximum value allowed.
        limit: u64,
        /// The value that exceeded the limit. If reading stopped at the limit, the file may require more.
        requested: u64,
    },
    /// The machine does not have enough memory for a buffer that the limits allow.
    #[error("cannot allocate {} for {what}", count(*requested, "byte"))]
    OutOfMemory {
        /// The purpose of the buffer.
        what: &'static str,
        /// Size of the buffer in bytes.
        requested: u64,
    },
}

impl binio::FormatErrorKind for ErrorKind {
    fn from_binio(error: binio::Error) -> Self {
        match *error.kind() {
            binio::ErrorKind::Limit { what, limit, requested } => {
                Self::Limit { what, limit, requested }
            }
            binio::ErrorKind::OutOfMemory { what, requested } => {
                Self::OutOfMemory { what, requested }
            }
            _ => Self::Io(error),
        }
    }

    fn is_bad_data(&self) -> bool {
        match self {
            Self::Io(error) => error.is_bad_data(),
            Self::Layout(_) | Self::Yaml { .. } => true,
            Self::Block { kind, .. } => kind.is_bad_data(),
            Self::Codec { kind, .. } => kind.is_bad_data(),
            Self::Array { kind, .. } => kind.is_bad_data(),
            Self::Reference { kind, .. } => kind.is_bad_data(),
            Self::Unwritable { .. } | Self::Limit { .. } | Self::OutOfMemory { .. } => false,
        }
    }

    fn io_error(&self) -> Option<&std::io::Error> {
        match self {
            Self::Io(error) => error.io_error(),
            Self::Array { kind: ArrayError::Data(error), .. }
            | Self::Reference { kind: ReferenceError::External(error), .. } => error.io_error(),
            _ => None,
        }
    }
}

impl Error {
    /// Creates an error about an exceeded limit.
    pub(crate) fn limit(what: &'static str, limit: u64, requested: u64) -> Self {
        ErrorKind::Limit { what, limit, requested }.into()
    }

    /// Returns the JSON Pointer to the affected node, if the error is of kind [`Yaml`](ErrorKind::Yaml) or
    /// [`Array`](ErrorKind::Array) and the pointer is known.
    ///
    /// ```
    /// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\na: {b: x}\n...\n"[..])?;
    /// let error = file.tree()?.pointer("/a/b")?.integer().unwrap_err();
    /// assert_eq!(error.pointer(), Some("/a/b"));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn pointer(&self) -> Option<&str> {
        match self.kind() {
            ErrorKind::Yaml { pointer, .. } | ErrorKind::Array { pointer, .. } => {
                pointer.as_deref()
            }
            _ => None,
        }
    }

    /// Creates an error about a value or change that cannot be written and whose position is
    /// unknown.
    pub(crate) fn unwritable(message: impl Into<String>) -> Self {
        ErrorKind::Unwritable { pointer: None, message: message.into() }.into()
    }

    /// Creates an error about a value or change that cannot be written. `pointer` refers to the
    /// value.
    pub(crate) fn unwritable_at(pointer: &str, message: impl Into<String>) -> Self {
        ErrorKind::Unwritable { pointer: Some(pointer.to_owned()), message: message.into() }.into()
    }

    /// Creates an error about a reference or pointer that cannot be followed.
    pub(crate) fn reference(target: impl Into<String>, kind: ReferenceError) -> Self {
        ErrorKind::Reference { target: target.into(), kind }.into()
    }
}

/// The reason why a block cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum BlockError {
    /// The number of the block is uncertain, because blocks may be missing before it or, if the number is
    /// counted from the end, after it.
    #[error("the number of the block is uncertain, because other blocks may be missing")]
    Uncertain,
    /// The file has no block with this number.
    #[error(
        "the block does not exist, because the file has only {}",
        binio::diagnostic::count(*count, "block")
    )]
    NoSuchBlock {
        /// The number of blocks in the file.
        count: usize,
    },
    /// There is no block magic at the offset where a block should begin.
    #[error("the bytes at offset {offset} are not the start of a block, expected d3 42 4c 4b")]
    Magic {
        /// Offset in the file in bytes.
        offset: u64,
    },
    /// The `header_size` is below 48, the minimum for all fields.
    #[error("the header_size at offset {offset} is {header_size}, expected at least 48")]
    HeaderSize {
        /// Offset of the field in the file in bytes.
        offset: u64,
        /// The value of the field.
        header_size: u16,
    },
    /// The file ends inside the block header.
    #[error(
        "the header at offset {offset} is truncated, because the file has only {file_len} bytes"
    )]
    HeaderTruncated {
        /// Offset of the block in the file in bytes.
        offset: u64,
        /// Length of the file in bytes.
        file_len: u64,
    },
    /// The data extends past the end of the file.
    #[error(
        "the data at bytes {}..{} is truncated, because the file has only {file_len} bytes",
        range.start, range.end
    )]
    PastEnd {
        /// The byte range of the data in the file, according to the header. Its end saturates at
        /// `u64::MAX`.
        range: Range<u64>,
        /// Length of the file in bytes.
        file_len: u64,
    },
    /// Bytes were added to or removed from the block, for example by a line-ending conversion, and
    /// the original data cannot be reconstructed.
    #[error("{} at an unknown position, probably by a line-ending conversion", changed(*added))]
    Drifted {
        /// The number of bytes added, which is negative if bytes were removed.
        added: i64,
    },
    /// The data does not match the checksum in the header.
    #[error(
        "the checksum in the header is {}, but the checksum of the stored bytes is {}",
        hex(expected),
        hex(computed)
    )]
    Checksum {
        /// The MD5 digest in the header.
        expected: [u8; 16],
        /// The MD5 digest of the stored bytes.
        computed: [u8; 16],
    },
    /// The checksum in the header does not match the stored bytes. Whether it matches the decoded bytes, from
    /// which some old writers computed it, is unknown, because this build lacks the feature that is required
    /// to decode the block.
    #[error("the checksum cannot be verified, because this build lacks the feature `{0}`")]
    Unverifiable(&'static str),
    /// The caller's buffer does not have the same size as the data.
    #[error("the buffer has {}, but the data has {expected}", count(*found, "byte"))]
    BufferSize {
        /// Size of the data in bytes.
        expected: u64,
        /// Size of the buffer in bytes.
        found: u64,
    },
    /// A range extends past the end of the decoded data, or its start is after its end.
    #[error(
        "the range {}..{} does not lie within the {} of data",
        range.start, range.end, count(*len, "byte")
    )]
    RangeOutside {
        /// The requested range.
        range: Range<u64>,
        /// Size of the decoded data in bytes.
        len: u64,
    },
}

/// The reason why the data of a block cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum CodecError {
    /// The compression code is unknown.
    #[error("unknown compression")]
    UnknownCompression,
    /// The codec is known, but requires a feature of this crate that is not enabled.
    #[error("this build lacks the feature `{0}`")]
    FeatureMissing(&'static str),
    /// The block is both streamed and compressed, so the length of its data is unknown.
    #[error("a streamed block cannot be compressed")]
    StreamedCompressed,
    /// The stream ends before all requested bytes have been decoded.
    #[error("the stream ends after {}, but {expected} were expected", count(*found, "byte"))]
    ShortStream {
        /// Number of bytes to which the stream decodes.
        found: u64,
        /// Number of bytes according to `data_size`. If only a range of the data was requested, this may also be
        /// the end of the range.
        expected: u64,
    },
    /// The stream decodes to more than `data_size` bytes.
    #[error("the header states a data_size of {}, but the stream decodes to more", count(*expected, "byte"))]
    LongStream {
        /// Number of bytes according to `data_size`.
        expected: u64,
    },
    /// The stream is damaged, or uses a feature of its format that is not supported.
    #[error("{message} (near byte {offset} of the stored data)")]
    Corrupt {
        /// A description of the problem.
        message: String,
        /// Approximate offset of the problem in the stored bytes.
        offset: u64,
    },
}

/// The reason why a node is not an array, or why its data cannot be read.
#[derive(Debug, Clone, ThisError)]
#[non_exhaustive]
pub enum ArrayError {
    /// The node has no known ndarray tag and is not a plain sequence, or its content cannot be an array.
    #[error("not an array: {0}")]
    NotAnArray(String),
    /// A required key is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// The value of a key is invalid.
    #[error("`{key}`: {message}")]
    Invalid {
        /// The name of the key.
        key: &'static str,
        /// The message, which says what was expected and what was found.
        message: String,
    },
    /// Some elements lie outside the block.
    #[error("the elements are at bytes {low}..{high}, but the block has only {}", count(*len, "byte"))]
    OutsideBlock {
        /// Offset at which the elements begin, relative to the data of the block.
        low: i128,
        /// Offset at which the elements end, relative to the data of the block.
        high: i128,
        /// Size of the decoded block in bytes.
        len: u64,
    },
    /// The inline data is invalid, or does not fit the declared datatype or shape.
    #[error("inline data: {0}")]
    Inline(String),
    /// The requested type differs from the type of the elements.
    #[error("elements are {dtype}, not {requested}")]
    Type {
        /// The datatype of the array.
        dtype: String,
        /// The requested type.
        requested: &'static str,
    },
    /// An element is not a valid value of its type.
    #[error("element {index}: {message}")]
    Element {
        /// Index of the element in C order.
        index: u64,
        /// The reason why the element is invalid.
        message: String,
    },
    /// The caller's buffer does not have exactly as many elements as the array.
    #[error("the buffer can hold {}, but the array has {expected}", count(*found, "element"))]
    BufferSize {
        /// Number of elements in the array.
        expected: u64,
        /// Number of elements that the buffer can hold.
        found: u64,
    },
    /// A slice is invalid or does not fit the shape.
    #[error("{0}")]
    Slice(String),
    /// The elements have no field with this name.
    #[error("{0}")]
    Field(String),
    /// The mask does not fit the array.
    #[error("mask: {0}")]
    Mask(String),
    /// The data of the array is in a block or file that cannot be read.
    #[error(transparent)]
    Data(Arc<Error>),
}

/// The reason why a pointer or reference cannot be followed, or an external file cannot be opened.
#[derive(Debug, Clone, ThisError)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The text is not a valid JSON Pointer or URI.
    #[error("{0}")]
    Syntax(String),
    /// The node does not exist, or the file cannot be found.
    #[error("{0}")]
    NotFound(String),
    /// The references form a cycle.
    #[error("cycle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// The chain of references is longer than this limit.
    #[error("the chain has more than {0} references")]
    TooDeep(u32),
    /// The external file may not be opened, for example because the policy for external files does not allow it,
    /// or because it is not a regular file.
    #[error("opening the external file is not allowed: {0}")]
    Forbidden(String),
    /// The external file cannot be opened, or its tree is invalid.
    #[error(transparent)]
    External(Arc<Error>),
}

impl BlockError {
    fn is_bad_data(&self) -> bool {
        !matches!(
            self,
            Self::NoSuchBlock { .. }
                | Self::Unverifiable(_)
                | Self::BufferSize { .. }
                | Self::RangeOutside { .. }
        )
    }
}

impl CodecError {
    fn is_bad_data(&self) -> bool {
        !matches!(self, Self::UnknownCompression | Self::FeatureMissing(_))
    }
}

impl ArrayError {
    fn is_bad_data(&self) -> bool {
        match self {
            Self::NotAnArray(_)
            | Self::Type { .. }
            | Self::BufferSize { .. }
            | Self::Slice(_)
            | Self::Field(_) => false,
            // A missing block is bad data here, because the file itself refers to it.
            Self::Data(error) => match error.kind() {
                ErrorKind::Block { kind: BlockError::NoSuchBlock { .. }, .. } => true,
                _ => error.is_bad_data(),
            },
            _ => true,
        }
    }
}

impl ReferenceError {
    fn is_bad_data(&self) -> bool {
        match self {
            Self::External(error) => error.is_bad_data(),
            _ => matches!(self, Self::Cycle(_) | Self::TooDeep(_)),
        }
    }
}

/// Describes the position of a node by its pointer or, if the pointer is unknown, by its line and
/// column.
fn place(pointer: Option<&str>, prefix: &str, line: u32, column: u32) -> String {
    match pointer {
        Some("") => "the root of the tree".to_owned(),
        Some(pointer) => pointer.to_owned(),
        None => format!("{prefix}line {line}, column {column}"),
    }
}

fn changed(added: i64) -> String {
    let number = added.unsigned_abs();
    let verb = if number == 1 { "was" } else { "were" };
    let how = if added < 0 { "removed" } else { "added" };
    format!("{} {verb} {how}", count(number, "byte"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().concat()
}

/// Returns the compression code as text, such as `zlib`, or its bytes in hexadecimal if they are not printable.
pub(crate) fn code_name(code: [u8; 4]) -> String {
    let name = code.split(|&b| b == 0).next().unwrap_or_default();
    let rest_is_nul = code[name.len()..].iter().all(|&b| b == 0);
    if !name.is_empty() && rest_is_nul && name.iter().all(u8::is_ascii_graphic) {
        String::from_utf8_lossy(name).into_owned()
    } else {
        code.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
    }
}
