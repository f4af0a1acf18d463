//! Writing scalars in a given style, and breaking them into lines.

use std::fmt::Write as _;

use super::scalar::{Place, is_printable};
use crate::yaml::NodeStyle;

/// The column after which lines are broken at the next opportunity.
pub(crate) const WIDTH: usize = 80;

/// The text of a document, or of a part of a document, while it is being written.
#[derive(Debug, Default)]
pub(crate) struct TextBuilder {
    /// The text built so far, except the text that the caller has already written to its output.
    pub(crate) buffer: String,
    pub(crate) column: usize,
    /// True if no space is needed before the next text, usually because the last character was a
    /// space or a line break.
    pub(crate) is_blank: bool,
    /// True if the current line so far contains only indentation and block indicators (`-`, `?` or
    /// `:`).
    pub(crate) is_indentation: bool,
    /// Column of the innermost collection; `None` outside all collections.
    pub(crate) indent: Option<usize>,
}

impl TextBuilder {
    /// Writes a scalar in the given style, which its context must allow.
    pub(crate) fn scalar(&mut self, text: &str, style: NodeStyle, place: Place) {
        let may_break = !place.is_key;
        match style {
            NodeStyle::SingleQuoted => self.single_quoted(text, may_break),
            NodeStyle::DoubleQuoted => self.double_quoted(text, may_break),
            NodeStyle::Literal | NodeStyle::Folded => self.literal(text),
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
            // A single line break in quotes is read as a space, so write the first of consecutive
            // line breaks twice.
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

    /// Writes a line of text, breaking it at single spaces once it exceeds the maximum width.
    /// Characters for which `is_doubled` returns `true` are written twice.
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
        // Drop the last line break, because the next node begins with one.
        let _ = self.buffer.pop();
        self.column = usize::MAX;
    }

    pub(crate) fn indicator(&mut self, text: &str, needs_blank: bool) {
        if needs_blank {
            self.blank();
        }
        self.put(text);
        (self.is_blank, self.is_indentation) = (false, false);
    }

    /// Writes a dash, or the `?` or `:` before a key or value on its own line.
    pub(crate) fn block_indicator(&mut self, text: &str) {
        let is_indentation = self.is_indentation;
        self.indicator(text, true);
        self.is_indentation = is_indentation;
    }

    /// Writes a space if one is needed before the next text.
    pub(crate) fn blank(&mut self) {
        if !self.is_blank {
            self.put(" ");
        }
        (self.is_blank, self.is_indentation) = (false, false);
    }

    /// Begins a new line and indents it. If the current line contains only indentation and block
    /// indicators and is short enough, indents the current line instead.
    pub(crate) fn new_line(&mut self) {
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

    pub(crate) fn line_break(&mut self) {
        self.buffer.push('\n');
        self.column = 0;
        (self.is_blank, self.is_indentation) = (true, true);
    }

    pub(crate) fn put(&mut self, text: &str) {
        self.buffer.push_str(text);
        self.column = self.column.saturating_add(text.chars().count());
    }

    fn put_char(&mut self, c: char) {
        self.buffer.push(c);
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

/// Percent-encodes the characters of a tag, except those that are allowed in every tag or contained
/// in `also`.
pub(crate) fn encode_tag(tag: &str, also: &str) -> String {
    let mut out = String::new();
    for byte in tag.bytes() {
        let c = char::from(byte);
        if byte.is_ascii_alphanumeric() || "-;/?:@&=+$_.~*'()".contains(c) || also.contains(c) {
            out.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::yaml::emit::possible_style;
    use crate::yaml::{Document, ParseOptions};

    proptest! {
        #[test]
        fn a_string_reads_back_in_every_style_that_the_context_allows(
            text in "[ -~é\n\u{2028}]{0,200}",
            style in prop::sample::select(vec![
                NodeStyle::Plain, NodeStyle::SingleQuoted, NodeStyle::DoubleQuoted, NodeStyle::Literal,
            ]),
            in_flow: bool,
        ) {
            let place = Place { in_flow, is_key: false, is_tagged: false };
            let mut builder = TextBuilder { indent: Some(2), ..TextBuilder::default() };
            builder.indicator(if in_flow { "[" } else { "-" }, false);
            builder.scalar(&text, possible_style(&text, style, place), place);
            if in_flow {
                builder.indicator("]", false);
            }
            let written = builder.buffer + "\n";
            let document =
                Document::parse(written.as_bytes(), &ParseOptions::default(), &mut Vec::new());
            let document = document.unwrap();
            prop_assert_eq!(document.root().at(0).unwrap().text(), Some(&*text), "{}", written);
        }
    }
}
