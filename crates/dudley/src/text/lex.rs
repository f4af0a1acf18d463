//! Splitting text into tokens.
//!
//! ```text
//! blank    space, tab, VT, FF, CR, LF: between tokens, never a token
//! comment  # up to the line's end; ## documentation, #: attributes
//! name     letter or _, then letters, digits, _
//! quoted   "..." or '...', may span lines, with escapes
//! integer  digits, or 0x and hexadecimal digits
//! float    digits with a decimal point or an exponent
//! signs    a run of + or of -; -> and <- take precedence
//! others   = : := / .. [ ] { } , @ % -> <- ( ) < > |
//! ```
//!
//! The tokens, including comments, cover everything in the text except whitespace. Splitting never
//! fails: invalid text becomes tokens of kind `Illegal`, `Unterminated` or `BadNumber`.

use super::{Token, quote};

/// The kind of a token.
///
/// ```
/// use dudley::text::{Lexer, TokenKind};
///
/// let text = "x = f8[3]  # three";
/// let comment = Lexer::new(text).find(|token| token.kind.is_comment()).unwrap();
/// assert_eq!(comment.kind, TokenKind::Comment);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenKind {
    /// A name without quotes.
    Name,
    /// A name in quotes. The token includes the quotes.
    Quoted,
    /// An integer such as `42` or `0x2a`, whose value may be too large.
    Integer,
    /// A float such as `1.5` or `1e-6`.
    Float,
    /// One or more `+`.
    Plus,
    /// One or more `-`.
    Minus,
    /// `=`
    Equals,
    /// `:`
    Colon,
    /// `:=`
    ColonEquals,
    /// `/`
    Slash,
    /// `..`
    Up,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `,`
    Comma,
    /// `@`
    At,
    /// `%`
    Percent,
    /// `->`
    Arrow,
    /// `<-`
    BackArrow,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `|`
    Bar,
    /// `#`
    Comment,
    /// `##`
    Doc,
    /// `#:`
    Attributes,
    /// A character that does not belong to any other token.
    Illegal,
    /// A quote that is not closed. The token extends to the end of the text.
    Unterminated,
    /// A malformed number, such as `12ab` or `0x`.
    BadNumber,
    /// The end of the text, with length 0.
    End,
}

impl TokenKind {
    /// Returns `true` for the three kinds of comments.
    pub fn is_comment(self) -> bool {
        matches!(self, Self::Comment | Self::Doc | Self::Attributes)
    }
}

/// For each byte, whether it is an ASCII letter, a digit or `_`. A table is faster than comparing
/// bytes with ranges.
const IN_WORDS: [bool; 256] = {
    let mut found = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        found[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    found
};

/// Returns `true` if a string contains only ASCII letters, digits and `_`.
pub(crate) fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| IN_WORDS[usize::from(byte)])
}

