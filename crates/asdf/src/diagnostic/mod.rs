//! What is odd about a file and can be lived with.
//!
//! A [`Diagnostic`] is a value, not a log line: a reader collects them while it goes on, and the
//! caller decides what they mean. What stops a part of the file from being read is an
//! [`Error`](crate::Error) instead.

mod reports;

use std::fmt;

pub(crate) use reports::Reports;

/// Something odd that did not stop the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What it is, for programs.
    pub code: Code,
    /// Byte offset in the file where it begins.
    pub offset: u64,
    /// Line, counted from 1, where the place is in the text of the file's head or tree.
    pub line: Option<u32>,
    /// What it is, for people: one line, without the offset.
    pub message: String,
}

impl Diagnostic {
    /// A diagnostic at a byte offset of the file.
    pub fn new(code: Code, offset: u64, message: impl Into<String>) -> Self {
        Self { code, offset, line: None, message: message.into() }
    }

    /// The same with a line number, counted from 1.
    #[must_use]
    pub fn with_line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (offset {}", self.code, self.message, self.offset)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        f.write_str(")")
    }
}

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Odd or against the letter of the standard, and nothing is lost.
    Remark,
    /// Something is damaged, or lies where normal reading does not reach.
    Damage,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// The kinds of diagnostics. The names are stable and are what `--json` prints.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// The name, as `--json` prints it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }
        }
    };
}

codes! {
    // Layout
    /// White space in the header line other than one blank.
    HeaderWhitespace,
    /// A file-format version of major 1 other than 1.0.0.
    UnsupportedVersion,
    /// An `#ASDF_STANDARD` version that this crate does not know.
    UnknownStandard,
    /// Something other than comments between header and tree or first block.
    BytesBeforeTree,
    /// The tree does not begin with `%YAML`.
    MissingYamlDirective,
    /// No `...` line ends the tree.
    MissingDocumentEnd,
    /// The tree ends with `...` in an unusual form.
    DocumentEndForm,
    /// A block magic in the padding after the tree that begins no plausible block.
    FalseMagic,
    /// Bytes after the last block that are neither block nor index.
    TrailingBytes,
    /// Block flags this crate does not know.
    UnknownFlags,
    /// `used_size` is above `allocated_size`.
    UsedExceedsAllocated,
    /// `data_size` differs from `used_size` in an uncompressed block.
    DataSizeMismatch,
    /// A block that cannot be read: its header is broken or it ends past the end of the file.
    BadBlock,
    /// The block index points elsewhere than the blocks are.
    IndexStale,
    /// The block index has fewer entries than there are blocks.
    IndexShort,
    /// The block index has more entries than there are blocks.
    IndexLong,
    /// The block index is no list of offsets.
    IndexUnparsable,
    /// Something the salvage scan found that the normal reading does not reach.
    Salvaged,
    // Decoding
    /// Bytes after the end of the compressed stream.
    BytesAfterStream,
    /// A second compressed stream in one block.
    SecondStream,
    /// A compressed stream cut inside its checksum, its data whole.
    StreamChecksumCut,
    /// The checksum is that of the decoded bytes, as old writers took it.
    DecodedLegacy,
    // Tree
    /// A `%YAML` version of major 1 other than 1.1.
    YamlVersion,
    /// A directive that is neither `%YAML` nor `%TAG`.
    UnknownDirective,
    /// A line break of YAML 1.1 (NEL, LS, PS) inside quotes, kept as it is.
    UnicodeLineBreak,
    /// The root of the tree is no mapping.
    RootNotMapping,
    /// The root of the tree carries no `core/asdf` tag.
    RootTag,
    /// A known tag in a version this crate does not know; its content stays plain.
    UnknownTagVersion,
    /// A tag newer than the file's declared standard.
    NewerTag,
    /// One key twice in a mapping: the last counts.
    DuplicateKey,
    /// A key of a type that the standard does not allow.
    KeyType,
    /// An anchor defined twice: the last before an alias counts.
    AnchorRedefined,
    /// A plain `<<` or `=` where it has no special meaning.
    SpecialScalar,
    /// A number without digits, kept as a string.
    EmptyNumber,
    /// A date that does not exist, kept as a string.
    ImpossibleDate,
    /// An integer literal outside what the standard allows for literals.
    LargeInteger,
    // Arrays and references
    /// No `byteorder` on an array of one-byte items.
    MissingByteorder,
    /// A stride of 0.
    ZeroStride,
    /// Bytes of a streamed block that make no whole row.
    PartialRow,
    /// Keys beside `$ref`, which do not count.
    ReferenceSiblings,
    /// The decimal text of an integer differs from its words.
    IntegerText,
}

impl Code {
    /// How much it matters: a check of a file fails on [`Severity::Damage`].
    pub fn severity(self) -> Severity {
        match self {
            Self::BadBlock
            | Self::TrailingBytes
            | Self::UsedExceedsAllocated
            | Self::DataSizeMismatch
            | Self::MissingDocumentEnd
            | Self::StreamChecksumCut
            | Self::Salvaged
            | Self::PartialRow => Severity::Damage,
            _ => Severity::Remark,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
