//! The error type.

use std::{fmt, io};

use crate::diagnostic::{Code, Diagnostics};

binio::error_type! {
    /// The reason why a layout cannot be parsed or resolved, why an item cannot be found, or why a file cannot
    /// be read or written.
    ///
    /// For errors in a layout, `Display` prints several lines with excerpts of the text. Without the feature
    /// `render`, it prints one line for each diagnostic.
    pub struct Error(ErrorKind);
}

/// The kinds of errors.
///
/// ```
/// use dudley::{ErrorKind, File, Layout};
///
/// let file = File::from_bytes(vec![1, 2, 3], Layout::parse("x = u1[2]  y = i4")?)?;
/// assert!(matches!(file.get("/z").unwrap_err().kind(), ErrorKind::NotFound { .. }));
/// match file.get("/y").unwrap_err().kind() {
///     ErrorKind::PastEnd { path, end, len, .. } => assert_eq!((&**path, *end, *len), ("/y", 8, 3)),
///     other => panic!("not a truncated file: {other}"),
/// }
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A layout has errors, or its addresses cannot be computed for the given values or stream.
    Layout(Diagnostics),
    /// A file does not begin with the signature of a native file.
    NotNative,
    /// The signature is damaged by a text-mode transfer.
    TextMode {
        /// A description of the damage, such as `CR LF became LF`.
        change: &'static str,
    },
    /// A file ends inside its signature.
    TruncatedSignature {
        /// The length of the file in bytes.
        len: usize,
    },
    /// The address of the layout in a native file is negative, from 1 to 15, or after the end of
    /// the file.
    LayoutAddress {
        /// The invalid address, in bytes from the start of the file.
        address: i64,
        /// The length of the file in bytes if the address is after the end of the file, otherwise
        /// `None`.
        len: Option<u64>,
    },
    /// A string is not a valid path.
    Path {
        /// The string that is not a valid path.
        path: String,
        /// The byte offset of the error in the string.
        offset: usize,
        /// A description of what was expected at the offset.
        expected: &'static str,
    },
    /// Nothing exists at a path.
    NotFound {
        /// The path at which nothing exists, or the number of a file that is not in a family.
        path: String,
        /// The path of the last existing item on the way to `path`, or `the layout` or `the family`
        /// if no item was examined.
        parent: String,
        /// A description of what is missing from `parent`.
        missing: String,
    },
    /// A description in another language cannot be converted to a layout.
    Foreign {
        /// The name of the language, such as `C`.
        language: &'static str,
        /// The line number, counted from 1.
        line: u32,
        /// A description of the error.
        message: String,
    },
    /// Data cannot be accessed as requested, usually because it is not a strided array: an array of
    /// evenly spaced elements of one type.
    NotStrided {
        /// The path of the data.
        path: String,
        /// The reason why the data cannot be accessed.
        reason: &'static str,
    },
    /// A file was opened without a layout, and no layout is appended to it.
    NoLayout {
        /// Whether the file is a native file.
        is_native: bool,
    },
    /// A path does not lead to data of the requested kind.
    NotData {
        /// The path that does not lead to the requested kind of data.
        path: String,
        /// A description of what the path leads to.
        what: &'static str,
    },
    /// An array extends beyond the end of the file.
    PastEnd {
        /// The path of the array.
        path: String,
        /// The address of the first byte of the array.
        start: i128,
        /// The address after the last byte of the array.
        end: i128,
        /// The length of the file in bytes.
        len: u64,
    },
    /// Data does not match its layout, or cannot be written or replaced.
    Mismatch {
        /// The path of the data or of the file.
        path: String,
        /// A description of the error.
        message: String,
    },
    /// Data, or the value of a stored parameter, is missing in a file that is being written.
    Missing {
        /// The paths of the missing data, and of the parameters without a value.
        paths: Vec<String>,
    },
    /// A file cannot be patched or extended as requested.
    Extend {
        /// The reason why the file cannot be patched or extended.
        message: String,
    },
    /// A file in another format cannot be imported, because it is damaged, its format is unknown, or the HDF5
    /// reader cannot read it.
    Import {
        /// The name of the format.
        format: &'static str,
        /// A description of the error.
        message: String,
    },
    /// A part of a file in another format cannot be described by a layout.
    NoLayoutFor {
        /// The path of the part in the file.
        path: String,
        /// The reason why a layout cannot describe this part of the file.
        reason: String,
    },
    /// A compressed array cannot be decoded or encoded.
    Filter {
        /// The path of the array.
        path: String,
        /// The name of the filter.
        filter: String,
        /// The address of the 8-byte count that precedes the compressed bytes, or 0 if it is not known yet.
        address: u64,
        /// A description of the error.
        message: String,
    },
    /// A reference cannot be resolved or stored.
    Reference {
        /// The path of the array that contains the reference.
        path: String,
        /// The index of the element in the flattened array, or 0 if the filter is not registered.
        index: usize,
        /// A description of the error.
        message: String,
    },
    /// A layout is not a template, that is, its summary alone does not determine every address.
    NotTemplate {
        /// The path of the first item or parameter that prevents the layout from being a template.
        path: String,
        /// The reason why the layout is not a template.
        reason: &'static str,
    },
    /// A layout has explicit addresses, so its data cannot be read in order.
    NotInOrder {
        /// The path of the first item or parameter with an explicit address.
        path: String,
    },
    /// A file name pattern is not valid.
    Pattern {
        /// The invalid pattern.
        pattern: String,
    },
    /// A file name pattern leads out of its folder.
    OutsideFolder {
        /// The pattern that leads out of the folder.
        pattern: String,
    },
    /// A file is not a compiled layout, or the compiled layout is damaged. Compiling fails with this error if
    /// the layout was not parsed from the given text.
    Compiled {
        /// A description of the error.
        message: String,
    },
    /// A compiled layout does not describe the item at a path, but the layout text may.
    NotCompiled {
        /// The path of the item.
        path: String,
    },
    /// The location of an item depends on values in a stream, but no stream was given.
    NeedsStream {
        /// The path of the item.
        path: String,
    },
    /// A compiled layout was not compiled from the current text of the layout.
    Stale {
        /// The name of the compiled layout.
        compiled: String,
        /// The path of the text file.
        text: String,
    },
    /// Reading or writing bytes failed, an element cannot be converted to the type in the file, or a limit of
    /// `binio` was exceeded.
    Read(binio::Error),
}

