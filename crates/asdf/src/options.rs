//! Options for opening a file: strictness, limits and checks.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use binio::{Limits, ReadAt};

use crate::error::Result;
use crate::yaml::ScalarRules;

/// The handling of irregular or damaged files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Reads what can be read with certainty, and reports irregularities as
    /// [diagnostics](crate::Asdf::diagnostics).
    #[default]
    Lenient,
    /// Rejects a file whose layout has any diagnostic, and a tree in which a key occurs more than once in a
    /// mapping. Opening reads all block headers.
    Strict,
    /// Finds as much as possible, including the beginnings of truncated blocks, and blocks after gaps. Opening
    /// reads all bytes outside intact blocks. Not suitable for data that must be correct.
    Salvage,
}

/// The policy for comparing the data of a block with its checksum, the MD5 digest in the block
/// header.
///
/// By default, a block is verified if it is compressed and decoded as a whole; see
/// [`OpenOptions::verify`]. MD5 processes about 0.7 GB of stored bytes per second, and cannot be
/// split across threads. Another thread (feature `rayon`) computes the digest while the block is read
/// or decoded, so that the check takes no additional time if decoding is slower than MD5, as with
/// zlib and bzip2. With LZ4, decoding and checking a block takes two to four times as long as only
/// decoding it, depending on the compression ratio. Without another thread, the times for decoding
/// and for the checksum add up.
///
/// ```
/// use asdf::value::Array;
/// use asdf::{OpenOptions, Tree, Verify, Writer};
///
/// let mut tree = Tree::default();
/// tree.set("/data", Array::from_slice(b"0123456789", &[10])?)?;
/// let mut bytes = std::io::Cursor::new(Vec::new());
/// Writer::new(tree).write_to(&mut bytes)?;
/// let mut bytes = bytes.into_inner();
/// let start = bytes.windows(10).position(|window| window == b"0123456789").unwrap_or(0);
/// bytes[start] = b'x';
///
/// let read = |verify| OpenOptions::new().verify(verify).from_bytes(bytes.clone())?.blocks().get(0)?.decode();
/// assert_eq!(read(Verify::Never)?, "x123456789");
/// assert!(read(Verify::OnRead).is_err());
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// A block is verified only when it is copied to another file, or by functions that check a file, such as
    /// [`Block::verify`](crate::block::Block::verify) and [`Asdf::verify`](crate::Asdf::verify).
    Never,
    /// A block is verified before any of its data is returned for the first time. This reads all of its stored
    /// bytes, even if only a range is requested.
    OnRead,
    /// Like [`OnRead`](Self::OnRead), but data that does not match its checksum is returned as
    /// well, and reported with the diagnostic
    /// [`ChecksumMismatch`](crate::diagnostic::Code::ChecksumMismatch). If a checksum cannot be verified,
    /// because this build lacks a feature, the diagnostic is
    /// [`NotChecked`](crate::diagnostic::Code::NotChecked).
    Report,
}

/// A function that opens the file with a given URI.
type OpenUri = dyn Fn(&str) -> Result<Arc<dyn ReadAt>> + Send + Sync;

/// The policy that decides which external files may be opened to read arrays and follow references. This crate
/// never fetches anything over a network.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum External {
    /// No external file may be opened.
    Deny,
    /// Files may be opened if they are in the folder of the file that the caller opened, or in one of its
    /// subfolders. Symbolic links are resolved before this check. A URI is rejected if it has a scheme, or if
    /// its path is absolute or contains `..`.
    #[default]
    SameDir,
    /// Like [`SameDir`](Self::SameDir), but for the given folder.
    Root(PathBuf),
    /// Any regular file on this machine may be opened. The URI may contain `..`, and may be an absolute path
    /// or a `file:` URI. Use this only for trusted files.
    Any,
    /// This function opens external files. Its argument is the URI as written in the file, but without
    /// the fragment. Several threads may call it at the same time, even for the same URI. It may read the
    /// file that contains the URI, including other external arrays of that file.
    Resolver(Arc<OpenUri>),
}

