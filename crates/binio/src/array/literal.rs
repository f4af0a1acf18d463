//! Python literals, which numpy uses to describe types.
//!
//! | literal | meaning |
//! |---|---|
//! | `[a, b]`, `(a, b)`, `(a,)`, `()` | list, tuple; a trailing comma is allowed; `(a)` is `a` itself |
//! | `{k: v}` | dictionary, used in the headers of `.npy` files |
//! | `'..'`, `".."` | string, with the escapes `\\ \' \" \n \r \t \xHH \uHHHH \UHHHHHHHH` |
//! | `u'..'`, `b'..'` | string with a prefix of Python 2 or 3; bytes are decoded as Latin-1 |
//! | `12`, `-3`, `12L` | 64-bit integer |
//! | `True`, `False`, `None` | boolean, null |
//!
//! Nothing else is accepted, and nothing is ever evaluated. Literals are limited to 1 MiB of text
//! and 132 levels of nesting, enough for 64 nested lists of fields.

use std::fmt::{self, Write};

use serde_json::Value;

/// Maximum length of the text to parse, in bytes.
const MAX_LEN: usize = 1 << 20;

/// Maximum nesting depth of lists, tuples and dictionaries.
const MAX_DEPTH: u32 = 132;

/// A Python literal. It is displayed like Python's `repr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    Text(String),
    Integer(i64),
    Bool(bool),
    None,
    List(Vec<Self>),
    Tuple(Vec<Self>),
    Dictionary(Vec<(Self, Self)>),
}

/// The reason why a string is not a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiteralError {
    /// Byte offset of the error in the string, or `None` if the string is too long.
    at: Option<usize>,
    message: String,
}

impl fmt::Display for LiteralError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.at {
            Some(at) => write!(f, " at byte {at} of the text"),
            None => Ok(()),
        }
    }
}

impl Literal {
    /// Parses a string that consists of a single literal. Never panics.
    pub(crate) fn parse(text: &str) -> Result<Self, LiteralError> {
        if text.len() > MAX_LEN {
            let message = format!("the text has {} bytes, but the limit is {MAX_LEN}", text.len());
            return Err(LiteralError { at: None, message });
        }
        let mut parser = Parser { text, at: 0 };
        let literal = parser.literal(0)?;
        match parser.next_token() {
            None => Ok(literal),
            Some(_) => Err(parser.expected("the end")),
        }
    }

