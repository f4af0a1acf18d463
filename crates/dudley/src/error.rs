//! Why something failed.

use std::{fmt, io};

use crate::diagnostic::{Code, Diagnostics};

binio::error_type! {
    /// Why a layout cannot be parsed or has no addresses, or why something in it cannot be found.
    ///
    /// `Display` of an error of a layout has several lines: it shows the places in the text.
    pub struct Error(ErrorKind);
}

/// The kinds of failure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A layout has errors; or it has no addresses, with the given values or in a stream.
    Layout(Diagnostics),
    /// A file does not begin with the signature of a native file.
    NotNative,
    /// The signature is damaged by a transfer in text mode.
    TextMode {
        /// What the transfer did.
        change: &'static str,
    },
    /// A file ends inside its signature.
    TruncatedSignature {
        /// Bytes of the file.
        len: usize,
    },
    /// The address of the layout in a native file is negative, inside the signature, or after the end.
    LayoutAddress {
        /// The address.
        address: i64,
        /// Bytes of the file, where that was exceeded.
        len: Option<u64>,
    },
    /// A text is not a path.
    Path {
        /// The text.
        path: String,
        /// Where in it.
        offset: usize,
        /// What was expected there.
        expected: &'static str,
    },
    /// A path leads to nothing.
    NotFound {
        /// The path.
        path: String,
        /// What exists of it.
        parent: String,
        /// What is missing there.
        missing: String,
    },
    /// A description in another language has no layout.
    Foreign {
        /// The language.
        language: &'static str,
        /// The line of the text, from 1.
        line: u32,
        /// What is wrong.
        message: String,
    },
    /// Something that is stored is not an array of equal elements at equal distances.
    NotStrided {
        /// Its path.
        path: String,
        /// Why it is not.
        reason: &'static str,
    },
    /// A file is opened without a layout, and none is appended to it.
    NoLayout {
        /// Whether it is a native file.
        is_native: bool,
    },
    /// What a path leads to has no bytes of its own.
    NotData {
        /// The path.
        path: String,
        /// What it leads to.
        what: &'static str,
    },
    /// A file ends before an array in it does.
    PastEnd {
        /// The path of the array.
        path: String,
        /// Its first byte.
        start: i128,
        /// After its last byte.
        end: i128,
        /// Bytes of the file.
        len: u64,
    },
    /// What is put into a file does not fit.
    Mismatch {
        /// The path.
        path: String,
        /// What was found, and what was expected.
        message: String,
    },
    /// Data are missing in a file that is written.
    Missing {
        /// Their paths.
        paths: Vec<String>,
    },
    /// A file cannot be extended so.
    Extend {
        /// Why not.
        message: String,
    },
    /// A file of another format is damaged, or of none that is known.
    Import {
        /// The format.
        format: &'static str,
        /// What was found, and what was expected.
        message: String,
    },
    /// A part of a file of another format cannot be described by a layout.
    NoLayoutFor {
        /// Its path.
        path: String,
        /// Why not.
        reason: String,
    },
    /// A compressed array cannot be decoded or encoded.
    Filter {
        /// The path of the array.
        path: String,
        /// The name of the filter.
        filter: String,
        /// Where its count is.
        address: u64,
        /// What is wrong.
        message: String,
    },
    /// A reference leads nowhere.
    Reference {
        /// The path of the array that holds it.
        path: String,
        /// The element, counted through all dimensions.
        index: usize,
        /// What is wrong.
        message: String,
    },
    /// Not only the summary of a layout determines its addresses.
    NotTemplate {
        /// The path of what else does.
        path: String,
        /// Why it does.
        reason: &'static str,
    },
    /// A layout states addresses, so its data cannot be read in order.
    NotInOrder {
        /// The path of the first item with a stated address.
        path: String,
    },
    /// A pattern for the names of files is not valid.
    Pattern {
        /// The pattern.
        pattern: String,
    },
    /// A pattern for the names of files leads out of their folder.
    OutsideFolder {
        /// The pattern.
        pattern: String,
    },
    /// A file is not a compiled layout, or it is damaged.
    Compiled {
        /// What is wrong.
        message: String,
    },
    /// The text of a layout has changed since it was compiled.
    Stale {
        /// The file of the compiled layout.
        compiled: String,
        /// The file of the text.
        text: String,
    },
    /// A stream cannot be read.
    Read(binio::Error),
}

impl Error {
    /// What is wrong with the layout, if the layout is at fault.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match self.kind() {
            ErrorKind::Layout(diagnostics) => Some(diagnostics),
            _ => None,
        }
    }

    /// The code of the first error in the layout, if the layout is at fault.
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
                write!(f, "the signature is damaged by a text-mode transfer: {change}")
            }
            Self::TruncatedSignature { len } => {
                write!(f, "the file ends at byte {len}, inside the signature of 16 bytes")
            }
            Self::LayoutAddress { address, len } => {
                write!(f, "the address of the layout, at byte 8, is {address}: ")?;
                match len {
                    Some(len) => write!(f, "the file ends at {len}"),
                    None => f.write_str("expected 0 or at least 16"),
                }
            }
            Self::Path { path, offset, expected } => {
                write!(f, "`{path}` is not a valid path: expected {expected} at byte {offset}")
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
                "the layout of this native file is in another file, usually with the extension .dud",
            ),
            Self::NoLayout { is_native: false } => f.write_str(
                "not a native file with a layout at its end: a layout has to be given",
            ),
            Self::NotData { path, what } => write!(f, "`{path}` is {what}"),
            Self::PastEnd { path, start, end, len } => {
                write!(f, "`{path}` is at bytes {start} to {end}, but the file ends at {len}")
            }
            Self::Mismatch { path, message } => write!(f, "`{path}`: {message}"),
            Self::Missing { paths } => write!(f, "no data for {}", paths.join(", ")),
            Self::Extend { message } => f.write_str(message),
            Self::Import { format, message } => write!(f, "not a valid {format} file: {message}"),
            Self::NoLayoutFor { path, reason } => write!(f, "`{path}` is not described: {reason}"),
            Self::Filter { path, filter, address, message } => {
                write!(f, "`{path}`, compressed by {filter} at {address}: {message}")
            }
            Self::Reference { path, index, message } => {
                write!(f, "`{path}`, element {index}: {message}")
            }
            Self::NotTemplate { path, reason } => {
                write!(f, "not a template: the summary does not determine `{path}`: {reason}")
            }
            Self::NotInOrder { path } => {
                write!(f, "data cannot be read in order: the address of `{path}` is stated")
            }
            Self::Pattern { pattern } => write!(
                f,
                "`{pattern}` is not a pattern of file names: expected one `{{}}` or `{{:05}}` for the number"
            ),
            Self::OutsideFolder { pattern } => {
                write!(f, "the file names `{pattern}` lead out of their folder")
            }
            Self::Compiled { message } => write!(f, "not a valid compiled layout: {message}"),
            Self::Stale { compiled, text } => write!(
                f,
                "{compiled} was compiled from another text than that of {text}: compile it again"
            ),
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ErrorKind {}
