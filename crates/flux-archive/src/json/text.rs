//! JSON strings that are kept in escaped form, and decoded piece by piece.
//!
//! Most text has an escape in every line. To avoid a decoded copy of a large archive, parsing only checks that a string
//! is valid and determines its length.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use super::cursor::Json;
use super::escape;
#[cfg(unix)]
use crate::parallel::join;

/// The maximum number of decoded bytes to write at a time.
const STEP: usize = 64 << 10;

/// The maximum number of decoded bytes that are passed from one thread to another at a time.
#[cfg(unix)]
const PIECE: usize = 1 << 20;

/// A valid string in the escaped form of JSON.
///
/// ```
/// use flux_archive::json::Text;
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

/// The reason why a JSON value is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The value is not a string.
    #[error("the value is not a string")]
    NotAString,
    /// The string contains an unpaired surrogate, which is not a character.
    #[error("the string contains an unpaired surrogate")]
    LoneSurrogate,
}

impl<'a> Text<'a> {
    /// Creates text from a plain string, and escapes it if necessary.
    pub fn new(plain: &'a str) -> Self {
        let escaped = if escape::is_plain(plain) {
            Cow::Borrowed(plain)
        } else {
            let mut escaped = Vec::new();
            escape::encode(plain.as_bytes(), &mut escaped);
            // This cannot fail, because escaping preserves UTF-8.
            Cow::Owned(String::from_utf8(escaped).unwrap_or_default())
        };
        Self { escaped, len: plain.len() as u64, nul: plain.contains('\0') }
    }

    /// Creates text from a JSON string, without decoding its escapes.
    ///
    /// # Errors
    ///
    /// Fails with [`TextError::NotAString`] if the value is not a string, and with [`TextError::LoneSurrogate`] if it
    /// contains an unpaired surrogate.
    pub fn from_json(value: &Json<'a>) -> Result<Self, TextError> {
        let (escaped, measure) = value.string().ok_or(TextError::NotAString)?;
        if measure.lone_surrogate {
            return Err(TextError::LoneSurrogate);
        }
        Ok(Self { escaped, len: measure.len, nul: measure.nul })
    }

    /// Returns the escaped text, without the quotes of the JSON string.
    pub fn escaped(&self) -> &str {
        &self.escaped
    }

    /// Returns the escaped text without copying it.
    pub(crate) fn into_escaped(self) -> Cow<'a, str> {
        self.escaped
    }

    /// Returns the length of the decoded text in bytes.
    #[allow(clippy::len_without_is_empty, reason = "`is_empty` is defined below")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns `true` if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns `true` if the text contains a NUL, which no Flux reader accepts.
    pub fn has_nul(&self) -> bool {
        self.nul
    }

    /// Returns the decoded text, borrowed if nothing is escaped.
    pub fn decode(&self) -> Cow<'_, str> {
        if self.escaped.len() as u64 == self.len {
            return Cow::Borrowed(&self.escaped);
        }
        let mut plain = Vec::new();
        // Writing to a vector cannot fail, and the text is valid.
        let _ = self.write_to(&mut plain);
        Cow::Owned(String::from_utf8(plain).unwrap_or_default())
    }

    /// Returns the bytes of the decoded text, borrowed if nothing is escaped.
    pub(crate) fn decode_bytes(&self) -> Cow<'_, [u8]> {
        match self.decode() {
            Cow::Borrowed(plain) => Cow::Borrowed(plain.as_bytes()),
            Cow::Owned(plain) => Cow::Owned(plain.into_bytes()),
        }
    }

    /// Returns the decoded text, without copying it if nothing is escaped.
    pub fn into_decoded(self) -> Cow<'a, str> {
        if self.escaped.len() as u64 == self.len {
            return self.escaped;
        }
        Cow::Owned(self.decode().into_owned())
    }

    /// Copies the escaped text if it is borrowed, so that the result does not borrow from the
    /// document.
    pub fn into_owned(self) -> Text<'static> {
        Text { escaped: Cow::Owned(self.escaped.into_owned()), len: self.len, nul: self.nul }
    }

    /// Writes the decoded text through a small buffer.
    ///
    /// # Errors
    ///
    /// Fails if writing to `out` fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = vec![0; STEP.min(self.escaped.len() + escape::ROOM)];
        let mut rest = self.escaped.as_bytes();
        while !rest.is_empty() {
            let len = decode_some(&mut rest, &mut buffer)?;
            out.write_all(&buffer[..len])?;
        }
        Ok(())
    }

    /// Calls `take` with each piece of the decoded text, in order. While `take` runs, another thread
    /// may decode the next piece.
    #[cfg(unix)]
    pub(crate) fn for_each_piece(
        &self,
        mut take: impl FnMut(&[u8]) -> io::Result<()> + Send,
    ) -> io::Result<()> {
        let mut rest = self.escaped.as_bytes();
        let (mut piece, mut next) = (vec![0; PIECE], vec![0; PIECE]);
        let mut len = decode_some(&mut rest, &mut piece)?;
        while len > 0 {
            let (taken, decoded) =
                join(|| take(&piece[..len]), || decode_some(&mut rest, &mut next));
            taken?;
            len = decoded?;
            std::mem::swap(&mut piece, &mut next);
        }
        Ok(())
    }
}

