//! How a file is written.

use crate::codec::Compression;
use crate::tag::Version;
use crate::tree::metadata::{ExtensionMetadata, HistoryEntry, Software};

/// What the file says wrote it.
#[derive(Clone, Debug)]
pub(crate) enum Library {
    Ours,
    AsInTheTree,
    Other(Software),
}

/// How to write a file.
///
/// ```
/// use asdf::{Compression, WriteOptions};
///
/// let options = WriteOptions::new().compression(Compression::Zlib(9)).align(4096);
/// ```
#[derive(Clone, Debug)]
pub struct WriteOptions {
    pub(crate) standard: Version,
    pub(crate) compression: Option<Compression>,
    pub(crate) align: u64,
    pub(crate) checksum: bool,
    pub(crate) index: bool,
    pub(crate) inline_below: u64,
    pub(crate) pad_tree: u64,
    pub(crate) library: Library,
    pub(crate) entries: Vec<HistoryEntry>,
    pub(crate) extensions: Vec<ExtensionMetadata>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            standard: Version::new(1, 6, 0),
            compression: None,
            align: 64,
            checksum: true,
            index: true,
            inline_below: 0,
            pad_tree: 0,
            library: Library::Ours,
            entries: Vec::new(),
            extensions: Vec::new(),
        }
    }
}

impl WriteOptions {
    /// Standard 1.6.0, no compression, data at multiples of 64, checksums, an index.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the version of the standard, 1.0.0 to 1.6.0, which selects the versions of tags.
        /// Writing fails on what that version lacks, such as `float16` before 1.6.0.
        standard: Version;
        /// Sets the compression of all blocks whose arrays set none. Without it, new blocks are
        /// not compressed, and blocks of another file keep theirs.
        compression: Compression => Some(compression);
        /// Sets of what the offset of data in the file is a multiple: a power of two up to 32,768,
        /// which the headers of blocks are lengthened for. 1 writes the shortest headers, which
        /// some old readers expect. Default: 64.
        align: u64;
        /// Sets whether blocks have the MD5 of their stored bytes. Default: they have.
        checksum: bool;
        /// Sets whether the file ends with an index of its blocks. Default: it does, if it has
        /// blocks.
        index: bool;
        /// Sets how many elements an array must have to get a block, unless it says
        /// [where](crate::value::Array::storage) it is to be. Default: 0.
        inline_below: u64;
        /// Sets how many blanks follow the tree, so that it may grow in place. Default: 0.
        pad_tree: u64;
        /// Sets what the file says wrote it, `asdf_library`. Default: this crate.
        library: Software => Library::Other(library);
    }

    /// Leaves `asdf_library` as it is in the tree.
    #[must_use]
    pub fn keep_library(mut self) -> Self {
        self.library = Library::AsInTheTree;
        self
    }

    /// Adds an entry to the history of the file.
    #[must_use]
    pub fn history(mut self, entry: HistoryEntry) -> Self {
        self.entries.push(entry);
        self
    }

    /// Adds an extension to those that wrote the file. Before standard 1.2.0 a file has none.
    #[must_use]
    pub fn extension(mut self, extension: ExtensionMetadata) -> Self {
        self.extensions.push(extension);
        self
    }
}
