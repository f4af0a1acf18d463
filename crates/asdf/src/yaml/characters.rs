//! Rejecting characters that a tree must not contain, before the YAML parser sees them.
//!
//! YAML 1.1 allows tab, line feed, carriage return, NEL and all printable characters. The scanner
//! treats NUL as the end of the text, so this check must come first.

use bytes::Bytes;
use bytestring::ByteString;

/// The first invalid byte or character of a source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadCharacter {
    /// Offset of the byte or character in the text.
    pub(super) offset: usize,
    /// Description of the problem.
    pub(super) message: String,
}

/// Number of bytes to test at a time.
const CHUNK: usize = 64;

/// Returns the text as a string if it is valid UTF-8 and contains only characters that YAML 1.1
/// allows. Otherwise, returns the first bad byte or character.
pub(super) fn check(text: &Bytes) -> Result<ByteString, BadCharacter> {
    let checked = match ByteString::try_from(text.clone()) {
        Ok(checked) => checked,
        Err(error) => {
            let offset = error.valid_up_to();
            let byte = text.get(offset).copied().unwrap_or_default();
            // If a forbidden character precedes the invalid byte, report that character instead.
            let before = text.get(..offset).and_then(|text| std::str::from_utf8(text).ok());
            reject_controls(before.unwrap_or_default())?;
            return Err(BadCharacter {
                offset,
                message: format!("invalid UTF-8: byte {byte:#04x}"),
            });
        }
    };
    reject_controls(&checked)?;
    Ok(checked)
}

fn reject_controls(text: &str) -> Result<(), BadCharacter> {
    for (number, chunk) in text.as_bytes().chunks(CHUNK).enumerate() {
        // Skip chunks without suspect bytes, since most chunks contain none. The fold has no
        // branches, so the compiler can make it test many bytes at a time.
        if !chunk.iter().fold(false, |found, &byte| found | is_suspect(byte)) {
            continue;
        }
        for (at, _) in chunk.iter().enumerate().filter(|(_, byte)| is_suspect(**byte)) {
            let offset = number * CHUNK + at;
            let c = text.get(offset..).and_then(|rest| rest.chars().next());
            if let Some(c) = c.filter(|&c| is_forbidden(c)) {
                let message = format!("character U+{:04X} is not allowed in YAML", u32::from(c));
                return Err(BadCharacter { offset, message });
            }
        }
    }
    Ok(())
}

/// Returns `true` if a byte is a control character or may begin a forbidden character. Line feeds
/// are excluded, because most chunks contain one.
fn is_suspect(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n') || matches!(byte, 0x7f | 0xc2 | 0xef)
}

fn is_forbidden(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset_of(text: &[u8]) -> usize {
        check(&Bytes::copy_from_slice(text)).expect_err("rejected").offset
    }

    #[test]
    fn control_characters_are_rejected_with_their_offset() {
        for byte in (0u8..=0x1f).chain([0x7f]).filter(|b| !b"\t\n\r".contains(b)) {
            assert_eq!(offset_of(&[b'a', b':', byte]), 2, "{byte:#x}");
        }
        for byte in (0x80..=0x9f).filter(|&b| b != 0x85) {
            assert_eq!(offset_of(&[b'a', 0xc2, byte]), 1, "{byte:#x}");
        }
        assert_eq!(offset_of("é\u{fffe}".as_bytes()), 2);
        assert_eq!(offset_of("\u{ffff}".as_bytes()), 0);
    }

    #[test]
    fn characters_that_yaml_allows_are_accepted() {
        let text = "\t\r\n ~é\u{85}\u{a0}\u{2028}\u{feff}\u{fffd}\u{1f600}\u{10ffff}";
        assert_eq!(check(&Bytes::from(text)), Ok(text.into()));
    }

    #[test]
    fn invalid_utf8_is_rejected_with_the_offset_of_its_first_byte() {
        assert_eq!(offset_of(b"a\xffb"), 1);
        assert_eq!(offset_of(b"ab\xe2\x80"), 2);
        assert_eq!(offset_of(b"\xed\xa0\x80"), 0, "a surrogate");
        assert_eq!(offset_of(b"\0\xff"), 0, "the first of two");
    }
}
