//! A position in the text, and methods to examine the bytes at this position.
//!
//! The text is UTF-8 without NUL bytes, so a NUL byte can represent the end. Six sequences end a
//! line: LF, CR, CR LF, NEL (U+0085), LS (U+2028) and PS (U+2029). The last three are rare, so a
//! new cursor searches the text for them. If there are none, it ignores all bytes above 7F.

use memchr::memchr2;

/// Space and tab.
pub(super) const BLANK: u8 = 1;
/// LF and CR.
pub(super) const BREAK: u8 = 2;
/// First bytes of NEL, LS and PS.
pub(super) const WIDE: u8 = 4;
/// The characters that end a plain scalar inside brackets: `,[]{}`.
pub(super) const FLOW: u8 = 8;
/// A colon.
pub(super) const COLON: u8 = 16;
/// Characters with a special meaning in a single-quoted scalar.
pub(super) const SINGLE: u8 = 32;
/// Characters with a special meaning in a double-quoted scalar.
pub(super) const DOUBLE: u8 = 64;
/// Characters allowed in the names of anchors and tag handles: letters, digits, `_` and `-`.
pub(super) const NAME: u8 = 128;

/// The classes of each byte.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation, reason = "below 256")]
        let b = byte as u8;
        classes[byte] = match b {
            b' ' | b'\t' => BLANK,
            b'\n' | b'\r' => BREAK,
            0xc2 | 0xe2 => WIDE,
            b',' | b'[' | b']' | b'{' | b'}' => FLOW,
            b':' => COLON,
            b'\'' => SINGLE,
            b'"' | b'\\' => DOUBLE,
            b'_' | b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => NAME,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// The byte order mark.
const BOM: &[u8] = "\u{feff}".as_bytes();

pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    /// Offset of column 0 of the current line. Columns count bytes, because only ASCII characters
    /// can precede the start of a block collection on its line.
    pub(super) line_start: usize,
    /// [`WIDE`] if the text contains NEL, LS or PS; otherwise 0.
    wide: u8,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let has_wide = !text.is_ascii() && has_wide_break(bytes);
        let mut cursor =
            Self { text, bytes, at: 0, line_start: 0, wide: if has_wide { WIDE } else { 0 } };
        if bytes.starts_with(BOM) {
            cursor.at = BOM.len();
            cursor.line_start = cursor.at;
        }
        cursor
    }

    /// Returns the byte at the cursor, or 0 at the end.
    pub(super) fn byte(&self) -> u8 {
        self.byte_at(self.at)
    }

    pub(super) fn byte_at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn column(&self) -> usize {
        self.at - self.line_start
    }

    /// Returns the offset of the first byte at or after `at` that belongs to one of the classes, or
    /// the length of the text if there is no such byte. The class [`BREAK`] includes all kinds of
    /// line breaks.
    pub(super) fn find(&self, at: usize, classes: u8) -> usize {
        let classes = if classes & BREAK != 0 { classes | self.wide } else { classes };
        let mut at = at;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let found = rest.iter().position(|&byte| CLASSES[usize::from(byte)] & classes != 0);
            let Some(found) = found else { return self.bytes.len() };
            at += found;
            if CLASSES[usize::from(self.bytes[at])] & WIDE == 0 || self.break_len(at) > 0 {
                return at;
            }
            at += 1;
        }
    }

    /// Returns the offset at which the name that begins at `at` ends.
    pub(super) fn name_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let is_name = |&&byte: &&u8| CLASSES[usize::from(byte)] & NAME != 0;
        at + rest.iter().take_while(is_name).count()
    }

    /// Returns the offset at which the current line ends.
    pub(super) fn line_end(&self) -> usize {
        if self.wide != 0 {
            return self.find(self.at, BREAK);
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        memchr2(b'\n', b'\r', rest).map_or(self.bytes.len(), |found| self.at + found)
    }

    /// Returns the length in bytes of the line break at an offset, or 0 if there is no line break.
    pub(super) fn break_len(&self, at: usize) -> usize {
        match self.byte_at(at) {
            b'\n' => 1,
            b'\r' => 1 + usize::from(self.byte_at(at + 1) == b'\n'),
            0xc2 => 2 * usize::from(self.byte_at(at + 1) == 0x85),
            0xe2 => {
                let is_separator =
                    self.byte_at(at + 1) == 0x80 && matches!(self.byte_at(at + 2), 0xa8 | 0xa9);
                3 * usize::from(is_separator)
            }
            _ => 0,
        }
    }

    /// Returns the text that a line break becomes in a scalar: LS and PS are kept; all others
    /// become a line feed.
    pub(super) fn break_text(&self, at: usize, len: usize) -> &'t str {
        if len == 3 { self.text.get(at..at + len).unwrap_or_default() } else { "\n" }
    }

    /// Returns `true` if an offset is at a space, a tab, a line break or the end of the text.
    pub(super) fn is_space(&self, at: usize) -> bool {
        match self.byte_at(at) {
            0 | b' ' | b'\t' | b'\n' | b'\r' => true,
            0xc2 | 0xe2 => self.break_len(at) > 0,
            _ => false,
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        matches!(self.byte(), b' ' | b'\t')
    }

    /// Moves to the next line, past a line break of `len` bytes.
    pub(super) fn next_line(&mut self, len: usize) {
        self.at += len;
        self.line_start = self.at;
    }

    /// Returns `true` if the cursor is in column 0 at a `---` or `...` followed by white space or
    /// the end of the text.
    pub(super) fn is_document_mark(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.column() == 0
            && (rest.starts_with(b"---") || rest.starts_with(b"..."))
            && self.is_space(self.at + 3)
    }

    /// Skips a byte order mark at the start of a line. The mark counts as one column.
    pub(super) fn skip_bom(&mut self) {
        if self.column() == 0 && self.byte() == BOM[0] {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            if rest.starts_with(BOM) {
                self.at += BOM.len();
                self.line_start += BOM.len() - 1;
            }
        }
    }
}

fn has_wide_break(bytes: &[u8]) -> bool {
    memchr::memchr2_iter(0xc2, 0xe2, bytes).any(|at| {
        let rest = &bytes[at..];
        ["\u{85}", "\u{2028}", "\u{2029}"].iter().any(|it| rest.starts_with(it.as_bytes()))
    })
}
