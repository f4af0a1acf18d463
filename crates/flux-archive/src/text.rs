//! JSON strings as they lie in an archive: escaped, decoded piece by piece.
//!
//! | escape | character |
//! |---|---|
//! | `\"` `\\` `\/` | itself |
//! | `\b` `\f` `\n` `\r` `\t` | U+0008, U+000C, U+000A, U+000D, U+0009 |
//! | `\uXXXX` | a character of the basic plane |
//! | `\uD800` to `\uDBFF`, `\uDC00` to `\uDFFF` | together one of the other planes; alone nothing |
//!
//! Most text has an escape in every line. An archive of gigabytes is read without a decoded copy of
//! it: only length and validity are found when parsing.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use serde_json::value::RawValue;

/// Decoded bytes that are gathered before they are written.
const STEP: usize = 16 << 10;

/// A string in the escaped form of JSON, known to be valid.
///
/// ```
/// use flux_archive::Text;
///
/// let text = Text::new("two\nlines");
/// assert_eq!(text.escaped(), r"two\nlines");
/// assert_eq!(text.decode(), "two\nlines");
/// assert_eq!(text.len(), 9);
/// ```
#[derive(Clone, Debug)]
pub struct Text<'a> {
    escaped: Cow<'a, str>,
    len: u64,
    nul: bool,
}

/// Why a JSON value is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// It is no string.
    #[error("no string")]
    NoString,
    /// It has half a surrogate pair, which is no character.
    #[error("a lone surrogate in the string")]
    LoneSurrogate,
}

impl<'a> Text<'a> {
    /// Text of plain characters.
    pub fn new(plain: &'a str) -> Self {
        let mut escaped = String::new();
        let borrowed = plain.bytes().all(|byte| !must_escape(byte));
        if !borrowed {
            escape_into(plain, &mut escaped);
        }
        let escaped = if borrowed { Cow::Borrowed(plain) } else { Cow::Owned(escaped) };
        Self { escaped, len: plain.len() as u64, nul: plain.contains('\0') }
    }

    /// The text of a JSON string.
    pub fn from_json(value: &'a RawValue) -> Result<Self, TextError> {
        let inner = value.get().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let escaped = inner.ok_or(TextError::NoString)?;
        let (len, nul) = measure(escaped)?;
        Ok(Self { escaped: Cow::Borrowed(escaped), len, nul })
    }

    /// The characters between the quotes of the JSON string.
    pub fn escaped(&self) -> &str {
        &self.escaped
    }

    /// Bytes of the decoded text.
    #[allow(clippy::len_without_is_empty, reason = "is_empty is below")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Has it no characters?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Has it a NUL? No reader of Flux takes such text.
    pub fn has_nul(&self) -> bool {
        self.nul
    }

    /// The decoded text; borrowed where nothing was escaped.
    pub fn decode(&self) -> Cow<'_, str> {
        if self.escaped.len() as u64 == self.len {
            return Cow::Borrowed(&self.escaped);
        }
        let mut plain = String::new();
        for piece in Pieces(&self.escaped) {
            match piece {
                Piece::Plain(part) => plain.push_str(part),
                Piece::Escaped(character) => plain.push(character),
            }
        }
        Cow::Owned(plain)
    }

    /// The decoded text; borrowed for as long as the archive where nothing was escaped.
    pub fn into_decoded(self) -> Cow<'a, str> {
        if self.escaped.len() as u64 == self.len {
            return self.escaped;
        }
        Cow::Owned(self.decode().into_owned())
    }

    /// Writes the decoded text, with a bounded buffer.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(STEP);
        for piece in Pieces(&self.escaped) {
            let mut utf8 = [0; 4];
            let bytes = match piece {
                Piece::Plain(part) => part.as_bytes(),
                Piece::Escaped(character) => character.encode_utf8(&mut utf8).as_bytes(),
            };
            if buffer.len() + bytes.len() > STEP {
                out.write_all(&buffer)?;
                buffer.clear();
                if bytes.len() > STEP {
                    out.write_all(bytes)?;
                    continue;
                }
            }
            buffer.extend_from_slice(bytes);
        }
        out.write_all(&buffer)
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.decode() == other.decode()
    }
}

impl Eq for Text<'_> {}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.decode())
    }
}

