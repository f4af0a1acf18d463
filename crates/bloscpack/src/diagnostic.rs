//! Non-fatal irregularities in a file.
//!
//! A [`Diagnostic`] is a value, not a log line: the reader collects diagnostics and continues, and the caller decides
//! what they mean. An irregularity that stops the reader is an [`Error`].

use binio::diagnostic::Place;
use serde::{Serialize, Serializer};

use crate::Error;

pub use binio::diagnostic::Severity;

/// An irregularity that did not stop the reader. The pointer of a diagnostic about a chunk
/// identifies the chunk: `/chunks/3` is the fourth chunk.
pub type Diagnostic = binio::diagnostic::Diagnostic<Code>;

binio::codes! {
    /// The kinds of diagnostics. The names are stable, and `scibin` prints them with `--json`.
    pub enum Code {
        // Header
        /// The header is invalid. Only [`recover`](crate::repair::recover) reports this, because it
        /// does not need the invalid fields.
        Header = "Header": Error;
        /// Undefined option bits are set in a version 2 file.
        UnknownOptions = "UnknownOptions": Error;
        /// The header states a typesize of 0. The typesize is only advisory.
        TypesizeZero = "TypesizeZero": Note;
        /// The reserved bytes of a version 2 header are not 0.
        ReservedNotZero = "ReservedNotZero": Error;
        /// The header of a version 3 file states 0 chunks.
        NoChunks = "NoChunks": Note;
        /// The header states a number of spare offsets, but there is no table of offsets, so the
        /// number is ignored.
        SpareWithoutOffsets = "SpareWithoutOffsets": Error;
        /// The number or the sizes of the chunks differ from those in the header.
        SizeMismatch = "SizeMismatch": Error;
        /// The header does not state the number of chunks, so the chunks were counted by reading to
        /// the end of the file.
        UnknownCount = "UnknownCount": Note;
        // Offsets
        /// All offsets are unset (-1), usually because the writer was interrupted. Each chunk was
        /// located from the end of the previous one.
        OffsetsUnset = "OffsetsUnset": Note;
        /// An offset is wrong, or the offsets are in a different order than the chunks. In the
        /// report of [`recover`](crate::repair::recover), this can also mean that the first chunk
        /// does not begin where the header implies.
        OffsetMismatch = "OffsetMismatch": Error;
        /// A spare offset is not -1.
        SpareOffset = "SpareOffset": Error;
        /// The file is truncated.
        Truncated = "Truncated": Error;
        /// There are bytes after the last chunk, possibly left behind by appending.
        StaleTail = "StaleTail": Note;
        // Metadata
        /// The metadata cannot be read, exceeds a limit, or is not valid JSON. In the report of
        /// [`recover`](crate::repair::recover), this can also mean that the header of the metadata
        /// section is invalid.
        Metadata = "Metadata": Error;
        /// The options or the user bytes of the metadata section are not 0.
        MetadataReserved = "MetadataReserved": Note;
        /// The signature of the metadata section is padded with spaces instead of zeros.
        MagicPadding = "MagicPadding": Note;
        /// A key occurs twice in an object of the metadata. Its last value applies.
        DuplicateKey = "DuplicateKey": Note;
        /// An integer in the metadata does not fit into 64 bits. Parsing rounds the integer, but the metadata text
        /// keeps the exact digits.
        BigInteger = "BigInteger": Note;
        /// The metadata describes an array whose type is not supported, whose shape is invalid, or
        /// whose length differs from that of the data.
        Array = "Array": Error;
        // Chunks
        /// A chunk has an invalid structure or a wrong digest, is a Blosc2 buffer, or does not
        /// decode.
        BadChunk = "BadChunk": Error;
        /// There is a journal next to the file. Either an in-place change of the file was
        /// interrupted or is still in progress, or the journal belongs to another file.
        Journal = "Journal": Error;
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Creates a diagnostic at an offset in the file.
pub(crate) fn at(code: Code, offset: u64, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, Place::at(offset), message)
}

/// Creates a diagnostic about a chunk, at an offset in the file.
pub(crate) fn of_chunk(code: Code, chunk: u64, offset: u64, message: String) -> Diagnostic {
    Diagnostic::new(code, Place::at(offset).pointer(format!("/chunks/{chunk}")), message)
}

/// Turns an error into a diagnostic, for callers that continue despite the error.
pub(crate) fn from_error(code: Code, error: &Error) -> Diagnostic {
    let (offset, message) = (error.offset().unwrap_or_default(), error.kind().to_string());
    match error.kind().chunk() {
        Some(chunk) => of_chunk(code, chunk, offset, message),
        None => at(code, offset, message),
    }
}
