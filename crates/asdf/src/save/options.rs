//! How a file is written, and how it is changed.

#[cfg(any(unix, windows))]
use std::time::Duration;

#[cfg(any(unix, windows))]
use binio::Limits;

use crate::codec::Compression;
use crate::tag::Version;
use crate::tree::metadata::{ExtensionMetadata, HistoryEntry, Software};

/// The most bytes of padding after a tree that are written, and that an edit uses.
pub(super) const MAX_PADDING: u64 = 64 << 20;

/// How long to wait for another process that is changing a file.
#[cfg(any(unix, windows))]
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

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
        /// Sets how many blanks follow the tree, so that it may grow in place: at most 64 MiB. Default: 0.
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

/// How a file is changed.
///
/// ```
/// use asdf::save::EditOptions;
///
/// let options = EditOptions::new().in_place(true);
/// ```
#[cfg(any(unix, windows))]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EditOptions {
    pub(super) in_place: bool,
    pub(super) read_only: bool,
    pub(super) patience: Duration,
    pub(super) limits: Limits,
}

#[cfg(any(unix, windows))]
impl Default for EditOptions {
    fn default() -> Self {
        Self { in_place: false, read_only: false, patience: PATIENCE, limits: Limits::default() }
    }
}

#[cfg(any(unix, windows))]
impl EditOptions {
    /// The default: see the methods.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets whether the file itself is changed, under a journal, instead of replaced by a new one:
        /// for files that are too large to be copied. Other programs may then see a file that is being
        /// changed. The tree has to fit its room, and removed blocks keep theirs. Default: no.
        in_place: bool;
        /// Sets whether a read-only file is changed. Default: no.
        read_only: bool;
        /// Sets how long to wait for another process that is changing the file. Default: 10 seconds.
        patience: Duration;
        /// Sets the limits for reading the file and for the tree that the edits lead to.
        limits: Limits;
    }
}
