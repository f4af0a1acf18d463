//! Base 64, as `!!binary` has it: the standard alphabet, padded, blanks and line breaks anywhere.

use std::io::{self, Write};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes that a text stands for, if it is base 64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = 0u32;
    let mut digits = 0u32;
    let mut padding = 0u32;
    for byte in text.bytes() {
        let digit = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                continue;
            }
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        group = group << 6 | u32::from(digit);
        digits += 1;
        if digits == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..]);
            (group, digits) = (0, 0);
        }
    }
    match (digits, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push((group << 12).to_be_bytes()[1]),
        (3, 1) => bytes.extend_from_slice(&(group << 6).to_be_bytes()[1..3]),
        _ => return None,
    }
    Some(bytes)
}

/// Writes bytes as base 64 on one line.
pub(crate) fn encode(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| chunk.get(at).map_or(0, |&byte| u32::from(byte));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        let mut text = [b'='; 4];
        for (at, place) in text.iter_mut().enumerate().take(chunk.len() + 1) {
            *place = ALPHABET[(group >> (18 - 6 * at)) as usize & 63];
        }
        out.write_all(&text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
            let mut encoded = Vec::new();
            encode(bytes.as_bytes(), &mut encoded).unwrap();
            assert_eq!(encoded, text.as_bytes());
        }
        assert_eq!(decode("+/\n +/ +/8="), Some(vec![0xfb, 0xff, 0xbf, 0xfb, 0xff]));
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["Zg", "Zg=", "Z", "Zg==Zg==", "Zm9v=", "====", "Z!==", "Zm8-"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