impl Error {
    /// Returns the diagnostics if this is an error in a layout, otherwise `None`.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match self.kind() {
            ErrorKind::Layout(diagnostics) => Some(diagnostics),
            _ => None,
        }
    }

    /// Returns the code of the first error in the layout, or `None` if this is not an error in a layout.
    pub fn code(&self) -> Option<Code> {
        self.diagnostics().map(|diagnostics| diagnostics.first().code)
    }
}

impl From<Diagnostics> for Error {
    fn from(diagnostics: Diagnostics) -> Self {
        ErrorKind::Layout(diagnostics).into()
    }
}

#[cfg(feature = "read")]
impl From<binio::array::ElementsError> for Error {
    fn from(error: binio::array::ElementsError) -> Self {
        binio::Error::from(error).into()
    }
}

impl binio::FormatErrorKind for ErrorKind {
    fn from_binio(error: binio::Error) -> Self {
        Self::Read(error)
    }

    fn is_bad_data(&self) -> bool {
        match self {
            Self::Path { .. }
            | Self::NotFound { .. }
            | Self::NotStrided { .. }
            | Self::NotData { .. }
            | Self::NoLayout { .. }
            | Self::Mismatch { .. }
            | Self::NotTemplate { .. }
            | Self::NotInOrder { .. }
            | Self::Pattern { .. }
            | Self::Missing { .. }
            | Self::NotCompiled { .. }
            | Self::NeedsStream { .. }
            | Self::NoLayoutFor { .. }
            | Self::Extend { .. } => false,
            Self::Read(error) => error.is_bad_data(),
            _ => true,
        }
    }

