//! Examining a block of a damaged file, and preparing the intact part of the block for the new file.

use std::ops::Range;

use binio::checksum::{Algorithm, Digest};
use binio::{ReadAt, Span};

use super::{Reason, mended};
use crate::asdf::Asdf;
use crate::codec::DecodeJob;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::error::{BlockError, CodecError, Error, ErrorKind, Result};
use crate::file::blocks::{Block, ChecksumVerdict, digest_of, has_checksum};
use crate::file::locate::numbering::Numbered;
use crate::layout::{BLOCK_HEADER_LEN, BlockHeader};

/// The form in which a block is written to the new file.
pub(super) enum State {
    /// The block is lost and replaced by an empty one.
    Missing,
    /// The block is written with this header, followed by these bytes of the old file.
    Kept { header: BlockHeader, copied: Range<u64> },
}

/// The result of examining a block.
pub(super) struct Examined {
    pub(super) state: State,
    /// The reason why the block is lost or damaged, or `None` if it is intact.
    pub(super) reason: Option<Reason>,
    /// A diagnostic about a problem that has been repaired, or about a checksum that cannot be
    /// verified.
    pub(super) note: Option<Diagnostic>,
    /// The range of the stored bytes in the old file. If the block is lost, the range includes the
    /// header.
    pub(super) bytes: Range<u64>,
    /// The number of stored bytes that are missing.
    pub(super) missing: u64,
    /// Whether a checksum proves that the data is intact.
    pub(super) is_proved: bool,
}

impl Examined {
    fn missing(error: BlockError, bytes: Range<u64>) -> Self {
        let reason = Some(Reason::Block(error));
        let missing = bytes.end - bytes.start;
        Self { state: State::Missing, reason, note: None, bytes, missing, is_proved: false }
    }
}

/// Examines a block. `end` is the offset of the next block, of the index or of the end of the file. Unless the
/// block is streamed, it cannot extend past `end`.
pub(super) fn examine(
    file: &Asdf,
    number: usize,
    numbered: &Numbered,
    end: u64,
) -> Result<Examined> {
    let block = match numbered {
        Numbered::Missing { offset } => {
            let bytes = *offset..end.max(*offset);
            return Ok(Examined::missing(BlockError::Magic { offset: *offset }, bytes));
        }
        Numbered::Uncertain(entry) | Numbered::Certain(entry) => {
            file.blocks().block(number, entry.clone())
        }
    };
    let mut header = match block.header() {
        Ok(header) => *header,
        Err(error) => {
            let kind = match error.kind() {
                ErrorKind::Block { kind, .. } => kind.clone(),
                _ => BlockError::Magic { offset: block.offset() },
            };
            return Ok(Examined::missing(kind, block.offset()..end.max(block.offset())));
        }
    };
    let file_len = file.source().len();
    let start = header.data_start();
    if start > file_len {
        let kind = BlockError::HeaderTruncated { offset: block.offset(), file_len };
        return Ok(Examined::missing(kind, block.offset()..file_len));
    }
    if header.is_streamed() {
        let state = State::Kept { header, copied: start..file_len };
        let is_uncertain = matches!(numbered, Numbered::Uncertain(_));
        let reason = is_uncertain.then_some(Reason::Block(BlockError::Uncertain));
        let bytes = start..file_len;
        return Ok(Examined { state, reason, note: None, bytes, missing: 0, is_proved: false });
    }
    let claimed = header.claimed_range(file_len);
    // If another block begins inside the claimed range, the sizes in the header are wrong.
    let is_over = claimed.end > end;
    let is_cut = claimed.end > file_len || is_over;
    let stored = start..if is_cut { end.clamp(start, file_len) } else { claimed.end };
    let checked = Checked::of(file, &block, &header, &stored)?;
    let is_proved = checked.verdict.is_match();
    let is_unverifiable = matches!(checked.verdict, ChecksumVerdict::Unverifiable { .. });
    let doubt = checked.verdict.error(&header);
    let mut reason = doubt.clone().filter(|_| !is_unverifiable).map(Reason::Block);
    let len = stored.end - stored.start;
    if is_cut && !is_proved {
        let is_whole = if header.is_compressed() {
            doubt.is_none() && checked.is_decoded
        } else {
            header.data_size == len
        };
        if !is_whole {
            reason = Some(Reason::Block(BlockError::PastEnd { range: claimed.clone(), file_len }));
        }
    }
    let is_legacy = checked.verdict == ChecksumVerdict::Decoded;
    let note = if is_legacy {
        let message = "the checksum of the decoded data has been replaced by the checksum of \
                       the stored data";
        Some(mended(Code::ChecksumOfDecodedBytes, block.offset(), message))
    } else {
        let unverifiable = doubt.filter(|_| is_unverifiable);
        unverifiable.map(|error| {
            let message = format!("block {number}: {error}");
            Diagnostic::new(Code::NotChecked, Place::at(block.offset()), message)
        })
    };
    if let Some(digest) = checked.stored.filter(|_| is_legacy) {
        header.checksum.copy_from_slice(digest.as_bytes());
    }
    if reason.is_none() {
        reason = checked.failure.map(Reason::Other);
    }
    if reason.is_none() && matches!(numbered, Numbered::Uncertain(_)) {
        reason = Some(Reason::Block(BlockError::Uncertain));
    }
    let missing = if is_cut && reason.is_some() { missing_len(&header, len) } else { 0 };
    // Keep the unused space after the data if it lies before the next block.
    let allocated_end =
        header.next_offset().filter(|&next| next <= end && next >= stored.end && !is_cut);
    let copied = start..allocated_end.unwrap_or(stored.end);
    header.used_size = len;
    header.allocated_size = copied.end - copied.start;
    if !header.is_compressed() {
        header.data_size = len;
    }
    let state = State::Kept { header, copied };
    Ok(Examined { state, reason, note, bytes: stored, missing, is_proved })
}

