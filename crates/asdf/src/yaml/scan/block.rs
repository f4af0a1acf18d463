//! Scanning block scalars.
//!
//! ```text
//! a: |          literal: line breaks are kept
//!   text
//! b: >-2        folded; `-` drops the final line feeds, `+` keeps them all; `2` is the indentation
//!   text
//! ```

use super::{Fault, Scanner, fault};
use crate::yaml::scalar::NodeStyle;

/// The treatment of the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    /// Keeps only the first of the line breaks at the end.
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn block_scalar(&mut self) -> Result<(), Fault> {
        self.forget_key()?;
        // The next token begins on a new line, so it may be a key.
        self.is_key_allowed = true;
        let start = self.cursor.at;
        let is_literal = self.cursor.byte() == b'|';
        self.cursor.at += 1;
        let (chomping, increment) = self.block_header()?;
        let mut end = self.cursor.at;
        self.header_line_end()?;
        let mut indent = match increment {
            0 => 0,
            increment => usize::try_from(self.indent).unwrap_or(0) + increment,
        };
        let from = self.changed.len();
        let text = self.cursor.text;
        // `line_break` is the line break after the previous line, and `was_blank` is true if the
        // previous line begins with a space or tab.
        let (mut line_break, mut was_blank) = ("", false);
        self.breaks.clear();
        let mut last_break = self.block_breaks(&mut indent)?;
        while self.cursor.column() == indent && !self.cursor.is_end() {
            let is_blank = self.cursor.is_blank();
            if is_literal || line_break != "\n" || was_blank || is_blank {
                self.changed.push_str(line_break);
            } else if self.breaks.is_empty() {
                self.changed.push(' ');
            }
            self.changed.push_str(&self.breaks);
            self.breaks.clear();
            was_blank = is_blank;
            let line = self.cursor.at;
            end = self.cursor.line_end();
            self.changed.push_str(text.get(line..end).unwrap_or_default());
            self.cursor.at = end;
            line_break = match self.cursor.break_len(end) {
                0 => "",
                len => {
                    let line_break = self.cursor.break_text(end, len);
                    self.cursor.next_line(len);
                    line_break
                }
            };
            last_break = self.block_breaks(&mut indent)?;
        }
        if chomping != Chomping::Strip {
            self.changed.push_str(line_break);
        }
        if chomping == Chomping::Keep {
            self.changed.push_str(&self.breaks);
            end = last_break.unwrap_or(end);
        }
        let style = if is_literal { NodeStyle::Literal } else { NodeStyle::Folded };
        let text = self.changed_from(from);
        self.push_scalar(style, start, end, text);
        Ok(())
    }

    /// Parses the indicators after `|` or `>`, in any order. Returns the chomping and the value of the
    /// indentation indicator, or 0 if there is no such indicator.
    fn block_header(&mut self) -> Result<(Chomping, usize), Fault> {
        let (mut chomping, mut increment) = (None, 0);
        loop {
            match self.cursor.byte() {
                b'+' if chomping.is_none() => chomping = Some(Chomping::Keep),
                b'-' if chomping.is_none() => chomping = Some(Chomping::Strip),
                b'0' if increment == 0 => {
                    return fault(
                        self.cursor.at,
                        "the indentation indicator is 0, expected 1 to 9",
                    );
                }
                digit @ b'1'..=b'9' if increment == 0 => increment = usize::from(digit - b'0'),
                _ => return Ok((chomping.unwrap_or(Chomping::Clip), increment)),
            }
            self.cursor.at += 1;
        }
    }

    /// Skips the rest of the header line. Fails if it contains anything but a comment.
    fn header_line_end(&mut self) -> Result<(), Fault> {
        while self.cursor.is_blank() {
            self.cursor.at += 1;
        }
        if self.cursor.byte() == b'#' {
            self.cursor.at = self.cursor.line_end();
        }
        match self.cursor.break_len(self.cursor.at) {
            0 if !self.cursor.is_end() => {
                fault(self.cursor.at, "expected a comment or a line break after `|` or `>`")
            }
            len => {
                if len > 0 {
                    self.cursor.next_line(len);
                }
                Ok(())
            }
        }
    }

    /// Skips empty lines and the indentation of the next line. If `indent` is 0, sets it to the
    /// largest indentation of these lines, or to the minimum for the innermost block collection if
    /// that is larger. Returns the offset of the last line break, if there was one.
    fn block_breaks(&mut self, indent: &mut usize) -> Result<Option<usize>, Fault> {
        let (mut widest, mut last_break) = (0, None);
        loop {
            let is_inside = |column| *indent == 0 || column < *indent;
            while is_inside(self.cursor.column()) && self.cursor.byte() == b' ' {
                self.cursor.at += 1;
            }
            widest = widest.max(self.cursor.column());
            if is_inside(self.cursor.column()) && self.cursor.byte() == b'\t' {
                return fault(self.cursor.at, "a tab is not allowed as indentation: use spaces");
            }
            let at = self.cursor.at;
            let len = self.cursor.break_len(at);
            if len == 0 {
                break;
            }
            self.breaks.push_str(self.cursor.break_text(at, len));
            last_break = Some(at);
            self.cursor.next_line(len);
        }
        if *indent == 0 {
            *indent = widest.max(usize::try_from(self.indent + 1).unwrap_or(0)).max(1);
        }
        Ok(last_break)
    }
}
