//! Checking a long string piece by piece, so that it does not have to fit in memory.
//!
//! The parser sees the entry with the checked part of the string removed and `size` reduced to match:
//!
//! ```text
//! in the source  {"path":"a","encoding":"base64","data":"AAECAwQFBg==","size":7}
//!                                                        ├──────┤
//! parsed         {"path":"a","encoding":"base64","data":"Bg==","size":1}
//! ```
//!
//! For text, the checked part is the whole string. For base64, the parser still sees the last group, because only
//! this group may have padding.

use std::ops::Range;

use binio::ReadAt;

use super::located::text_of;
use super::raw::RawEntry;
use crate::error::Result;
use crate::json::{Json, MAX_ESCAPE, are_base64, integer, scan_piece};

/// The number of bytes to check at a time.
pub(super) const PIECE: usize = 64 << 10;

/// The checked part of a string in a source.
pub(super) struct LongString {
    /// The number of bytes from the end of the previous entry to the first character of the string.
    /// For the first entry, the number of bytes from the start of the source.
    pub(super) head: usize,
    /// The position of the checked part in the source.
    pub(super) range: Range<u64>,
    /// The length of the checked part in bytes, decoded as text.
    pub(super) text_len: u64,
    /// Whether the checked part consists of complete groups of base64.
    is_base64: bool,
}

impl LongString {
    /// Checks the string that starts `head` bytes after `offset` in the source. Returns `None` if the string fits in
    /// one piece, is malformed, or contains a NUL or an unpaired surrogate.
    pub(super) fn scan(source: &dyn ReadAt, offset: u64, head: usize) -> Result<Option<Self>> {
        let start = offset + head as u64;
        let mut string = Self { head, range: start..start, text_len: 0, is_base64: true };
        let mut piece = vec![0; PIECE];
        loop {
            let rest = usize::try_from(source.len() - string.range.end).unwrap_or(usize::MAX);
            piece.truncate(rest);
            source.read_exact_at(&mut piece, string.range.end)?;
            let is_first = string.range.is_empty();
            match string.extend(&piece) {
                Some(Extended::Part) => {}
                Some(Extended::All) if !is_first => return Ok(Some(string)),
                _ => return Ok(None),
            }
        }
    }

    /// Checks the next piece of the source, which may continue after the string.
    fn extend(&mut self, piece: &[u8]) -> Option<Extended> {
        let groups = without_last_group(piece);
        // Base64 is valid text without escapes.
        if self.is_base64 && !groups.is_empty() && are_base64(groups) {
            self.advance(groups.len(), groups.len() as u64);
            return Some(Extended::Part);
        }
        let text = text_of(piece, false)?.as_bytes();
        let (end, measure) = scan_piece(text);
        let is_end = text.get(end) == Some(&b'"');
        let groups = without_last_group(&text[..end]);
        self.is_base64 &= are_base64(groups);
        let (used, len) =
            if self.is_base64 { (groups.len(), groups.len() as u64) } else { (end, measure.len) };
        // At the end of a piece, at most an incomplete escape may remain.
        if measure.nul || !is_end && (used == 0 || text.len() - end > MAX_ESCAPE) {
            return None;
        }
        self.advance(used, len);
        Some(if is_end { Extended::All } else { Extended::Part })
    }

    fn advance(&mut self, used: usize, text_len: u64) {
        self.range.end += used as u64;
        self.text_len += text_len;
    }

    /// Subtracts the decoded length of the checked part from the `size` of an entry that was read without this part.
    /// Returns the decoded length. Returns `None` if the encoding does not determine this length, or if the `size` is
    /// not an integer.
    pub(super) fn reduce_size(&self, raw: &mut RawEntry<'_>) -> Option<u64> {
        let encoding = raw.get("encoding");
        let len = match encoding.as_ref().map(Json::plain_string) {
            None => self.range.end - self.range.start,
            Some(Some("utf-8")) => self.text_len,
            Some(Some("base64")) if self.is_base64 => self.text_len / 4 * 3,
            _ => return None,
        };
        if let Some(size) = raw.members.iter_mut().flatten().find(|member| member.is("size")) {
            // If the size is too small, the result is negative, and the parser rejects it.
            let reduced = integer(&size.value)?.checked_sub_unsigned(len)?;
            size.value = Json::parse(&reduced.to_string()).ok()?.into_owned();
        }
        Some(len)
    }
}

/// The result of checking a piece: more of the string follows, or all of it has been checked.
enum Extended {
    Part,
    All,
}

/// Returns the groups of 4 characters before the last group, which may be incomplete.
fn without_last_group(text: &[u8]) -> &[u8] {
    &text[..text.len().saturating_sub(1) / 4 * 4]
}
