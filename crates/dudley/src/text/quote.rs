//! Quoted names: `"dash-name"`, `'it"s'`.
//!
//! | escape | character |
//! |---|---|
//! | `\\ \" \' \/` | the character after the backslash |
//! | `\a \b \f \n \r \t \v \0` | the same control character as in C |
//! | `\xHH \uXXXX \UXXXXXXXX` | the character with this code; two surrogates form one character |
//!
//! A backslash that does not begin one of these escapes is kept, together with the character after it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// An invalid escape in a quoted name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EscapeError {
    /// The byte offset of the invalid escape in the token.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) reason: &'static str,
}

/// Returns the length of a quoted name in bytes, including both quotes, or `None` if the closing quote is
/// missing.
pub(crate) fn quoted_len(bytes: &[u8]) -> Option<usize> {
    let quote = *bytes.first()?;
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            &byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the text of a quoted token, with the quotes removed and the escapes decoded. Fails if an
/// escape stands for an invalid character.
pub(crate) fn unquote(token: &str) -> Result<Cow<'_, str>, EscapeError> {
    unquote_with(token, |_| {})
}

/// Like [`unquote`], but calls `unknown` with the offset of each backslash that does not begin an escape.
pub(crate) fn unquote_with(
    token: &str,
    mut unknown: impl FnMut(usize),
) -> Result<Cow<'_, str>, EscapeError> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let mut text = String::with_capacity(inner.len());
    let mut at = 0;
    while let Some(length) = inner[at..].find('\\') {
        text.push_str(&inner[at..at + length]);
        at += length;
        let (character, length) = escape(&inner[at..]).map_err(|(length, reason)| EscapeError {
            start: at + 1,
            end: at + 1 + length,
            reason,
        })?;
        if let Some(character) = character {
            text.push(character);
            at += length;
        } else {
            unknown(at + 1);
            text.push('\\');
            at += 1;
        }
    }
    text.push_str(&inner[at..]);
    Ok(Cow::Owned(text))
}

/// Returns the character that an escape stands for, or `None` if the backslash does not begin an escape. Also
/// returns the length of the escape in bytes.
fn escape(text: &str) -> Result<(Option<char>, usize), (usize, &'static str)> {
    let plain = |character| Ok((Some(character), 2));
    match text.as_bytes().get(1) {
        Some(&byte @ (b'\\' | b'"' | b'\'' | b'/')) => plain(char::from(byte)),
        Some(b'a') => plain('\x07'),
        Some(b'b') => plain('\x08'),
        Some(b'f') => plain('\x0c'),
        Some(b'n') => plain('\n'),
        Some(b'r') => plain('\r'),
        Some(b't') => plain('\t'),
        Some(b'v') => plain('\x0b'),
        Some(b'0') => plain('\0'),
        Some(b'x') => Ok((hex(text, 2).and_then(char::from_u32), 4)),
        Some(b'u') => match hex(text, 4) {
            None => Ok((None, 2)),
            Some(high @ 0xd800..=0xdbff) => {
                let low = text.get(6..).filter(|low| low.starts_with("\\u"));
                match low.and_then(|low| hex(low, 4)) {
                    Some(low @ 0xdc00..=0xdfff) => {
                        let joined = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                        Ok((char::from_u32(joined), 12))
                    }
                    _ => Err((6, "the first half of a surrogate pair without the second")),
                }
            }
            Some(number) => match char::from_u32(number) {
                Some(character) => Ok((Some(character), 6)),
                None => Err((6, "the second half of a surrogate pair without the first")),
            },
        },
        Some(b'U') => match hex(text, 8).map(char::from_u32) {
            None => Ok((None, 2)),
            Some(Some(character)) => Ok((Some(character), 10)),
            Some(None) => Err((10, "no character has this number")),
        },
        _ => Ok((None, 2)),
    }
}

fn hex(escape: &str, digits: usize) -> Option<u32> {
    let digits = escape.get(2..2 + digits)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// Returns `true` if a name needs no quotes because it consists of ASCII letters, digits and `_`, and does not
/// begin with a digit.
pub(crate) fn is_plain(name: &str) -> bool {
    let word = super::is_word(name);
    word && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}

/// Appends a name, quoted if needed.
pub(crate) fn push_name(out: &mut String, name: &str) {
    if is_plain(name) {
        out.push_str(name);
    } else {
        push_quoted(out, name);
    }
}

/// Appends a name in double quotes, with escapes if needed.
pub(crate) fn push_quoted(out: &mut String, name: &str) {
    out.push('"');
    for character in name.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(control));
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(token: &str) -> String {
        unquote(token).unwrap().into_owned()
    }

    #[test]
    fn c_and_json_escapes_are_decoded() {
        assert_eq!(text(r#""a\"b\\c\/d\'""#), "a\"b\\c/d'");
        assert_eq!(text(r"'\a\b\f\n\r\t\v\0'"), "\x07\x08\x0c\n\r\t\x0b\0");
        assert_eq!(text(r#""\x41\u00e9\U0001F600\ud83d\ude00""#), "Aé😀😀");
    }

    #[test]
    fn escapes_that_stand_for_invalid_characters_are_rejected() {
        for token in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83d\u0041""#, r#""\U00110000""#] {
            assert!(unquote(token).is_err(), "{token}");
        }
    }

    #[test]
    fn a_backslash_that_begins_no_escape_is_kept() {
        let mut places = Vec::new();
        let token = r#""\q\x4\u12\µ""#;
        assert_eq!(unquote_with(token, |at| places.push(at)).unwrap(), r"\q\x4\u12\µ");
        assert_eq!(places, [1, 3, 6, 10]);
    }

    #[test]
    fn quoted_names_round_trip() {
        for name in ["", "a b", "c\"d\\", "\0\u{1b}\u{85}\n\r\t", "µ", "\\x41", "'"] {
            let mut out = String::new();
            push_quoted(&mut out, name);
            assert_eq!(quoted_len(out.as_bytes()), Some(out.len()));
            assert_eq!(text(&out), name);
        }
    }

    #[test]
    fn an_unclosed_quote_has_no_length() {
        for token in ["\"", "\"abc", "'abc\"", "\"abc\\\"", "\"\\"] {
            assert_eq!(quoted_len(token.as_bytes()), None, "{token}");
        }
    }
}
