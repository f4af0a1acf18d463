//! Parsing sizes in bytes, in the syntax that Flux uses.

use std::str::FromStr;

/// A number of bytes in the syntax of Flux: decimal, octal with the prefix 0, or hexadecimal with
/// the prefix 0x, optionally followed by k, K, M, G, T, P or E. Decimal numbers may have a
/// fraction. In a hexadecimal number, E is a digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
    /// Whether a leading zero made the number octal, which may be a mistake.
    pub(crate) octal: bool,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("expected a size such as 4096, 0x1000, 1M or 1.5G, found {text:?}");
        let unit = |letter| match letter {
            'k' | 'K' => Some(10),
            'M' => Some(20),
            'G' => Some(30),
            'T' => Some(40),
            'P' => Some(50),
            'E' => Some(60),
            _ => None,
        };
        // In a hexadecimal number, E is a digit, not a unit.
        let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let shift = text.chars().last().and_then(unit);
        let shift = shift.filter(|_| hexadecimal.is_none() || !text.ends_with('E'));
        let digits = if shift.is_some() { &text[..text.len() - 1] } else { text };
        let shift = shift.unwrap_or(0);
        let octal = digits.len() > 1
            && digits.starts_with('0')
            && digits.bytes().all(|digit| digit.is_ascii_digit());
        if !digits.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(expected());
        }
        if digits.contains('.') {
            let number: f64 = digits.parse().map_err(|_| expected())?;
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let bytes = number * 2_f64.powi(shift);
            if !is_plain || bytes >= 2_f64.powi(64) {
                return Err(expected());
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            return Ok(Self { bytes: bytes as u64, octal: false });
        }
        let number = match hexadecimal {
            Some(_) => u64::from_str_radix(&digits[2..], 16),
            None if octal => u64::from_str_radix(digits, 8),
            None => digits.parse(),
        };
        let bytes = number.ok().and_then(|number| number.checked_mul(1 << shift));
        Ok(Self { bytes: bytes.ok_or_else(expected)?, octal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_as_in_flux() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("0x10", 16),
            ("0xE", 14),
            ("0x1M", 1 << 20),
            ("1k", 1024),
            ("1K", 1024),
            ("1.5M", 3 << 19),
            ("0.5", 0),
            ("8E", 8 << 60),
        ] {
            assert_eq!(text.parse(), Ok(Size { bytes, octal: false }), "{text}");
        }
        assert_eq!("010".parse(), Ok(Size { bytes: 8, octal: true }));
        for wrong in
            ["", "k", "-1", "+1", "1m", "1KB", "0x", "09", "16E", "1.5.0", "1e3", "nan", "1 K"]
        {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