/// An iterator over the tokens in a string, including comments.
///
/// ```
/// use dudley::text::{Lexer, TokenKind};
///
/// let kinds: Vec<TokenKind> = Lexer::new("x=f8[N--] ## m").map(|token| token.kind).collect();
/// use TokenKind::*;
/// assert_eq!(kinds, [Name, Equals, Name, OpenBracket, Name, Minus, CloseBracket, Doc]);
/// ```
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Creates a lexer at the beginning of a string. A string of 4 GiB or more is truncated.
    pub fn new(text: &'a str) -> Self {
        let mut end = text.len().min(u32::MAX as usize);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self { text: &text[..end], at: 0 }
    }

    /// Returns the next token, which is [`TokenKind::End`] at the end of the text.
    #[inline]
    pub fn token(&mut self) -> Token {
        let (kind, start) = self.advance();
        #[allow(
            clippy::cast_possible_truncation,
            reason = "`new` truncates the text to less than 4 GiB"
        )]
        Token { kind, start: start as u32, end: self.at as u32 }
    }

    /// Advances past the next token, and returns its kind and the offset of its first byte. Returns
    /// a pair instead of a [`Token`], because a pair is returned in registers.
    fn advance(&mut self) -> (TokenKind, usize) {
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        while let Some(b' ' | b'\n' | b'\r' | b'\t' | b'\x0b' | b'\x0c') = bytes.get(start) {
            start += 1;
        }
        self.at = start;
        let Some(&byte) = bytes.get(start) else { return (TokenKind::End, start) };
        self.at += 1;
        (self.scan(byte, start), start)
    }

    /// Scans the rest of a token whose first byte is `byte`.
    #[inline]
    fn scan(&mut self, byte: u8, start: usize) -> TokenKind {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.word();
                TokenKind::Name
            }
            b'0'..=b'9' => self.number(start),
            b'=' => TokenKind::Equals,
            b'[' => TokenKind::OpenBracket,
            b']' => TokenKind::CloseBracket,
            b',' => TokenKind::Comma,
            b'{' => TokenKind::OpenBrace,
            b'}' => TokenKind::CloseBrace,
            b'/' => TokenKind::Slash,
            b'@' => TokenKind::At,
            b'%' => TokenKind::Percent,
            b'(' => TokenKind::OpenParen,
            b')' => TokenKind::CloseParen,
            b'>' => TokenKind::Greater,
            b'|' => TokenKind::Bar,
            b':' => self.either(b'=', TokenKind::ColonEquals, TokenKind::Colon),
            b'<' => self.either(b'-', TokenKind::BackArrow, TokenKind::Less),
            b'#' => self.comment(),
            b'"' | b'\'' => self.quoted(start),
            b'+' => {
                while self.peek() == Some(b'+') {
                    self.at += 1;
                }
                TokenKind::Plus
            }
            b'-' if self.peek() == Some(b'>') => {
                self.at += 1;
                TokenKind::Arrow
            }
            b'-' => {
                while self.peek() == Some(b'-') && self.byte(1) != Some(b'>') {
                    self.at += 1;
                }
                TokenKind::Minus
            }
            b'.' => match self.peek() {
                Some(b'.') => {
                    self.at += 1;
                    TokenKind::Up
                }
                Some(b'0'..=b'9') => self.fraction(start),
                _ => TokenKind::Illegal,
            },
            _ => self.other(start),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.byte(0)
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn either(&mut self, second: u8, both: TokenKind, one: TokenKind) -> TokenKind {
        if self.peek() == Some(second) {
            self.at += 1;
            return both;
        }
        one
    }

    /// Scans a run of letters, digits and `_`. Returns `true` if the run is not empty.
    #[inline]
    fn word(&mut self) -> bool {
        let from = self.at;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let is_other = |byte: &u8| !IN_WORDS[usize::from(*byte)];
            let len = rest.iter().position(is_other).unwrap_or(rest.len());
            self.at += len;
            if rest.get(len).is_none_or(u8::is_ascii) || !self.letter() {
                return self.at > from;
            }
        }
    }

    /// Scans a letter or digit, which need not be ASCII. Returns `false` if the next character is
    /// not a letter or digit.
    #[cold]
    fn letter(&mut self) -> bool {
        let next = self.text[self.at..].chars().next();
        let letter = next.filter(|letter| letter.is_alphanumeric());
        self.at += letter.map_or(0, char::len_utf8);
        letter.is_some()
    }

    fn number(&mut self, start: usize) -> TokenKind {
        if &self.text.as_bytes()[start..=start] == b"0" && matches!(self.peek(), Some(b'x' | b'X'))
        {
            self.at += 1;
            let digits = self.at;
            self.word();
            let word = &self.text.as_bytes()[digits..self.at];
            let hexadecimal = !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit);
            return if hexadecimal { TokenKind::Integer } else { TokenKind::BadNumber };
        }
        self.digits();
        match self.peek() {
            Some(b'.') if self.byte(1) != Some(b'.') => self.fraction(start),
            Some(b'e' | b'E') => self.fraction(start),
            _ if self.word() => TokenKind::BadNumber,
            _ => TokenKind::Integer,
        }
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    /// Scans the rest of a number, beginning with its decimal point or exponent.
    fn fraction(&mut self, start: usize) -> TokenKind {
        if self.text.as_bytes()[start] != b'.' && self.peek() == Some(b'.') {
            self.at += 1;
        }
        self.digits();
        if let Some(b'e' | b'E') = self.peek() {
            let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if let Some(b'0'..=b'9') = self.byte(1 + sign) {
                self.at += 1 + sign;
                self.digits();
            }
        }
        if self.word() { TokenKind::BadNumber } else { TokenKind::Float }
    }

    fn comment(&mut self) -> TokenKind {
        let kind = match self.peek() {
            Some(b'#') => TokenKind::Doc,
            Some(b':') => TokenKind::Attributes,
            _ => TokenKind::Comment,
        };
        let rest = &self.text.as_bytes()[self.at..];
        self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        kind
    }

    fn quoted(&mut self, start: usize) -> TokenKind {
        let rest = &self.text.as_bytes()[start..];
        if let Some(length) = quote::quoted_len(rest) {
            self.at = start + length;
            return TokenKind::Quoted;
        }
        self.at = self.text.len();
        TokenKind::Unterminated
    }

    #[cold]
    fn other(&mut self, start: usize) -> TokenKind {
        let Some(first) = self.text[start..].chars().next() else { return TokenKind::Illegal };
        self.at = start + first.len_utf8();
        if !first.is_alphabetic() {
            return TokenKind::Illegal;
        }
        self.word();
        TokenKind::Name
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        Some(self.token()).filter(|token| token.kind != TokenKind::End)
    }
}

