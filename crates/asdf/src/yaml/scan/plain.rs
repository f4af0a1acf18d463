//! Scanning plain scalars, which have no quotes.
//!
//! ```text
//! a: one line        its text is a part of the tree's text
//! b: two             `two lines`: a line break becomes a space, and n empty lines become n line feeds
//!   lines
//! ```

use super::cursor::{BLANK, BREAK, COLON, FLOW};
use super::{Fault, MAX_SIMPLE_KEY, Scanner, Span, TokenKind, fault};
use crate::yaml::scalar::NodeStyle;

impl Scanner<'_> {
    pub(super) fn plain(&mut self) -> Result<(), Fault> {
        let (start, column) = (self.cursor.at, self.cursor.column());
        let may_be_key = self.is_key_allowed && !self.is_flow();
        if self.is_key_allowed {
            self.forget_key()?;
        }
        let mut end = self.plain_line()?;
        if may_be_key && self.cursor.byte() == b':' && self.cursor.at - start <= MAX_SIMPLE_KEY {
            // This is the usual form of a key, with the colon on the same line. Its tokens can be
            // pushed immediately.
            self.open_block(TokenKind::BlockMappingStart, column, start, None);
            self.push(TokenKind::Key, start, start);
            self.push_scalar(NodeStyle::Plain, start, end, Span::new(start, end));
            self.is_key_allowed = false;
            self.indicator(TokenKind::Value, 1);
            return Ok(());
        }
        self.save_key_at(start, column);
        self.is_key_allowed = false;
        // Offset in `changed` at which the text begins, if it has several lines.
        let mut changed = None;
        while self.fold(true)? {
            let line = self.cursor.at;
            let ends = self.cursor.is_document_mark()
                || self.cursor.byte() == b'#'
                || (!self.is_flow() && self.is_outside(self.cursor.column()));
            let line_end = if ends { line } else { self.plain_line()? };
            if line_end == line {
                // The next token begins on a new line, so it may be a key.
                self.is_key_allowed = true;
                break;
            }
            let text = self.cursor.text;
            if changed.is_none() {
                changed = Some(self.changed.len());
                self.changed.push_str(text.get(start..end).unwrap_or_default());
            }
            self.changed.push_str(&self.breaks);
            self.changed.push_str(text.get(line..line_end).unwrap_or_default());
            end = line_end;
        }
        let text = changed.map_or(Span::new(start, end), |at| self.changed_from(at));
        self.push_scalar(NodeStyle::Plain, start, end, text);
        Ok(())
    }

    /// Scans the rest of a line, and returns the offset at which its text ends.
    fn plain_line(&mut self) -> Result<usize, Fault> {
        let is_flow = self.is_flow();
        let stops = BLANK | BREAK | COLON | if is_flow { FLOW } else { 0 };
        let mut at = self.cursor.at;
        let mut end = at;
        loop {
            let word = at;
            at = self.cursor.find(at, stops);
            if at > word {
                end = at;
            }
            match self.cursor.byte_at(at) {
                b':' if self.cursor.is_space(at + 1) => break,
                b':' if is_flow => {
                    if matches!(
                        self.cursor.byte_at(at + 1),
                        b',' | b'?' | b'[' | b']' | b'{' | b'}'
                    ) {
                        return fault(at, "expected a space after `:`");
                    }
                    at += 1;
                    end = at;
                }
                b':' => {
                    at += 1;
                    end = at;
                }
                b' ' | b'\t' => {
                    while matches!(self.cursor.byte_at(at), b' ' | b'\t') {
                        at += 1;
                    }
                    if self.cursor.byte_at(at) == b'#' {
                        break;
                    }
                }
                _ => break,
            }
        }
        self.cursor.at = at;
        Ok(end)
    }
}
