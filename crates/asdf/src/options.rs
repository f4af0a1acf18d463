//! How to read a file: strictness, limits, checks.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use binio::{Limits, ReadAt};

use crate::error::Result;
use crate::yaml::ScalarRules;

/// What to do about a file that is not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Read what can be read for certain, and report the rest.
    #[default]
    Lenient,
    /// Reject a file whose layout has any diagnostic. All block headers are read on opening.
    Strict,
    /// Find as much as there is: blocks after gaps, the beginnings of blocks that are cut. All
    /// bytes between blocks are read on opening. Never for data that must be right.
    Salvage,
}

/// When to compare the data of a block with its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// Only when [`Block::verify`](crate::block::Block::verify) or [`Asdf::verify`](crate::Asdf::verify)
    /// asks for it.
    Never,
    /// Before the data of a block is returned for the first time. Costs a pass over all its stored
    /// bytes, also when only a range is read.
    OnRead,
    /// Like [`OnRead`](Self::OnRead), but data that does not match is returned too, and the file has a diagnostic
    /// [`ChecksumMismatch`](crate::diagnostic::Code::ChecksumMismatch) for each such block.
    Report,
}

/// A function that opens the file of a URI.
type OpenUri = dyn Fn(&str) -> Result<Arc<dyn ReadAt>> + Send + Sync;

/// Which other files may be opened.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum External {
    /// None.
    Deny,
    /// Those in the folder of the file that was opened first, and in folders below it, also after
    /// symbolic links are followed. No `..`, no absolute path, no scheme.
    #[default]
    SameDir,
    /// The same, but below this folder.
    Root(PathBuf),
    /// Any on this machine: paths with `..`, absolute paths, `file:` URIs. For trusted files.
    Any,
    /// Those that this function opens. It gets the URI as written in the file, without its fragment.
    Resolver(Arc<OpenUri>),
}

impl External {
    /// The default of [`OpenOptions::max_files`].
    pub const MAX_FILES: usize = 10_000;
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deny => f.write_str("Deny"),
            Self::SameDir => f.write_str("SameDir"),
            Self::Root(root) => f.debug_tuple("Root").field(root).finish(),
            Self::Any => f.write_str("Any"),
            Self::Resolver(_) => f.write_str("Resolver(..)"),
        }
    }
}

/// How to read a file.
///
/// ```
/// use asdf::{OpenOptions, Strictness, Verify};
///
/// let options = OpenOptions::new().strictness(Strictness::Strict).verify(Verify::OnRead);
/// let file = options.from_bytes(&b"#ASDF 1.0.0\n"[..])?;
/// assert_eq!(file.blocks().len()?, 0);
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub(crate) strictness: Strictness,
    pub(crate) verify: Option<Verify>,
    pub(crate) scalars: ScalarRules,
    pub(crate) external: External,
    pub(crate) max_files: usize,
    pub(crate) limits: Limits,
    pub(crate) cache_size: u64,
    #[cfg_attr(not(any(unix, windows)), allow(dead_code, reason = "this target maps no files"))]
    pub(crate) mmap: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            strictness: Strictness::default(),
            verify: None,
            scalars: ScalarRules::default(),
            external: External::default(),
            max_files: External::MAX_FILES,
            limits: Limits::default(),
            cache_size: 64 << 20,
            mmap: false,
        }
    }
}

impl OpenOptions {
    /// The default options: see the methods; 64 MiB of cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to do about a file that is not as it should be.
    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// When to compare the data of blocks with their checksums.
    ///
    /// By default that is on reading for a compressed block which a read decodes as a whole, and
    /// never for an uncompressed one, for a part of a block that is compressed in chunks, and with
    /// [`Strictness::Salvage`]. This sets it for all blocks and reads alike.
    #[must_use]
    pub fn verify(mut self, verify: Verify) -> Self {
        self.verify = Some(verify);
        self
    }

    /// How untagged plain scalars of the tree resolve.
    #[must_use]
    pub fn scalars(mut self, rules: ScalarRules) -> Self {
        self.scalars = rules;
        self
    }

    /// Which other files the file may name for its data and its references.
    #[must_use]
    pub fn external(mut self, external: External) -> Self {
        self.external = external;
        self
    }

    /// The number of other files that may be read. Only some of them are open at a time.
    #[must_use]
    pub fn max_files(mut self, max_files: usize) -> Self {
        self.max_files = max_files;
        self
    }

    /// What the file may make this crate allocate, decode and count.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many bytes of decoded blocks are kept, in case they are read again. Blocks that are
    /// still in use elsewhere are always shared.
    #[must_use]
    pub fn cache_size(mut self, bytes: u64) -> Self {
        self.cache_size = bytes;
        self
    }

    /// Maps a large file into memory when it is opened by its path, instead of reading it by
    /// position: blocks are then views without a copy. The head of the file with its tree is read
    /// all the same.
    ///
    /// Only for files that nobody changes while they are open. If the file is truncated, touching
    /// a page that is gone ends the process with `SIGBUS`, which no reader can catch. If it is
    /// written to in place, as the `update()` of the Python package does, data that was verified
    /// may be other data when it is used.
    #[cfg(feature = "mmap")]
    #[must_use]
    pub fn mmap(mut self, mmap: bool) -> Self {
        self.mmap = mmap;
        self
    }
}