#[cfg(test)]
mod tests {
    use super::TokenKind::*;
    use super::*;

    fn lex(text: &str) -> Vec<(TokenKind, &str)> {
        let part = |token: Token| (token.kind, &text[token.start as usize..token.end as usize]);
        Lexer::new(text).map(part).collect()
    }

    #[test]
    fn arrows_take_precedence_over_runs_of_signs() {
        assert_eq!(
            lex("--> <-- ++-"),
            [
                (Minus, "-"),
                (Arrow, "->"),
                (BackArrow, "<-"),
                (Minus, "-"),
                (Plus, "++"),
                (Minus, "-"),
            ]
        );
    }

    #[test]
    fn two_dots_after_digits_do_not_make_a_float() {
        assert_eq!(lex("3..x"), [(Integer, "3"), (Up, ".."), (Name, "x")]);
        assert_eq!(
            lex("3.5 3. .5 1e-6 1E5 2.e1"),
            [
                (Float, "3.5"),
                (Float, "3."),
                (Float, ".5"),
                (Float, "1e-6"),
                (Float, "1E5"),
                (Float, "2.e1"),
            ]
        );
    }

    #[test]
    fn a_number_followed_by_letters_is_malformed() {
        for text in ["12abc", "1_0", "0x", "0xg", "0x1g", "1e", "1.5x", "1µ"] {
            assert_eq!(lex(text), [(BadNumber, text)]);
        }
        assert_eq!(lex("0x1F 010"), [(Integer, "0x1F"), (Integer, "010")]);
    }

    #[test]
    fn comments_end_with_their_line_and_do_not_begin_inside_quotes() {
        assert_eq!(
            lex("# a\r## b\r\n#: c\n\"# d\" ###"),
            [
                (Comment, "# a"),
                (Doc, "## b"),
                (Attributes, "#: c"),
                (Quoted, "\"# d\""),
                (Doc, "###"),
            ]
        );
    }

    #[test]
    fn names_may_contain_non_ascii_letters_but_no_non_ascii_symbols() {
        assert_eq!(
            lex("µ é2 a€\0"),
            [(Name, "µ"), (Name, "é2"), (Name, "a"), (Illegal, "€"), (Illegal, "\0"),]
        );
    }

    #[test]
    fn an_unterminated_quote_extends_to_the_end_of_the_text() {
        assert_eq!(lex("a = 'b\nc"), [(Name, "a"), (Equals, "="), (Unterminated, "'b\nc")]);
    }
}