impl External {
    /// The default of [`OpenOptions::max_files`]: 10,000 files.
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

/// Options for reading a file.
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
    #[cfg_attr(
        not(any(unix, windows)),
        allow(dead_code, reason = "files cannot be mapped on this target")
    )]
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
    /// Creates options with the default values, which are documented with each setter.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how to handle a file that is irregular or damaged. Default: [`Strictness::Lenient`].
    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets when to verify the checksums of blocks. The setting applies to all blocks and to every way of
    /// reading them except [`Block::raw`](crate::block::Block::raw), which never verifies a checksum.
    ///
    /// By default, a compressed block is verified when it is decoded as a whole. Uncompressed
    /// blocks are not verified when they are read, and neither are parts of chunked blocks. With
    /// [`Strictness::Salvage`], the default is [`Verify::Never`].
    #[must_use]
    pub fn verify(mut self, verify: Verify) -> Self {
        self.verify = Some(verify);
        self
    }

    /// Sets the rules that determine the types of plain scalars without a tag. Default:
    /// [`ScalarRules::Python`].
    #[must_use]
    pub fn scalars(mut self, rules: ScalarRules) -> Self {
        self.scalars = rules;
        self
    }

    /// Sets which external files may be opened. Default: [`External::SameDir`].
    ///
    /// ```
    /// use asdf::value::Array;
    /// use asdf::{Asdf, External, OpenOptions, Tree, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.asdf");
    /// let mut tree = Tree::default();
    /// tree.set("/image", Array::from_slice(&[1_u8, 2, 3], &[3])?)?;
    /// Writer::new(tree).explode(&path)?; // the array is in `a0000.asdf`
    ///
    /// let file = Asdf::open(&path)?;
    /// assert_eq!(file.tree()?.pointer("/image")?.ndarray()?.read::<u8>()?, [1, 2, 3]);
    /// let file = OpenOptions::new().external(External::Deny).open(&path)?;
    /// assert!(file.tree()?.pointer("/image")?.ndarray().is_err());
    /// # Ok::<(), asdf::Error>(())
    /// ```
    #[must_use]
    pub fn external(mut self, external: External) -> Self {
        self.external = external;
        self
    }

    /// Sets the maximum number of external files. Only some of them are open at a time. Default: 10,000.
    #[must_use]
    pub fn max_files(mut self, max_files: usize) -> Self {
        self.max_files = max_files;
        self
    }

    /// Sets limits on the sizes and counts that the file may claim. Default: [`Limits::default`].
    ///
    /// ```
    /// use asdf::{ErrorKind, Limits, OpenOptions};
    ///
    /// let options = OpenOptions::new().limits(Limits::default().max_items(3));
    /// let file = options.from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n---\na: {b: {c: 1}}\n...\n"[..])?;
    /// assert!(matches!(file.document().unwrap_err().kind(), ErrorKind::Limit { limit: 3, .. }));
    /// # Ok::<(), asdf::Error>(())
    /// ```
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how many bytes of decoded blocks to keep in memory in case they are read again. Decoded blocks that
    /// are still in use are always shared, even if the limit is 0. Default: 64 MiB.
    #[must_use]
    pub fn cache_size(mut self, bytes: u64) -> Self {
        self.cache_size = bytes;
        self
    }

    /// Sets whether to map a large file into memory when it is opened by its path, instead of
    /// reading it on demand. Large uncompressed blocks of a mapped file are not copied. The head of
    /// the file and the tree are always read into memory, and external files are never mapped.
    /// Default: `false`.
    ///
    /// Use this only for files that nobody changes while they are open. If the file is truncated, accessing a
    /// missing page ends the process with `SIGBUS`, which no reader can catch. If the file is changed in place,
    /// as `update()` of the Python package does, data may change after it has been verified.
    #[cfg(feature = "mmap")]
    #[must_use]
    pub fn mmap(mut self, mmap: bool) -> Self {
        self.mmap = mmap;
        self
    }
}