fn must_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Escapes as the C writer does: nothing but `"`, `\` and what is below U+0020, with digits in upper
/// case.
pub(crate) fn escape_into(plain: &str, out: &mut String) {
    let mut rest = plain;
    while let Some(at) = rest.bytes().position(must_escape) {
        out.push_str(&rest[..at]);
        let byte = rest.as_bytes()[at];
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                out.push_str("\\u00");
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Bytes of the decoded text, and whether a NUL is in it.
fn measure(escaped: &str) -> Result<(u64, bool), TextError> {
    let (mut saved, mut nul, mut next) = (0, false, 0);
    for at in memchr::memchr_iter(b'\\', escaped.as_bytes()) {
        // A backslash that is escaped itself begins no escape.
        if at < next {
            continue;
        }
        let (character, used) = unescape(&escaped[at..]).ok_or(TextError::LoneSurrogate)?;
        saved += used - character.len_utf8();
        nul |= character == '\0';
        next = at + used;
    }
    Ok(((escaped.len() - saved) as u64, nul))
}

enum Piece<'a> {
    Plain(&'a str),
    Escaped(char),
}

/// The rest of an escaped string that was measured.
struct Pieces<'a>(&'a str);

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0;
        let (piece, used) = match memchr::memchr(b'\\', rest.as_bytes()) {
            Some(0) => {
                let (character, used) = unescape(rest)?;
                (Piece::Escaped(character), used)
            }
            None if rest.is_empty() => return None,
            end => {
                let end = end.unwrap_or(rest.len());
                (Piece::Plain(&rest[..end]), end)
            }
        };
        self.0 = &rest[used..];
        Some(piece)
    }
}

/// The character of the escape at the beginning, and how many bytes it takes. JSON that was parsed
/// has no other fault than lone surrogates.
fn unescape(text: &str) -> Option<(char, usize)> {
    let character = match text.as_bytes().get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unicode(text),
        &other if other.is_ascii() => char::from(other),
        _ => return None,
    };
    Some((character, 2))
}

fn unescape_unicode(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    if let Some(character) = char::from_u32(first.into()) {
        return Some((character, 6));
    }
    let pair = char::decode_utf16([first, unit(6)?]).next()?.ok()?;
    Some((pair, 12))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn every_escape_decodes() {
        let json = raw(r#""\"\\\/\b\f\n\r\t\u0041\u00e9\uffff\ud83d\ude00\uD83D\uDE00é""#);
        let text = Text::from_json(&json).unwrap();
        let plain = "\"\\/\u{8}\u{c}\n\r\tAé\u{ffff}😀😀é";
        assert_eq!(text.decode(), plain);
        assert_eq!(text.len(), plain.len() as u64);
        assert!(!text.has_nul());
    }

    #[test]
    fn lone_surrogate_is_no_text() {
        for json in [r#""\ud800""#, r#""\ud800x""#, r#""\ude00""#, r#""\ud800\ud800""#] {
            assert_eq!(Text::from_json(&raw(json)), Err(TextError::LoneSurrogate), "{json}");
        }
    }

    #[test]
    fn other_values_are_no_text() {
        for json in ["5", "null", "[\"a\"]", "{}"] {
            assert_eq!(Text::from_json(&raw(json)), Err(TextError::NoString), "{json}");
        }
    }

    #[test]
    fn nul_is_seen() {
        assert!(Text::from_json(&raw(r#""a\u0000b""#)).unwrap().has_nul());
        assert!(Text::new("a\0b").has_nul());
    }

    #[test]
    fn escapes_are_those_of_the_c_writer() {
        let text = Text::new("\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\"\\/\u{7f}\u{ffff}é😀");
        assert_eq!(
            text.escaped(),
            "\\u0001\\b\\t\\n\\u000B\\f\\r\\u001F\\\"\\\\/\u{7f}\u{ffff}é😀"
        );
    }

    proptest! {
        #[test]
        fn escaping_and_decoding_are_inverse(plain in ".{0,40}|[\0-\u{7f}é😀]{0,40}") {
            let text = Text::new(&plain);
            let json = raw(&format!("\"{}\"", text.escaped()));
            let parsed = Text::from_json(&json).unwrap();
            prop_assert_eq!(parsed.decode(), plain.as_str());
            prop_assert_eq!(&parsed, &text);
            prop_assert_eq!(parsed.has_nul(), plain.contains('\0'));
            let mut written = Vec::new();
            parsed.write_to(&mut written).unwrap();
            prop_assert_eq!(written, plain.as_bytes());
        }
    }

    #[test]
    fn long_text_is_written_in_order() {
        let plain = "line\n".repeat(20_000) + &"x".repeat(40_000) + "\n";
        let mut written = Vec::new();
        Text::new(&plain).write_to(&mut written).unwrap();
        assert_eq!(written, plain.as_bytes());
    }
}
