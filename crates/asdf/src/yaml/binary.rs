//! Base64 as used by `!!binary`: the standard alphabet with padding; spaces, tabs and line breaks
//! may appear anywhere.

use std::io::{self, Write};

use base64_simd::{STANDARD, forgiving_decode_to_vec};

/// Number of bytes to encode at a time. It is a multiple of three, so that only the last chunk is
/// padded.
const PIECE: usize = 3 << 12;

/// Decodes Base64 text. Returns `None` if the text is not valid Base64. Like Python, ignores excess
/// bits after the last whole byte.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let digits: Vec<u8> = text.bytes().filter(|byte| !is_blank(byte)).collect();
    // Reject form feeds and missing padding, because the decoder would accept them.
    if digits.len() % 4 != 0 || digits.contains(&b'\x0c') {
        return None;
    }
    forgiving_decode_to_vec(&digits).ok()
}

/// Writes bytes as Base64 on a single line.
pub(crate) fn encode(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    bytes
        .chunks(PIECE)
        .try_for_each(|piece| out.write_all(STANDARD.encode_to_string(piece).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vectors_of_rfc_4648_are_encoded_and_decoded() {
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
        assert_eq!(decode("Zh=="), Some(vec![b'f']), "excess bits are ignored");
        let long: Vec<u8> = (0..=250).cycle().take(2 * PIECE + 1).collect();
        let mut encoded = Vec::new();
        encode(&long, &mut encoded).unwrap();
        assert_eq!(decode(std::str::from_utf8(&encoded).unwrap()), Some(long));
    }

    #[test]
    fn malformed_base64_is_rejected() {
        for text in ["Zg", "Zg=", "Z", "Zg==Zg==", "Zm9v=", "====", "Z!==", "Zm8-"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
