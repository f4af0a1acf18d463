//! A cursor over JSON text. It borrows values from the text, and reports the offsets of errors. It
//! reads punctuation, strings and integers itself, and other values with `serde_json`. Neither the
//! cursor nor `serde_json` recurses into nested values.

use std::borrow::Cow;

use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::escape::{self, Measure};

/// A valid JSON value, as written in the document.
///
/// ```
/// use flux_archive::json::Json;
///
/// let value = Json::parse(r#" {"k": 2.50} "#)?;
/// assert_eq!(value.get(), r#"{"k": 2.50}"#);
/// # Ok::<(), flux_archive::json::JsonError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Json<'a> {
    text: Cow<'a, str>,
    /// The properties of a string, or `None` for other values.
    string: Option<Measure>,
}

impl<'a> Json<'a> {
    /// Parses text that consists of a single value, ignoring whitespace around it.
    ///
    /// # Errors
    ///
    /// Fails if the text is not valid JSON, or if something follows the value.
    pub fn parse(text: &'a str) -> Result<Self> {
        let mut cursor = Cursor::new(text);
        let value = cursor.value()?;
        cursor.finish()?;
        Ok(value)
    }

    /// Creates a value from the text of an integer, or of a string without escapes.
    #[inline]
    pub(crate) fn short(text: &'a str) -> Self {
        let len = (text.len() as u64).saturating_sub(2);
        let string = Measure { len, nul: false, lone_surrogate: false };
        Self { text: Cow::Borrowed(text), string: Some(string).filter(|_| text.starts_with('"')) }
    }

    /// Returns the text of the value.
    pub fn get(&self) -> &str {
        &self.text
    }

    /// Returns the text between the quotes of a string and its properties, or `None` for other
    /// values. If the value borrows from the document, so does the text.
    pub(crate) fn string(&self) -> Option<(Cow<'a, str>, Measure)> {
        let measure = self.string?;
        let inner = 1..self.text.len() - 1;
        let text = match &self.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[inner]),
            Cow::Owned(text) => Cow::Owned(text[inner].to_owned()),
        };
        Some((text, measure))
    }

    /// Returns the text of a string without escapes, or `None` for other values.
    pub(crate) fn plain_string(&self) -> Option<&str> {
        let len = self.string?.len;
        let inner = &self.text[1..self.text.len() - 1];
        (len == inner.len() as u64).then_some(inner)
    }

    /// Copies the text if it is borrowed, so that the result does not borrow from the document.
    pub fn into_owned(self) -> Json<'static> {
        Json { text: Cow::Owned(self.text.into_owned()), string: self.string }
    }
}

/// The reason why text is not JSON, and the offset of the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: {message} (offset {offset})")]
#[non_exhaustive]
pub struct JsonError {
    /// A description of the error, such as the expected and the actual character.
    pub message: String,
    /// The offset of the error in the text, in bytes.
    pub offset: u64,
}

type Result<T> = std::result::Result<T, JsonError>;

/// A position in JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Returns the text from `start` to the current position.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.position]
    }

    /// Skips whitespace, and returns the next byte without consuming it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let rest = self.rest().as_bytes();
        // Check for a token first, because archives usually have no whitespace between tokens.
        if let Some(&byte) = rest.first().filter(|&&byte| byte > b' ') {
            return Some(byte);
        }
        let blanks = rest.iter().take_while(|byte| b" \t\n\r".contains(byte)).count();
        self.position += blanks;
        rest.get(blanks).copied()
    }

    /// Consumes `byte` and returns `true` if it is the next byte after any whitespace.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<()> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{}'", char::from(byte))))
        }
    }

    /// Fails if anything but whitespace follows.
    pub(crate) fn finish(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end")),
        }
    }

    /// Moves to the next item of an array or object and returns `true`, or consumes the closing
    /// bracket `end` and returns `false`. `first` must be `true` for the first item.
    #[inline]
    pub(crate) fn item(&mut self, first: bool, end: u8) -> Result<bool> {
        if first {
            return Ok(!self.take(end));
        }
        if self.take(b',') {
            return Ok(true);
        }
        self.expect(end).map_err(|_| self.unexpected(&format!("',' or '{}'", char::from(end))))?;
        Ok(false)
    }

    /// Reads a key and the colon after it.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Json<'a>> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a key in double quotes"));
        }
        let key = self.value()?;
        self.expect(b':')?;
        Ok(key)
    }

    /// Reads a value of any kind, nested to any depth.
    pub(crate) fn value(&mut self) -> Result<Json<'a>> {
        match self.short_value() {
            Some(text) => Ok(Json::short(text)),
            None => self.other_value(),
        }
    }

    /// Tries to read a short string without escapes, or an integer. Returns `None` for any other
    /// value, and for a string close to the end of the text. Without this fast path, listing an
    /// archive of 100,000 small files takes 1.7 times as long (`cargo xtask bench flux-archive`,
    /// "many: list").
    pub(crate) fn short_value(&mut self) -> Option<&'a str> {
        let rest = self.peek_rest();
        let len = match rest {
            [b'"', rest @ ..] => escape::plain_end(rest)? + 2,
            _ => integer_len(rest)?,
        };
        Some(self.advance(len))
    }

    /// Reads a key and the colon after it. Returns `None` and consumes nothing if the key is not
    /// short, has escapes, or is close to the end of the text.
    pub(crate) fn short_key(&mut self) -> Option<&'a str> {
        let start = self.position;
        let key = self.short_value().filter(|key| key.starts_with('"') && self.take(b':'));
        if key.is_none() {
            self.position = start;
        }
        key
    }

    /// Reads a value that [`short_value`](Self::short_value) does not read.
    fn other_value(&mut self) -> Result<Json<'a>> {
        if let [b'"', rest @ ..] = self.peek_rest() {
            // Let `serde_json` read a malformed string, because it reports the error.
            if let Some((end, measure)) = escape::scan(rest) {
                let text = Cow::Borrowed(self.advance(end + 2));
                return Ok(Json { text, string: Some(measure) });
            }
        }
        self.value_by_serde()
    }

    /// Consumes `len` bytes, and returns their text.
    fn advance(&mut self, len: usize) -> &'a str {
        let start = self.position;
        self.position += len;
        self.since(start)
    }

    /// Skips whitespace, and returns the bytes after it.
    fn peek_rest(&mut self) -> &'a [u8] {
        self.peek();
        self.rest().as_bytes()
    }

    /// Reads a value with `serde_json`.
    #[cold]
    fn value_by_serde(&mut self) -> Result<Json<'a>> {
        let first = self.peek();
        let rest = self.rest();
        let delimited = matches!(first, Some(b'"' | b'[' | b'{'));
        // Pass only the number or literal to `serde_json`, without the bytes after it.
        let len = if delimited { None } else { rest.bytes().position(ends_number) };
        let text = &rest[..len.unwrap_or(rest.len())];
        let mut values = Deserializer::from_str(text).into_iter::<&RawValue>();
        match values.next() {
            Some(Ok(value)) => {
                self.position += values.byte_offset();
                Ok(Json { text: Cow::Borrowed(value.get()), string: None })
            }
            Some(Err(error)) => Err(self.failed(text, &error)),
            None => Err(self.unexpected("a value")),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    #[cold]
    fn unexpected(&mut self, expected: &str) -> JsonError {
        self.peek();
        let found = match self.rest().chars().next() {
            Some(found) => format!("{found:?}"),
            None => "the end".to_owned(),
        };
        let message = format!("expected {expected}, found {found}");
        JsonError { message, offset: self.position as u64 }
    }

    /// Converts an error in `text`, which starts at the current position, to an error with an
    /// offset in the document.
    fn failed(&self, text: &str, error: &serde_json::Error) -> JsonError {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let lines: usize = before.map(str::len).sum();
        let offset = self.position + lines + error.column().saturating_sub(1);
        JsonError { message: message.to_owned(), offset: offset as u64 }
    }
}

