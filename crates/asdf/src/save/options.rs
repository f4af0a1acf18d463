//! Options for writing and editing files.

#[cfg(any(unix, windows))]
use std::time::Duration;

#[cfg(any(unix, windows))]
use binio::Limits;

use crate::codec::Compression;
use crate::tag::Version;
use crate::tree::metadata::{ExtensionMetadata, HistoryEntry, Software};

/// The maximum amount of padding after a tree, in bytes, both when writing and when editing.
pub(super) const MAX_PADDING: u64 = 64 << 20;

/// The default time to wait while another process is changing a file.
#[cfg(any(unix, windows))]
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The value of `asdf_library`, the software that wrote the file.
#[derive(Clone, Debug)]
pub(crate) enum Library {
    Ours,
    AsInTheTree,
    Other(Software),
}

/// Options for writing a file.
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
    /// Creates options with the default values: standard 1.6.0, no compression, data aligned to 64 bytes,
    /// checksums, and an index.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the version of the standard, from 1.0.0 to 1.6.0, which determines the versions of tags.
        /// Writing fails if the tree needs a feature that the version lacks, such as `float16` before 1.6.0.
        standard: Version;
        /// Sets the compression of all blocks whose arrays do not set their own. By default, new blocks are
        /// not compressed and copied blocks keep their compression.
        compression: Compression => Some(compression);
        /// Sets the alignment of block data in bytes: a power of two up to 32,768. Block headers are extended
        /// to align the data. With an alignment of 1, headers are as short as possible, which some old readers
        /// expect. Default: 64.
        align: u64;
        /// Sets whether blocks have an MD5 checksum of their stored bytes. Default: `true`.
        checksum: bool;
        /// Sets whether a file with blocks ends with a block index. Default: `true`.
        index: bool;
        /// Sets how many elements an array must have to be stored in a block. Smaller arrays are stored in the
        /// tree, unless they set their own [storage](crate::value::Array::storage) or cannot be stored in the
        /// tree. Default: 0.
        inline_below: u64;
        /// Sets the number of padding bytes after the tree, at most 64 MiB, so that the tree can grow in place.
        /// Default: 0.
        pad_tree: u64;
        /// Sets `asdf_library`, the software that wrote the file. Default: `scibin` with the version of this
        /// crate.
        library: Software => Library::Other(library);
    }

    /// Keeps the `asdf_library` entry of the tree instead of replacing it.
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

    /// Adds an extension to the history of the file. Has no effect before version 1.2.0 of the standard.
    #[must_use]
    pub fn extension(mut self, extension: ExtensionMetadata) -> Self {
        self.extensions.push(extension);
        self
    }
}

/// Options for editing a file.
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
    /// Creates options with the default values, which are documented with each setter.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets whether to change the existing file instead of replacing it with a new one. A journal protects
        /// the change, but programs that ignore the journal may read a partly changed file. This is meant for
        /// files too large to copy. The tree has to fit into the space before the first block, and the space of
        /// removed blocks is not freed. Default: `false`.
        in_place: bool;
        /// Sets whether read-only files may be edited. They are replaced with new files, even with
        /// [`in_place`](Self::in_place). Default: `false`.
        read_only: bool;
        /// Sets how long to wait if another process is editing the file. Default: 10 seconds.
        patience: Duration;
        /// Sets the limits for reading the file, which also apply to the edited tree. Default:
        /// [`Limits::default`].
        limits: Limits;
    }
}