/// Estimates how many stored bytes of a block are missing if only `len` bytes are left. Uses the
/// smallest stored size in the header that is at least `len`, because damaged sizes are usually too
/// large.
fn missing_len(header: &BlockHeader, len: u64) -> u64 {
    let mut sizes = vec![header.used_size, header.allocated_size];
    if !header.is_compressed() {
        sizes.push(header.data_size);
    }
    sizes.into_iter().filter_map(|size| size.checked_sub(len)).min().unwrap_or(0)
}

/// The result of hashing and decoding the stored bytes of a block.
struct Checked {
    verdict: ChecksumVerdict,
    /// MD5 digest of the stored bytes, if the block has a checksum.
    stored: Option<Digest>,
    /// Whether the data was decoded without an error. Always false if the block is not compressed.
    is_decoded: bool,
    /// The error from decoding the data, unless this build lacks the codec.
    failure: Option<Error>,
}

impl Checked {
    /// Hashes and decodes the stored bytes piece by piece.
    fn of(
        file: &Asdf,
        block: &Block<'_>,
        header: &BlockHeader,
        stored: &Range<u64>,
    ) -> Result<Self> {
        let stored = Span::new(&**file.source(), stored.clone())?;
        let digest = if has_checksum(header) { Some(digest_of(&stored)?) } else { None };
        let verdict = |decoded| match digest {
            Some(stored) => ChecksumVerdict::of(header, stored, || decoded),
            None => ChecksumVerdict::Absent,
        };
        let mut decoded = None;
        let (mut is_decoded, mut failure) = (false, None);
        if header.is_compressed() {
            let mut hasher = (!verdict(None).is_pass()).then(|| Algorithm::Md5.hasher());
            let (code, data_size) = (header.compression, header.data_size);
            let job = DecodeJob { code, data_size, salvage: false };
            let mut decode = || {
                let (mut notes, mut buffer) = (Vec::new(), Vec::new());
                let mut decoder = job.open(&stored, &mut notes)?;
                while decoder.left() > 0 {
                    let piece = decoder.next_piece(&mut buffer)?;
                    if let Some(hasher) = &mut hasher {
                        hasher.update(piece);
                    }
                }
                decoder.finish()
            };
            match decode() {
                Ok(()) => {
                    is_decoded = true;
                    decoded = hasher.map(|hasher| Ok(hasher.finish()));
                }
                Err(error) => {
                    let error = block.failure(error);
                    decoded = Some(Err(error.clone()));
                    failure = Some(error);
                }
            }
        }
        if let Some(error) = &failure {
            match error.kind() {
                // A block is not damaged just because this build cannot decode it.
                ErrorKind::Codec { kind: CodecError::FeatureMissing(_), .. } => failure = None,
                ErrorKind::Codec { .. } => {}
                _ if !error.is_bad_data() => return Err(error.clone()),
                _ => {}
            }
        }
        Ok(Self { verdict: verdict(decoded), stored: digest, is_decoded, failure })
    }
}

impl State {
    /// Returns the header for the new file. Header bytes after the fields known to this crate are copied
    /// unchanged.
    pub(super) fn header(&self, file: &Asdf) -> Result<Vec<u8>> {
        let Self::Kept { header, .. } = self else {
            return Ok(BlockHeader::aligned(0, [0; 4], 1).to_bytes());
        };
        let mut bytes = file.source().bytes_at(header.offset, header.len())?.to_vec();
        bytes[..BLOCK_HEADER_LEN].copy_from_slice(&header.fields());
        Ok(bytes)
    }
}
