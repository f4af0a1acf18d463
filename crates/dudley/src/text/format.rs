//! The formatter. It keeps the author's line breaks, and normalises spaces, indentation and the spelling of
//! tokens.
//!
//! - Line breaks are kept. Several empty lines become one.
//! - An item is written as `name = type[dims] -> filter @address`, and a parameter as `name : value`. Items on
//!   the same line are separated by two spaces. `:=` becomes `:`, and `name = [` becomes `name [`.
//! - Names that consist of ASCII letters, digits and `_` are unquoted, unless they begin with a digit. Other
//!   names are in double quotes. Decimal integers have no leading zeros.
//! - The contents of brackets and dicts are indented by two spaces, and the continuation of an item by four.
//!   `..` is indented like the contents of the dict that it ends.
//! - Comments are not moved, so they keep their subjects. A comment after an item is preceded by two spaces.
//!   Documentation on a separate line is indented by one more level than the declaration before it.
//!
//! Formatting is idempotent, and it preserves the meaning of the layout.

use std::sync::Arc;

use super::lex::{Lexer, TokenKind};
use super::quote;
use super::tree::{Node, NodeKind, Token, Tree};
use crate::diagnostic::Diagnostics;
use crate::error::Error;
use crate::options::ParseOptions;
use crate::source::Source;

/// Formats the text of a layout. Only the syntax must be correct: names may be undefined. The result is UTF-8,
/// regardless of the encoding of `text`.
///
/// ```
/// let text = "N:=i8\nl=[f8[N -]]##(cm)\n";
/// assert_eq!(dudley::text::format(text)?, "N : i8\nl [f8[N-]]  ## (cm)\n");
/// # Ok::<(), dudley::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`Source::decode`]. Also fails with [`Layout`](crate::ErrorKind::Layout) if the text has a syntax
/// error.
pub fn format(text: impl AsRef<[u8]>) -> Result<String, Error> {
    ParseOptions::new().format(text)
}

impl ParseOptions {
    /// Like [`format`](crate::text::format()), but uses the limits in these options.
    ///
    /// # Errors
    ///
    /// Same as [`format`](crate::text::format()).
    pub fn format(&self, text: impl AsRef<[u8]>) -> Result<String, Error> {
        self.format_source(Source::decode(text.as_ref())?)
    }

    /// Formats the decoded text of a layout. The name of the source appears in messages.
    ///
    /// # Errors
    ///
    /// Fails with [`Layout`](crate::ErrorKind::Layout) if the text has a syntax error.
    pub fn format_source(&self, source: impl Into<Arc<Source>>) -> Result<String, Error> {
        let source = source.into();
        let tree = Tree::parse(source.text(), &self.limits);
        if !tree.diagnostics.is_empty() {
            return Err(Diagnostics::new(tree.diagnostics, source).into());
        }
        let mut formatter = Formatter {
            text: source.text(),
            nodes: &tree.nodes,
            out: String::with_capacity(source.text().len() + source.text().len() / 8),
            frames: Vec::new(),
            dicts: 0,
            newlines: 0,
            before: Before::Nothing,
        };
        formatter.format();
        Ok(formatter.out)
    }
}

/// An open bracket. Stores the number of dicts that are open in the enclosing bracket.
struct Frame {
    dicts: usize,
}

/// The role of a token in its context.
#[allow(clippy::struct_excessive_bools, reason = "a token may have several roles")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Role {
    /// Whether the token begins an item, a member or an element.
    begins: bool,
    is_top: bool,
    is_dict: bool,
    opens: bool,
    closes: bool,
    closes_dict: bool,
    is_suffix: bool,
    is_sign: bool,
    is_mark: bool,
    is_order: bool,
    is_argument: bool,
    is_shape: bool,
}

/// The token or comment that precedes the next token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    Comment,
    Token { kind: TokenKind, role: Role, end: u32 },
}

struct Formatter<'a> {
    text: &'a str,
    nodes: &'a [Node],
    out: String,
    frames: Vec<Frame>,
    /// The number of open dicts in the innermost bracket.
    dicts: usize,
    /// The number of line breaks since the last token or comment.
    newlines: usize,
    before: Before,
}

