//! Base64 (RFC 4648, section 4), with the same leniency as Flux.
//!
//! Flux writes padding. When reading, it accepts missing, insufficient or excessive padding in the
//! last group, and nonzero unused bits. It rejects whitespace, the URL alphabet, and anything after
//! the padding. [`Base64::is_tidy`] returns `true` if the text conforms to RFC 4648.

use std::borrow::Cow;
use std::io::{self, Write};

#[cfg(unix)]
use crate::parallel::try_map;
use base64_simd::{Out, STANDARD, STANDARD_NO_PAD};

/// The number of characters to decode at a time: 48 KiB of data, which fits in the cache.
const STEP: usize = 64 << 10;

/// The number of characters that a thread decodes at a time.
#[cfg(unix)]
const PIECE: usize = 256 << 10;

/// Valid base64 text.
///
/// ```
/// use flux_archive::json::Base64;
///
/// let data = Base64::encode(b"\x00\x01\x02\x03");
/// assert_eq!(data.as_str(), "AAECAw==");
/// assert_eq!((data.len(), data.decode()), (4, vec![0, 1, 2, 3]));
/// assert!(Base64::parse("AAE CAw==").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Base64<'a> {
    text: Cow<'a, str>,
    /// The number of characters before the last group.
    body: usize,
    /// The decoded bytes of the last group, of which `tail_len` are used.
    tail: [u8; 3],
    tail_len: usize,
    tidy: bool,
}

impl<'a> Base64<'a> {
    /// Encodes bytes, with padding.
    pub fn encode(data: &[u8]) -> Base64<'static> {
        let text = Cow::Owned(STANDARD.encode_to_string(data));
        let split = data.len().saturating_sub(1) / 3 * 3;
        let (tail, tail_len) = (&data[split..], data.len() - split);
        let mut padded = [0; 3];
        padded[..tail_len].copy_from_slice(tail);
        Base64 { text, body: split / 3 * 4, tail: padded, tail_len, tidy: true }
    }

    /// Checks base64 text. Returns `None` if Flux cannot decode the text.
    pub fn parse(text: impl Into<Cow<'a, str>>) -> Option<Self> {
        let text = text.into();
        let body = text.len().saturating_sub(1) / 4 * 4;
        let (groups, last) = text.as_bytes().split_at(body);
        STANDARD_NO_PAD.check(groups).ok()?;
        let (tail, tail_len, tidy) = decode_last(last)?;
        Some(Self { text, body, tail, tail_len, tidy })
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text of all groups but the last one, and the decoded bytes of the last group.
    #[cfg(unix)]
    pub(crate) fn groups(&self) -> (&str, &[u8]) {
        (&self.text[..self.body], &self.tail[..self.tail_len])
    }

    /// Returns the length of the decoded data in bytes.
    pub fn len(&self) -> u64 {
        (self.body / 4 * 3 + self.tail_len) as u64
    }

    /// Returns `true` if the data is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if the text conforms to RFC 4648: its padding is correct, and its unused bits are
    /// zero.
    pub fn is_tidy(&self) -> bool {
        self.tidy
    }

    /// Copies the text if it is borrowed, so that the result does not borrow from the document.
    pub fn into_owned(self) -> Base64<'static> {
        Base64 { text: Cow::Owned(self.text.into_owned()), ..self }
    }

    /// Returns the decoded data.
    pub fn decode(&self) -> Vec<u8> {
        let mut data = Vec::new();
        // Writing to a vector cannot fail.
        let _ = self.write_to(&mut data);
        data
    }

    /// Writes the decoded data through a small buffer.
    ///
    /// # Errors
    ///
    /// Fails if writing to `out` fails.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let body = &self.text.as_bytes()[..self.body];
        let tail = &self.tail[..self.tail_len];
        let mut buffer = vec![0; (STEP / 4 * 3).min(self.body / 4 * 3) + tail.len()];
        let mut pieces = body.chunks(STEP).peekable();
        if pieces.peek().is_none() {
            return out.write_all(tail);
        }
        while let Some(groups) = pieces.next() {
            let mut len = decode_groups(groups, &mut buffer)?.len();
            if pieces.peek().is_none() {
                // Add the last group to the last piece, so that a small file is written in one
                // call.
                buffer[len..len + tail.len()].copy_from_slice(tail);
                len += tail.len();
            }
            out.write_all(&buffer[..len])?;
        }
        Ok(())
    }

    /// Decodes the data in parallel. Calls `take` with the offset and the bytes of each piece, in
    /// no particular order, and then with those of the last group.
    #[cfg(unix)]
    pub(crate) fn for_each_piece(
        &self,
        take: impl Fn(u64, &[u8]) -> io::Result<()> + Sync,
    ) -> io::Result<()> {
        let body = &self.text.as_bytes()[..self.body];
        let pieces: Vec<_> = body.chunks(PIECE).enumerate().collect();
        let buffer = || vec![0; PIECE / 4 * 3];
        try_map(&pieces, buffer, |buffer, (index, groups)| {
            take((index * (PIECE / 4 * 3)) as u64, decode_groups(groups, buffer)?)
        })?;
        take((self.body / 4 * 3) as u64, &self.tail[..self.tail_len])
    }

    /// Fills `out` with the decoded data at `position`, and returns the number of bytes. This
    /// number is less than the length of `out` only at the end of the data.
    ///
    /// # Errors
    ///
    /// Never fails in practice, because the text is always valid.
    pub fn read_at(&self, out: &mut [u8], position: u64) -> io::Result<usize> {
        let Ok(start) = usize::try_from(position.min(self.len())) else { return Ok(0) };
        let mut filled = 0;
        let mut buffer = [0; 768];
        while filled < out.len() {
            let group = (start + filled) / 3 * 4;
            let skip = (start + filled) % 3;
            let groups = &self.text.as_bytes()[..self.body];
            let groups = &groups[group.min(self.body)..(group + 1024).min(self.body)];
            let decoded = match groups {
                [] if group > self.body => &[],
                [] => &self.tail[..self.tail_len],
                groups => decode_groups(groups, &mut buffer)?,
            };
            let decoded = decoded.get(skip..).unwrap_or_default();
            let n = decoded.len().min(out.len() - filled);
            if n == 0 {
                break;
            }
            out[filled..filled + n].copy_from_slice(&decoded[..n]);
            filled += n;
        }
        Ok(filled)
    }
}

