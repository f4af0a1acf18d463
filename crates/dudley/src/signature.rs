//! The signature of a native binary file.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | `8d 3c 42 44 0d 0a 1a 0a` (`<`) or `8d 3e 42 44 0d 0a 1a 0a` (`>`) |
//! | 8 | 8 | where the layout is, an integer in that order; 0: not in this file |
//! | 16 | | data |
//!
//! Like PNG's it shows what transfers as text do to a file: a top bit that is cleared, line ends that
//! are rewritten.

use nom::branch::alt;
use nom::bytes::streaming::tag;
use nom::combinator::value;
use nom::number::streaming::i64;
use nom::sequence::delimited;
use nom::{IResult, Parser};
use thiserror::Error;

use crate::layout::Order;

/// Bytes of the signature with the address behind it: data begin here.
pub const SIGNATURE_LEN: u64 = 16;

/// The first 16 bytes of a native file.
///
/// ```
/// use dudley::{Order, Signature};
///
/// let bytes = *b"\x8d>BD\r\n\x1a\n\0\0\0\0\0\0\0\x30";
/// let signature = Signature { order: Order::Big, layout_address: 48 };
/// assert_eq!(Signature::parse(&bytes), Ok(signature));
/// assert_eq!(signature.to_bytes(), bytes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The order of bytes where the layout does not say.
    pub order: Order,
    /// Where the layout begins that is appended to the file, in bytes from its beginning, at least 16;
    /// 0 when there is none.
    pub layout_address: u64,
}

/// Why bytes are no signature.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// It begins like none.
    #[error("no native file: expected 8d 3c or 8d 3e, then 42 44 0d 0a 1a 0a, at byte 0")]
    Missing,
    /// It was one.
    #[error("the signature is damaged by a text-mode transfer: {0}")]
    TextMode(&'static str),
    /// The file ends within.
    #[error("the file ends at byte {0}, within the signature of 16 bytes")]
    Truncated(usize),
    /// Negative, or within the signature.
    #[error("the address of the layout, at byte 8, is {0}: expected 0 or at least 16")]
    Address(i64),
    /// The layout would begin behind the end of the file.
    #[error("the address of the layout, at byte 8, is {address}: the file ends at {len}")]
    BeyondEnd {
        /// Where the layout should be.
        address: u64,
        /// Bytes of the file.
        len: u64,
    },
}

impl Signature {
    /// Parses the first bytes of a file. Whether the address is within the file is for who knows its
    /// length.
    ///
    /// # Errors
    /// When they are no signature, or a damaged one.
    pub fn parse(bytes: &[u8]) -> Result<Self, SignatureError> {
        match signature(bytes) {
            Ok((_, (order, address))) => match u64::try_from(address) {
                Ok(layout_address) if address == 0 || address >= 16 => {
                    Ok(Self { order, layout_address })
                }
                _ => Err(SignatureError::Address(address)),
            },
            Err(nom::Err::Incomplete(_)) => Err(SignatureError::Truncated(bytes.len())),
            Err(_) => Err(damage(bytes)),
        }
    }

    /// The 16 bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = *b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0";
        bytes[1] = if self.order == Order::Big { b'>' } else { b'<' };
        bytes[8..].copy_from_slice(&match self.order {
            Order::Little => self.layout_address.to_le_bytes(),
            Order::Big => self.layout_address.to_be_bytes(),
        });
        bytes
    }
}

fn signature(bytes: &[u8]) -> IResult<&[u8], (Order, i64)> {
    let mark = alt((value(Order::Little, tag("<")), value(Order::Big, tag(">"))));
    let (rest, order) =
        delimited(tag(&b"\x8d"[..]), mark, tag(&b"BD\r\n\x1a\n"[..])).parse(bytes)?;
    let endianness = match order {
        Order::Little => nom::number::Endianness::Little,
        Order::Big => nom::number::Endianness::Big,
    };
    let (rest, address) = i64(endianness)(rest)?;
    Ok((rest, (order, address)))
}

fn damage(bytes: &[u8]) -> SignatureError {
    let (Some(&first), Some(b"<BD" | b">BD")) = (bytes.first(), bytes.get(1..4)) else {
        return SignatureError::Missing;
    };
    let rest = &bytes[4..];
    match first {
        0x0d => SignatureError::TextMode("the top bit of the first byte is cleared"),
        0x8d if rest.starts_with(b"\n\x1a\n") => SignatureError::TextMode("CR LF became LF"),
        0x8d if rest.starts_with(b"\r\n\x1a\r\n") => SignatureError::TextMode("LF became CR LF"),
        0x8d if rest.starts_with(b"\r\r\n\x1a") => SignatureError::TextMode("LF became CR LF"),
        0x8d if rest.starts_with(b"\r\n\n") => SignatureError::TextMode("the byte 1a is gone"),
        0x8d if rest.starts_with(b"\r\x1a\r") => SignatureError::TextMode("LF became CR"),
        _ => SignatureError::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_in_the_order_of_the_mark() {
        for order in [Order::Little, Order::Big] {
            for layout_address in [0, 16, 48, i64::MAX as u64] {
                let signature = Signature { order, layout_address };
                assert_eq!(Signature::parse(&signature.to_bytes()), Ok(signature));
            }
        }
    }

    #[test]
    fn an_address_that_is_negative_or_below_16_is_refused() {
        for address in [-1, 1, 15, i64::MIN] {
            let mut bytes = Signature { order: Order::Little, layout_address: 0 }.to_bytes();
            bytes[8..].copy_from_slice(&address.to_le_bytes());
            assert_eq!(Signature::parse(&bytes), Err(SignatureError::Address(address)));
        }
    }

    #[test]
    fn damage_by_transfers_as_text_is_named() {
        for (bytes, what) in [
            (&b"\x8d<BD\n\x1a\n\0\0\0\0\0\0\0\0"[..], "CR LF became LF"),
            (b"\x8d>BD\r\n\x1a\r\n\0\0\0\0\0\0\0\0", "LF became CR LF"),
            (b"\x8d>BD\r\r\n\x1a\r\n\0\0\0\0\0\0\0", "LF became CR LF"),
            (b"\x0d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0", "the top bit of the first byte is cleared"),
        ] {
            assert_eq!(Signature::parse(bytes), Err(SignatureError::TextMode(what)));
        }
    }

    #[test]
    fn other_bytes_and_short_files_are_told_apart() {
        assert_eq!(Signature::parse(b"\x8dPNG\r\n\x1a\n"), Err(SignatureError::Missing));
        assert_eq!(Signature::parse(b"\x8d<B"), Err(SignatureError::Truncated(3)));
        assert_eq!(Signature::parse(b""), Err(SignatureError::Truncated(0)));
        assert_eq!(Signature::parse(b"CDF\x01"), Err(SignatureError::Missing));
    }
}
