//! Splitting the text into tokens, as libyaml does.
//!
//! ```text
//! - a: [1, x]      block sequence, entry, block mapping, key, scalar, value, ..
//!  ^ ^             the tokens for the mapping and the key come before `a`, but only `:` reveals them
//! ```
//!
//! A node that may turn out to be a key (on one line, at most 1024 characters) is recorded as a
//! [`SimpleKey`]. There is at most one such node per level of brackets. Its tokens are held back
//! until it is certain whether a `:` follows. Indentation opens and closes block collections. The
//! scanner does not recurse, and examines each byte a bounded number of times, regardless of the
//! source.
//!
//! The text of a scalar is usually a range of the source. The text of block scalars, and text that
//! is changed by escapes or line folding, is stored in [`Scanner::changed`] instead. Offsets at or
//! beyond the length of the source refer to this string.

mod block;
mod cursor;
mod numbers;
mod plain;
mod queue;
mod quoted;
mod tag;

use std::borrow::Cow;

use cursor::Cursor;
pub(super) use numbers::number_end;
use queue::Queue;

use super::scalar::NodeStyle;

/// Maximum number of characters from the start of a simple key to its `:`.
const MAX_SIMPLE_KEY: usize = 1024;

/// A range of byte offsets in the text, or of indices in [`Scanner::elements`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start: offset(start), end: offset(end) }
    }

    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Converts an offset to `u32`. The limit on the length of a document keeps all its offsets below
/// 2³².
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A violation of YAML 1.1, with its offset.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) message: Cow<'static, str>,
}

pub(super) fn fault<T>(offset: usize, message: impl Into<Cow<'static, str>>) -> Result<T, Fault> {
    Err(Fault { offset, message: message.into() })
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A `%` at the start of a line. The rest of the line is not scanned.
    Directive,
    DocumentStart,
    DocumentEnd,
    StreamEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    FlowEntry,
    BlockEntry,
    Key,
    Value,
    Alias,
    Anchor,
    Tag,
    Scalar(NodeStyle),
    /// A whole flow sequence of plain numbers. `floats` is true if any of them is a float.
    Numbers {
        floats: bool,
    },
}

/// A token and its position. A token that is not represented by any characters has an empty span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
    /// The text of a scalar, or the range of a list of numbers in `elements`.
    pub(super) text: Span,
}

/// A node that becomes a key if a `:` follows.
#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    is_possible: bool,
    /// True if only a key can begin in the column of the node.
    is_required: bool,
    /// Number of the key's first token: [`Scanner::taken`] plus the index of the token in the queue.
    token: usize,
    start: usize,
    column: usize,
}

