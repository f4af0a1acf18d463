//! Scanning quoted scalars.
//!
//! ```text
//! 'it''s'              two quotes stand for one
//! "\x41\u00e9\n"       escapes; a backslash at the end of a line joins it to the next
//! 'two
//!   lines'             `two lines`: line breaks are folded as in plain scalars
//! ```

use super::cursor::{BREAK, DOUBLE, SINGLE};
use super::{Fault, Scanner, Span, fault};
use crate::yaml::scalar::NodeStyle;

/// The state of scanning a quoted scalar.
struct Quoted {
    /// Offset of the opening quote.
    start: usize,
    /// Offset of the first byte that has not been copied to `changed` yet.
    part: usize,
    /// Offset in `changed` at which the text begins, once any of it has been copied.
    changed: Option<usize>,
}

impl Scanner<'_> {
    pub(super) fn single_quoted(&mut self) -> Result<(), Fault> {
        let mut quoted = self.open_quote()?;
        loop {
            let stop = self.cursor.find(self.cursor.at, SINGLE | BREAK);
            match (self.cursor.byte_at(stop), self.cursor.byte_at(stop + 1)) {
                (b'\'', b'\'') => {
                    self.copy_part(&mut quoted, stop + 1);
                    self.cursor.at = stop + 2;
                    quoted.part = stop + 2;
                }
                (b'\'', _) => {
                    self.close_quote(&mut quoted, NodeStyle::SingleQuoted, stop);
                    return Ok(());
                }
                _ => self.fold_quoted(&mut quoted, stop)?,
            }
        }
    }

    pub(super) fn double_quoted(&mut self) -> Result<(), Fault> {
        let mut quoted = self.open_quote()?;
        loop {
            let stop = self.cursor.find(self.cursor.at, DOUBLE | BREAK);
            match self.cursor.byte_at(stop) {
                b'"' => {
                    self.close_quote(&mut quoted, NodeStyle::DoubleQuoted, stop);
                    return Ok(());
                }
                b'\\' => {
                    self.copy_part(&mut quoted, stop);
                    self.escape(stop)?;
                    quoted.part = self.cursor.at;
                }
                _ => self.fold_quoted(&mut quoted, stop)?,
            }
        }
    }

    fn open_quote(&mut self) -> Result<Quoted, Fault> {
        self.save_key()?;
        self.is_key_allowed = false;
        let start = self.cursor.at;
        self.cursor.at += 1;
        Ok(Quoted { start, part: start + 1, changed: None })
    }

    /// Copies the text after the last copied part, up to `end`.
    fn copy_part(&mut self, quoted: &mut Quoted, end: usize) {
        quoted.changed.get_or_insert(self.changed.len());
        let part = self.cursor.text.get(quoted.part..end);
        self.changed.push_str(part.unwrap_or_default());
    }

    fn close_quote(&mut self, quoted: &mut Quoted, style: NodeStyle, end: usize) {
        let text = if let Some(changed) = quoted.changed {
            self.copy_part(quoted, end);
            self.changed_from(changed)
        } else {
            Span::new(quoted.part, end)
        };
        self.cursor.at = end + 1;
        self.push_scalar(style, quoted.start, end + 1, text);
    }

    /// Folds the line breaks, and continues on the next line with text.
    fn fold_quoted(&mut self, quoted: &mut Quoted, line_end: usize) -> Result<(), Fault> {
        let quote = char::from(self.cursor.byte_at(quoted.start));
        let never_closed = || format!("this quote is never closed, expected another `{quote}`");
        let part = self.cursor.bytes.get(quoted.part..line_end).unwrap_or_default();
        let blanks = part.iter().rev().take_while(|&&byte| matches!(byte, b' ' | b'\t')).count();
        self.copy_part(quoted, line_end - blanks);
        self.cursor.at = line_end;
        if !self.fold(false)? {
            return fault(quoted.start, never_closed());
        }
        if self.cursor.is_document_mark() {
            return fault(
                self.cursor.at,
                "`---` or `...` at the start of a line ends the document, even inside quotes: indent it",
            );
        }
        self.changed.push_str(&self.breaks);
        quoted.part = self.cursor.at;
        Ok(())
    }

    /// Appends the text that an escape represents to `changed`, and moves past the escape.
    fn escape(&mut self, at: usize) -> Result<(), Fault> {
        let break_len = self.cursor.break_len(at + 1);
        if break_len > 0 {
            self.cursor.at = at + 1;
            self.cursor.next_line(break_len);
            self.breaks.clear();
            self.skip_breaks(false)?;
            if self.cursor.is_document_mark() {
                return fault(
                    self.cursor.at,
                    "`---` or `...` at the start of a line ends the document, even inside \
                     quotes: indent it",
                );
            }
            self.changed.push_str(&self.breaks);
            return Ok(());
        }
        let (character, digits) = match self.cursor.byte_at(at + 1) {
            b'0' => ('\0', 0),
            b'a' => ('\x07', 0),
            b'b' => ('\x08', 0),
            b't' | b'\t' => ('\t', 0),
            b'n' => ('\n', 0),
            b'v' => ('\x0b', 0),
            b'f' => ('\x0c', 0),
            b'r' => ('\r', 0),
            b'e' => ('\x1b', 0),
            byte @ (b' ' | b'"' | b'/' | b'\\') => (char::from(byte), 0),
            b'N' => ('\u{85}', 0),
            b'_' => ('\u{a0}', 0),
            b'L' => ('\u{2028}', 0),
            b'P' => ('\u{2029}', 0),
            b'x' => ('\0', 2),
            b'u' => ('\0', 4),
            b'U' => ('\0', 8),
            _ => return fault(at, "unknown escape, expected one such as `\\n` or `\\u00e9`"),
        };
        self.cursor.at = at + 2 + digits;
        self.changed.push(if digits == 0 { character } else { self.hexadecimal(at, digits)? });
        Ok(())
    }

    fn hexadecimal(&self, at: usize, digits: usize) -> Result<char, Fault> {
        let text = self.cursor.text.get(at + 2..at + 2 + digits);
        let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(number) = text.and_then(|text| u32::from_str_radix(text, 16).ok()) else {
            return fault(at, format!("expected {digits} hexadecimal digits in this escape"));
        };
        match char::from_u32(number) {
            Some(character) => Ok(character),
            None => fault(
                at,
                "this escape does not represent a Unicode character: expected a code up to 10ffff, \
                 but not from d800 to dfff",
            ),
        }
    }
}
