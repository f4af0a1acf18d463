//! The signature of a native binary file.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | `8d 3c 42 44 0d 0a 1a 0a` (`<`) or `8d 3e 42 44 0d 0a 1a 0a` (`>`) |
//! | 8 | 8 | address of the layout, in the byte order given by the signature; 0 if the layout is not in this file |
//! | 16 | | data |
//!
//! Like the signature of a PNG file, this signature reveals a transfer in text mode, which clears
//! the top bit of bytes or changes line breaks.

use binio::ReadAt;

use crate::error::{Error, ErrorKind};
use crate::layout::Order;

/// The first 16 bytes of a native file.
///
/// ```
/// use dudley::{Order, Signature};
///
/// let bytes = *b"\x8d>BD\r\n\x1a\n\0\0\0\0\0\0\0\x30";
/// let signature = Signature { order: Order::Big, layout_address: 48 };
/// assert_eq!(Signature::parse(&bytes).unwrap(), signature);
/// assert_eq!(signature.to_bytes(), bytes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The byte order of the data, unless the layout states another byte order.
    pub order: Order,
    /// The address of the appended layout, in bytes from the start of the file. It is at least 16, or 0 if the
    /// file does not contain a layout.
    pub layout_address: u64,
}

impl Signature {
    /// The combined length in bytes of the signature and the layout address. This is also the offset at which
    /// data begins.
    pub const LEN: u64 = 16;