impl Formatter<'_> {
    fn format(&mut self) {
        let mut lexer = Lexer::new(self.text);
        let mut end = 0;
        while let Some(token) = lexer.next() {
            self.newlines += count_lines(&self.text[end as usize..token.start as usize]);
            end = token.end;
            if token.kind.is_comment() {
                self.comment(token);
                continue;
            }
            let role = self.role(token);
            let next = lexer.clone().find(|token| !token.kind.is_comment());
            let is_list = next.is_some_and(|next| next.kind == TokenKind::OpenBracket);
            if token.kind == TokenKind::Equals && is_list {
                continue;
            }
            self.token(token, role);
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    /// Returns the role of a token, which depends on the nodes that begin at the token.
    fn role(&mut self, token: Token) -> Role {
        let mut role = Role {
            is_sign: matches!(token.kind, TokenKind::Plus | TokenKind::Minus),
            is_shape: token.kind == TokenKind::OpenBracket,
            ..Role::default()
        };
        while let Some(node) = self.nodes.first().filter(|node| node.start <= token.start) {
            match node.kind {
                NodeKind::Name | NodeKind::Unnamed | NodeKind::Element | NodeKind::Up => {
                    role.begins = true;
                }
                NodeKind::Top => (role.begins, role.is_top) = (true, true),
                NodeKind::Dict => role.is_dict = true,
                NodeKind::ListOpen => (role.opens, role.is_shape) = (true, false),
                NodeKind::SummaryOpen => (role.begins, role.opens) = (true, true),
                NodeKind::StructOpen | NodeKind::DictOpen => role.opens = true,
                NodeKind::ListClose | NodeKind::StructClose | NodeKind::SummaryClose => {
                    role.closes = true;
                }
                NodeKind::DictClose => role.closes_dict = true,
                NodeKind::Suffix => (role.is_suffix, role.is_sign) = (true, false),
                NodeKind::Mark => role.is_mark = true,
                NodeKind::Order => role.is_order = true,
                NodeKind::Argument => role.is_argument = true,
                _ => {}
            }
            self.nodes = &self.nodes[1..];
        }
        role
    }

    fn token(&mut self, token: Token, role: Role) {
        if role.closes_dict {
            self.close();
        }
        if role.closes {
            self.close();
        }
        if role.is_top {
            self.dicts = 0;
        }
        let continues = !(role.begins || role.closes || token.kind == TokenKind::Comma);
        self.space(token, role, if continues { 2 } else { 0 });
        self.write(token, role);
        if role.opens {
            self.frames.push(Frame { dicts: self.dicts });
            self.dicts = 0;
        }
        if role.is_dict {
            self.dicts += 1;
        } else if token.kind == TokenKind::Up {
            self.dicts = self.dicts.saturating_sub(1);
        }
        self.before = Before::Token { kind: token.kind, role, end: token.end };
    }

    fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.dicts = frame.dicts;
        }
    }

    /// Returns the indentation level of a line that begins at the current token.
    fn level(&self) -> usize {
        let around: usize = self.frames.iter().map(|frame| 1 + frame.dicts).sum();
        around + self.dicts
    }

    /// Writes the line breaks or spaces before a token. If the token begins a line, indents it by
    /// `further` additional levels.
    fn space(&mut self, token: Token, role: Role, further: usize) {
        if self.newlines > 0 && self.before != Before::Nothing {
            self.break_line(self.level() + further);
        } else {
            let blanks = self.blanks(token, role);
            self.out.push_str(blanks);
        }
        self.newlines = 0;
    }

    fn break_line(&mut self, level: usize) {
        self.out.push_str(if self.newlines > 1 { "\n\n" } else { "\n" });
        self.out.extend(std::iter::repeat_n("  ", level));
    }

    fn blanks(&self, token: Token, role: Role) -> &'static str {
        use TokenKind as Kind;
        let Before::Token { kind, role: before, end } = self.before else { return "" };
        let is_path = before.is_top || before.is_dict || kind == Kind::Slash;
        match token.kind {
            _ if matches!(kind, Kind::At | Kind::Percent | Kind::OpenParen | Kind::OpenBracket) => {
                ""
            }
            _ if before.is_sign || before.is_mark => "",
            Kind::Comma | Kind::CloseBracket | Kind::CloseParen | Kind::OpenParen => "",
            _ if role.is_suffix || role.is_dict || role.is_shape => "",
            Kind::CloseBrace if kind == Kind::OpenBrace => "",
            // Within a path, write a space only if the author did.
            _ if role.begins && is_path && token.start == end => "",
            _ if role.begins && is_path => " ",
            _ if role.begins && (before.is_order || before.opens || kind == Kind::Comma) => " ",
            _ if role.begins => "  ",
            _ => " ",
        }
    }

    fn write(&mut self, token: Token, role: Role) {
        let text = &self.text[token.start as usize..token.end as usize];
        match token.kind {
            TokenKind::ColonEquals => self.out.push(':'),
            TokenKind::Name => quote::push_name(&mut self.out, text),
            TokenKind::Quoted => match quote::unquote(text) {
                Ok(name) if role.is_argument => quote::push_quoted(&mut self.out, &name),
                Ok(name) => quote::push_name(&mut self.out, &name),
                Err(_) => self.out.push_str(text),
            },
            TokenKind::Integer if text.starts_with('0') && !text[1..].starts_with(['x', 'X']) => {
                let plain = text.trim_start_matches('0');
                self.out.push_str(if plain.is_empty() { "0" } else { plain });
            }
            _ => self.out.push_str(text),
        }
    }

    fn comment(&mut self, token: Token) {
        if self.newlines > 0 && self.before != Before::Nothing {
            // Indent documentation relative to the declaration that it describes, unless that
            // declaration has just opened a level, which indents the documentation already.
            let further = match self.before {
                Before::Token { kind, role, .. } => {
                    let begun = role.opens || role.is_dict || role.is_top || kind == TokenKind::Up;
                    usize::from(token.kind != TokenKind::Comment && !begun && !role.is_order)
                }
                _ => 0,
            };
            self.break_line(self.level() + further);
        } else if self.before != Before::Nothing {
            self.out.push_str("  ");
        }
        self.newlines = 0;
        let text = self.text[token.start as usize..token.end as usize].trim_end();
        let mark = if token.kind == TokenKind::Comment { 1 } else { 2 };
        let (mark, rest) = text.split_at(mark.min(text.len()));
        self.out.push_str(mark);
        let is_tight = !rest.is_empty()
            && !rest.starts_with(|first: char| first.is_whitespace() || first == '#');
        if is_tight && token.kind != TokenKind::Comment {
            self.out.push(' ');
        }
        self.out.push_str(rest);
        if self.before == Before::Nothing {
            self.before = Before::Comment;
        }
    }
}

