//! What is odd about a file and can be lived with.
//!
//! A [`Finding`] is a value, not a log line: a reader collects them while it goes on, and the
//! caller decides what they mean. What stops the reader is an [`Error`](crate::Error) instead.

use std::fmt;

use crate::Error;

/// Something odd that did not stop the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is, for programs.
    pub code: Code,
    /// Byte offset in the file.
    pub offset: u64,
    /// The chunk that it is about, from 0.
    pub chunk: Option<u64>,
    /// What it is, for people: one line, without offset and chunk.
    pub message: String,
}

impl Finding {
    pub(crate) fn new(code: Code, offset: u64, message: impl Into<String>) -> Self {
        Self { code, offset, chunk: None, message: message.into() }
    }

    pub(crate) fn of_chunk(mut self, index: u64) -> Self {
        self.chunk = Some(index);
        self
    }

    /// What stops a reader elsewhere, where the caller goes on.
    pub(crate) fn from_error(code: Code, error: &Error) -> Self {
        let chunk = error.kind().chunk();
        let mut message = error.kind().to_string();
        if let Some(chunk) = chunk {
            let prefix = format!("chunk {chunk}: ");
            message = message.strip_prefix(&prefix).map(str::to_owned).unwrap_or(message);
        }
        Self { code, offset: error.offset().unwrap_or_default(), chunk, message }
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (offset {}", self.code, self.message, self.offset)?;
        if let Some(chunk) = self.chunk {
            write!(f, ", chunk {chunk}")?;
        }
        f.write_str(")")
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Legal or harmless: `verify` calls the file fine.
    Note,
    /// Something is wrong with the file.
    Damage,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident: $severity:ident,)+) => {
        /// The kinds of findings. The names are stable and are what `--json` prints.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// The name, as `--json` prints it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// How much it matters.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    // Header
    /// The header's numbers are wrong; recovery does without them.
    Header: Damage,
    /// Option bits of a version 2 file that nobody defined.
    UnknownOptions: Damage,
    /// The header's typesize is 0; it is advisory.
    TypesizeZero: Note,
    /// The reserved bytes of a version 2 header are not 0.
    ReservedNotZero: Damage,
    /// The header says that there are no chunks.
    NoChunks: Note,
    /// Room for appending without an offset table to append to; it is ignored.
    RoomWithoutOffsets: Damage,
    /// The header's sizes are other than the chunks'.
    SizeMismatch: Damage,
    /// The number of chunks was found by reading to the end.
    UnknownCount: Note,
    // Offsets
    /// No offsets were filled in: the writer was interrupted, or wrote a stream.
    OffsetsUnset: Note,
    /// Offsets are wrong; the chunks were found in sequence.
    OffsetMismatch: Damage,
    /// A spare offset is not -1.
    SpareOffset: Damage,
    /// The file ends too early.
    Truncated: Damage,
    /// Bytes after the last chunk, such as appending leaves.
    StaleTail: Note,
    // Metadata
    /// The metadata cannot be read.
    Metadata: Damage,
    /// Options or user bytes of the metadata section are not 0.
    MetadataReserved: Note,
    /// The metadata's magic is padded with blanks.
    MagicPadding: Note,
    /// A key of the metadata occurs twice; the last counts.
    DuplicateKey: Note,
    /// An integer of the metadata is beyond 64 bits: its value is rounded, its text is exact.
    BigInteger: Note,
    /// The metadata describe an array that the data are not.
    Array: Damage,
    // Chunks
    /// A chunk cannot be decoded or its digest is wrong.
    BadChunk: Damage,
    /// An append was interrupted; its journal lies beside the file.
    Journal: Damage,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
