//! Choosing between text and base64 for the data of a file.

/// The encoding of data that is written piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// The data is text (`utf-8`). Writing a NUL or anything but UTF-8 fails.
    Text,
    /// Arbitrary bytes, written as `base64`.
    Base64,
}

/// Checks piece by piece whether data is text, that is, UTF-8 without NUL.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    /// The bytes of an incomplete character at the end of the previous piece.
    carry: Vec<u8>,
    bytes: bool,
}

impl Detector {
    /// Checks the next piece. Returns `true` if the data may still be text.
    pub(crate) fn take(&mut self, piece: &[u8]) -> bool {
        if self.bytes {
            return false;
        }
        let mut piece = piece;
        // Complete an incomplete character byte by byte, which takes at most three bytes.
        while let (false, Some((&first, rest))) = (self.carry.is_empty(), piece.split_first()) {
            self.carry.push(first);
            piece = rest;
            match std::str::from_utf8(&self.carry) {
                Ok(_) => self.carry.clear(),
                Err(error) => self.bytes |= error.error_len().is_some(),
            }
            if self.bytes {
                return false;
            }
        }
        match simdutf8::compat::from_utf8(piece) {
            Ok(_) => {}
            Err(error) if error.error_len().is_none() => {
                self.carry.extend_from_slice(&piece[error.valid_up_to()..]);
            }
            Err(_) => self.bytes = true,
        }
        self.bytes |= memchr::memchr(0, piece).is_some();
        !self.bytes
    }

    /// Returns `Text` if all data checked so far is text and ends with a complete character, or
    /// `Base64` otherwise.
    pub(crate) fn encoding(&self) -> Encoding {
        let text = !self.bytes && self.carry.is_empty();
        if text { Encoding::Text } else { Encoding::Base64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_recognised_in_pieces_of_any_size() {
        for (data, expected) in [
            ("añ😀z".as_bytes(), Encoding::Text),
            (b"", Encoding::Text),
            (b"a\0", Encoding::Base64),
            ("a😀\0".as_bytes(), Encoding::Base64),
            (b"a\xff", Encoding::Base64),
            (b"\xf0\x9f\x98", Encoding::Base64),
            (b"\xf0\x9f\x98a", Encoding::Base64),
        ] {
            for size in 1..=data.len().max(1) {
                let mut detector = Detector::default();
                for piece in data.chunks(size) {
                    detector.take(piece);
                }
                assert_eq!(detector.encoding(), expected, "{data:?} by {size}");
            }
        }
    }
}
