//! MD5 checksums of blocks.
//!
//! According to the standard, the checksum is the MD5 digest of the stored bytes, but some writers
//! computed it from the decoded bytes. Therefore, if the stored bytes of a compressed block do not
//! match, the decoded bytes are compared as well, whatever software wrote the file. If the checksum
//! field consists of zeros, the block has no checksum. In a STREAMED block, the field has no
//! meaning.

use std::ops::Range;

use binio::checksum::{Algorithm, Digest};

use super::Block;
use super::digest::digest_of;
use crate::diagnostic::Code;
use crate::error::{BlockError, CodecError, ErrorKind, Result};
use crate::layout::BlockHeader;
use crate::options::Verify;

/// The result of comparing a block's data with its checksum.
///
/// The standard only defines the checksum of the stored bytes: see "Low-level file layout", Block header,
/// `checksum`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChecksumVerdict {
    /// The block has no checksum.
    Absent,
    /// The checksum is the MD5 digest of the stored bytes, as the standard requires.
    Stored,
    /// The checksum is the MD5 digest of the decoded bytes, as some old writers computed it. The data is
    /// intact.
    Decoded,
    /// The checksum matches neither digest. The block is damaged, unless `decoded` is `None` and the checksum
    /// was computed from the decoded bytes.
    Mismatch {
        /// MD5 digest of the stored bytes.
        stored: Digest,
        /// MD5 digest of the decoded bytes. `None` if the block is not compressed or cannot be decoded, for
        /// example because its compression is unknown.
        decoded: Option<Digest>,
    },
    /// The checksum does not match the stored bytes. It may match the decoded bytes, but this build lacks the
    /// feature that is required to decode the block, so it is unknown whether the data is intact.
    Unverifiable {
        /// MD5 digest of the stored bytes.
        stored: Digest,
        /// The missing feature of this crate, such as `zstd`.
        feature: &'static str,
    },
}

impl ChecksumVerdict {
    /// Compares the checksum in a header with the MD5 digest of the stored bytes. If they differ, calls
    /// `decoded`, which must return the digest of the decoded bytes or the error from decoding them, or
    /// `None` if the block is not compressed.
    pub(crate) fn of(
        header: &BlockHeader,
        stored: Digest,
        decoded: impl FnOnce() -> Option<Result<Digest>>,
    ) -> Self {
        if !has_checksum(header) {
            return Self::Absent;
        }
        let is_right = |digest: &Digest| digest.as_bytes() == header.checksum;
        if is_right(&stored) {
            return Self::Stored;
        }
        let decoded = match decoded().transpose() {
            Ok(Some(decoded)) if is_right(&decoded) => return Self::Decoded,
            Ok(decoded) => decoded,
            Err(error) => match *error.kind() {
                ErrorKind::Codec { kind: CodecError::FeatureMissing(feature), .. } => {
                    return Self::Unverifiable { stored, feature };
                }
                _ => None,
            },
        };
        Self::Mismatch { stored, decoded }
    }

    /// Returns `true` unless the checksum shows that the data is damaged.
    pub fn is_pass(&self) -> bool {
        !matches!(self, Self::Mismatch { .. })
    }

    /// Returns `true` if the block has a checksum and its data matches it.
    pub(crate) fn is_match(&self) -> bool {
        matches!(self, Self::Stored | Self::Decoded)
    }

    /// Returns the error for a checksum that does not match or cannot be verified, or `None` for any other
    /// verdict.
    pub(crate) fn error(&self, header: &BlockHeader) -> Option<BlockError> {
        match self {
            Self::Absent | Self::Stored | Self::Decoded => None,
            Self::Mismatch { stored, .. } => {
                let mut computed = [0; 16];
                computed.copy_from_slice(stored.as_bytes());
                Some(BlockError::Checksum { expected: header.checksum, computed })
            }
            Self::Unverifiable { feature, .. } => Some(BlockError::Unverifiable(feature)),
        }
    }
}

/// Returns `true` if the block has a checksum.
pub(crate) fn has_checksum(header: &BlockHeader) -> bool {
    !header.is_streamed() && header.checksum != [0; 16]
}