    /// Converts a JSON value: arrays become lists, objects become dictionaries. Returns `None` for
    /// floats, for integers outside `i64`, and for values nested deeper than the limit.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        Self::from_json_at(value, 0)
    }

    fn from_json_at(value: &Value, depth: u32) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => number.as_i64().map(Self::Integer),
            Value::Bool(truth) => Some(Self::Bool(*truth)),
            Value::Array(items) if depth < MAX_DEPTH => {
                let items = items.iter().map(|item| Self::from_json_at(item, depth + 1));
                items.collect::<Option<_>>().map(Self::List)
            }
            Value::Object(entries) if depth < MAX_DEPTH => {
                let entry = |(key, value): (&String, &Value)| {
                    Some((Self::Text(key.clone()), Self::from_json_at(value, depth + 1)?))
                };
                entries.iter().map(entry).collect::<Option<_>>().map(Self::Dictionary)
            }
            Value::Null => Some(Self::None),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Converts the literal to JSON: tuples become lists, and dictionaries become objects.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => text.clone().into(),
            Self::Integer(number) => (*number).into(),
            Self::Bool(truth) => (*truth).into(),
            Self::List(items) | Self::Tuple(items) => items.iter().map(Self::to_json).collect(),
            Self::None => Value::Null,
            Self::Dictionary(entries) => entries
                .iter()
                .map(|(key, value)| (key.as_text().unwrap_or_default().to_owned(), value.to_json()))
                .collect(),
        }
    }

    /// Returns the items of a list or a tuple, or `None` for any other literal.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) | Self::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value of a non-negative integer, or `None` for any other literal.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Self::Integer(count) => u64::try_from(*count).ok(),
            _ => None,
        }
    }

    /// Returns the values in a list or tuple of non-negative integers, or `None` for any other
    /// literal.
    pub(crate) fn counts(&self) -> Option<Vec<u64>> {
        self.items()?.iter().map(Self::count).collect()
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A parser at a position in a string.
struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips whitespace and returns the next character without consuming it.
    fn next_token(&mut self) -> Option<char> {
        let blanks = [' ', '\t', '\n', '\r', '\x0c'];
        self.at = self.text.len() - self.rest().trim_start_matches(blanks).len();
        self.peek()
    }

    fn expected(&self, what: &str) -> LiteralError {
        let message = match self.peek() {
            Some(c) => format!("expected {what}, found {c:?}"),
            None => format!("expected {what}, found the end"),
        };
        LiteralError { at: Some(self.at), message }
    }

    /// Parses a literal that is nested inside `depth` other literals.
    fn literal(&mut self, depth: u32) -> Result<Literal, LiteralError> {
        let first = self.next_token();
        if matches!(first, Some('[' | '(' | '{')) && depth >= MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} levels of nesting");
            return Err(LiteralError { at: Some(self.at), message });
        }
        match first {
            Some('[') => Ok(Literal::List(self.sequence(']', depth, Self::literal)?.0)),
            Some('(') => {
                let (mut items, trailing) = self.sequence(')', depth, Self::literal)?;
                match items.pop() {
                    Some(only) if items.is_empty() && !trailing => Ok(only),
                    last => {
                        items.extend(last);
                        Ok(Literal::Tuple(items))
                    }
                }
            }
            Some('{') => Ok(Literal::Dictionary(self.sequence('}', depth, Self::entry)?.0)),
            Some('\'' | '"') => self.string(false).map(Literal::Text),
            Some('-' | '0'..='9') => self.integer(),
            _ => self.word(),
        }
    }

    fn entry(&mut self, depth: u32) -> Result<(Literal, Literal), LiteralError> {
        let key = self.literal(depth)?;
        if self.next_token() != Some(':') {
            return Err(self.expected("a colon"));
        }
        self.take();
        Ok((key, self.literal(depth)?))
    }

    /// Parses items up to the closing bracket. Returns the items with a flag, which is `true` if
    /// there are no items or if a comma follows the last item.
    fn sequence<T>(
        &mut self,
        close: char,
        depth: u32,
        item: impl Fn(&mut Self, u32) -> Result<T, LiteralError>,
    ) -> Result<(Vec<T>, bool), LiteralError> {
        self.take();
        let mut items = Vec::new();
        let mut comma = true;
        loop {
            match self.next_token() {
                Some(c) if c == close => {
                    self.take();
                    return Ok((items, comma));
                }
                Some(',') if !comma => {
                    self.take();
                    comma = true;
                }
                Some(_) if comma => {
                    items.push(item(self, depth + 1)?);
                    comma = false;
                }
                _ => return Err(self.expected(&format!("a comma or '{close}'"))),
            }
        }
    }

    fn integer(&mut self) -> Result<Literal, LiteralError> {
        let digits = self.rest().strip_prefix('-').unwrap_or(self.rest());
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let len = self.rest().len() - digits.len() + count;
        // Reject leading zeros, as Python 3 does, because Python 2 reads such numbers as octal.
        let is_octal = count > 1 && digits.starts_with('0');
        let number = self.rest().get(..len).filter(|_| !is_octal);
        let number = number
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| self.expected("a 64-bit integer"))?;
        self.at += len;
        if self.peek() == Some('L') {
            self.take();
        }
        Ok(Literal::Integer(number))
    }

    /// Parses `True`, `False`, `None`, or a string with a prefix.
    fn word(&mut self) -> Result<Literal, LiteralError> {
        let words = [
            ("True", Literal::Bool(true)),
            ("False", Literal::Bool(false)),
            ("None", Literal::None),
        ];
        for (word, literal) in words {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(literal);
            }
        }
        let is_prefix =
            matches!(self.rest().as_bytes(), [b'u' | b'U' | b'b' | b'B', b'\'' | b'"', ..]);
        if !is_prefix {
            return Err(self.expected("a Python literal, such as a list, string or integer"));
        }
        let is_bytes = matches!(self.take(), Some('b' | 'B'));
        self.string(is_bytes).map(Literal::Text)
    }

    fn string(&mut self, is_bytes: bool) -> Result<String, LiteralError> {
        let quote = self.take();
        let mut out = String::new();
        loop {
            let start = self.at;
            match self.take() {
                c if c == quote => return Ok(out),
                Some('\\') => {
                    let escaped = self.escape(is_bytes);
                    out.push(escaped.ok_or_else(|| {
                        self.at = start;
                        self.expected("an escape sequence of Python's repr")
                    })?);
                }
                Some(c) if c != '\n' && c != '\r' && (!is_bytes || c.is_ascii()) => out.push(c),
                _ => {
                    self.at = start;
                    return Err(self.expected("the end of the string"));
                }
            }
        }
    }

    /// Parses the part of an escape that follows the backslash.
    fn escape(&mut self, is_bytes: bool) -> Option<char> {
        let digits = match self.take()? {
            c @ ('\\' | '\'' | '"') => return Some(c),
            'n' => return Some('\n'),
            'r' => return Some('\r'),
            't' => return Some('\t'),
            'x' => 2,
            'u' if !is_bytes => 4,
            'U' if !is_bytes => 8,
            _ => return None,
        };
        let number = self.rest().get(..digits)?;
        if !number.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let c = char::from_u32(u32::from_str_radix(number, 16).ok()?)?;
        self.at += digits;
        Some(c)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write_string(f, text),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Bool(truth) => f.write_str(if *truth { "True" } else { "False" }),
            Self::None => f.write_str("None"),
            Self::List(items) => write_items(f, "[", items, "]"),
            Self::Tuple(items) if items.len() == 1 => write_items(f, "(", items, ",)"),
            Self::Tuple(items) => write_items(f, "(", items, ")"),
            Self::Dictionary(entries) => {
                f.write_char('{')?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{key}: {value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_items(
    f: &mut fmt::Formatter<'_>,
    open: &str,
    items: &[Literal],
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    for (i, item) in items.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{item}")?;
    }
    f.write_str(close)
}

fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    f.write_char(quote)?;
    for c in text.chars() {
        match c {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c == quote || c == '\\' => write!(f, "\\{c}")?,
            c if is_printable(c) => f.write_char(c)?,
            c => match u32::from(c) {
                code @ ..=0xff => write!(f, "\\x{code:02x}")?,
                code @ ..=0xffff => write!(f, "\\u{code:04x}")?,
                code => write!(f, "\\U{code:08x}")?,
            },
        }
    }
    f.write_char(quote)
}

/// Returns `true` if Python considers the character printable. `escape_debug` decides by the same
/// Unicode categories, but it also escapes a combining mark at the beginning of a string, so put a
/// letter before the character.
fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        _ if c.is_ascii() => false,
        _ => String::from_iter(['a', c]).escape_debug().nth(1) == Some(c),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Literal {
        Literal::Text(text.to_owned())
    }

    fn fails(literal: &str) -> String {
        Literal::parse(literal).unwrap_err().to_string()
    }

    #[test]
    fn lists_tuples_dictionaries_and_scalars_are_parsed() {
        let parsed = Literal::parse(" [('a', \"it's\",),\t(), (1), -3L, {'k': True}, \n[] ,] ");
        let expected = Literal::List(vec![
            Literal::Tuple(vec![text("a"), text("it's")]),
            Literal::Tuple(vec![]),
            Literal::Integer(1),
            Literal::Integer(-3),
            Literal::Dictionary(vec![(text("k"), Literal::Bool(true))]),
            Literal::List(vec![]),
        ]);
        assert_eq!(parsed.unwrap(), expected);
    }

    #[test]
    fn escapes_and_prefixes_of_python_2_and_3_are_parsed() {
        let parsed = |literal| Literal::parse(literal).unwrap();
        assert_eq!(parsed(r#"'\\\'\"\n\r\t\x41\u00e9\U0001f600'"#), text("\\'\"\n\r\tAé😀"));
        assert_eq!(parsed(r"u'\u03b1'"), text("α"));
        assert_eq!(parsed(r"b'\xe9'"), text("é"));
        for literal in
            [r"'\q'", r"'\x4'", r"'\x+1'", r"'\ud800'", r"'\U00110000'", r"b'\u0041'", "b'é'"]
        {
            assert!(Literal::parse(literal).is_err(), "{literal}");
        }
    }

    #[test]
    fn expressions_are_rejected_instead_of_evaluated() {
        let code =
            ["__import__('os')", "1+1", "[1 for x in y]", "f'{x}'", "r'x'", "1.5", "'a' 'b'"];
        for literal in code
            .into_iter()
            .chain(["", "[", "(1", "[1 2]", "[,]", "{1}", "'", "'\n'", "01", "--1", "- 1"])
        {
            assert!(Literal::parse(literal).is_err(), "{literal}");
        }
    }

    #[test]
    fn errors_contain_the_offset_of_the_unexpected_character() {
        assert_eq!(
            fails("[1, x]"),
            "expected a Python literal, such as a list, string or integer, found 'x' at byte 4 of \
             the text"
        );
        assert_eq!(fails("[1"), "expected a comma or ']', found the end at byte 2 of the text");
        assert_eq!(fails("1 é"), "expected the end, found 'é' at byte 2 of the text");
        assert_eq!(
            fails("9223372036854775808"),
            "expected a 64-bit integer, found '9' at byte 0 of the text"
        );
    }

    #[test]
    fn nesting_depth_and_length_are_limited() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Literal::parse(&nested(132)).is_ok());
        assert_eq!(fails(&nested(133)), "more than 132 levels of nesting at byte 132 of the text");
        assert!(fails(&nested(500_000)).starts_with("more than 132 levels"));
        assert_eq!(
            fails(&" ".repeat((1 << 20) + 1)),
            "the text has 1048577 bytes, but the limit is 1048576"
        );
        let json = |depth| (0..depth).fold(Value::from(0), |inner, _| vec![inner].into());
        assert!(Literal::from_json(&json(132)).is_some());
        assert!(Literal::from_json(&json(133)).is_none());
    }

    #[test]
    fn literals_print_like_repr_in_python() {
        // Each line is the `repr` of the value in Python 3.
        for literal in [
            "'it'",
            r#""it's""#,
            r#"'"'"#,
            r#"'it\'s "x"'"#,
            r"'a\\b\n\r\t\x00\x7f\xa0\xad'",
            "'é α 漢 😀'",
            r"'\u200b\u2028\ue000\U000e0001'",
            "'e\u{301}'",
            "[]",
            "[1, -2]",
            "()",
            "(1,)",
            "(1, 2)",
            "{'a': (True, False, None)}",
        ] {
            assert_eq!(Literal::parse(literal).unwrap().to_string(), literal);
        }
    }

    fn any_literal() -> impl Strategy<Value = Literal> {
        let leaf = prop_oneof![
            any::<String>().prop_map(Literal::Text),
            any::<i64>().prop_map(Literal::Integer),
            any::<bool>().prop_map(Literal::Bool),
            Just(Literal::None),
        ];
        leaf.prop_recursive(6, 40, 6, |inner| {
            let items = || prop::collection::vec(inner.clone(), 0..5);
            prop_oneof![
                items().prop_map(Literal::List),
                items().prop_map(Literal::Tuple),
                prop::collection::vec((inner.clone(), inner.clone()), 0..3)
                    .prop_map(Literal::Dictionary),
            ]
        })
    }

    proptest! {
        #[test]
        fn printed_literals_parse_to_the_same_value(literal in any_literal()) {
            prop_assert_eq!(Literal::parse(&literal.to_string()), Ok(literal));
        }

        #[test]
        fn parsing_random_text_does_not_panic(text in r#"[\[\](){}'"\\,:ubxL0-9 a\n\u{e9}-]{0,40}"#) {
            if let Ok(literal) = Literal::parse(&text) {
                prop_assert_eq!(Literal::parse(&literal.to_string()), Ok(literal));
            }
        }
    }
}
