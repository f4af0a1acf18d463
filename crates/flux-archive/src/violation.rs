//! Where an archive differs from RFC 37: code, path and place.
//!
//! | profile | an [`Accept`](Severity::Accept) | a [`Warning`](Severity::Warning) | an [`Error`](Severity::Error) |
//! |---|---|---|---|
//! | reading an archive | silent | in [`Archive::violations`](crate::Archive::violations) | the archive is refused |

use std::fmt;

use crate::{Profile, Severity};

/// One place where an archive is not as RFC 37 has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// What it is, for programs.
    pub code: Code,
    /// The path that the entry has in the archive, where it has one.
    pub path: Option<String>,
    /// Where it is, as a JSON pointer (RFC 6901) from the root of the document. Objects that follow
    /// each other without an array are counted from 0, as if they were in one.
    pub pointer: String,
    /// What it is, for people: one line, without path and pointer.
    pub message: String,
}

impl Violation {
    /// A violation at a place.
    pub fn new(
        code: Code,
        path: Option<&str>,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (pointer, message) = (pointer.into(), message.into());
        Self { code, path: path.map(str::to_owned), pointer, message }
    }

    /// What a profile makes of it.
    pub fn severity(&self, profile: Profile) -> Severity {
        self.code.severity(profile)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.escape_debug())?;
        }
        write!(f, "{} {}", self.code, self.message)?;
        match self.pointer.as_str() {
            "" => Ok(()),
            pointer => write!(f, " (at {})", pointer.escape_debug()),
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal: $strict:ident, $flux:ident;)+) => {
        /// The kinds of violations. Names and numbers are stable; programs see the number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = concat!("`R", stringify!($number), "`:")] $(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// `R101` and so on, as `lint` prints it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => concat!("R", stringify!($number)),)+ }
            }

            /// What a profile makes of it.
            pub fn severity(self, profile: Profile) -> Severity {
                match (self, profile) {
                    (Self::OldDialect, Profile::Legacy) => Severity::Warning,
                    $((Self::$name, Profile::Strict) => Severity::$strict,
                      (Self::$name, _) => Severity::$flux,)+
                }
            }
        }
    };
}

codes! {
    /// the container is no array or object of entries.
    Container = 101: Error, Error;
    /// an entry is no object.
    EntryType = 102: Error, Error;
    /// `path` is missing or no string.
    PathType = 103: Error, Error;
    /// `mode` is missing, or no integer of 32 bits.
    ModeType = 104: Error, Error;
    /// `path` in an entry of a dict; it overrides the key.
    PathInDict = 105: Error, Warning;
    /// a JSON key occurs twice; the last counts.
    DuplicateKey = 106: Error, Warning;
    /// a path occurs twice.
    DuplicatePath = 107: Error, Warning;
    /// `mtime` or `ctime` is no integer of 64 bits.
    TimeType = 108: Error, Error;
    /// a `..` component, a NUL, or a path with nothing in it.
    UnsafePath = 110: Error, Error;
    /// a `.` component, `//`, or a `/` at the end; they are dropped.
    UntidyPath = 111: Error, Warning;
    /// a `/` at the beginning; it is dropped.
    AbsolutePath = 112: Error, Warning;
    /// an entry below a file or symbolic link of the archive.
    BelowNoDirectory = 113: Error, Error;
    /// `mode` is of no regular file, directory or symbolic link.
    FileType = 120: Error, Error;
    /// `size` is missing.
    SizeMissing = 130: Error, Accept;
    /// `size` is below that of the data.
    SizeBelowData = 131: Error, Error;
    /// `size` is above that of the data; zeros follow.
    SizeAboveData = 132: Error, Warning;
    /// `size` is negative, no integer, or beyond 63 bits.
    SizeType = 133: Error, Error;
    /// `size`, `encoding` or `data` where they have no meaning.
    NeedlessMember = 134: Error, Warning;
    /// `encoding` is unknown or no string.
    Encoding = 140: Error, Error;
    /// `encoding` without `data`.
    DataMissing = 141: Error, Error;
    /// `data` is of the wrong JSON type for the encoding, or a string that is no Unicode.
    DataType = 142: Error, Error;
    /// NUL in text: Flux cannot read the archive.
    TextWithNul = 143: Warning, Warning;
    /// base64 without its padding, or with bits left over.
    UntidyBase64 = 144: Error, Warning;
    /// no base64.
    Base64 = 145: Error, Error;
    /// a region is no offset, size and blobref, or lies beyond the file.
    Region = 150: Error, Error;
    /// regions out of order, overlapping, of length 0, or with extra members.
    UntidyRegions = 151: Error, Warning;
    /// a blobref is malformed.
    BlobRef = 152: Error, Error;
    /// a blobref has an unknown hash.
    UnknownHash = 153: Error, Error;
    /// a blob above 1 MiB, or a blobref in upper case.
    UntidyBlob = 154: Warning, Accept;
    /// a blob is nowhere.
    BlobMissing = 155: Error, Error;
    /// a blob is not as long as its region.
    BlobLength = 156: Error, Error;
    /// a blob has another digest than its blobref.
    BlobDigest = 157: Error, Error;
    /// the target of a symbolic link is missing, empty or no string.
    LinkTarget = 160: Error, Error;
    /// the dialect before RFC 37.
    OldDialect = 170: Error, Error;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