fn count_lines(blank: &str) -> usize {
    let bytes = blank.as_bytes();
    let is_end = |(at, &byte): (usize, &u8)| {
        byte == b'\n' || byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')
    };
    bytes.iter().enumerate().filter(|&pair| is_end(pair)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let formatted = format(text).unwrap();
        assert_eq!(formatted, expected);
        assert_eq!(format(&formatted).unwrap(), formatted);
    }

    #[test]
    fn formatting_keeps_line_breaks_and_normalises_spaces() {
        check(
            "a=f8 b=i4\n\n\n\nc  =  f8 [ 3,-1 ] ->zfp( - 15 )@ 64",
            "a = f8  b = i4\n\nc = f8[3, -1] -> zfp(-15) @64\n",
        );
        check("N:=i8%4 x=<  f8[N --]\r\ry=t\n", "N : i8 %4  x = <f8[N--]\n\ny = t\n");
    }

    #[test]
    fn formatting_indents_dicts_and_brackets() {
        check(
            "/a/b/x=f8\ny = i4\n..\nz = i1\n/ w = i1\nl[\nf8,/\np/\nq=i1,\ni1\n]\n",
            "/a/b/x = f8\n    y = i4\n    ..\n  z = i1\n/ w = i1\nl [\n  f8, /\n    p/\n      q = i1,\n  i1\n]\n",
        );
        check("t{%8\na=i1\n b=i2}\nu{}", "t { %8\n  a = i1\n  b = i2 }\nu {}\n");
        check("x =\nf8[1,\n2]", "x =\n    f8[1,\n    2]\n");
    }

    #[test]
    fn formatting_keeps_the_position_of_comments() {
        check(
            "#first\n\nx=f8##(cm)\n##more  \n#:u=1\n# plain\nl[ ## l\n## also\nf8, ## e\n] ## l again\n##end",
            "#first\n\nx = f8  ## (cm)\n  ## more\n  #: u=1\n# plain\nl [  ## l\n  ## also\n  f8,  ## e\n]  ## l again\n  ## end\n",
        );
        check("# only", "# only\n");
        check("\n\n", "");
    }

    #[test]
    fn formatting_quotes_only_the_names_that_need_quotes() {
        check(
            "'a b'=f8 \"c\"='i4' µ=i1 d=f8->f('x')",
            "\"a b\" = f8  c = i4  \"µ\" = i1  d = f8 -> f(\"x\")\n",
        );
    }

    #[test]
    fn formatting_removes_leading_zeros_and_the_equals_sign_before_a_list() {
        check("l = # why\n[f8[010], i1[00]]", "l  # why\n    [f8[10], i1[0]]\n");
    }
}
