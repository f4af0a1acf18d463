//! Options for reading a file: strictness, limits and checks.

use binio::Limits;

/// How to treat a file that violates the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Read everything whose meaning is certain, and report violations as diagnostics.
    #[default]
    Lenient,
    /// Reject a file that violates the format. Spare offsets that are not -1 and reserved metadata
    /// fields that are not 0 are only reported as diagnostics. Offsets in a different order than
    /// the chunks are also only reported, unless the [`ChunkOrder`] is `Unambiguous`.
    Strict,
}

/// When to check the digest of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// The first time that the chunk is read.
    #[default]
    OnRead,
    /// Never while reading. [`verify`](crate::verify()) checks the digest anyway, and so does
    /// lenient opening if an offset in the file is wrong.
    Never,
}

/// The order in which to read the chunks if their order in the table of offsets differs from their
/// order in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkOrder {
    /// Reject the file, because the order of its data is ambiguous.
    #[default]
    Unambiguous,
    /// Use the order of the offsets, as the first description of the format requires.
    Offsets,
    /// Use the order of the chunks in the file, as the original program does.
    File,
}

/// Options for reading a file.
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
    /// Returns the default options: lenient, with digests checked while reading.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the default options, with the default limits replaced by `limits`, if given.
    pub(crate) fn limited(limits: Option<Limits>) -> Self {
        let options = Self::default();
        Self { limits: limits.unwrap_or(options.limits), ..options }
    }

    binio::setters! {
        /// Sets how to treat a file that violates the format.
        strictness: Strictness;
        /// Sets when the digest of a chunk is checked.
        verify: Verify;
        /// Sets the order in which to read the chunks if their order in the table of offsets
        /// differs from their order in the file.
        order: ChunkOrder;
        /// Sets limits on the memory, decoded data and chunks that a file may require.
        ///
        /// `max_decoded` (16 GiB by default) limits the memory that one call allocates for decoded
        /// data, but not the data that the call writes to a file, a sink or the caller's slice.
        /// `max_alloc` limits each chunk that is decoded into a buffer of its own, and `max_items`
        /// limits the number of chunks.
        limits: Limits;
        /// Sets the maximum length of the metadata text in bytes, after decompression. Default: 16 MiB.
        max_metadata: u64;
        /// Sets whether lenient reading opens a file even if the digest of its metadata is wrong.
        /// The wrong digest is then reported as a diagnostic, and only methods that need the
        /// metadata fail, such as [`Reader::metadata`](crate::Reader::metadata). Other errors in
        /// the metadata do not prevent lenient reading from opening a file, as long as the end of
        /// the section is known.
        ignore_metadata: bool;
    }
}