pub(super) struct Scanner<'t> {
    cursor: Cursor<'t>,
    /// The text of the scalars that differ from their source, for example because of escapes or
    /// folded lines.
    pub(super) changed: String,
    /// The offsets at which the elements of number lists begin in the text.
    pub(super) elements: Vec<u32>,
    /// True if each flow sequence of numbers becomes a single token.
    pub(super) joins_numbers: bool,
    /// The text that replaces the most recently skipped line breaks.
    breaks: String,
    queue: Queue,
    /// The token at the front of the queue, once it is certain that no key token will be inserted
    /// before it.
    next: Option<Token>,
    /// Number of tokens that [`Self::take`] has removed from the queue.
    taken: usize,
    /// Column of the innermost block collection, or -1 outside all block collections.
    indent: isize,
    /// The values of `indent` for the levels that enclose the innermost block collection, outermost
    /// first.
    indents: Vec<isize>,
    /// The last potential key at each level of brackets, starting with level 0.
    keys: Vec<SimpleKey>,
    /// The lowest level of brackets that may have a potential key.
    first_key: usize,
    is_key_allowed: bool,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            cursor: Cursor::new(text),
            changed: String::new(),
            elements: Vec::new(),
            joins_numbers: true,
            breaks: String::new(),
            queue: Queue::default(),
            next: None,
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            keys: vec![SimpleKey::default()],
            first_key: 0,
            is_key_allowed: true,
        }
    }

    pub(super) fn text(&self) -> &'t str {
        self.cursor.text
    }

    /// Restarts scanning at `at`, which must be the start of a line, and discards all queued tokens
    /// and open collections.
    pub(super) fn restart(&mut self, at: usize) {
        (self.cursor.at, self.cursor.line_start) = (at, at);
        self.queue.clear();
        self.next = None;
        (self.indent, self.first_key, self.is_key_allowed) = (-1, 0, true);
        self.indents.clear();
        self.keys.truncate(1);
        self.keys[0].is_possible = false;
    }

    /// Returns the next token without removing it.
    pub(super) fn peek(&mut self) -> Result<Token, Fault> {
        if let Some(token) = self.next {
            return Ok(token);
        }
        loop {
            if let Some(token) = self.queue.front() {
                if !self.may_begin_key() {
                    self.next = Some(token);
                    return Ok(token);
                }
            }
            self.fetch()?;
        }
    }

    /// Removes the token that [`Self::peek`] returned.
    pub(super) fn take(&mut self) {
        self.next = None;
        self.queue.pop();
        self.taken += 1;
    }

    /// Returns `true` if the next token may still turn out to begin a key.
    fn may_begin_key(&mut self) -> bool {
        while let Some(key) = self.keys.get(self.first_key) {
            if key.is_possible && !self.is_too_far(key) {
                return key.token == self.taken;
            }
            self.first_key += 1;
        }
        false
    }

    /// Returns `true` if the cursor is certainly too far from the start of a key for `:` to follow.
    /// If this returns `false`, the characters must still be counted.
    fn is_too_far(&self, key: &SimpleKey) -> bool {
        key.start < self.cursor.line_start || self.cursor.at - key.start > 4 * MAX_SIMPLE_KEY
    }

    /// Returns `true` if the cursor is close enough to the start of a possible key for a `:` to end
    /// the key.
    fn is_in_reach(&self, key: &SimpleKey) -> bool {
        let Some(written) = self.cursor.text.get(key.start..self.cursor.at) else { return false };
        !self.is_too_far(key)
            && (written.len() <= MAX_SIMPLE_KEY || written.chars().count() <= MAX_SIMPLE_KEY)
    }

    fn is_flow(&self) -> bool {
        self.keys.len() > 1
    }

    fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        let span = Span::new(start, end);
        self.queue.push(Token { kind, span, text: Span::default() });
    }

    /// Adds a token that consists of the next `len` bytes.
    fn indicator(&mut self, kind: TokenKind, len: usize) {
        let start = self.cursor.at;
        self.cursor.at += len;
        self.push(kind, start, start + len);
    }

    fn fetch(&mut self) -> Result<(), Fault> {
        self.skip_to_token();
        let key = self.keys[0];
        if key.is_possible && key.is_required && self.is_too_far(&key) {
            return missing_colon(&key);
        }
        let column = self.cursor.column();
        if !self.is_flow() {
            self.close_blocks(column);
        }
        if self.cursor.is_end() {
            return self.document_mark(TokenKind::StreamEnd, 0);
        }
        let byte = self.cursor.byte();
        if column == 0 {
            if byte == b'%' {
                return self.document_mark(TokenKind::Directive, 0);
            }
            if matches!(byte, b'-' | b'.') && self.cursor.is_document_mark() {
                let is_start = byte == b'-';
                let kind = if is_start { TokenKind::DocumentStart } else { TokenKind::DocumentEnd };
                return self.document_mark(kind, 3);
            }
        }
        match byte {
            b'[' => self.open_bracket(TokenKind::FlowSequenceStart),
            b'{' => self.open_bracket(TokenKind::FlowMappingStart),
            b']' => self.close_bracket(TokenKind::FlowSequenceEnd),
            b'}' => self.close_bracket(TokenKind::FlowMappingEnd),
            b',' => {
                self.forget_key()?;
                self.is_key_allowed = true;
                self.indicator(TokenKind::FlowEntry, 1);
                Ok(())
            }
            b'-' if self.cursor.is_space(self.cursor.at + 1) => self.block_entry(),
            b'?' if self.is_flow() || self.cursor.is_space(self.cursor.at + 1) => self.key(),
            b':' if self.is_flow() || self.cursor.is_space(self.cursor.at + 1) => self.value(),
            b'*' => self.name(TokenKind::Alias),
            b'&' => self.name(TokenKind::Anchor),
            b'!' => self.tag(),
            b'|' | b'>' if !self.is_flow() => self.block_scalar(),
            b'\'' => self.single_quoted(),
            b'"' => self.double_quoted(),
            b'\t' => fault(self.cursor.at, "a tab is not allowed as indentation: use spaces"),
            b'#' | b'%' | b'@' | b'`' | b'|' | b'>' => {
                let byte = char::from(byte);
                fault(self.cursor.at, format!("`{byte}` cannot begin a plain scalar"))
            }
            _ => self.plain(),
        }
    }

    /// Skips white space, comments and line breaks.
    fn skip_to_token(&mut self) {
        loop {
            self.cursor.skip_bom();
            let takes_tabs = self.is_flow() || !self.is_key_allowed;
            while self.cursor.byte() == b' ' || (takes_tabs && self.cursor.byte() == b'\t') {
                self.cursor.at += 1;
            }
            if self.cursor.byte() == b'#' {
                self.cursor.at = self.cursor.line_end();
            }
            match self.cursor.break_len(self.cursor.at) {
                0 => return,
                len => self.cursor.next_line(len),
            }
            if !self.is_flow() {
                self.is_key_allowed = true;
            }
        }
    }

    /// Records that a key may begin at the cursor.
    fn save_key(&mut self) -> Result<(), Fault> {
        if self.is_key_allowed {
            self.forget_key()?;
        }
        self.save_key_at(self.cursor.at, self.cursor.column());
        Ok(())
    }

    fn save_key_at(&mut self, start: usize, column: usize) {
        if !self.is_key_allowed {
            return;
        }
        let level = self.keys.len() - 1;
        self.keys[level] = SimpleKey {
            is_possible: true,
            is_required: level == 0 && is_column(self.indent, column),
            token: self.taken + self.queue.len(),
            start,
            column,
        };
        self.first_key = self.first_key.min(level);
    }

    /// Discards the potential key at the current level of brackets. Fails if the key is required.
    fn forget_key(&mut self) -> Result<(), Fault> {
        let level = self.keys.len() - 1;
        let key = &mut self.keys[level];
        if key.is_possible && key.is_required {
            return missing_colon(key);
        }
        key.is_possible = false;
        Ok(())
    }

    /// Begins a block collection at `column`. Does nothing if the cursor is inside brackets, or if
    /// `column` is not greater than the column of the innermost block collection. `token` is the
    /// number of the first token inside the new collection, or `None` if this token has not been
    /// scanned yet.
    fn open_block(&mut self, kind: TokenKind, column: usize, start: usize, token: Option<usize>) {
        let column = isize::try_from(column).unwrap_or(isize::MAX);
        if self.is_flow() || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        let span = Span::new(start, start);
        let place = token.map_or(self.queue.len(), |token| token - self.taken);
        self.queue.insert(place, Token { kind, span, text: Span::default() });
    }

    /// Ends the block collections whose column is greater than `column`.
    fn close_blocks(&mut self, column: usize) {
        let column = isize::try_from(column).unwrap_or(isize::MAX);
        while self.indent > column {
            self.close_block();
        }
    }

    fn close_block(&mut self) {
        self.push(TokenKind::BlockEnd, self.cursor.at, self.cursor.at);
        self.indent = self.indents.pop().unwrap_or(-1);
    }

    /// Adds a token that ends all block collections: a directive, `---`, `...`, or the end of the
    /// text.
    fn document_mark(&mut self, kind: TokenKind, len: usize) -> Result<(), Fault> {
        if !self.is_flow() {
            while self.indent >= 0 {
                self.close_block();
            }
        }
        self.forget_key()?;
        // At no level of brackets can a key extend past this token.
        self.first_key = self.keys.len();
        self.is_key_allowed = false;
        self.indicator(kind, len);
        Ok(())
    }

    fn open_bracket(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.save_key()?;
        if kind == TokenKind::FlowSequenceStart && self.joins_numbers && self.numbers() {
            self.is_key_allowed = false;
            return Ok(());
        }
        self.keys.push(SimpleKey::default());
        self.is_key_allowed = true;
        self.indicator(kind, 1);
        Ok(())
    }

    fn close_bracket(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.forget_key()?;
        if self.is_flow() {
            self.keys.pop();
            self.first_key = self.first_key.min(self.keys.len());
        }
        self.is_key_allowed = false;
        self.indicator(kind, 1);
        Ok(())
    }

    /// Scans the indicator `- `.
    fn block_entry(&mut self) -> Result<(), Fault> {
        if !self.is_flow() {
            if !self.is_key_allowed {
                return fault(
                    self.cursor.at,
                    "a sequence cannot begin here: start it on a new line",
                );
            }
            let (column, start) = (self.cursor.column(), self.cursor.at);
            self.open_block(TokenKind::BlockSequenceStart, column, start, None);
        }
        self.forget_key()?;
        self.is_key_allowed = true;
        self.indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    /// Scans the indicator `? `.
    fn key(&mut self) -> Result<(), Fault> {
        if !self.is_flow() {
            if !self.is_key_allowed {
                return fault(self.cursor.at, "a key cannot begin here: start it on a new line");
            }
            let (column, start) = (self.cursor.column(), self.cursor.at);
            self.open_block(TokenKind::BlockMappingStart, column, start, None);
        }
        self.forget_key()?;
        self.is_key_allowed = !self.is_flow();
        self.indicator(TokenKind::Key, 1);
        Ok(())
    }

    /// Scans the indicator `: `.
    fn value(&mut self) -> Result<(), Fault> {
        let level = self.keys.len() - 1;
        let key = self.keys[level];
        if key.is_possible && self.is_in_reach(&key) {
            let span = Span::new(key.start, key.start);
            let token = Token { kind: TokenKind::Key, span, text: Span::default() };
            self.queue.insert(key.token - self.taken, token);
            let mapping = TokenKind::BlockMappingStart;
            self.open_block(mapping, key.column, key.start, Some(key.token));
            self.keys[level].is_possible = false;
            self.is_key_allowed = false;
        } else {
            self.forget_key()?;
            if !self.is_flow() {
                if !self.is_key_allowed {
                    return fault(
                        self.cursor.at,
                        "`:` is not allowed here: a key must be on one line and have at most 1024 \
                         characters",
                    );
                }
                let (column, start) = (self.cursor.column(), self.cursor.at);
                self.open_block(TokenKind::BlockMappingStart, column, start, None);
            }
            self.is_key_allowed = !self.is_flow();
        }
        self.indicator(TokenKind::Value, 1);
        Ok(())
    }

    /// Scans `&name` or `*name`.
    fn name(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.save_key()?;
        self.is_key_allowed = false;
        let start = self.cursor.at;
        let end = self.cursor.name_end(start + 1);
        let ends_name = matches!(
            self.cursor.byte_at(end),
            b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
        );
        if end == start + 1 || !(ends_name || self.cursor.is_space(end)) {
            return fault(
                end,
                "expected an anchor name that consists of letters, digits, `-` or `_`",
            );
        }
        self.cursor.at = end;
        self.push(kind, start, end);
        Ok(())
    }

    /// Returns `true` if a column is too far left for the continuation of a scalar inside the
    /// innermost block collection.
    fn is_outside(&self, column: usize) -> bool {
        isize::try_from(column).is_ok_and(|column| column <= self.indent)
    }

    /// Skips line breaks and white space up to the next line with text. If there was a line break,
    /// returns `true` and sets `breaks` to the text that replaces the line breaks: a space, or one
    /// line feed per empty line. LS and PS are kept.
    fn fold(&mut self, is_plain: bool) -> Result<bool, Fault> {
        self.breaks.clear();
        let len = self.skip_blanks(false)?;
        if len == 0 {
            return Ok(false);
        }
        if len == 3 {
            self.breaks.push_str(self.cursor.break_text(self.cursor.at, len));
        }
        self.cursor.next_line(len);
        self.skip_breaks(is_plain)?;
        if self.breaks.is_empty() {
            self.breaks.push(' ');
        }
        Ok(true)
    }

    /// Skips to the next line with text, and appends the skipped line breaks to `breaks`.
    fn skip_breaks(&mut self, is_plain: bool) -> Result<(), Fault> {
        loop {
            match self.skip_blanks(is_plain)? {
                0 => return Ok(()),
                len => {
                    self.breaks.push_str(self.cursor.break_text(self.cursor.at, len));
                    self.cursor.next_line(len);
                }
            }
        }
    }

    /// Skips spaces and tabs, and returns the length of the line break after them. Fails at a tab
    /// in the indentation of a plain scalar.
    fn skip_blanks(&mut self, is_indentation: bool) -> Result<usize, Fault> {
        while self.cursor.is_blank() {
            let is_tab = self.cursor.byte() == b'\t';
            if is_tab && is_indentation && self.is_outside(self.cursor.column()) {
                return fault(self.cursor.at, "a tab is not allowed as indentation: use spaces");
            }
            self.cursor.at += 1;
        }
        Ok(self.cursor.break_len(self.cursor.at))
    }

    /// Adds a token for a scalar.
    fn push_scalar(&mut self, style: NodeStyle, start: usize, end: usize, text: Span) {
        let span = Span::new(start, end);
        self.queue.push(Token { kind: TokenKind::Scalar(style), span, text });
    }

    /// Returns the span from `start` to the end of [`Self::changed`].
    fn changed_from(&self, start: usize) -> Span {
        let base = self.cursor.bytes.len();
        Span::new(base + start, base + self.changed.len())
    }
}

fn is_column(indent: isize, column: usize) -> bool {
    usize::try_from(indent) == Ok(column)
}

fn missing_colon<T>(key: &SimpleKey) -> Result<T, Fault> {
    fault(key.start, "expected `:` after this key, on the same line and within 1024 characters")
}