    /// Parses the first bytes of a file. Does not check that the address of the layout is within the file.
    ///
    /// # Errors
    ///
    /// Fails with [`NotNative`](ErrorKind::NotNative) if the bytes do not begin with a signature,
    /// with [`TextMode`](ErrorKind::TextMode) if a text-mode transfer has damaged them, with
    /// [`TruncatedSignature`](ErrorKind::TruncatedSignature) if there are fewer than 16 bytes, and
    /// with [`LayoutAddress`](ErrorKind::LayoutAddress) if the address of the layout is negative or
    /// from 1 to 15.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        const MAGIC: [u8; 8] = *b"\x8d<BD\r\n\x1a\n";
        let order = if bytes.get(1) == Some(&b'>') { Order::Big } else { Order::Little };
        let is_magic =
            |(at, (&found, &expected))| found == expected || at == 1 && found == order.mark() as u8;
        if !bytes.iter().zip(&MAGIC).enumerate().all(is_magic) {
            return Err(damage(bytes).into());
        }
        let Some(address) = bytes.get(8..16).and_then(|address| address.try_into().ok()) else {
            return Err(ErrorKind::TruncatedSignature { len: bytes.len() }.into());
        };
        let address = match order {
            Order::Little => i64::from_le_bytes(address),
            Order::Big => i64::from_be_bytes(address),
        };
        match u64::try_from(address) {
            Ok(layout_address @ (0 | 16..)) => Ok(Self { order, layout_address }),
            _ => Err(ErrorKind::LayoutAddress { address, len: None }.into()),
        }
    }

    /// Reads the signature of a file. Returns `None` if the file is not a native file, or if it has fewer
    /// than 4 bytes.
    ///
    /// # Errors
    ///
    /// Fails with [`Read`](ErrorKind::Read) if the file cannot be read, with [`TextMode`](ErrorKind::TextMode)
    /// if a text-mode transfer has damaged the signature, with
    /// [`TruncatedSignature`](ErrorKind::TruncatedSignature) if the file ends after 4 to 15 bytes of the
    /// signature, and with [`LayoutAddress`](ErrorKind::LayoutAddress) if the address of the layout is
    /// negative, from 1 to 15, or after the end of the file.
    pub fn of(file: &(impl ReadAt + ?Sized)) -> Result<Option<Self>, Error> {
        let len = usize::try_from(file.len().min(Self::LEN)).unwrap_or_default();
        match Self::parse(&file.bytes_at(0, len)?) {
            Ok(signature) if signature.layout_address <= file.len() => Ok(Some(signature)),
            Ok(Self { layout_address, .. }) => {
                let address = i64::try_from(layout_address).unwrap_or(i64::MAX);
                Err(ErrorKind::LayoutAddress { address, len: Some(file.len()) }.into())
            }
            Err(error) => match *error.kind() {
                // A file of fewer than 4 bytes may be in any format.
                ErrorKind::NotNative | ErrorKind::TruncatedSignature { len: 0..4 } => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Returns the address at which the data ends: the address of the appended layout, or the end of the
    /// file.
    pub(crate) fn data_end(self, file: &dyn ReadAt) -> u64 {
        if self.layout_address == 0 { file.len() } else { self.layout_address }
    }

    /// Encodes the signature and the address of the layout as 16 bytes.
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

fn damage(bytes: &[u8]) -> ErrorKind {
    let (Some(&first), Some(b"<BD" | b">BD")) = (bytes.first(), bytes.get(1..4)) else {
        return ErrorKind::NotNative;
    };
    let rest = &bytes[4..];
    let change = match first {
        0x0d => "the top bit of the first byte is cleared",
        0x8d if rest.starts_with(b"\n\x1a\n") => "CR LF became LF",
        0x8d if rest.starts_with(b"\r\n\x1a\r\n") || rest.starts_with(b"\r\r\n\x1a") => {
            "LF became CR LF"
        }
        0x8d if rest.starts_with(b"\r\n\n") => "byte 1a is missing",
        0x8d if rest.starts_with(b"\r\x1a\r") => "LF became CR",
        _ => return ErrorKind::NotNative,
    };
    ErrorKind::TextMode { change }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        Signature::parse(bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_signature_round_trips_in_either_byte_order() {
        for order in [Order::Little, Order::Big] {
            for layout_address in [0, 16, 48, i64::MAX as u64] {
                let signature = Signature { order, layout_address };
                assert_eq!(Signature::parse(&signature.to_bytes()).unwrap(), signature);
            }
        }
    }

    #[test]
    fn a_layout_address_that_is_negative_or_from_1_to_15_is_rejected() {
        for address in [-1, 1, 15, i64::MIN] {
            let mut bytes = Signature { order: Order::Little, layout_address: 0 }.to_bytes();
            bytes[8..].copy_from_slice(&address.to_le_bytes());
            assert_eq!(
                message(&bytes),
                format!(
                    "the address of the layout, at byte 8, is {address}, expected 0 or at least 16"
                )
            );
        }
    }

    #[test]
    fn damage_by_a_text_mode_transfer_is_described() {
        for (bytes, what) in [
            (&b"\x8d<BD\n\x1a\n\0\0\0\0\0\0\0\0"[..], "CR LF became LF"),
            (b"\x8d>BD\r\n\x1a\r\n\0\0\0\0\0\0\0\0", "LF became CR LF"),
            (b"\x8d>BD\r\r\n\x1a\r\n\0\0\0\0\0\0\0", "LF became CR LF"),
            (b"\x0d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0", "the top bit of the first byte is cleared"),
        ] {
            let expected = format!("the signature was damaged by a text-mode transfer: {what}");
            assert_eq!(message(bytes), expected);
        }
    }

    #[test]
    fn foreign_bytes_and_truncated_signatures_are_distinguished() {
        let kind = |bytes| Signature::parse(bytes).unwrap_err().kind().clone();
        assert!(matches!(kind(b"\x8dPNG\r\n\x1a\n"), ErrorKind::NotNative));
        assert!(matches!(kind(b"\x8d<B"), ErrorKind::TruncatedSignature { len: 3 }));
        assert!(matches!(kind(b""), ErrorKind::TruncatedSignature { len: 0 }));
        assert!(matches!(kind(b"CDF\x01"), ErrorKind::NotNative));
    }
}
