//! Messages for syntax errors, with help that guesses what the author meant.

use binio::diagnostic::count;

use super::foreign::primitive_of;
use super::parse::{Parsed, Parser, Stop};
use super::{NodeKind, TokenKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

const LATER: &str = "this is the syntax of later versions of the language";

const COMMENTS: &str = "a comment begins with `#`";

const NO_DICTS: &str = "a struct cannot contain dicts, but a member may be a struct";

impl Parser<'_> {
    fn text_at(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Reports that `expected` was expected at the next token.
    pub(super) fn expected(&mut self, code: Code, expected: &str) -> Stop {
        let diagnostic = self.unexpected(code, expected);
        self.report(diagnostic)
    }

    /// Like [`expected`](Self::expected), but for an error inside a bracket. Also shows the bracket if it is on
    /// another line.
    pub(super) fn expected_in(&mut self, open: super::Token, expected: &str) -> Stop {
        let diagnostic = self.unexpected(Code::Unexpected, expected);
        let found = self.peek().start.max(open.start);
        let between = self.text_at(Span::new(open.start, found));
        if between.contains(['\n', '\r']) {
            let label = format!("inside this `{}`", self.text_at(open.span()));
            return self.report(diagnostic.label_at(open.span(), label));
        }
        self.report(diagnostic)
    }

    fn unexpected(&mut self, code: Code, expected: &str) -> Diagnostic {
        let token = self.peek();
        let span = token.span();
        let text = self.text_at(span);
        match token.kind {
            TokenKind::Illegal => {
                let character = text.chars().next().unwrap_or_default();
                let message = format!("illegal character {}", named(character));
                let found = Diagnostic::new(Code::IllegalCharacter, span, message);
                let found = found.label(format!("expected {expected}"));
                return self.explain_character(found, text, span);
            }
            TokenKind::Unterminated => {
                let line = text.lines().next().unwrap_or_default();
                let end = span.start + u32::try_from(line.len()).unwrap_or_default();
                let message = "this quote is not closed";
                return Diagnostic::new(
                    Code::UnterminatedQuote,
                    Span::new(span.start, end),
                    message,
                )
                .help(format!("add the closing {}", &text[..1]));
            }
            TokenKind::BadNumber => {
                let message = format!("`{}` is not a number", short(text));
                return Diagnostic::new(Code::MalformedNumber, span, message).help(
                    "numbers are written like `42`, `0x2a` or `1e-6`; a name that begins with a digit is \
                     written in quotes",
                );
            }
            _ => {}
        }
        let found = match token.kind {
            TokenKind::End => "the end of the layout".to_owned(),
            _ => format!("`{}`", short(text)),
        };
        let message = format!("expected {expected}, found {found}");
        let diagnostic = Diagnostic::new(code, span, message).label("unexpected");
        let last = self.last_node();
        match (token.kind, last) {
            (
                TokenKind::Integer | TokenKind::Float,
                Some(NodeKind::Compress | NodeKind::Reference),
            ) => diagnostic
                .help(format!("filter arguments go in parentheses: `({text})`"))
                .fix(span, format!("({text})")),
            (TokenKind::Float, _) => {
                diagnostic.help("only filter arguments and attributes may be floats")
            }
            (TokenKind::OpenParen, _) => {
                diagnostic.help(format!("{LATER}; here a shape is written in `[` and `]`"))
            }
            (
                TokenKind::OpenBracket,
                Some(NodeKind::Dim | NodeKind::DimName | NodeKind::Suffix),
            ) => {
                let before = self.text[..span.start as usize].trim_end();
                let close = u32::try_from(before.len()).unwrap_or(1) - 1;
                diagnostic
                    .help("dimensions are separated by commas: `[3, 4]`")
                    .fix(Span::new(close, span.end), ", ")
            }
            _ => diagnostic,
        }
    }

    /// Adds help on an illegal character if other languages or later versions of Dudley use the
    /// character.
    fn explain_character(&self, found: Diagnostic, text: &str, span: Span) -> Diagnostic {
        let later = |here: &str| format!("{LATER}; here {here}");
        match text {
            ";" => found.help("declarations need no separator: remove the `;`").fix(span, ""),
            "*" if self.text[..span.start as usize].ends_with('/') => found.help(COMMENTS),
            "*" => found.help(
                "a dimension is a number or a parameter: write `[2, N]`, or declare a parameter for the product",
            ),
            "." => found.help(later("an address is a number")),
            "!" => found.help(later("a struct begins with `{`")),
            "?" => found.help(later("a dimension of 0 omits an array")),
            "&" => found.help(later("references are `type[shape] <- ref`")),
            _ => found,
        }
    }

    pub(super) fn expected_item(&mut self) -> Stop {
        let expected = "the name of an item, `/` or `..`";
        let diagnostic = self.unexpected(Code::ExpectedName, expected);
        let token = self.peek();
        let kinds: Vec<TokenKind> = self.ahead().take(2).map(|token| token.kind).collect();
        let diagnostic = match token.kind {
            TokenKind::Less | TokenKind::Greater | TokenKind::Bar => {
                if kinds == [TokenKind::Name, TokenKind::OpenBrace] {
                    let message = "the name of a type cannot begin with `<`, `>` or `|`";
                    Diagnostic::new(Code::PrefixedTypeName, token.span(), message)
                        .help("state the byte order of each member of the type instead")
                } else {
                    diagnostic.help("the byte order of a layout comes before everything else")
                }
            }
            TokenKind::OpenBrace => {
                diagnostic.help("a summary block comes before any item; a type has a name")
            }
            TokenKind::Equals => diagnostic.help("unnamed data is written `\"\" = datatype`"),
            TokenKind::Comma => diagnostic
                .help("commas separate only dimensions, list elements and filter arguments"),
            _ => diagnostic,
        };
        self.report(diagnostic)
    }

    pub(super) fn expected_member(&mut self) -> Stop {
        let diagnostic = self.unexpected(Code::ExpectedName, "the name of a member, or `}`");
        let diagnostic = match self.peek().kind {
            TokenKind::Colon => {
                let help = format!("{LATER}; here a typedef is `name {{\"\" = type}}`");
                diagnostic.help(help)
            }
            TokenKind::Slash | TokenKind::Up => diagnostic.help(NO_DICTS),
            TokenKind::Comma => diagnostic.help("members are not separated by commas"),
            _ => diagnostic,
        };
        self.report(diagnostic)
    }

    /// Reports that the name of an item or member is not followed by a declaration.
    pub(super) fn expected_declaration(&mut self, name: Span, is_member: bool) -> Stop {
        let expected = if is_member { "`=` or `:`" } else { "`=`, `:`, `/`, `[`, `{`, `@` or `%`" };
        let expected = format!("{expected} after the name `{}`", short(self.text_at(name)));
        let diagnostic = self.unexpected(Code::ExpectedDeclaration, &expected);
        let token = self.peek();
        let next = self.ahead().next().map(|token| token.kind);
        let diagnostic = match token.kind {
            TokenKind::Plus if next == Some(TokenKind::Equals) => {
                diagnostic.help(format!("{LATER}; here a list is extended by `name [..]`"))
            }
            TokenKind::Slash if is_member => diagnostic.help(NO_DICTS),
            TokenKind::OpenBrace | TokenKind::OpenBracket if is_member => {
                diagnostic.help("a member is declared by `name = datatype`")
            }
            TokenKind::Minus => self.explain_minus(diagnostic, name),
            _ if self.line_before(name).contains("//") => diagnostic.help(COMMENTS),
            TokenKind::Name => self.explain_name(diagnostic, name, token.span()),
            _ => diagnostic,
        };
        self.report(diagnostic.label_at(name, "this name"))
    }

    /// Returns the part of the line before a span.
    fn line_before(&self, span: Span) -> &str {
        let before = &self.text[..span.start as usize];
        &before[before.rfind(['\n', '\r']).map_or(0, |end| end + 1)..]
    }

    /// Adds help on a name such as `my-var`, which needs quotes.
    fn explain_minus(&self, diagnostic: Diagnostic, name: Span) -> Diagnostic {
        let rest = &self.text[name.start as usize..];
        let is_part = |part: char| part.is_alphanumeric() || matches!(part, '_' | '-');
        let len = rest.find(|part| !is_part(part)).unwrap_or(rest.len());
        let quoted = format!("\"{}\"", &rest[..len]);
        if len > 80 || !rest[name.len()..].starts_with('-') {
            return diagnostic;
        }
        let end = name.start + u32::try_from(len).unwrap_or_default();
        diagnostic
            .help(format!("a name that contains `-` needs quotes: `{quoted}`"))
            .fix(Span::new(name.start, end), quoted)
    }

    /// Adds help on declarations in the style of C: `f8 x`, `double x` and `struct point`.
    fn explain_name(&self, diagnostic: Diagnostic, first: Span, second: Span) -> Diagnostic {
        let [datatype, name] = [first, second].map(|span| self.text_at(span));
        if matches!(datatype, "struct" | "typedef" | "union" | "enum") {
            return diagnostic.help("`from_c` converts the structs of a C header to a layout");
        }
        let Some(datatype) = primitive_of(datatype) else { return diagnostic };
        let declared = format!("{} = {datatype}", short(name));
        diagnostic
            .help(format!("the name comes first: `{declared}`"))
            .fix(first.to(second), format!("{name} = {datatype}"))
    }

    pub(super) fn expected_datatype(&mut self) -> Stop {
        let expected = "a datatype: a primitive, a type name, or `{`";
        let diagnostic = self.unexpected(Code::ExpectedDatatype, expected);
        let diagnostic = match self.peek().kind {
            TokenKind::Equals => {
                let help = format!("{LATER}; here a typedef is `name {{\"\" = type}}`");
                diagnostic.help(help)
            }
            TokenKind::Comma => diagnostic.help("a list element is missing before the comma"),
            TokenKind::OpenBracket => diagnostic.help("the datatype comes before the shape"),
            TokenKind::Integer | TokenKind::Plus | TokenKind::Minus => {
                match self.tree.nodes.last().filter(|node| node.kind == NodeKind::Data) {
                    Some(equals) => diagnostic
                        .help("a number can only be the value of a parameter: `name : 4`")
                        .fix(equals.span(), ":"),
                    None => diagnostic,
                }
            }
            _ => diagnostic,
        };
        self.report(diagnostic)
    }

    pub(super) fn binary_suffix(&mut self, name: super::Token, suffix: super::Token) -> Stop {
        let number = self.peek();
        let span = suffix.span().to(number.span());
        let sign = &self.text_at(suffix.span())[..1];
        let times = super::integer(self.text_at(number.span())).unwrap_or(i64::MAX);
        let message = "a suffix consists only of signs, so no number may follow it";
        let diagnostic = Diagnostic::new(Code::BinarySuffix, span, message);
        let diagnostic = match usize::try_from(times) {
            Ok(times @ 1..=31) => {
                let replacement = sign.repeat(times);
                let name = short(self.text_at(name.span()));
                diagnostic
                    .help(format!("each sign adds or subtracts one: `{name}{replacement}`"))
                    .fix(span, replacement)
            }
            _ => diagnostic.help("each sign adds or subtracts one"),
        };
        self.report(diagnostic)
    }

    pub(super) fn too_deep(&mut self) -> Stop {
        let span = self.peek().span();
        let levels = count(self.limits.depth(), "level");
        let message = format!("this is nested too deeply: more than {levels}");
        self.report(Diagnostic::new(Code::TooDeep, span, message));
        Stop::Fatal
    }

    pub(super) fn too_many_dims(&mut self, shape: Span) -> Stop {
        let span = self.peek().span();
        let message =
            format!("the shape has more than {}", count(self.limits.max_dims, "dimension"));
        let diagnostic = Diagnostic::new(Code::BeyondLimit, span, message);
        self.report(diagnostic.label_at(shape, "in this shape"))
    }

    /// Reports a number below -1. Parsing can continue after the number, because the syntax is correct.
    pub(super) fn too_small(&mut self, span: Span) -> Parsed {
        let message = format!("`{}` is below -1", short(self.text_at(span)));
        let diagnostic = Diagnostic::new(Code::LiteralTooSmall, span, message)
            .help("0 means no data, and -1 removes the dimension");
        go_on(self.report(diagnostic))
    }

    pub(super) fn too_large(&mut self, span: Span) -> Stop {
        let message = format!("`{}` is above 2^63-1", short(self.text_at(span)));
        self.report(Diagnostic::new(Code::IntegerOverflow, span, message))
    }

    /// Reports an alignment that is not a power of two. Parsing can continue after the number, because the
    /// syntax is correct.
    pub(super) fn no_power(&mut self, span: Span, value: i64) -> Parsed {
        let message = format!("{value} is not a power of two");
        let mut diagnostic = Diagnostic::new(Code::NotPowerOfTwo, span, message);
        if let Some(next) = value.unsigned_abs().checked_next_power_of_two() {
            diagnostic =
                diagnostic.help(format!("the nearest powers of two are {} and {next}", next / 2));
        }
        go_on(self.report(diagnostic))
    }
}

fn go_on(stop: Stop) -> Parsed {
    match stop {
        Stop::Recover => Ok(()),
        Stop::Fatal => Err(Stop::Fatal),
    }
}

fn named(character: char) -> String {
    if character.is_control() || character.is_whitespace() {
        return format!("U+{:04X}", u32::from(character));
    }
    format!("`{character}`")
}

/// Shortens a string for use in a message, because the string may be as long as the file. Replaces
/// control characters.
pub(crate) fn short(text: &str) -> String {
    let mut out: String = text.chars().take(40).map(visible).collect();
    if text.chars().nth(40).is_some() {
        out.push_str("..");
    }
    out
}

fn visible(character: char) -> char {
    if character.is_control() { '\u{fffd}' } else { character }
}
