//! Scalars in their styles, broken into lines.

use super::scalar::{Place, is_printable};
use super::{Emitter, WIDTH};
use crate::yaml::Style;

impl Emitter<'_, '_> {
    pub(super) fn text_of(&mut self, text: &str, style: Style, place: Place) {
        let may_break = !place.is_key;
        match style {
            Style::SingleQuoted => self.single_quoted(text, may_break),
            Style::DoubleQuoted => self.double_quoted(text, may_break),
            Style::Literal | Style::Folded => self.literal(text),
            _ => self.plain(text, may_break),
        }
        (self.is_blank, self.is_indentation) = (false, false);
    }

    fn plain(&mut self, text: &str, may_break: bool) {
        self.blank();
        self.words(text, may_break, |_| false);
    }

    fn single_quoted(&mut self, text: &str, may_break: bool) {
        self.indicator("'", true);
        let mut lines = text.split('\n');
        let mut broke = false;
        if let Some(first) = lines.next() {
            self.words(first, may_break, |c| c == '\'');
        }
        for line in lines {
            // One break in the quotes is a blank, so the first of several is written twice.
            if !broke {
                self.line_break();
            }
            self.line_break();
            broke = line.is_empty();
            if !broke {
                self.new_line();
                self.words(line, may_break, |c| c == '\'');
            }
        }
        if broke {
            self.new_line();
        }
        self.put("'");
    }

    /// Writes a line of text; at a single blank after the width it is broken. What `is_doubled` is
    /// written twice.
    fn words(&mut self, text: &str, may_break: bool, is_doubled: fn(char) -> bool) {
        let breaks = may_break && self.column.saturating_add(text.len()) > WIDTH;
        if !breaks && !text.contains(is_doubled) {
            return self.put(text);
        }
        let mut before = '\0';
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let next = characters.peek().copied();
            let is_inside = before != '\0' && next.is_some();
            if c == ' '
                && may_break
                && self.column > WIDTH
                && is_inside
                && before != ' '
                && next != Some(' ')
            {
                self.new_line();
            } else {
                if is_doubled(c) {
                    self.put_char(c);
                }
                self.put_char(c);
            }
            before = c;
        }
    }

    fn double_quoted(&mut self, text: &str, may_break: bool) {
        self.indicator("\"", true);
        let mut before = '\0';
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let next = characters.peek().copied();
            if c == ' '
                && may_break
                && self.column > WIDTH
                && before != '\0'
                && next.is_some()
                && before != ' '
            {
                self.new_line();
                if next == Some(' ') {
                    self.put("\\");
                }
            } else if c == '"' || c == '\\' || c == '\n' || !is_printable(c) {
                let escape = escape(c);
                self.put(&escape);
            } else {
                self.put_char(c);
            }
            before = c;
        }
        self.put("\"");
    }

    fn literal(&mut self, text: &str) {
        let mut hint = String::from("|");
        if text.starts_with([' ', '\n']) {
            hint.push('2');
        }
        match text.strip_suffix('\n') {
            None => hint.push('-'),
            Some(before) if before.is_empty() || before.ends_with('\n') => hint.push('+'),
            Some(_) => {}
        }
        self.indicator(&hint, true);
        self.line_break();
        let indent = self.indent.unwrap_or(0);
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            if !line.is_empty() {
                self.put(&" ".repeat(indent));
                self.put(line);
            }
            self.line_break();
        }
        // The next node begins on a line of its own.
        let _ = self.text.pop();
        self.column = usize::MAX;
    }

    pub(super) fn indicator(&mut self, text: &str, needs_blank: bool) {
        if needs_blank {
            self.blank();
        }
        self.put(text);
        (self.is_blank, self.is_indentation) = (false, false);
    }

    /// A dash, or what comes before a key or a value on a line of its own.
    pub(in crate::value) fn block_indicator(&mut self, text: &str) {
        let is_indentation = self.is_indentation;
        self.indicator(text, true);
        self.is_indentation = is_indentation;
    }

    /// Writes a blank, unless one was just written.
    pub(super) fn blank(&mut self) {
        if !self.is_blank {
            self.put(" ");
        }
        (self.is_blank, self.is_indentation) = (false, false);
    }

    /// Begins a line, unless one has just begun, and indents it.
    pub(super) fn new_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.is_indentation || self.column > indent || (self.column == indent && !self.is_blank)
        {
            self.line_break();
        }
        while self.column < indent {
            self.put(" ");
        }
        (self.is_blank, self.is_indentation) = (true, true);
    }

    pub(super) fn line_break(&mut self) {
        self.text.push('\n');
        self.column = 0;
        (self.is_blank, self.is_indentation) = (true, true);
    }

    pub(super) fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.column = self.column.saturating_add(text.chars().count());
    }

    fn put_char(&mut self, c: char) {
        self.text.push(c);
        self.column = self.column.saturating_add(1);
    }
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
