//! Reading block headers, judging them, and comparing them with the index.

use binio::{Limits, ReadAt};

use super::ends::Ends;
use super::entry::{Entry, Header};
use crate::diagnostic::{Code, Reports};
use crate::error::{BlockError, Result};
use crate::layout::block_header::BlockHeader;

/// What finding blocks needs: the source, the limits, and where to report.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) ends: &'a Ends,
    pub(crate) limits: &'a Limits,
    pub(crate) reports: &'a Reports,
}

impl Reading<'_> {
    pub(crate) fn file_len(&self) -> u64 {
        self.ends.len()
    }

    /// Reads the header of the block at `offset`.
    pub(crate) fn entry(&self, offset: u64) -> Result<Entry> {
        Ok(Entry { offset, header: self.ends.header(offset)? })
    }

    /// Whether the header at an entry of an index shows that the index is wrong: no magic there, a
    /// block that reaches into the next one listed, or one that is followed by a block which the
    /// index does not list.
    pub(crate) fn index_is_wrong(&self, header: &Header, listed_next: Option<u64>) -> Result<bool> {
        let Header::Good(header) = header else { return Ok(header.has_no_magic()) };
        let Some(listed) = listed_next else { return Ok(false) };
        let Some(next) = header.next_offset().filter(|&next| next <= listed) else {
            return Ok(true);
        };
        Ok(next != listed && self.ends.has_magic(next)?)
    }

    /// Reports what is irregular about a block.
    pub(crate) fn judge(&self, entry: &Entry) {
        match &entry.header {
            Header::Unread => {}
            Header::Bad(error) => {
                self.reports.report(Code::BadBlock, entry.offset, error.to_string());
            }
            Header::Good(header) => self.judge_fields(header),
        }
    }

    fn judge_fields(&self, header: &BlockHeader) {
        let file_len = self.file_len();
        let report = |code, message: String| self.reports.report(code, header.offset, message);
        if header.unknown_flags() != 0 {
            report(Code::UnknownFlags, format!("block flags {:#x}", header.unknown_flags()));
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
            let message = format!("used_size {used_size} is above allocated_size {allocated_size}");
            report(Code::UsedExceedsAllocated, message);
        }
        if !header.is_compressed() && data_size != used_size {
            let message = format!("data_size {data_size} differs from used_size {used_size}");
            report(Code::DataSizeMismatch, message);
        }
    }
}
