//! Irregularities in a file that do not stop the reader.
//!
//! A [`Diagnostic`] is a value, not a log line: the reader collects diagnostics and continues, and the caller
//! decides what to do about them. Accessing a part of the file that cannot be read fails with an
//! [`Error`](crate::Error).
//!
//! ```
//! use asdf::Asdf;
//! use asdf::diagnostic::{Code, Severity};
//!
//! let file = Asdf::from_bytes(&b"#ASDF  1.0.0\n"[..])?;
//! let diagnostics = file.diagnostics();
//! assert_eq!(diagnostics[0].code, Code::HeaderWhitespace);
//! assert_eq!(diagnostics[0].severity, Severity::Warning);
//! assert_eq!(diagnostics[0].place.line, Some(1));
//! # Ok::<(), asdf::Error>(())
//! ```

mod reports;

pub use binio::diagnostic::{Place, Severity};

pub(crate) use reports::Reports;

/// An irregularity that did not stop the reader.
pub type Diagnostic = binio::diagnostic::Diagnostic<Code>;

binio::codes! {
    /// The kinds of diagnostics. Their names are stable, because `scibin --json` prints them. Checking a file
    /// fails if it has a diagnostic with [`Severity::Error`].
    pub enum Code {
        // Layout
        /// White space in the header line other than a single space.
        HeaderWhitespace = "HeaderWhitespace": Warning;
        /// A file format version other than `1.0.0` whose major version is 1.
        UnsupportedVersion = "UnsupportedVersion": Warning;
        /// An `#ASDF_STANDARD` version that this crate does not know.
        UnknownStandard = "UnknownStandard": Warning;
        /// Bytes other than comments between the header and the tree or first block.
        BytesBeforeTree = "BytesBeforeTree": Warning;
        /// The tree does not begin with `%YAML`.
        MissingYamlDirective = "MissingYamlDirective": Warning;
        /// The tree does not end with a line `...`.
        MissingDocumentEnd = "MissingDocumentEnd": Error;
        /// The `...` line at the end of the tree does not end with LF or CR LF, but with a lone
        /// carriage return or at a block magic.
        DocumentEndForm = "DocumentEndForm": Warning;
        /// The padding after the tree contains a block magic, but no plausible block begins there.
        FalseMagic = "FalseMagic": Note;
        /// Bytes after the last block that are neither a block nor the index.
        TrailingBytes = "TrailingBytes": Error;
        /// Block flags that this crate does not know.
        UnknownFlags = "UnknownFlags": Warning;
        /// The `used_size` of a block exceeds its `allocated_size`.
        UsedExceedsAllocated = "UsedExceedsAllocated": Error;
        /// The `data_size` of an uncompressed block differs from its `used_size`.
        DataSizeMismatch = "DataSizeMismatch": Error;
        /// The index or the next block shows that a block does not end where its header says.
        HeaderContradicted = "HeaderContradicted": Error;
        /// A block that cannot be read, because its header is invalid, it ends past the end of the file, or its
        /// data cannot be decoded.
        BadBlock = "BadBlock": Error;
        /// The data of a block does not match its checksum.
        ChecksumMismatch = "ChecksumMismatch": Error;
        /// The block index does not agree with the blocks.
        IndexStale = "IndexStale": Warning;
        /// The block index has fewer entries than there are blocks.
        IndexShort = "IndexShort": Warning;
        /// The block index has more entries than there are blocks.
        IndexLong = "IndexLong": Warning;
        /// The blocks are near, but not at, the offsets in the index, because bytes were added or removed, for
        /// example by a line-ending conversion.
        IndexDrift = "IndexDrift": Error;
        /// The block index is not a list of offsets, or has more than
        /// [`Limits::max_items`](crate::Limits::max_items) entries.
        IndexUnparsable = "IndexUnparsable": Warning;
        /// The file contains neither a tree nor blocks. This is only reported when a file is checked.
        NoContent = "NoContent": Warning;
        /// A block that was found by a search during salvaging, or the remaining bytes of a truncated block.
        Salvaged = "Salvaged": Error;
        // Decoding
        /// Bytes after the end of the compressed stream.
        BytesAfterStream = "BytesAfterStream": Warning;
        /// A second compressed stream in one block.
        SecondStream = "SecondStream": Warning;
        /// A compressed stream that is truncated after its data, so its checksum cannot be verified. This is only
        /// reported when a file is salvaged; otherwise, the block cannot be decoded.
        StreamChecksumTruncated = "StreamChecksumTruncated": Error;
        /// The checksum of a block is the digest of the decoded bytes instead of the stored bytes. Some old
        /// writers computed it in this way.
        ChecksumOfDecodedBytes = "ChecksumOfDecodedBytes": Note;
        // Tree
        /// The tree cannot be parsed.
        BadTree = "BadTree": Error;
        /// A node does not fit its tag, or an array cannot be read, for example because it does not lie within
        /// its block.
        BadNode = "BadNode": Error;
        /// The data of an array is in an external file that was not opened, so it was not checked. Or the
        /// checksum of a block cannot be verified, because this build lacks the feature that is required to
        /// decode the block.
        NotChecked = "NotChecked": Error;
        /// A `%YAML` version 1.x other than 1.1.
        YamlVersion = "YamlVersion": Warning;
        /// A directive that is neither `%YAML` nor `%TAG`.
        UnknownDirective = "UnknownDirective": Note;
        /// The root of the tree is not a mapping.
        RootNotMapping = "RootNotMapping": Warning;
        /// The root of the tree has no `core/asdf` tag.
        RootTag = "RootTag": Warning;
        /// A known tag in an unknown version. The content of the node is not interpreted.
        UnknownTagVersion = "UnknownTagVersion": Warning;
        /// A tag that is newer than the declared version of the standard.
        NewerTag = "NewerTag": Warning;
        /// A key that occurs more than once in a mapping. The last value is used.
        DuplicateKey = "DuplicateKey": Warning;
        /// A key of a type that the standard does not allow.
        KeyType = "KeyType": Warning;
        /// An anchor that is defined more than once. An alias refers to the last definition before it.
        AnchorRedefined = "AnchorRedefined": Note;
        /// A plain `<<` or `=` at a position where it has no special meaning.
        SpecialScalar = "SpecialScalar": Note;
        /// A number without digits, which is read as a string.
        EmptyNumber = "EmptyNumber": Warning;
        /// A date or time that does not exist, which is read as a string.
        ImpossibleDate = "ImpossibleDate": Warning;
        /// An integer literal outside the range that the standard allows.
        LargeInteger = "LargeInteger": Warning;
        // Schemas
        /// A node does not match the schema of its tag.
        SchemaMismatch = "SchemaMismatch": Error;
        /// A schema that was not found or cannot be used, so nodes were not checked against it.
        BadSchema = "BadSchema": Error;
        /// A tag without a schema.
        NoSchema = "NoSchema": Warning;
        // Arrays and references
        /// An array without `byteorder` that can be read without it, for example because its
        /// elements have one byte each.
        MissingByteorder = "MissingByteorder": Warning;
        /// An array with a stride of 0.
        ZeroStride = "ZeroStride": Note;
        /// Bytes at the end of a block that do not form a complete row of an array whose first dimension is open.
        PartialRow = "PartialRow": Error;
        /// Keys next to `$ref`, which are ignored.
        ReferenceSiblings = "ReferenceSiblings": Note;
        /// The decimal text in the `string` of a `core/integer` differs from the number in its
        /// `words`.
        IntegerText = "IntegerText": Warning;
    }
}
