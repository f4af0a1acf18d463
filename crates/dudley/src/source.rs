//! The text of a layout: how its bytes are decoded, and which line and column an offset is in.
//!
//! UTF-8 first. Bytes that are none are CP-1252, unless one of them is among the five that CP-1252 does
//! not define; then they are Latin-1. A byte-order mark is skipped. Byte 8d begins no text, in any of
//! the three, but it begins native binary files.

use std::fmt;
use std::sync::OnceLock;

use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::reserve;
use crate::signature;

/// A part of a text, in bytes from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Bytes.
    pub(crate) fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// From the beginning of this one to the end of another.
    pub(crate) fn to(self, end: Self) -> Self {
        Self { start: self.start, end: end.end.max(self.start) }
    }
}

/// How the bytes of a text were decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// As it should be.
    #[default]
    Utf8,
    /// Windows.
    Cp1252,
    /// ISO 8859-1.
    Latin1,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::Cp1252 => "CP-1252",
            Self::Latin1 => "Latin-1",
        })
    }
}

/// What CP-1252 has at 80 to 9f; 0 is undefined.
const CP1252: [u16; 32] = [
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039,
    0x0152, 0, 0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc,
    0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
];

/// A decoded text and the name of where it comes from.
///
/// ```
/// use dudley::{Encoding, Source};
///
/// let source = Source::decode(b"x = f8  ## 20 \xb0C\ny = f4").unwrap();
/// assert_eq!(source.encoding(), Encoding::Cp1252);
/// assert!(source.text().contains("20 °C"));
/// let offset = source.text().find('y').unwrap();
/// assert_eq!(source.line_column(offset as u32), (2, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Source {
    name: Option<String>,
    text: String,
    encoding: Encoding,
    /// Where each line begins but the first.
    lines: OnceLock<Vec<u32>>,
}

impl Source {
    /// Decodes the bytes of a layout.
    ///
    /// # Errors
    /// E001 where the bytes are a binary file, E005 where they are 2 GiB or more.
    pub fn decode(bytes: &[u8]) -> Result<Self, Box<Diagnostic>> {
        if bytes.first() == Some(&0x8d) {
            return Err(Box::new(binary(bytes)));
        }
        // Offsets are 32 bits, and decoding makes at most three bytes of one.
        if bytes.len() > i32::MAX as usize {
            let message = format!("a layout of {} bytes: 2 GiB are too many", bytes.len());
            return Err(Box::new(Diagnostic::new(Code::BeyondLimit, Span::default(), message)));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut text = Vec::new();
        reserve(&mut text, bytes.len());
        text.extend_from_slice(bytes);
        let (text, encoding) = match String::from_utf8(text) {
            Ok(text) => (text, Encoding::Utf8),
            Err(_) => decode_single_bytes(bytes),
        };
        if u32::try_from(text.len()).is_err() {
            let message = "a layout of more than 4 GiB as UTF-8".to_owned();
            return Err(Box::new(Diagnostic::new(Code::BeyondLimit, Span::default(), message)));
        }
        Ok(Self { name: None, text, encoding, lines: OnceLock::new() })
    }

    /// The same with a name for messages, mostly a file's.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The name for messages.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The text, without a byte-order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How it was encoded.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Line and column of an offset, both from 1; columns count characters.
    pub fn line_column(&self, offset: u32) -> (usize, usize) {
        let line = self.line_of(offset);
        let start = self.line_start(line);
        let upto = self.floor(offset);
        (line, self.text[start..upto.max(start)].chars().count() + 1)
    }

    /// The line from 1 that an offset is in. The line feed belongs to the line that it ends.
    pub(crate) fn line_of(&self, offset: u32) -> usize {
        self.lines().partition_point(|&start| start <= offset) + 1
    }

    /// The text of a line, without its end.
    pub(crate) fn line(&self, line: usize) -> &str {
        let start = self.line_start(line);
        let end = self.lines().get(line - 1).map_or(self.text.len(), |&end| end as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    pub(crate) fn line_start(&self, line: usize) -> usize {
        if line < 2 { 0 } else { self.lines()[line - 2] as usize }
    }

    /// The offset, or the beginning of the character that it is within.
    pub(crate) fn floor(&self, offset: u32) -> usize {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }

    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let bytes = self.text.as_bytes();
            let ends = (0_u32..).zip(bytes).filter(|&(at, &byte)| {
                byte == b'\n' || byte == b'\r' && bytes.get(at as usize + 1) != Some(&b'\n')
            });
            ends.map(|(at, _)| at + 1).collect()
        })
    }
}

fn decode_single_bytes(bytes: &[u8]) -> (String, Encoding) {
    let windows = |byte: u8| match byte {
        0x80..=0x9f => char::from_u32(CP1252[usize::from(byte - 0x80)].into()).unwrap_or('\0'),
        _ => char::from(byte),
    };
    if bytes.iter().any(|byte| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d)) {
        return (bytes.iter().copied().map(char::from).collect(), Encoding::Latin1);
    }
    (bytes.iter().copied().map(windows).collect(), Encoding::Cp1252)
}

fn binary(bytes: &[u8]) -> Diagnostic {
    let message = "this is a binary file, not a layout".to_owned();
    let diagnostic = Diagnostic::new(Code::IllegalCharacter, Span::default(), message);
    diagnostic.with_help(match signature::Signature::parse(bytes) {
        Ok(signature) if signature.layout_address != 0 => {
            format!("the layout is at its end, from byte {}", signature.layout_address)
        }
        Ok(_) => "its layout is in another file, mostly with the extension .dud".to_owned(),
        Err(error) => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_utf8_are_cp1252_unless_it_does_not_define_them() {
        let decoded = |bytes: &[u8]| {
            let source = Source::decode(bytes).unwrap();
            (source.text().to_owned(), source.encoding())
        };
        assert_eq!(decoded("\u{feff}é".as_bytes()), ("é".to_owned(), Encoding::Utf8));
        assert_eq!(decoded(b"\x80\xe9"), ("€é".to_owned(), Encoding::Cp1252));
        assert_eq!(decoded(b"\x81\xe9"), ("\u{81}é".to_owned(), Encoding::Latin1));
    }

    #[test]
    fn a_native_file_is_called_what_it_is() {
        let error = Source::decode(b"\x8d<BD\r\n\x1a\n\x30\0\0\0\0\0\0\0").unwrap_err();
        assert_eq!(error.code, Code::IllegalCharacter);
        assert_eq!(error.help[0], "the layout is at its end, from byte 48");
    }

    #[test]
    fn lines_end_with_lf_crlf_or_cr() {
        let source = Source::decode("a\r\nb\rc\n\nµd".as_bytes()).unwrap();
        let lines: Vec<&str> = (1..=5).map(|line| source.line(line)).collect();
        assert_eq!(lines, ["a", "b", "c", "", "µd"]);
        assert_eq!(source.line_column(8), (5, 1));
        assert_eq!(source.line_column(10), (5, 2));
        assert_eq!(source.line_column(3), (2, 1));
    }
}
