//! How to read a file: strictness, limits, checks.

use std::path::Path;
use std::sync::Arc;

use binio::{Limits, ReadAt};
use bytes::Bytes;

use crate::asdf::Asdf;
use crate::error::Result;
use crate::tree::external::External;
use crate::yaml::ScalarRules;

/// What to do about a file that is not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Read what can be read for certain, and report the rest.
    #[default]
    Normal,
    /// Refuse a file whose layout gives any diagnostic. All block headers are read on opening.
    Strict,
    /// Find as much as there is: blocks behind gaps, the beginnings of blocks that are cut. All
    /// bytes between blocks are read on opening. Never for data that must be right.
    Salvage,
}

/// When to check the MD5 of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// Only when [`Block::verify`](crate::Block::verify) asks for it.
    #[default]
    Never,
    /// Before the data of a block is given for the first time. Costs a pass over all its stored
    /// bytes, also when only a range is read.
    OnRead,
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
    pub(crate) verify: Verify,
    pub(crate) scalars: ScalarRules,
    pub(crate) external: External,
    pub(crate) limits: Limits,
    pub(crate) cache_size: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            strictness: Strictness::default(),
            verify: Verify::default(),
            scalars: ScalarRules::default(),
            external: External::default(),
            limits: Limits::default(),
            cache_size: 64 << 20,
        }
    }
}

impl OpenOptions {
    /// The default options: normal strictness, no checks of checksums, 64 MiB of cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to do about a file that is not as it should be.
    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// When to check the MD5 of a block.
    #[must_use]
    pub fn verify(mut self, verify: Verify) -> Self {
        self.verify = verify;
        self
    }

    /// How untagged plain scalars of the tree resolve.
    #[must_use]
    pub fn scalars(mut self, rules: ScalarRules) -> Self {
        self.scalars = rules;
        self
    }

    /// Which other files the file may name as places of its data and goals of its references.
    #[must_use]
    pub fn external(mut self, external: External) -> Self {
        self.external = external;
        self
    }

    /// What the file may make this crate allocate, decode and count.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many bytes of decoded blocks are kept, in case they are read again. Blocks that are
    /// still in use elsewhere are shared whatever this says.
    #[must_use]
    pub fn cache_size(mut self, bytes: u64) -> Self {
        self.cache_size = bytes;
        self
    }

    /// Opens a file: by memory map with the feature `mmap`, by positional reads without.
    #[cfg(any(unix, windows))]
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Asdf> {
        let path = path.as_ref();
        #[cfg(feature = "mmap")]
        let source: Arc<dyn ReadAt> = Arc::new(binio::Mmap::open(path)?);
        #[cfg(not(feature = "mmap"))]
        let source: Arc<dyn ReadAt> = Arc::new(binio::FileSource::open(path)?);
        Asdf::with_options(source, Some(path.to_owned()), self.clone())
    }

    /// Reads a file that is in memory. Nothing is copied.
    #[allow(clippy::wrong_self_convention, reason = "options build files, as in std's OpenOptions")]
    pub fn from_bytes(&self, bytes: impl Into<Bytes>) -> Result<Asdf> {
        let bytes: Bytes = bytes.into();
        Asdf::with_options(Arc::new(bytes), None, self.clone())
    }

    /// Reads a file from any source.
    #[allow(clippy::wrong_self_convention, reason = "options build files, as in std's OpenOptions")]
    pub fn from_source(&self, source: Arc<dyn ReadAt>) -> Result<Asdf> {
        Asdf::with_options(source, None, self.clone())
    }
}
