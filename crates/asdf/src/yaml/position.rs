//! Converting an offset to a line and column.
//!
//! Nodes store only offsets. The lines are indexed when a position is first requested. If the text
//! is not ASCII, the index also stores the number of characters before each 256-byte block of the
//! text, so that finding a column in a very long line is as fast as in a short one.

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::error::{Error, ErrorKind};

/// A position in the text of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Number of the line in the file, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
}

impl Position {
    /// Creates an error at this position.
    pub(crate) fn error(self, message: impl Into<String>) -> Error {
        let Self { line, column, offset } = self;
        let message = message.into();
        Error::new(ErrorKind::Yaml { message, pointer: None, line, column }).at(offset)
    }

    /// Creates a diagnostic at this position.
    pub(crate) fn diagnostic(self, code: Code, message: impl Into<String>) -> Diagnostic {
        let place = Place::at(self.offset).line_column(self.line, self.column);
        Diagnostic::new(code, place, message)
    }
}

/// Size in bytes of the blocks into which the text is divided for counting characters.
const BLOCK: usize = 256;

/// A line index for a source shorter than 4 GiB.
#[derive(Debug)]
pub(super) struct Lines {
    /// Offsets at which the lines begin.
    starts: Vec<u32>,
    /// Number of characters before each block of [`BLOCK`] bytes; empty for ASCII text.
    characters: Vec<u32>,
}

impl Lines {
    /// Indexes the lines of a source. A line ends at LF, CR LF, a lone CR, or NEL.
    pub(super) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let is_ascii = text.is_ascii();
        let mut starts = vec![0];
        let mut start = |at: usize| starts.push(u32::try_from(at).unwrap_or(u32::MAX));
        if is_ascii {
            for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
                if bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n') {
                    start(at + 1);
                }
            }
            return Self { starts, characters: Vec::new() };
        }
        for at in memchr::memchr3_iter(b'\n', b'\r', 0xc2, bytes) {
            match (bytes[at], bytes.get(at + 1)) {
                (b'\r', Some(b'\n')) => {}
                (b'\n' | b'\r', _) => start(at + 1),
                (_, Some(0x85)) => start(at + 2),
                _ => {}
            }
        }
        // The last entry counts all characters. It is used at the end of the text if the last block
        // is full.
        let mut characters = vec![0];
        let mut before = 0;
        for block in bytes.chunks(BLOCK) {
            before += characters_in(block);
            characters.push(before);
        }
        Self { starts, characters }
    }

    /// Returns the line and the column of an offset, both counted from 0. The column counts
    /// characters.
    pub(super) fn line_and_column(&self, text: &str, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start as usize <= offset).saturating_sub(1);
        let start = self.starts.get(line).map_or(0, |&start| start as usize);
        if self.characters.is_empty() {
            return (line, offset - start);
        }
        let before = |offset: usize| {
            let block = offset / BLOCK;
            let rest = text.as_bytes().get(block * BLOCK..offset).unwrap_or_default();
            let counted = self.characters.get(block).copied().unwrap_or(0);
            counted as usize + characters_in(rest) as usize
        };
        (line, before(offset) - before(start))
    }
}

/// Returns the number of characters that begin in a slice of UTF-8.
fn characters_in(bytes: &[u8]) -> u32 {
    let starts = bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    u32::try_from(starts).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, offset: usize) -> (usize, usize) {
        Lines::new(text).line_and_column(text, offset)
    }

    #[test]
    fn lf_crlf_lone_cr_and_nel_end_a_line() {
        let places = [0, 2, 5, 7].map(|offset| at("a\nb\r\nc\rd", offset));
        assert_eq!(places, [(0, 0), (1, 0), (2, 0), (3, 0)]);
        assert_eq!([3, 7].map(|offset| at("a\u{85}b\u{2028}c", offset)), [(1, 0), (1, 2)]);
    }

    #[test]
    fn a_column_is_counted_in_characters() {
        assert_eq!([0, 3, 7].map(|offset| at("é: €x\né", offset)), [(0, 0), (0, 2), (0, 4)]);
        assert_eq!(at("é: €x\né", 11), (1, 1));
    }

    #[test]
    fn a_column_is_correct_in_a_line_longer_than_a_block() {
        let text = "xé€\n".to_owned() + &"é€".repeat(1000);
        for (index, (offset, _)) in text.char_indices().enumerate().skip(4) {
            assert_eq!(at(&text, offset), (1, index - 4));
        }
    }

    #[test]
    fn the_column_at_the_end_of_a_source_is_correct_if_the_last_block_is_full() {
        let text = "é".repeat(BLOCK);
        assert_eq!(at(&text, text.len()), (0, BLOCK));
    }
}
