//! Job IDs in decimal, hexadecimal, dotted hexadecimal and base 58.

/// The ID of a job.
///
/// ```
/// use flux_archive::kvs::JobId;
///
/// let id = JobId::parse("ƒA6oUGd").unwrap();
/// for other in [id.0.to_string(), format!("{:#x}", id.0), id.key(), "fA6oUGd".to_owned()] {
///     assert_eq!(JobId::parse(&other), Some(id));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u64);

impl JobId {
    /// Parses an ID in decimal, hexadecimal (`0x..`), dotted hexadecimal (four groups of four digits, as in keys) or
    /// base 58 (`ƒ..` or `f..`). Returns `None` for any other text, and if the ID does not fit into 64 bits.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(digits) = text.strip_prefix("0x") {
            return hexadecimal(digits).map(Self);
        }
        if text.contains('.') {
            let mut groups = text.split('.');
            let id = groups.by_ref().take(4).try_fold(0, |id: u64, group| {
                Some(id << 16 | hexadecimal(group).filter(|_| group.len() == 4)?)
            })?;
            return (groups.next().is_none() && text.len() == 19).then_some(Self(id));
        }
        match text.strip_prefix('ƒ').or_else(|| text.strip_prefix('f')) {
            Some(digits) => Self::parse_base58(digits),
            None => text.parse().ok().filter(|_| !text.starts_with('+')).map(Self),
        }
    }

    fn parse_base58(digits: &str) -> Option<Self> {
        const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
        if digits.is_empty() {
            return None;
        }
        let id = digits.bytes().try_fold(0_u64, |id, byte| {
            let digit = DIGITS.iter().position(|&digit| digit == byte)?;
            id.checked_mul(58)?.checked_add(digit as u64)
        });
        id.map(Self)
    }

    /// Returns the ID as written in keys, such as `0000.0004.b200.0000`.
    pub fn key(self) -> String {
        let group = |shift: u32| format!("{:04x}", self.0 >> shift & 0xffff);
        [48, 32, 16, 0].map(group).join(".")
    }
}

fn hexadecimal(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_and_too_large_job_ids_are_rejected() {
        for text in [
            "",
            "f",
            "ƒ0",
            "0x",
            "0x+5",
            "+1",
            "1.2.3.4",
            "0000.0000.0000",
            "0000.0000.0000.+005",
            "ƒzzzzzzzzzzzzz",
        ] {
            assert_eq!(JobId::parse(text), None, "{text}");
        }
    }
}
