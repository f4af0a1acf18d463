//! Where a node stands: from the parser's line and column to bytes.
//!
//! The parser counts characters, and counts the index wrongly after a block scalar with text
//! beyond ASCII; its line and its column within a line are right. So the byte offset comes from a
//! table of line starts, and in text beyond ASCII from walking the line.

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::error::{Error, ErrorKind};

/// A place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Line in the file, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
}

impl Position {
    /// An error at this place.
    pub(crate) fn error(self, message: impl Into<String>) -> Error {
        let Self { line, column, offset } = self;
        let message = message.into();
        Error::new(ErrorKind::Yaml { message, pointer: None, line, column }).at(offset)
    }

    /// A diagnostic at this place.
    pub(crate) fn diagnostic(self, code: Code, message: impl Into<String>) -> Diagnostic {
        let place = Place::at(self.offset).with_line_column(self.line, self.column);
        Diagnostic::new(code, place, message)
    }
}

/// Byte offsets of line starts in a text of less than 4 GiB.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<u32>,
    ascii: bool,
    /// The last place asked for, in a text beyond ASCII: line, column and offset.
    last: (usize, usize, usize),
}

impl<'a> Lines<'a> {
    /// A line ends at LF, CR LF or a lone CR.
    pub(super) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            let lone = bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n');
            if lone {
                starts.push(u32::try_from(at + 1).unwrap_or(u32::MAX));
            }
        }
        Self { text, starts, ascii: text.is_ascii(), last: (0, 0, 0) }
    }

    /// How many lines there are, the one after the last line break included.
    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Byte offset of a line (from 0) and column in characters (from 0); past the end of the text
    /// it is the end.
    pub(super) fn offset(&mut self, line: usize, column: usize) -> usize {
        let Some(&start) = self.starts.get(line) else { return self.text.len() };
        let start = start as usize;
        if self.ascii {
            return (start + column).min(self.text.len());
        }
        let (last_line, last_column, last_offset) = self.last;
        // Events come nearly in order, so the walk from the last one is short even in a document
        // that is one long line.
        let offset = if last_line == line && column >= last_column {
            self.forward(last_offset, column - last_column)
        } else if last_line == line && last_column - column < column {
            self.backward(last_offset, last_column - column)
        } else {
            self.forward(start, column)
        };
        self.last = (line, column, offset);
        offset
    }

    /// Line (from 0) of a byte offset.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= offset).saturating_sub(1)
    }

    /// Line (from 0) and column in characters (from 0) of a byte offset.
    pub(super) fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let start = self.starts.get(line).map_or(0, |&start| start as usize);
        let column = self.text.get(start..offset).map_or(0, |text| text.chars().count());
        (line, column)
    }

    fn forward(&self, from: usize, characters: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        rest.char_indices().nth(characters).map_or(self.text.len(), |(at, _)| from + at)
    }

    fn backward(&self, from: usize, characters: usize) -> usize {
        let before = self.text.get(..from).unwrap_or_default();
        match characters {
            0 => from,
            _ => before.char_indices().nth_back(characters - 1).map_or(0, |(at, _)| at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lf_crlf_and_lone_cr_end_a_line() {
        let mut lines = Lines::new("a\nb\r\nc\rd");
        assert_eq!([0, 1, 2, 3].map(|line| lines.offset(line, 0)), [0, 2, 5, 7]);
    }

    #[test]
    fn columns_count_characters_forward_and_backward() {
        let mut lines = Lines::new("é: €x\né");
        assert_eq!(lines.offset(0, 4), 7);
        assert_eq!(lines.offset(0, 3), 4);
        assert_eq!(lines.offset(0, 1), 2);
        assert_eq!(lines.offset(0, 4), 7);
        assert_eq!(lines.offset(1, 1), 11);
        assert_eq!(lines.line_and_column(7), (0, 4));
    }

    #[test]
    fn a_place_past_the_end_is_the_end() {
        assert_eq!(Lines::new("a").offset(0, 99), 1);
        assert_eq!(Lines::new("a").offset(9, 0), 1);
        assert_eq!(Lines::new("é").offset(0, 99), 2);
    }
}
