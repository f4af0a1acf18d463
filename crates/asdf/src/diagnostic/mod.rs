//! What is irregular about a file and did not stop the reader.
//!
//! A [`Diagnostic`] is a value, not a log line: a reader collects them while it goes on, and the
//! caller decides what they mean. What stops a part of the file from being read is an
//! [`Error`](crate::Error) instead.

mod reports;

pub use binio::diagnostic::{Place, Severity};

pub(crate) use reports::Reports;

/// Something irregular that did not stop the reader.
pub type Diagnostic = binio::diagnostic::Diagnostic<Code>;

binio::codes! {
    /// The kinds of diagnostics. The names are stable and are what `--json` prints. A check of a
    /// file fails on those of [`Severity::Error`].
    pub enum Code {
        // Layout
        /// White space in the header line other than one blank.
        HeaderWhitespace = "HeaderWhitespace": Warning;
        /// A file-format version of major 1 other than 1.0.0.
        UnsupportedVersion = "UnsupportedVersion": Warning;
        /// An `#ASDF_STANDARD` version that this crate does not know.
        UnknownStandard = "UnknownStandard": Warning;
        /// Something other than comments between header and tree or first block.
        BytesBeforeTree = "BytesBeforeTree": Warning;
        /// The tree does not begin with `%YAML`.
        MissingYamlDirective = "MissingYamlDirective": Warning;
        /// No `...` line ends the tree.
        MissingDocumentEnd = "MissingDocumentEnd": Error;
        /// The tree ends with `...` in an unusual form.
        DocumentEndForm = "DocumentEndForm": Warning;
        /// A block magic in the padding after the tree that begins no plausible block.
        FalseMagic = "FalseMagic": Note;
        /// Bytes after the last block that are neither block nor index.
        TrailingBytes = "TrailingBytes": Error;
        /// Block flags this crate does not know.
        UnknownFlags = "UnknownFlags": Warning;
        /// `used_size` is above `allocated_size`.
        UsedExceedsAllocated = "UsedExceedsAllocated": Error;
        /// `data_size` differs from `used_size` in an uncompressed block.
        DataSizeMismatch = "DataSizeMismatch": Error;
        /// The header of a block leads to no other block, but the index or the block's data does.
        HeaderContradicted = "HeaderContradicted": Error;
        /// A block that cannot be read: its header is broken or it ends past the end of the file.
        BadBlock = "BadBlock": Error;
        /// The data of a block does not match its checksum.
        ChecksumMismatch = "ChecksumMismatch": Error;
        /// The block index does not agree with the blocks.
        IndexStale = "IndexStale": Warning;
        /// The block index has fewer entries than there are blocks.
        IndexShort = "IndexShort": Warning;
        /// The block index has more entries than there are blocks.
        IndexLong = "IndexLong": Warning;
        /// The blocks are not where the index has them, but near: bytes were added or removed, as a
        /// conversion of line ends does.
        IndexDrift = "IndexDrift": Error;
        /// The block index is not a list of offsets.
        IndexUnparsable = "IndexUnparsable": Warning;
        /// A block, or a part of one, that only salvage finds.
        Salvaged = "Salvaged": Error;
        // Decoding
        /// Bytes after the end of the compressed stream.
        BytesAfterStream = "BytesAfterStream": Warning;
        /// A second compressed stream in one block.
        SecondStream = "SecondStream": Warning;
        /// A compressed stream that ends inside its checksum; its data is complete.
        StreamChecksumCut = "StreamChecksumCut": Error;
        /// The checksum is that of the decoded bytes, as old writers computed it.
        DecodedLegacy = "DecodedLegacy": Note;
        // Tree
        /// The tree cannot be parsed.
        BadTree = "BadTree": Error;
        /// A node is not what its tag says, or an array does not lie in its block.
        BadNode = "BadNode": Error;
        /// The data of an array is in another file that was not opened, so it was not checked.
        NotChecked = "NotChecked": Error;
        /// A `%YAML` version of major 1 other than 1.1.
        YamlVersion = "YamlVersion": Warning;
        /// A directive that is neither `%YAML` nor `%TAG`.
        UnknownDirective = "UnknownDirective": Note;
        /// The root of the tree is not a mapping.
        RootNotMapping = "RootNotMapping": Warning;
        /// The root of the tree has no `core/asdf` tag.
        RootTag = "RootTag": Warning;
        /// A known tag in a version this crate does not know; its content stays plain.
        UnknownTagVersion = "UnknownTagVersion": Warning;
        /// A tag newer than the file's declared standard.
        NewerTag = "NewerTag": Warning;
        /// A key twice in a mapping: the last value is used.
        DuplicateKey = "DuplicateKey": Warning;
        /// A key of a type that the standard does not allow.
        KeyType = "KeyType": Warning;
        /// An anchor defined twice: an alias means the last one before it.
        AnchorRedefined = "AnchorRedefined": Note;
        /// A plain `<<` or `=` where it has no special meaning.
        SpecialScalar = "SpecialScalar": Note;
        /// A number without digits, kept as a string.
        EmptyNumber = "EmptyNumber": Warning;
        /// A date that does not exist, kept as a string.
        ImpossibleDate = "ImpossibleDate": Warning;
        /// An integer literal outside what the standard allows for literals.
        LargeInteger = "LargeInteger": Warning;
        // Schemas
        /// A node does not match the schema of its tag.
        SchemaMismatch = "SchemaMismatch": Error;
        /// A schema that was not found, or that cannot be used: what it is about was not checked.
        BadSchema = "BadSchema": Error;
        /// A tag without a schema.
        NoSchema = "NoSchema": Warning;
        // Arrays and references
        /// No `byteorder` on an array of one-byte items.
        MissingByteorder = "MissingByteorder": Warning;
        /// A stride of 0.
        ZeroStride = "ZeroStride": Note;
        /// Bytes at the end of a streamed block that are less than a row.
        PartialRow = "PartialRow": Error;
        /// Keys next to `$ref`, which are ignored.
        ReferenceSiblings = "ReferenceSiblings": Note;
        /// The decimal text of an integer differs from its words.
        IntegerText = "IntegerText": Warning;
    }
}
