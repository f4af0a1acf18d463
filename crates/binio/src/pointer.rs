//! JSON Pointers (RFC 6901) and percent-encoding (RFC 3986).
//!
//! A pointer such as `/history/entries/0` identifies a node by the keys and indices on the path to
//! it. Indices start from 0. In a key, `~1` stands for `/` and `~0` for `~`. The empty pointer
//! identifies the root.

use std::borrow::Cow;

use crate::{Error, Result};

/// Splits a pointer into its tokens (the keys and indices after the slashes) and unescapes them.
///
/// ```
/// let tokens = binio::pointer::tokens("/a~1b/0")?;
/// assert_eq!(tokens, ["a/b", "0"]);
/// assert!(binio::pointer::tokens("")?.is_empty());
///
/// let error = binio::pointer::tokens("/a/~2").unwrap_err();
/// assert_eq!(error.to_string(), "`~` in `~2` is neither `~0` nor `~1`");
/// # Ok::<(), binio::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`Invalid`](crate::ErrorKind::Invalid) if a non-empty pointer does not start with
/// `/`, or if a `~` is not followed by `0` or `1`.
pub fn tokens(pointer: &str) -> Result<Vec<Cow<'_, str>>> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let path =
        pointer.strip_prefix('/').ok_or_else(|| Error::invalid("expected `/` at the start"))?;
    let unescape = |token| {
        unescape(token)
            .ok_or_else(|| Error::invalid(format!("`~` in `{token}` is neither `~0` nor `~1`")))
    };
    path.split('/').map(unescape).collect()
}

/// Decodes `~0` and `~1` in a token. Returns `None` if a `~` is not followed by `0` or `1`.
pub fn unescape(token: &str) -> Option<Cow<'_, str>> {
    let mut parts = token.split('~');
    let first = parts.next().unwrap_or_default();
    if first.len() == token.len() {
        return Some(Cow::Borrowed(token));
    }
    let mut name = first.to_owned();
    for part in parts {
        let (character, rest) = match part.as_bytes().first() {
            Some(b'0') => ('~', &part[1..]),
            Some(b'1') => ('/', &part[1..]),
            _ => return None,
        };
        name.push(character);
        name.push_str(rest);
    }
    Some(Cow::Owned(name))
}

/// Appends a slash and the escaped key to a pointer.
///
/// ```
/// let mut pointer = String::from("/meta");
/// binio::pointer::push(&mut pointer, "a/b");
/// assert_eq!(pointer, "/meta/a~1b");
/// ```
pub fn push(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(character),
        }
    }
}

/// Parses a token as an index into a sequence. Returns `None` unless the token is `0`, or a number
/// that fits in a `usize` and has no leading zero or sign.
///
/// ```
/// use binio::pointer::index;
///
/// assert_eq!(index("10"), Some(10));
/// assert_eq!([index("01"), index("+1"), index("-")], [None; 3]);
/// ```
pub fn index(token: &str) -> Option<usize> {
    let is_plain = token == "0" || token.starts_with(|c: char| ('1'..='9').contains(&c));
    token.parse().ok().filter(|_| is_plain)
}

/// Decodes percent-encoding such as `%41`. Returns `None` if a percent sign is not followed by two
/// hexadecimal digits, or if the decoded bytes are not UTF-8.
pub fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    decode(text, true)
}

/// Decodes percent-encoding such as `%41`. Like browsers and Python, leaves a percent sign
/// unchanged if it is not followed by two hexadecimal digits. Returns `None` if the decoded bytes
/// are not UTF-8.
///
/// ```
/// use binio::pointer::{percent_decode, percent_decode_lenient};
///
/// assert_eq!(percent_decode("a%2Fb").as_deref(), Some("a/b"));
/// assert_eq!(percent_decode("100%"), None);
/// assert_eq!(percent_decode_lenient("100%").as_deref(), Some("100%"));
/// ```
pub fn percent_decode_lenient(text: &str) -> Option<Cow<'_, str>> {
    decode(text, false)
}

fn decode(text: &str, strict: bool) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let byte = match after {
            [high, low, ..] if *first == b'%' => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match byte {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &after[2..];
            }
            None if strict && *first == b'%' => return None,
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_unescaped_in_a_single_pass() {
        assert_eq!(tokens("/a~1b/~01/").unwrap(), ["a/b", "~1", ""]);
        assert_eq!(tokens("/").unwrap(), [""]);
        for wrong in ["/~", "/a~", "/~2"] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
        assert_eq!(tokens("a").unwrap_err().to_string(), "expected `/` at the start");
    }

    #[test]
    fn splitting_a_pointer_returns_the_pushed_key() {
        let mut pointer = String::new();
        push(&mut pointer, "c/d~e");
        assert_eq!(tokens(&pointer).unwrap(), ["c/d~e"]);
    }

    #[test]
    fn percent_escapes_decode_to_utf_8_bytes() {
        assert_eq!(percent_decode("%c3%A9%25").as_deref(), Some("é%"));
        for wrong in ["%", "%4", "%+1", "%zz", "%é"] {
            assert_eq!(percent_decode(wrong), None);
            assert_eq!(percent_decode_lenient(wrong).as_deref(), Some(wrong));
        }
        assert_eq!(percent_decode_lenient("%ff"), None);
        assert!(matches!(percent_decode("plain"), Some(Cow::Borrowed("plain"))));
    }
}