/// Fills a buffer with decoded text and advances `rest`. Returns the number of bytes, which is 0 at
/// the end.
fn decode_some(rest: &mut &[u8], buffer: &mut [u8]) -> io::Result<usize> {
    let (used, len) = escape::decode(rest, buffer);
    if used == 0 && !rest.is_empty() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    *rest = &rest[used..];
    Ok(len)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(json: &str) -> Json<'_> {
        Json::parse(json).unwrap()
    }

    #[test]
    fn escapes_of_every_kind_are_decoded() {
        let json = raw(r#""\"\\\/\b\f\n\r\t\u0041\u00e9\uffff\ud83d\ude00\uD83D\uDE00é""#);
        let text = Text::from_json(&json).unwrap();
        let plain = "\"\\/\u{8}\u{c}\n\r\tAé\u{ffff}😀😀é";
        assert_eq!(text.decode(), plain);
        assert_eq!(text.len(), plain.len() as u64);
        assert!(!text.has_nul());
    }

    #[test]
    fn values_other_than_strings_are_not_text() {
        for json in ["5", "null", "[\"a\"]", "{}"] {
            assert_eq!(Text::from_json(&raw(json)), Err(TextError::NotAString), "{json}");
        }
    }

    #[test]
    fn text_is_escaped_as_in_the_c_writer_of_flux() {
        let text = Text::new("\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\"\\/\u{7f}\u{ffff}é😀");
        assert_eq!(
            text.escaped(),
            "\\u0001\\b\\t\\n\\u000B\\f\\r\\u001F\\\"\\\\/\u{7f}\u{ffff}é😀"
        );
    }

    proptest! {
        #[test]
        fn decoding_inverts_escaping(plain in ".{0,40}|[\0-\u{7f}é😀]{0,40}") {
            let text = Text::new(&plain);
            let json = format!("\"{}\"", text.escaped());
            let parsed = Text::from_json(&raw(&json)).unwrap();
            prop_assert_eq!(parsed.decode(), plain.as_str());
            prop_assert_eq!(&parsed, &text);
            prop_assert_eq!(parsed.has_nul(), plain.contains('\0'));
            let mut written = Vec::new();
            parsed.write_to(&mut written).unwrap();
            prop_assert_eq!(written, plain.as_bytes());
        }
    }

    #[test]
    fn long_text_is_decoded_in_order() {
        let plain = "line\n".repeat(200_000) + &"x".repeat(400_000) + "\n";
        let (mut written, mut pieces) = (Vec::new(), Vec::new());
        Text::new(&plain).write_to(&mut written).unwrap();
        assert_eq!(written, plain.as_bytes());
        let put = |piece: &[u8]| {
            pieces.extend_from_slice(piece);
            Ok(())
        };
        Text::new(&plain).for_each_piece(put).unwrap();
        assert_eq!(pieces, plain.as_bytes());
    }

    #[test]
    fn decoding_stops_if_the_callback_fails() {
        let plain = "line\n".repeat(400_000);
        let mut count = 0;
        let reject = |_: &[u8]| {
            count += 1;
            if count == 2 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        };
        let result = Text::new(&plain).for_each_piece(reject);
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(count, 2);
    }
}
