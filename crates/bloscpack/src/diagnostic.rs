//! Irregularities of a file that do not stop the reader.
//!
//! A [`Diagnostic`] is a value, not a log line: a reader collects them while it goes on, and the
//! caller decides what they mean. What stops the reader is an [`Error`] instead.

use binio::diagnostic::Place;
use serde::{Serialize, Serializer};

use crate::Error;

pub use binio::diagnostic::Severity;

/// Something irregular that did not stop the reader. What is about one chunk has the pointer
/// `/chunks/3`, numbered from 0.
pub type Diagnostic = binio::diagnostic::Diagnostic<Code>;

binio::codes! {
    /// The kinds of diagnostics. The names are stable and are what `--json` prints.
    pub enum Code {
        // Header
        /// The numbers of the header are wrong; recovery does without them.
        Header = "Header": Error;
        /// Option bits of a version 2 file that are not defined.
        UnknownOptions = "UnknownOptions": Error;
        /// The typesize of the header is 0; it is advisory.
        TypesizeZero = "TypesizeZero": Note;
        /// The reserved bytes of a version 2 header are not 0.
        ReservedNotZero = "ReservedNotZero": Error;
        /// The header states 0 chunks.
        NoChunks = "NoChunks": Note;
        /// Room for appending without an offset table to append to; it is ignored.
        RoomWithoutOffsets = "RoomWithoutOffsets": Error;
        /// The sizes in the header differ from those of the chunks.
        SizeMismatch = "SizeMismatch": Error;
        /// The number of chunks was found by reading to the end.
        UnknownCount = "UnknownCount": Note;
        // Offsets
        /// No offsets were filled in: the writer was interrupted, or wrote a stream.
        OffsetsUnset = "OffsetsUnset": Note;
        /// Offsets are wrong; the chunks were found in sequence.
        OffsetMismatch = "OffsetMismatch": Error;
        /// A spare offset is not -1.
        SpareOffset = "SpareOffset": Error;
        /// The file ends too early.
        Truncated = "Truncated": Error;
        /// Bytes after the last chunk, such as appending leaves.
        StaleTail = "StaleTail": Note;
        // Metadata
        /// The metadata cannot be read.
        Metadata = "Metadata": Error;
        /// Options or user bytes of the metadata section are not 0.
        MetadataReserved = "MetadataReserved": Note;
        /// The magic of the metadata is padded with blanks.
        MagicPadding = "MagicPadding": Note;
        /// A key of the metadata occurs twice; the last one applies.
        DuplicateKey = "DuplicateKey": Note;
        /// An integer of the metadata is beyond 64 bits: its value is rounded, its text is exact.
        BigInteger = "BigInteger": Note;
        /// The metadata describe an array that does not fit the data.
        Array = "Array": Error;
        // Chunks
        /// A chunk cannot be decoded or its digest is wrong.
        BadChunk = "BadChunk": Error;
        /// A change in place is not finished; its journal lies beside the file.
        Journal = "Journal": Error;
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A diagnostic at a byte of the file.
pub(crate) fn at(code: Code, offset: u64, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, Place::at(offset), message)
}

/// A diagnostic about a chunk, at a byte of the file.
pub(crate) fn of_chunk(code: Code, chunk: u64, offset: u64, message: String) -> Diagnostic {
    Diagnostic::new(code, Place::at(offset).pointer(format!("/chunks/{chunk}")), message)
}

/// What stops a reader elsewhere, where the caller goes on.
pub(crate) fn from_error(code: Code, error: &Error) -> Diagnostic {
    let (offset, message) = (error.offset().unwrap_or_default(), error.kind().to_string());
    match error.kind().chunk() {
        Some(chunk) => of_chunk(code, chunk, offset, message),
        None => at(code, offset, message),
    }
}