impl Block<'_> {
    /// Verifies the checksum. If there is one, reads all stored bytes, but decodes them only if their digest
    /// differs from the checksum.
    ///
    /// # Errors
    ///
    /// Same as [`data_range`](Self::data_range). Also fails with
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the source cannot be read. A mismatch is returned
    /// as a [verdict](ChecksumVerdict::Mismatch), not as an error.
    pub fn verify(&self) -> Result<ChecksumVerdict> {
        if !has_checksum(self.header()?) {
            return Ok(ChecksumVerdict::Absent);
        }
        self.verify_by(digest_of(&self.span()?)?)
    }

    /// Compares the data with the checksum, given the MD5 digest of the stored bytes. Decodes the block only
    /// if the digest does not match.
    fn verify_by(&self, stored: Digest) -> Result<ChecksumVerdict> {
        self.verdict(stored, || {
            self.is_compressed().then(|| {
                let mut hasher = Algorithm::Md5.hasher();
                self.decode_pieces(|piece| hasher.update(piece))?;
                Ok(hasher.finish())
            })
        })
    }

    /// Checks that the data is complete and can be decoded, and compares it with the checksum. The data is
    /// decoded piece by piece, because a few kilobytes may decode to gigabytes.
    pub(super) fn check_whole(&self) -> Result<ChecksumVerdict> {
        let header = self.header()?;
        self.data_range()?;
        if !header.is_compressed() {
            return self.verify();
        }
        let stored = if has_checksum(header) { Some(digest_of(&self.span()?)?) } else { None };
        let is_stored = stored.as_ref().is_some_and(|stored| stored.as_bytes() == header.checksum);
        let mut hasher = (stored.is_some() && !is_stored).then(|| Algorithm::Md5.hasher());
        self.decode_pieces(|piece| {
            if let Some(hasher) = &mut hasher {
                hasher.update(piece);
            }
        })?;
        match stored {
            Some(stored) => self.verdict(stored, || hasher.map(|hasher| Ok(hasher.finish()))),
            None => Ok(ChecksumVerdict::Absent),
        }
    }

    /// Decodes the block and passes its data to `take` piece by piece. The pieces are only valid if
    /// the function succeeds, because damage may only be detected at the end.
    fn decode_pieces(&self, mut take: impl FnMut(&[u8])) -> Result<()> {
        self.with_decoder(|decoder| {
            let mut buffer = Vec::new();
            while decoder.left() > 0 {
                take(decoder.next_piece(&mut buffer).map_err(|failure| self.failure(failure))?);
            }
            Ok(())
        })
    }

    fn verdict(
        &self,
        stored: Digest,
        decoded: impl FnOnce() -> Option<Result<Digest>>,
    ) -> Result<ChecksumVerdict> {
        let verdict = ChecksumVerdict::of(self.header()?, stored, decoded);
        if verdict == ChecksumVerdict::Decoded {
            let message = "the checksum matches the decoded data, but it should match the stored \
                           bytes";
            self.store.reports().report(Code::ChecksumOfDecodedBytes, self.offset, message);
        }
        Ok(verdict)
    }

    /// Returns `true` if the options require a verification before the block is read, and the block
    /// has a checksum that has not been verified yet. `whole` means that all data of the block will
    /// be read. Fails if the options require a verification, but an earlier verification failed.
    pub(super) fn must_verify(&self, whole: bool) -> Result<bool> {
        let wanted = match self.store.verify() {
            Some(Verify::Never) => false,
            Some(Verify::OnRead | Verify::Report) => true,
            None => whole && self.is_compressed(),
        };
        if !wanted || !has_checksum(self.header()?) {
            return Ok(false);
        }
        match self.store.verified().get(&self.offset) {
            Some(None) => Ok(false),
            Some(Some(error)) => Err(error.clone()),
            None => Ok(true),
        }
    }

    /// Returns `true` if the checksum must be verified before part of the block is read. Also
    /// returns `true` if reading fails because an earlier verification failed.
    pub(crate) fn is_unverified(&self) -> bool {
        self.must_verify(false).unwrap_or(true)
    }

    /// Verifies the checksum before part of the block is read, if the options require it.
    pub(super) fn verify_on_read(&self) -> Result<()> {
        if self.must_verify(false)? { self.check_stored(None) } else { Ok(()) }
    }

    /// Returns the range of the stored bytes in the file, for callers that read only part of them. Verifies the
    /// checksum first if the options require it.
    pub(crate) fn verified_range(&self) -> Result<Range<u64>> {
        self.verify_on_read()?;
        self.data_range()
    }

    /// Verifies the checksum unless this has already been done. Fails if the checksum does not match or cannot
    /// be verified, unless the options only ask for a report. Call this before copying data to a new block:
    /// otherwise, damaged data could get a valid checksum.
    pub(crate) fn check_once(&self) -> Result<()> {
        let known = self.store.verified().get(&self.offset).cloned();
        match known {
            Some(verdict) => verdict.map_or(Ok(()), Err),
            None => self.check_stored(None),
        }
    }

    /// Verifies the checksum even if this has already been done. `stored` is the MD5 digest of the stored
    /// bytes; if it is `None`, the bytes are read to compute it. Fails under the same conditions as
    /// [`Self::check_once`].
    pub(crate) fn check_stored(&self, stored: Option<Digest>) -> Result<()> {
        let verdict = match stored {
            Some(stored) => self.verify_by(stored)?,
            None => self.verify()?,
        };
        self.settle(verdict)
    }

    /// Compares the digest of the stored bytes with the checksum and, if they differ, also the
    /// digest of the decoded data. Fails under the same conditions as [`Self::check_once`].
    pub(super) fn check(&self, stored: Digest, decoded: Option<&[u8]>) -> Result<()> {
        let verdict =
            self.verdict(stored, || decoded.map(|data| Ok(Algorithm::Md5.digest(data))))?;
        self.settle(verdict)
    }

    /// Records a verdict, so that later reads need not verify the checksum again. Fails if the checksum does
    /// not match or cannot be verified. With [`Verify::Report`], reports this instead of failing.
    fn settle(&self, verdict: ChecksumVerdict) -> Result<()> {
        let mut error = verdict.error(self.header()?).map(|kind| self.error(kind));
        if self.store.verify() == Some(Verify::Report) {
            if let Some(error) = error.take() {
                let code =
                    if verdict.is_pass() { Code::NotChecked } else { Code::ChecksumMismatch };
                self.store.reports().report(code, self.offset, error.to_string());
            }
        }
        self.store.verified().insert(self.offset, error.clone());
        error.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::locate::test_file::block;

    fn md5(message: &[u8]) -> Digest {
        Algorithm::Md5.digest(message)
    }

    /// Creates a block header whose checksum is the MD5 digest of a message.
    fn header(message: &[u8], flags: u32) -> BlockHeader {
        let bytes = block("stored").flags(flags).checksum_of(message).bytes();
        BlockHeader::parse(&bytes, 0, bytes.len() as u64).unwrap()
    }

    #[test]
    fn a_checksum_of_the_stored_bytes_is_accepted_without_decoding() {
        let decoded = || panic!("decoded");
        let verdict = ChecksumVerdict::of(&header(b"stored", 0), md5(b"stored"), decoded);
        assert_eq!(verdict, ChecksumVerdict::Stored);
        assert!(verdict.is_pass());
    }

    #[test]
    fn a_checksum_of_the_decoded_bytes_is_also_accepted() {
        let header = header(b"decoded", 0);
        let verdict = ChecksumVerdict::of(&header, md5(b"stored"), || Some(Ok(md5(b"decoded"))));
        assert_eq!(verdict, ChecksumVerdict::Decoded);
        assert!(verdict.is_pass());
        assert_eq!(verdict.error(&header), None);
    }

    #[test]
    fn a_wrong_checksum_is_reported_as_a_mismatch_with_the_computed_digests() {
        let header = header(b"other", 0);
        for decoded in [None, Some(md5(b"decoded"))] {
            let verdict = ChecksumVerdict::of(&header, md5(b"stored"), || decoded.map(Ok));
            assert_eq!(verdict, ChecksumVerdict::Mismatch { stored: md5(b"stored"), decoded });
            assert!(!verdict.is_pass());
            let Some(BlockError::Checksum { expected, computed }) = verdict.error(&header) else {
                panic!("{verdict:?}");
            };
            assert_eq!(expected, md5(b"other").as_bytes());
            assert_eq!(computed, md5(b"stored").as_bytes());
        }
    }

    #[test]
    fn a_checksum_that_may_be_that_of_the_decoded_bytes_is_unverifiable_without_the_codec() {
        let header = header(b"decoded", 0);
        let failure = |kind| {
            let kind = ErrorKind::Codec { index: 0, code: header.compression, kind };
            ChecksumVerdict::of(&header, md5(b"stored"), || Some(Err(kind.into())))
        };
        let verdict = failure(CodecError::FeatureMissing("zstd"));
        let stored = md5(b"stored");
        assert_eq!(verdict, ChecksumVerdict::Unverifiable { stored, feature: "zstd" });
        assert!(verdict.is_pass() && !verdict.is_match());
        let error = verdict.error(&header).unwrap();
        assert_eq!(
            error.to_string(),
            "the checksum cannot be verified, because this build lacks the feature `zstd`"
        );
        let verdict = failure(CodecError::UnknownCompression);
        assert_eq!(verdict, ChecksumVerdict::Mismatch { stored, decoded: None });
    }

    #[test]
    fn a_zero_checksum_and_the_checksum_of_a_streamed_block_are_ignored() {
        let zeros = BlockHeader { checksum: [0; 16], ..header(b"", 0) };
        for header in [zeros, header(b"other", 1)] {
            assert!(!has_checksum(&header));
            let verdict = ChecksumVerdict::of(&header, md5(b"stored"), || None);
            assert_eq!(verdict, ChecksumVerdict::Absent);
        }
    }
}