impl PartialEq for Base64<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.decode() == other.decode()
    }
}

impl Eq for Base64<'_> {}

/// Returns `true` if complete groups of 4 characters are valid base64 without padding.
#[cfg(unix)]
pub(crate) fn are_valid(groups: &[u8]) -> bool {
    STANDARD_NO_PAD.check(groups).is_ok()
}

/// Decodes complete groups of 4 characters into a buffer, and returns the decoded bytes.
pub(crate) fn decode_groups<'b>(groups: &[u8], buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let decoded = STANDARD_NO_PAD.decode(groups, Out::from_slice(buffer));
    let decoded = decoded.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not base64"))?;
    Ok(decoded)
}

/// Decodes the last group of up to 4 characters. Returns the decoded bytes, their number, and
/// whether the group is tidy. Returns `None` if the group is invalid.
fn decode_last(last: &[u8]) -> Option<([u8; 3], usize, bool)> {
    let digits = last.iter().rposition(|&byte| byte != b'=').map_or(0, |at| at + 1);
    // Pad with `A`, which stands for six zero bits.
    let (mut group, mut bytes) = (*b"AAAA", [0; 3]);
    group[..digits].copy_from_slice(&last[..digits]);
    STANDARD.decode(&group, Out::from_slice(&mut bytes)).ok()?;
    let len = match digits {
        0 => 0,
        1 => return None,
        digits => digits - 1,
    };
    let padded = last.len() == if digits == 0 { 0 } else { 4 };
    let left_over = bytes[len..].iter().any(|&byte| byte != 0);
    Some((bytes, len, padded && !left_over))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(text: &str) -> Option<(Vec<u8>, bool)> {
        let data = Base64::parse(text)?;
        assert_eq!(data.len(), data.decode().len() as u64);
        Some((data.decode(), data.is_tidy()))
    }

    #[test]
    fn rfc_4648_test_vectors_round_trip_and_are_tidy() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(decoded(text), Some((plain.into(), true)), "{text}");
            assert_eq!(Base64::encode(plain.as_bytes()).as_str(), text);
        }
    }

    #[test]
    fn wrong_padding_and_nonzero_unused_bits_are_accepted_as_in_flux() {
        for (text, plain) in
            [("Zg", "f"), ("Zg=", "f"), ("YWJ=", "ab"), ("Zm8", "fo"), ("Zm9v=", "foo"), ("=", "")]
        {
            assert_eq!(decoded(text), Some((plain.into(), false)), "{text}");
        }
    }

    #[test]
    fn base64_that_flux_cannot_decode_is_rejected() {
        for text in [
            "A",
            "AAAAA",
            "AAEC\nAw==",
            " AAEC",
            "_-8=",
            "AA=A",
            "AAECAw==AAAA",
            "é",
            "AAA\0",
            "Zg===",
        ] {
            assert_eq!(decoded(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn decoding_base64_inverts_encoding(data: Vec<u8>, position in 0_u64..120, len in 0_usize..120) {
            let text = Base64::encode(&data);
            let parsed = Base64::parse(text.as_str()).unwrap();
            prop_assert!(parsed.is_tidy());
            prop_assert_eq!(&parsed.decode(), &data);
            prop_assert_eq!(&text.decode(), &data);
            prop_assert_eq!(text.len(), data.len() as u64);

            let mut part = vec![0; len];
            let n = parsed.read_at(&mut part, position).unwrap();
            let start = usize::try_from(position).unwrap().min(data.len());
            prop_assert_eq!(&part[..n], &data[start..(start + len).min(data.len())]);
        }
    }

    #[test]
    fn long_base64_is_decoded_in_pieces() {
        let data: Vec<u8> = (0..500_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        let text = Base64::encode(&data);
        assert_eq!(text.decode(), data);
        let pieces = std::sync::Mutex::new(vec![0; data.len()]);
        let put = |position: u64, piece: &[u8]| {
            let position = usize::try_from(position).unwrap();
            pieces.lock().unwrap()[position..position + piece.len()].copy_from_slice(piece);
            Ok(())
        };
        text.for_each_piece(put).unwrap();
        assert!(pieces.into_inner().unwrap() == data);
        let mut part = vec![0; 5000];
        assert_eq!(text.read_at(&mut part, 150_001).unwrap(), 5000);
        assert_eq!(part, data[150_001..155_001]);
    }
}
