//! Reading and checking block headers, and comparing them with the index.

use binio::source::Scanner;
use binio::{Limits, ReadAt};

use super::cached_source::CachedSource;
use super::found_block::{FoundBlock, HeaderState};
use crate::diagnostic::{Code, Reports};
use crate::error::{BlockError, Result};
use crate::layout::block_header::{BLOCK_HEADER_LEN, BLOCK_MAGIC, BlockHeader, FLAG_STREAMED};

/// Reads block headers and reports their irregularities.
#[derive(Clone, Copy)]
pub(crate) struct HeaderReader<'a> {
    pub(crate) source: &'a CachedSource,
    pub(crate) limits: &'a Limits,
    pub(crate) reports: &'a Reports,
}

impl HeaderReader<'_> {
    pub(crate) fn file_len(&self) -> u64 {
        self.source.len()
    }

    /// Reads the header of the block at `offset`.
    pub(crate) fn block_at(&self, offset: u64) -> Result<FoundBlock> {
        Ok(FoundBlock { offset, header: self.source.header(offset)? })
    }

    /// Compares the header of an indexed block with `listed`, the next offset in the index. Returns
    /// the header, corrected if necessary. Returns `None` if the index is wrong. For example, there
    /// may be no magic, or the block may end at another block, an index or the end of the file
    /// instead of at `listed`.
    ///
    /// The header is damaged if a block begins at `listed`, but there is no block, index or end of
    /// the file at the end offset that the header states. A damaged header is reported and
    /// corrected, so that later blocks can still be found.
    pub(crate) fn by_index(
        &self,
        header: &HeaderState,
        listed: Option<u64>,
    ) -> Result<Option<HeaderState>> {
        let HeaderState::Good(good) = header else {
            let is_block = match header {
                HeaderState::Bad(error) => match **error {
                    BlockError::Magic { offset } => self.end_without_magic(offset)?.is_some(),
                    _ => true,
                },
                _ => true,
            };
            return Ok(is_block.then(|| header.clone()));
        };
        let Some(listed) = listed else { return Ok(Some(header.clone())) };
        if good.allocated_end() == Some(listed) {
            return Ok(Some(HeaderState::Good(self.without_streamed(good))));
        }
        let Some(next) = good.next_offset().filter(|&next| next <= self.file_len()) else {
            let is_damaged = !good.is_streamed() && self.source.has_magic(listed)?;
            return Ok(is_damaged.then(|| self.contradicted(good, listed)));
        };
        if self.is_boundary(next)? {
            return Ok(None);
        }
        if self.source.has_magic(listed)? {
            return Ok(Some(self.contradicted(good, listed)));
        }
        Ok((next < listed).then(|| header.clone()))
    }

    /// Clears the STREAMED flag of a block that is followed by another block or the index. Reports the flag if
    /// it was set.
    pub(super) fn without_streamed(&self, header: &BlockHeader) -> BlockHeader {
        if header.is_streamed() {
            let message = "the index and the sizes in the block's header agree on the end of the \
                           block, but the block is marked as STREAMED";
            self.reports.report(Code::HeaderContradicted, header.offset, message);
        }
        BlockHeader { flags: header.flags & !FLAG_STREAMED, ..*header }
    }

    /// Reports a header whose sizes do not lead to the block at `next`. If the data does not extend
    /// past `next`, the allocated size in the returned header is corrected.
    fn contradicted(&self, header: &BlockHeader, next: u64) -> HeaderState {
        self.report_contradicted(header, next);
        let fits = header.claimed_range(self.file_len()).end <= next;
        let allocated_size = match next.checked_sub(header.data_start()) {
            Some(size) if fits => size,
            _ => header.allocated_size,
        };
        HeaderState::Good(BlockHeader { allocated_size, ..*header })
    }

    /// Reports a block whose header states an end other than `next`, the offset of the next block.
    pub(crate) fn report_contradicted(&self, header: &BlockHeader, next: u64) {
        let end = header
            .allocated_end()
            .map_or("after 2^64 bytes".to_owned(), |end| format!("at offset {end}"));
        let message = format!(
            "the next block begins at offset {next}, but this block ends {end} according to its \
             header"
        );
        self.reports.report(Code::HeaderContradicted, header.offset, message);
    }

    /// Returns `true` if there is a block, an index or the end of the file at `offset`.
    pub(crate) fn is_boundary(&self, offset: u64) -> Result<bool> {
        Ok(offset == self.file_len()
            || self.source.has_magic(offset)?
            || self.source.has_index(offset)?)
    }

    /// Returns the end of the block at `offset`, even if one byte of its magic is damaged. Returns
    /// `None` unless the rest of the header is plausible and leads to a block, an index or the end
    /// of the file.
    pub(crate) fn end_without_magic(&self, offset: u64) -> Result<Option<u64>> {
        let file_len = self.file_len();
        if file_len.saturating_sub(offset) < BLOCK_HEADER_LEN as u64 {
            return Ok(None);
        }
        let mut bytes = [0; BLOCK_HEADER_LEN];
        self.source.read_exact_at(&mut bytes, offset)?;
        let damaged = bytes.iter().zip(&BLOCK_MAGIC).filter(|(found, wanted)| found != wanted);
        if damaged.count() > 1 {
            return Ok(None);
        }
        bytes[..BLOCK_MAGIC.len()].copy_from_slice(&BLOCK_MAGIC);
        let Ok(header) = BlockHeader::parse(&bytes, offset, file_len) else { return Ok(None) };
        match header.next_offset().filter(|&end| end <= file_len) {
            Some(end) if header.is_plausible(file_len) && self.is_boundary(end)? => Ok(Some(end)),
            _ => Ok(None),
        }
    }

    /// Returns the offset at which the data of a block ends, if a plausible block begins at that
    /// offset. Ignores the allocated size.
    pub(crate) fn block_after_data(&self, header: &BlockHeader) -> Result<Option<u64>> {
        if header.is_streamed() {
            return Ok(None);
        }
        let end = header.claimed_range(self.file_len()).end;
        if end >= self.file_len() {
            return Ok(None);
        }
        let next = self.source.header(end)?;
        Ok(next.good().filter(|next| next.is_plausible(self.file_len())).map(|_| end))
    }

    /// Returns the offset of the first plausible block at or after `from`, reading all bytes up to it.
    pub(crate) fn find_plausible(&self, from: u64) -> Result<Option<u64>> {
        let file_len = self.file_len();
        let mut scanner = Scanner::new(self.source, &BLOCK_MAGIC, from.min(file_len)..file_len);
        while let Some(offset) = scanner.next_match()? {
            if matches!(self.source.header(offset)?, HeaderState::Good(it) if it.is_plausible(file_len))
            {
                return Ok(Some(offset));
            }
        }
        Ok(None)
    }

    /// Reports the irregularities of a block.
    pub(crate) fn judge(&self, block: &FoundBlock) {
        match &block.header {
            HeaderState::Unread => {}
            HeaderState::Bad(error) => {
                self.reports.report(Code::BadBlock, block.offset, error.to_string());
            }
            HeaderState::Good(header) => self.judge_fields(header),
        }
    }

    fn judge_fields(&self, header: &BlockHeader) {
        let file_len = self.file_len();
        let report = |code, message: String| self.reports.report(code, header.offset, message);
        if header.unknown_flags() != 0 {
            report(
                Code::UnknownFlags,
                format!("the block has unknown flags {:#x}", header.unknown_flags()),
            );
        }
        let range = header.claimed_range(file_len);
        if range.end > file_len {
            report(Code::BadBlock, BlockError::PastEnd { range, file_len }.to_string());
        }
        if header.is_streamed() {
            return;
        }
        let BlockHeader { allocated_size, used_size, data_size, .. } = *header;
        if used_size > allocated_size {
            let message =
                format!("the used_size {used_size} exceeds the allocated_size {allocated_size}");
            report(Code::UsedExceedsAllocated, message);
        }
        if !header.is_compressed() && data_size != used_size {
            let message = format!(
                "the block is not compressed, but its data_size {data_size} differs from its \
                 used_size {used_size}"
            );
            report(Code::DataSizeMismatch, message);
        }
    }
}
