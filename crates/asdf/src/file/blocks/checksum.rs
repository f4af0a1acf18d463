//! The MD5 of a block.
//!
//! The standard means the MD5 of the stored bytes. Writers exist that took it of the decoded
//! bytes, so for a compressed block whose stored bytes do not match the decoded ones are tried. No
//! name or version of a writer is looked at. All zero means no checksum; a STREAMED
//! block never has one.

use binio::Digest;

/// The result of comparing a block's data with its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChecksumVerdict {
    /// The block has no checksum.
    Absent,
    /// It is the MD5 of the stored bytes, as the standard requires.
    Stored,
    /// It is the MD5 of the decoded bytes, as old writers computed it. The data is right.
    DecodedLegacy,
    /// It is neither: the block is damaged.
    Mismatch {
        /// MD5 of the stored bytes.
        stored: Digest,
        /// MD5 of the decoded bytes, of a compressed block that can be decoded.
        decoded: Option<Digest>,
    },
}

impl ChecksumVerdict {
    /// Whether the data does not contradict the checksum.
    pub fn is_pass(&self) -> bool {
        !matches!(self, Self::Mismatch { .. })
    }
}