    fn io_error(&self) -> Option<&io::Error> {
        match self {
            Self::Read(error) => error.io_error(),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(diagnostics) => diagnostics.fmt(f),
            Self::NotNative => f.write_str(
                "not a native file: expected 8d 3c or 8d 3e, then 42 44 0d 0a 1a 0a, at byte 0",
            ),
            Self::TextMode { change } => {
                write!(f, "the signature was damaged by a text-mode transfer: {change}")
            }
            Self::TruncatedSignature { len } => {
                write!(f, "the file ends at byte {len}, inside the 16-byte signature")
            }
            Self::LayoutAddress { address, len } => {
                write!(f, "the address of the layout, at byte 8, is {address}, ")?;
                match len {
                    Some(len) => write!(f, "but the file ends at byte {len}"),
                    None => f.write_str("expected 0 or at least 16"),
                }
            }
            Self::Path { path, offset, expected } => {
                write!(f, "`{path}` is not a valid path: expected {expected} at byte {offset}")
            }
            // In a family, `path` is a number, which is also in `missing`.
            Self::NotFound { parent, missing, .. } if parent == "the family" => {
                write!(f, "{parent} has no {missing}")
            }
            Self::NotFound { path, parent, missing } => {
                write!(f, "nothing at `{path}`: {parent} has no {missing}")
            }
            Self::Foreign { language, line, message } => {
                write!(f, "line {line} of the {language} text: {message}")
            }
            Self::NotStrided { path, reason } => {
                write!(f, "`{path}` cannot be read as an array: {reason}")
            }
            Self::NoLayout { is_native: true } => f.write_str(
                "this native file has no appended layout: provide the file that contains its layout, usually with \
                 the extension .dud",
            ),
            Self::NoLayout { is_native: false } => f.write_str(
                "this file has no appended layout that can be read: provide a layout",
            ),
            Self::NotData { path, what } => write!(f, "`{path}` is {what}"),
            Self::PastEnd { path, start, end, len } => {
                write!(f, "`{path}` is at bytes {start} to {end}, but the file ends at byte {len}")
            }
            Self::Mismatch { path, message } => write!(f, "`{path}`: {message}"),
            Self::Missing { paths } => write!(f, "no data for {}", paths.join(", ")),
            Self::Extend { message } => f.write_str(message),
            Self::Import { format, message } => write!(f, "cannot be imported as {format}: {message}"),
            Self::NoLayoutFor { path, reason } => write!(f, "`{path}` cannot be described by a layout: {reason}"),
            Self::Filter { path, filter, address, message } => {
                write!(f, "`{path}`, compressed by {filter} at address {address}: {message}")
            }
            Self::Reference { path, index, message } => {
                write!(f, "`{path}`, element {index}: {message}")
            }
            Self::NotTemplate { path, reason } => {
                write!(f, "not a template, because the summary does not determine `{path}`: {reason}")
            }
            Self::NotInOrder { path } => {
                write!(f, "data cannot be read in order: `{path}` has an explicit address")
            }
            Self::Pattern { pattern } => write!(
                f,
                "`{pattern}` is not a file name pattern: expected one placeholder for the number, such as `{{}}` or `{{:05}}`"
            ),
            Self::OutsideFolder { pattern } => {
                write!(f, "the file name pattern `{pattern}` leads out of its folder")
            }
            Self::Compiled { message } => write!(f, "not a valid compiled layout: {message}"),
            Self::NotCompiled { path } => write!(
                f,
                "the compiled layout does not describe `{path}`: look it up in the text of the layout"
            ),
            Self::NeedsStream { path } => write!(
                f,
                "the location of `{path}` depends on values in the stream, but no stream was given"
            ),
            Self::Stale { compiled, text } => write!(
                f,
                "{compiled} was not compiled from the current content of {text}: compile it again"
            ),
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ErrorKind {}