/// Returns `true` if this byte ends a number or literal that precedes it.
fn ends_number(byte: u8) -> bool {
    b" \t\n\r,:[]{}\"".contains(&byte)
}

/// Returns the length of the integer at the start of the text. Returns `None` for any other value,
/// and for malformed numbers.
fn integer_len(text: &[u8]) -> Option<usize> {
    let start = usize::from(text.first() == Some(&b'-'));
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_valid = digits > 0 && (digits == 1 || text[start] != b'0');
    let is_whole = text.get(start + digits).is_none_or(|&byte| ends_number(byte));
    (is_valid && is_whole).then_some(start + digits)
}

/// Returns the value of a JSON integer that fits into an `i64`. Returns `None` for any other value,
/// including numbers with a fraction or exponent.
pub(crate) fn integer(value: &Json<'_>) -> Option<i64> {
    value.get().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> (String, u64) {
        let mut cursor = Cursor::new(text);
        let error = cursor.value().and_then(|_| cursor.finish()).unwrap_err();
        (error.to_string(), error.offset)
    }

    proptest! {
        #[test]
        fn the_fast_path_returns_the_same_values_and_errors_as_serde_json(
            text in r#"[ \n]?(-?[0-9]{1,3}[-+0-9.eE]{0,3}|[-+0-9.eE]{0,4}|true|nul|"[a-z\\]{0,20}"?|[\[{][1,:"a]{0,3})[ ,\]}:"x1]{0,2}"#,
        ) {
            let (mut fast, mut simple) = (Cursor::new(&text), Cursor::new(&text));
            let [fast_value, simple_value] = [fast.value(), simple.value_by_serde()]
                .map(|value| value.map(|value| value.get().to_owned()));
            prop_assert_eq!(fast_value, simple_value);
            prop_assert_eq!(fast.position, simple.position);
        }
    }

    #[test]
    fn json_values_of_every_kind_are_returned_as_written() {
        let text = " [1 , 2.50] ";
        assert_eq!(Cursor::new(text).value().unwrap().get(), "[1 , 2.50]");
        let mut cursor = Cursor::new("1e400,-0,true,\"a\\ud800\",{\"a\":1,\"a\":2}");
        for value in ["1e400", "-0", "true", "\"a\\ud800\"", "{\"a\":1,\"a\":2}"] {
            assert_eq!(cursor.value().unwrap().get(), value);
            cursor.take(b',');
        }
        assert!(cursor.finish().is_ok());
    }

    #[test]
    fn json_errors_contain_the_offset() {
        assert_eq!(error("").1, 0);
        assert_eq!(error("  tru").1, 4);
        assert_eq!(error("[1,\n 2,\n x]").1, 9);
        assert_eq!(error("{} x"), ("not JSON: expected the end, found 'x' (offset 3)".into(), 3));
        assert_eq!(error("01").1, 1);
    }

    #[test]
    fn values_of_any_depth_are_skipped() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        assert_eq!(Cursor::new(&deep).value().unwrap().get().len(), 400_000);
        assert!(Cursor::new(&deep[..300_000]).value().is_err());
    }

    #[test]
    fn numbers_with_fraction_or_exponent_are_not_integers() {
        let integer = |text: &str| integer(&Cursor::new(text).value().unwrap());
        assert_eq!(integer("-0"), Some(0));
        assert_eq!(integer("9223372036854775807"), Some(i64::MAX));
        for other in ["9223372036854775808", "1.0", "1e2", "\"1\"", "null", "true", "[1]"] {
            assert_eq!(integer(other), None, "{other}");
        }
    }
}
