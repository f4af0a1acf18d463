//! Extracting names and numbers from tokens.

use std::borrow::Cow;

use super::Checker;
use super::cursor::digits;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::NameId;
use crate::layout::names::index;
use crate::source::Span;
use crate::text::{self, NodeKind, quote, short};

/// The number of nodes whose names are prefetched together.
const AHEAD: usize = 64;

impl<'a> Checker<'a> {
    /// Returns the text of a name token, with the quotes removed and the escapes decoded. Reports invalid
    /// escapes.
    pub(super) fn name_text(&mut self, span: Span) -> Cow<'a, str> {
        let token = self.cursor.text_at(span);
        match token.as_bytes().first() {
            Some(b'"' | b'\'') => self.unquote(span, token),
            _ => Cow::Borrowed(token),
        }
    }

    fn unquote(&mut self, span: Span, token: &'a str) -> Cow<'a, str> {
        let part = |start: usize, end: usize| {
            Span::new(span.start + index(start), span.start + index(end))
        };
        let mut unknown = Vec::new();
        let text = quote::unquote_with(token, |at| unknown.push(at));
        for at in unknown {
            self.report.warn(Code::UnknownEscape, || {
                let message = "this backslash does not begin an escape, so it is kept";
                Diagnostic::new(Code::UnknownEscape, part(at, at + 1), message)
                    .help("write `\\\\` for a backslash")
                    .fix(part(at, at + 1), "\\\\")
            });
        }
        text.unwrap_or_else(|error| {
            self.report.error(|| {
                Diagnostic::new(Code::BadEscape, part(error.start, error.end), error.reason)
            });
            Cow::Borrowed(token)
        })
    }

    pub(super) fn name(&mut self, span: Span) -> NameId {
        if self.cursor.last() >= self.prefetched {
            self.prefetch_names();
        }
        let text = self.name_text(span);
        if !text.is_ascii() {
            self.lint_name(span);
        }
        self.layout.names.intern(&text)
    }

    fn prefetch_names(&mut self) {
        let start = self.cursor.last();
        let end = self.cursor.nodes().len().min(start + AHEAD);
        let nodes = self.cursor.nodes()[start..end].iter();
        let names = nodes.filter(|node| node.kind == NodeKind::Name);
        self.layout.names.prefetch(names.map(|node| self.cursor.text_at(node.span())));
        self.prefetched = end;
    }

    #[cold]
    fn lint_name(&mut self, span: Span) {
        if self.cursor.text_at(span).starts_with(['"', '\'']) {
            return;
        }
        self.report.warn(Code::NonAsciiName, || {
            let name = self.cursor.text_at(span);
            Diagnostic::new(Code::NonAsciiName, span, "an unquoted name with non-ASCII letters")
                .help("other readers may require quotes around the name")
                .fix(span, format!("\"{name}\""))
        });
    }

    /// Returns the number of a placement. There may be spaces and comments between the `@` or `%` and the
    /// number.
    pub(super) fn placed(&mut self, span: Span) -> u64 {
        let text = self.cursor.text_at(span);
        let digits = text.bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
        let digits = u32::try_from(digits).unwrap_or_default();
        self.integer(Span::new(span.end - digits, span.end)).unsigned_abs()
    }

    /// Returns the value of an integer with an optional sign. The parser has already checked that the integer
    /// is valid.
    pub(super) fn integer(&mut self, span: Span) -> i64 {
        let text = self.cursor.text_at(span);
        let digits = digits(text);
        if matches!(digits.as_bytes(), [b'0', second, ..] if !matches!(second, b'x' | b'X')) {
            self.report.warn(Code::LeadingZeros, || {
                let plain = digits[..digits.len() - 1].trim_start_matches('0').len() + 1;
                let plain = short(&digits[digits.len() - plain..]);
                Diagnostic::new(
                    Code::LeadingZeros,
                    span,
                    "a number with leading zeros is decimal, not octal",
                )
                .help(format!("write {plain}"))
            });
        }
        let value = text::integer(digits).unwrap_or_default();
        if text.as_bytes().first() == Some(&b'-') { -value } else { value }
    }
}
