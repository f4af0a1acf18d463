//! How to read a file: strictness, limits, checks.

use binio::Limits;

/// What to do about a file that breaks a rule of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Read everything whose meaning is certain, and report the rest.
    #[default]
    Lenient,
    /// Refuse what the format does not allow.
    Strict,
}

/// When to check the digest of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// When a chunk is read for the first time.
    #[default]
    OnRead,
    /// Never on reading; `verify` checks it.
    Never,
}

/// Which order of the chunks to trust when offset table and file disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkOrder {
    /// Neither: such a file is refused, since what it holds is ambiguous.
    #[default]
    Unambiguous,
    /// The order of the offsets, as in the first description of the format.
    Offsets,
    /// The order of the chunks in the file, in which the original reads them.
    File,
}

/// How to read a file.
///
/// ```
/// use bloscpack::{ErrorKind, OpenOptions, Strictness};
///
/// let options = OpenOptions::new().strictness(Strictness::Strict);
/// let error = options.from_bytes(&b"#ASDF 1.0.0\n"[..]).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::NotBloscpack { .. }));
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub(crate) strictness: Strictness,
    pub(crate) verify: Verify,
    pub(crate) order: ChunkOrder,
    pub(crate) limits: Limits,
    pub(crate) max_metadata: u64,
    pub(crate) ignore_metadata: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            strictness: Strictness::default(),
            verify: Verify::default(),
            order: ChunkOrder::default(),
            limits: Limits::default().max_decoded(16 << 30),
            max_metadata: 16 << 20,
            ignore_metadata: false,
        }
    }
}

impl OpenOptions {
    /// The default options: lenient, digests checked on reading.
    pub fn new() -> Self {
        Self::default()
    }

    /// The default options, with these limits if there are any.
    pub(crate) fn limited(limits: Option<Limits>) -> Self {
        let options = Self::default();
        Self { limits: limits.unwrap_or(options.limits), ..options }
    }

    binio::setters! {
        /// Sets what to do about a file that breaks a rule of the format.
        strictness: Strictness;
        /// Sets when the digest of a chunk is checked.
        verify: Verify;
        /// Which order of the chunks to trust when offset table and file disagree.
        order: ChunkOrder;
        /// Sets what the file may make this crate allocate, decode and count.
        ///
        /// `max_decoded` (here 16 GiB by default) is for what is decoded to memory in one call; what is
        /// written elsewhere is not limited. `max_alloc` is for any one buffer, such as a chunk;
        /// `max_items` for the number of chunks.
        limits: Limits;
        /// Sets the most bytes that the text of the metadata may have. Default: 16 MiB.
        max_metadata: u64;
        /// Sets whether a wrong digest of the metadata is a diagnostic and fails only
        /// [`Reader::metadata`](crate::Reader::metadata), instead of failing to open the file. In lenient reading all other
        /// faults of metadata are handled in this way anyway.
        ignore_metadata: bool;
    }
}
